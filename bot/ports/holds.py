"""
Holds: what somebody has stopped, so that nothing of it runs until it is released.

Rule 1: a hold and its fence are one transaction: the leases of the goals that it covers end in it,
        so that no start of a call or a tool of theirs is written after it.
Rule 2: what was under way may still say how it ended, until the goal is claimed again: what a call
        cost, what it replied, that a tool was interrupted.
Rule 3: a held goal keeps its state. What is due waits; a person's commands and answers still count.
Rule 4: every goal that is covered shows it, and shows the release, each by an edit of its status.
"""

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from bot.ports.chat import Place
from bot.ports.people import NOTHING, Answer

ALL: Final = "all"
RESTORE: Final = "restore"
"""As `all`, and nothing is sent: what a restored database starts with."""


def of_room(room: str) -> str:
    """The scope of everything in the room with that id."""
    return f"room:{room}"


def of_person(person: str) -> str:
    """The scope of every goal that the person with that id owns."""
    return f"person:{person}"


@dataclass(frozen=True, slots=True)
class Hold:
    """One hold that stands: `all`, `restore`, `room:ID` or `person:ID`."""

    scope: str
    by: str = ""
    """Person id of whoever set it."""
    at: float = 0.0
    why: str = ""
    by_name: str = ""
    name: str = ""
    """Of the room or the person that it is about."""


class Holds(Protocol):
    """What stands, and whom it stops."""

    async def hold(
        self, scope: str, by: str, why: str = "", answer: Answer = NOTHING
    ) -> tuple[Hold, bool]:
        """Stop the scope, and queue the answer; returns what stands, and whether it is new.

        Raises:
            IllegalMove: a message that is answered was handled already.
            StoreBusy, StoreUnusable.
        """

    async def release(self, scope: str, answer: Answer = NOTHING) -> Hold | None:
        """Let the scope go on, and queue the answer; returns what stood. Raises as `hold`."""

    async def standing(self) -> tuple[Hold, ...]:
        """Every hold, oldest first."""

    async def over(self, session: str, owner: str) -> Hold | None:
        """The hold, widest first, that stops the goals of this owner in this session."""

    async def room_at(self, place: Place) -> str | None:
        """The scope of the room of that place, where it is known."""

    async def named(self, kind: Literal["room", "person"], name: str) -> tuple[Hold, ...]:
        """Every room or person of that name, as the hold that it would be (`scope`, `name`).

        `NETWORK:NAME` narrows it; an `@` or `#` in front does not count, nor do capitals.
        """
