"""
What the store can tell about what happened: rows for lists, traces and bills.

Rule 1: values only; nothing here moves a goal.
Rule 2: texts are content hashes here too; whoever shows them asks the journal for the contents.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from bot.goals.goal import Decision, Goal, Wait
from bot.goals.machine import Entry
from bot.goals.money import Usage
from bot.ports.chat import Place
from bot.ports.journal import Line
from bot.ports.mail import Thread

StepState = Literal[
    "started", "settled", "released", "lost", "ok", "error", "interrupted", "unknown"
]


@dataclass(frozen=True, slots=True)
class GoalRow:
    """A goal, where it lives and who owns it by name."""

    goal: Goal
    place: Place
    owner: str


@dataclass(frozen=True, slots=True)
class Step:
    """One model call (`name` is its role) or one tool call, from start to end.

    `nano_usd` is None where the price is unknown. `estimated_*` were charged for a lost reply.
    `runs` counts starts: a read-only call may be run again after a restart.
    """

    ref: str
    kind: Literal["call", "tool"]
    name: str
    turn: int
    state: StepState
    model: str = ""
    effects: str = ""
    usage: Usage = field(default_factory=Usage)
    nano_usd: int | None = 0
    estimated_tokens: int = 0
    estimated_nano_usd: int = 0
    content: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    runs: int = 1


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One audit: a verdict, or the class of its failure, and the rule that followed from it."""

    seq: int
    turn: int
    revision: int
    verdict: str
    failure: str
    rule: str
    note: str
    evidence: str
    at: float


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A decision with its end: `open`, `answered`, `expired` or `withdrawn`."""

    decision: Decision
    state: str
    by: str = ""
    answer: str = ""
    opened_at: float = 0.0
    closed_at: float | None = None
    scope: str = ""
    """Of an approval that was given: `once`, `goal` or `always`."""


@dataclass(frozen=True, slots=True)
class Trace:
    """All that one goal did, in order."""

    goal: Goal
    lines: tuple[Line, ...]
    steps: tuple[Step, ...]
    audits: tuple[AuditRow, ...]
    decisions: tuple[DecisionRow, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """What the calls of one role cost; `has_unknown_price` makes it "at least"."""

    role: str
    calls: int
    usage: Usage
    nano_usd: int
    estimated_tokens: int
    estimated_nano_usd: int
    has_unknown_price: bool


@dataclass(frozen=True, slots=True)
class Parked:
    """A goal's open wait and when it is looked at next."""

    goal: str
    wait: Wait
    due_at: float


class Records(Protocol):
    """Reads for projections."""

    async def goals(self, *, with_asks: bool = False) -> tuple[GoalRow, ...]:
        """Every goal, newest first."""

    async def journal(self, goal: str) -> tuple[Entry, ...]:
        """The goal's entries in order: `machine.replay` of them is its row.

        Raises KeyError when there is no such goal.
        """

    async def trace(self, goal: str) -> Trace:
        """The goal's journal with its steps, audits and decisions. Raises KeyError."""

    async def spend(self, goal: str) -> tuple[Spent, ...]:
        """What the goal's calls cost, by role."""

    async def sessions(self) -> tuple[Thread, ...]:
        """Every session, oldest first."""

    async def outbox_depth(self) -> Mapping[str, int]:
        """How many rows of the outbox are in each state that is not `sent` or `superseded`."""

    async def wait_due(self, by: float) -> tuple[Parked, ...]:
        """The open waits that want a look by then, earliest first."""
