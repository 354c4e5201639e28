"""What looks secret, taken out of a text, with a mark in its place that says of which kind it was. Pure."""

import re

from bot.chat.looks_secret import suspects
from bot.chat.secret_words import typed_value
from bot.chat.texts import Texts


def without_suspects(text: str, texts: Texts) -> tuple[str, tuple[str, ...]]:
    """The text without what looks secret, and of which kinds that was, as people read it.

    Of a value that was typed behind a command there is no kind: whoever reads the command says what is to
    be said.
    """
    typed = typed_value(text)
    if typed:
        left_out = texts("said.left_out", kind=texts("secret_kind.password"))
        return text.replace(typed, left_out), ()
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
    if typed_value(text):
        return ()
    before, after = texts("said.left_out", kind="\0").split("\0")
    found = re.findall(f"{re.escape(before)}(.{{1,80}}?){re.escape(after)}", text)
    return tuple(dict.fromkeys(found))
