"""
How a row of the outbox is said in Slack: which of its shapes a message can hold, in which blocks. Pure.

Rule 1: a status or a card says a few lines; of all else the whole is said where a message holds it, and
        otherwise its first paragraph, the whole in a file.
Rule 2: of a call that is asked about and is too long, the hash of the whole is named.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from adapters.slack import render
from adapters.slack.blocks import Dialect
from adapters.slack.elements import Block
from adapters.slack.ids import user_of
from adapters.slack.render import Message, Words
from bot.errors import Refused
from bot.ports.chat import Outgoing, Shape

Make = Callable[[Dialect], Message]
"""The same message, in the blocks of a dialect."""

WHOLE: Final = "result.md"
"""The file with a text that no message can hold."""
STATUS: Final = ":status:"
"""What the key of a status message has, and no other's."""
RARE: Final = frozenset({"markdown", "plan", "table"})
"""Blocks that not every workspace takes."""


def made(
    message: Outgoing, words: Words, origin: str = "", *, shorter: int = 0
) -> tuple[Make, bool]:
    """How it is said, and whether its whole goes along as a file.

    Args:
        origin: address of the message that it goes back to.
        shorter: so many ways to say it were too long, though they seemed to fit.

    Raises:
        Refused: no message can hold it.
    """
    for shape, is_cut in _shapes(message, words):
        make = _maker(message, shape, words, origin)
        if make(Dialect.WHOLE).fits:
            if not shorter:
                return make, is_cut
            shorter -= 1
    raise Refused(TOO_LONG, code="msg_too_long")


def single(message: Outgoing, shape: Shape, words: Words) -> Message:
    """A message with which no file goes; raises Refused where none can hold it."""
    for most in (render.WHOLE_MOST, *render.EXCERPTS):
        said = _maker(message, render.shortened(shape, most), words, "")(Dialect.RICH)
        if said.fits:
            return said
    raise Refused(TOO_LONG, code="msg_too_long")


def excerpt(shape: Shape, most: int, words: Words) -> Shape:
    """The shape with its first paragraph; a call that is asked about with the hash of the whole."""
    short = render.excerpt(shape, most, whole_of(shape), words)
    if not shape.options:
        return short
    digest = hashlib.sha256(shape.body.encode(errors="replace")).hexdigest()
    return replace(short, notes=(*short.notes, f"SHA-256 `{digest}`"))


def whole_of(shape: Shape) -> str:
    """What the file with its whole text is called."""
    return shape.file or WHOLE


def is_status(message: Outgoing) -> bool:
    """Whether it is a goal's status message."""
    return message.silent and STATUS in message.key


def is_in_place(message: Outgoing) -> bool:
    """Whether it is a status or a card, of which only a few lines are shown."""
    return is_status(message) or (message.silent and bool(message.edits))


def digest_of(said: Message) -> str:
    """A hash of all that it says."""
    text = json.dumps([said.text, said.blocks], sort_keys=True)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def rare_in(blocks: Sequence[Block]) -> frozenset[str]:
    """Those of its blocks that not every workspace takes."""
    return frozenset(str(block["type"]) for block in blocks) & RARE


def _shapes(message: Outgoing, words: Words) -> Iterator[tuple[Shape, bool]]:
    """The shapes that may fit, best first, and whether the whole goes along as a file."""
    shape = message.shape
    if is_in_place(message):
        yield from ((render.shortened(shape, most), False) for most in render.BRIEF)
        return
    if len(shape.body) <= render.WHOLE_MOST:
        yield shape, False
    yield from ((excerpt(shape, most, words), True) for most in render.EXCERPTS)


def _maker(message: Outgoing, shape: Shape, words: Words, origin: str) -> Make:
    is_calling = not (message.silent or message.edits)
    called = [user for id in shape.mentions if (user := _user(id))] if is_calling else []
    drawn: dict[Dialect, Message] = {}

    def make(dialect: Dialect) -> Message:
        if dialect not in drawn:
            drawn[dialect] = render.message(
                shape, words, called=called, is_status=is_status(message), origin=origin,
                dialect=dialect,
            )  # fmt: skip
        return drawn[dialect]

    return make


def _user(id: str) -> str:
    """The user of a speaker's id; empty for who is not of Slack."""
    try:
        return user_of(id)[1]
    except Refused:
        return ""


TOO_LONG: Final = "What is to be said is too long for Slack."


def without_answers(message: Outgoing, words: Words) -> Message:
    """A card whose whole is not there, without the buttons that answer it."""
    short = excerpt(message.shape, render.EXCERPTS[1], words)
    return single(message, replace(short, options=()), words)


def of_lost(message: Outgoing, names: Sequence[str], words: Words) -> tuple[Outgoing, Message]:
    """A line under a post that says which of its files are not there."""
    told = Shape("", "", body="\n\n".join(words.lost.format(name=name) for name in names))
    line = replace(message, key=f"{message.key}:lost", shape=told, silent=True, edits="")
    return line, render.message(told, words)
