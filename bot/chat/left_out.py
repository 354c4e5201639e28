"""What looks secret, taken out of a text, with a mark in its place that says of which kind it was. Pure."""

import re

from bot.chat.looks_secret import suspects
from bot.chat.parse import after_calls
from bot.chat.secret_words import value_at
from bot.chat.texts import Texts

_SECRET = re.compile(r"(?:[/!@<]\S+\s+)*secret:?\s+", re.IGNORECASE)
"""The verb; before it there may be the bot's name as a network writes it."""


def without_suspects(text: str, texts: Texts) -> tuple[str, tuple[str, ...]]:
    """The text without what looks secret, and of which kinds that was, as people read it.

    Of a value that was typed behind a command there is no kind: whoever reads the command says what is to
    be said.
    """
    typed = typed_at(text)
    if typed is not None:
        left_out = texts("said.left_out", kind=texts("secret_kind.password"))
        return f"{text[:typed]}{left_out}", ()
    pieces, kinds, at = [], [], 0
    for one in suspects(text):
        maker = one.kind.replace("_", " ")
        kind = texts.first(f"secret_kind.{one.kind}", "secret_kind.other", kind=maker)
        pieces += [text[at : one.begin], texts("said.left_out", kind=kind)]
        kinds.append(kind)
        at = one.end
    return "".join((*pieces, text[at:])), tuple(dict.fromkeys(kinds))


def kinds_in(text: str, texts: Texts) -> tuple[str, ...]:
    """The kinds that marks in a text name, each once."""
    if typed_at(text) is not None:
        return ()
    before, after = texts("said.left_out", kind="\0").split("\0")
    found = re.findall(f"{re.escape(before)}(.{{1,80}}?){re.escape(after)}", text)
    return tuple(dict.fromkeys(found))


def typed_at(text: str) -> int | None:
    """Where in a command a value begins that was typed, to its end; None: there is none."""
    said = after_calls(text)
    verb = _SECRET.match(said)
    at = value_at(said[verb.end() :]) if verb else None
    if verb is None or at is None:
        return None
    return len(text.rstrip()) - len(said) + verb.end() + at
