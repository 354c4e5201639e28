"""
The repositories that a room's goals may start from, as rows.

Rule: a credential is never here: `secret` names one that is sealed elsewhere and bound to its hosts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.ports.chat import Place
from bot.ports.people import NOTHING, Answer


@dataclass(frozen=True, slots=True)
class Repository:
    """One of a room. `branch` is empty where it is the one that its server names."""

    name: str
    url: str
    branch: str = ""
    secret: str = ""
    by: str = ""
    """A person id. `at`: seconds since 1970."""
    at: float = 0.0


class Repositories(Protocol):
    """Those of all rooms."""

    async def of(self, room: Place) -> Sequence[Repository]:
        """A room's, by name."""

    async def put(self, room: Place, repository: Repository, answer: Answer = NOTHING) -> bool:
        """Keep one, in place of another of that name; false where it took one's place."""

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Forget one; false where there is none, and nothing is answered."""
