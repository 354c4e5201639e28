"""
Standing permissions: what somebody who may allowed a room's goals, for a time.

Rule 1: a permission is an exact prefix of a simple command's words, a host's name, or a tool's name.
Rule 2: it ends by itself, and is taken back at any time: it is looked up at every use.
Rule 3: it is never made or used by goals whose profile is `full`, nor given to another room.
"""

from dataclasses import dataclass
from typing import Protocol

from bot.goals.hands import GrantKind
from bot.ports.chat import Place
from bot.ports.people import NOTHING, Answer


@dataclass(frozen=True, slots=True)
class Permission:
    """One of them. `what`: the words as a JSON list, the host, or the tool. Times: seconds since 1970."""

    id: str
    """Of the decision that gave it."""
    room: Place
    kind: GrantKind
    what: str
    by: str
    """Person id of whoever gave it."""
    given_at: float
    expires_at: float
    uses: int = 0
    """Calls that ran because of it."""


class Permissions(Protocol):
    """Those of rooms. They are given by the journal, with the answer that gives them."""

    async def of(self, room: Place) -> tuple[Permission, ...]:
        """Those in force in a room now, newest first."""

    async def revoke(self, room: Place, id: str, by: str, answer: Answer = NOTHING) -> bool:
        """Take one back, and queue the answer; false (and nothing is said) where it was not in force there."""
