"""How holds are written: `hold`, `hold all`, `hold @ben: why`. Pure.

Without a colon (or `because`) before the reason it is rather an objective: `hold all flights to Oslo`.
"""

import re
from dataclasses import dataclass
from typing import Final

from bot.chat.people_words import read_subject
from bot.ports.chat import Place
from bot.ports.people import Subject

_WORDS: Final = re.compile(
    r"(<@[^<>]*>|\S*?)(?:\s*:\s+|\s+because\s+|$)(.*)", re.DOTALL | re.IGNORECASE
)
WHY_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class HoldWords:
    """What is to be held: everything, the goals of a person, or (neither) the room."""

    is_all: bool = False
    person: Subject | None = None
    why: str = ""


def read_hold(text: str, place: Place) -> HoldWords | None:
    """What follows `hold` or `release`, seen from a place; None where that is no hold."""
    match = _WORDS.fullmatch(text.strip())
    if match is None:
        return None
    scope, why = match[1], " ".join(match[2].split())[:WHY_CHARS]
    if scope.lower() in ("", "room", "here"):
        return HoldWords(why=why)
    if scope.lower() == "all":
        return HoldWords(is_all=True, why=why)
    subject = read_subject(scope, place)
    if subject is None or subject.kind != "person":
        return None
    return HoldWords(person=subject, why=why)
