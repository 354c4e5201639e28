"""
What was spent, by whatever one asks; what is left of the day's caps; what a cap or a queue holds.

Rule 1: what was spent is read off the steps, which are written with the ledger that they add up to.
Rule 2: an unknown price is none: its tokens are told apart, and make every sum "at least".
"""

from dataclasses import dataclass
from typing import Protocol

from bot.goals.caps import Scope
from bot.goals.goal import Goal
from bot.ports.chat import Network, Place
from bot.ports.people import Answer


@dataclass(frozen=True, slots=True)
class Bill:
    """What one goal's calls of one role and model cost in one quarter of an hour from `at` on."""

    goal: str
    number: int
    """0 for an ordinary turn."""
    owner: str
    owner_name: str
    room_id: str
    network: Network
    workspace: str
    room: str
    role: str
    model: str
    at: float
    calls: int
    tokens: int
    nano_usd: int
    """With what is estimated."""
    estimated_nano_usd: int
    """Charged in full for replies that were lost."""
    unpriced_tokens: int
    """Of calls whose price is unknown."""


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a day's cap is spent, in nano-dollars."""

    scope: Scope
    spent: int
    limit: int


@dataclass(frozen=True, slots=True)
class Spent:
    """A cap of today that is spent and holds goals: whose it is, by name (empty for all)."""

    scope: Scope
    name: str
    limit: int
    in_tokens: bool


@dataclass(frozen=True, slots=True)
class Swept:
    """What a look at what is held came to: the goals that go on, and the caps that hold still."""

    freed: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()
    is_on_hold: bool = False
    """Everything is on hold: nothing was looked at."""


class Spending(Protocol):
    """Reads for bills, and the look at what is held."""

    async def bills(self, since: float | None = None) -> tuple[Bill, ...]:
        """What every call cost that ended since then, ordinary turns included."""

    async def shares(self, goal: Goal) -> tuple[Share, ...]:
        """Today's share of each cap that the goal is charged to."""

    async def shares_of(self, person: str, place: Place) -> tuple[Share, ...]:
        """Today's share of each cap of a person and of a room."""

    async def lift(self, goal: str, answer: Answer) -> bool:
        """Let a goal that a cap holds pass the caps of today, and queue the answer; False: none does.

        What it spends is tallied as ever, and its own budget holds.
        """

    async def sweep(self) -> Swept:
        """Let go what a cap or a full house holds and need not hold any more."""
