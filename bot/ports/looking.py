"""
What somebody had before them while they said something in private, where a network tells it. Pure.

Rule: it is a field of the message beside what was said. Where a goal begins with the message it goes
along in a line of its own, named for what it is: it may be what they mean, and nobody assumes so.
"""

from dataclasses import replace
from typing import Final

from bot.ports.chat import Incoming
from bot.ports.journal import Content

LOOKED_AT: Final = "looked_at"
"""Name of the field: the room's id, and where it is known its `#name` after a space."""


def looked_at(message: Incoming) -> str:
    """The room as people call it; empty where none is told."""
    shown = dict(message.form).get(LOOKED_AT, "")
    return " ".join((shown.partition(" ")[2] or shown).replace("]", "").split())


def with_looked_at(said: Content, message: Incoming) -> Content:
    """What was said, with the line where there is one to add."""
    room = looked_at(message)
    if not room or message.via != "message":
        return said
    line = f"[They had {room} open meanwhile; it may have nothing to do with what they ask.]"
    return replace(said, text=f"{said.text}\n\n{line}")
