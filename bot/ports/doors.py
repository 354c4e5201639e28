"""
What stands open between people and the bot: claims, offers of goals, things said once in a while.

Rule 1: of a claim's code only its hash is kept; it counts once, for a while, and a few wrong tries end
        it for all.
Rule 2: an offer lives until it is accepted, declined, or another one takes its place.
Rule 3: each change and what is said about it are one transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from bot.ports.chat import Incoming, Place
from bot.ports.people import Answer

Claimed = Literal["taken", "wrong", "expired", "used", "none", "closed"]
"""`closed`: too many wrong tries have ended every open code; `none`: there is no code at all."""
TRIES_MOST: Final = 10
"""Wrong codes, of all people together, that end the open ones: of 60 bits nobody guesses in ten."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A goal that its owner, or an admin, offers to somebody."""

    goal: str
    to: str
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class Heeded:
    """A message as it was taken in, and what became of it."""

    message: Incoming
    state: str
    why: str


class Claims(Protocol):
    """One-time codes that make an admin."""

    async def open_claim(self, code_hash: str, *, lasts_s: float) -> None:
        """Keep a new code's hash; older codes end."""

    async def is_claim_open(self) -> bool:
        """Whether there is a code that somebody could use now."""

    async def claim(
        self, code_hash: str, person: str, answer: Callable[[Claimed], Answer]
    ) -> Claimed:
        """Use a code: `taken` makes the person an admin everywhere. A wrong one is counted."""

    async def void_claim(self, code_hash: str) -> None:
        """End a code that others have seen; one that is none ends nothing."""


class Offers(Protocol):
    """Goals on their way to another owner."""

    async def offer(self, goal: str, *, to: str, by: str, answer: Answer) -> None:
        """Offer a goal, in place of an older offer of it."""

    async def offered(self, goal: str) -> Offered | None:
        """The goal's open offer."""

    async def withdraw(self, goal: str, answer: Answer) -> None:
        """End the goal's offer."""


class Notices(Protocol):
    """What is said once in a while, and what was said."""

    async def say_once(self, key: str, *, every_s: float, answer: Answer) -> bool:
        """Say it unless it was said under that key in the last `every_s`; the messages are handled
        either way. Returns whether it is said."""

    async def forget_said(self, key: str) -> None:
        """Say it again at the next occasion."""

    async def home(self, session: str) -> Place:
        """Where a session lives. Raises KeyError."""

    async def heeded(self, message: str) -> Heeded | None:
        """A message that was taken in, by its identity."""

    async def last_heeded(self, place: Place, person: str, before: str) -> Heeded | None:
        """The last message of a person in a place that came before another one."""
