"""`finish_note`: what the person is told when the goal ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.tools.tool import Tool, one_object

TEXT_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class Note:
    """The agent's closing words."""

    text: str


def note(arguments: Mapping[str, Any]) -> Note:
    """The note in checked arguments."""
    return Note(arguments["text"].strip())


TOOL = Tool(
    name="finish_note",
    description=(
        "Leave the note that heads your last reply when the goal is complete: the result in a line "
        "or two, where it is, how it was checked, and what is left open. It does not end the goal "
        "by itself; write it when all of the objective is done, and end your turn."
    ),
    input_schema=one_object(
        ("text",), text={"type": "string", "minLength": 1, "maxLength": TEXT_CHARS}
    ),
    effects="conversation",
    where="bot",
    reads_outside=False,
)
