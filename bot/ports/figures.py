"""
What the store can count of all goals together: for metrics and the operator's one look.

Rule 1: numbers, states, names of our own and of networks; never a text, a person or a room.
Rule 2: `Now` costs as much as what is open; `Totals` reads every row there ever was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from bot.goals.money import Usage


@dataclass(frozen=True, slots=True)
class Reserved:
    """What the calls in flight may cost at most. A price that is unknown counts nothing."""

    calls: int = 0
    tokens: int = 0
    nano_usd: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many rows wait in each state, and since when the oldest of them does."""

    rows: Mapping[str, int] = field(default_factory=dict)
    oldest_at: float | None = None


@dataclass(frozen=True, slots=True)
class Now:
    """What is open at this moment. Times are seconds since 1970 UTC."""

    at: float
    live: Mapping[str, int] = field(default_factory=dict)
    """Live goals by state."""
    waits: Mapping[str, int] = field(default_factory=dict)
    """Open waits by kind; `cap` and `slot` are those that nobody asked for."""
    reserved: Mapping[str, Reserved] = field(default_factory=dict)
    """By role."""
    outbox: Waiting = field(default_factory=Waiting)
    inbox: Waiting = field(default_factory=Waiting)
    endpoints: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Model endpoints in trouble: the kind of it, and since when."""
    incidents: Mapping[str, int] = field(default_factory=dict)
    """Open ones by kind."""
    holds: Mapping[str, int] = field(default_factory=dict)
    """By `all`, `room`, `person`, `restore`."""
    heard: Mapping[str, float] = field(default_factory=dict)
    """When the last message of each network was stored."""
    spent: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Tokens and nano-dollars of the last three days, by day of the room (`2026-11-30`)."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Model calls of one role with one outcome: `started`, `settled`, `released` or `lost`."""

    role: str
    outcome: str
    calls: int
    usage: Usage
    nano_usd: int
    estimated_tokens: int
    estimated_nano_usd: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Everything since the database began."""

    goals: Mapping[str, int] = field(default_factory=dict)
    """Final goals by state."""
    turns: Mapping[str, int] = field(default_factory=dict)
    """By how they ended; those that run are under the empty word."""
    waits: Mapping[str, int] = field(default_factory=dict)
    """By kind, open ones included."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    audits_failed: Mapping[str, int] = field(default_factory=dict)
    calls: tuple[Calls, ...] = ()
    tools: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Tool calls by tool and outcome."""
    posts: Mapping[str, int] = field(default_factory=dict)
    """Posts that are done with: `sent`, `failed` or `superseded`."""


BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds that a transaction takes, from below a millisecond to a disk that hangs."""
BOUNDS_UNITS: Final = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(slots=True)
class Commits:
    """This process's transactions since it began; written by the store's one writing thread."""

    began: float = 0.0
    """When the one that is under way began, by `time.perf_counter`; 0 between two."""
    took: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    """How many took at most as long as each bound; the last: longer than all."""
    took_s: float = 0.0
    held: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_UNITS) + 1))
    """How many held at most as many units as each bound; the last: more."""
    units: int = 0
    failed: int = 0


class Figures(Protocol):
    """Counts, each read in one snapshot."""

    async def now(self) -> Now:
        """What is open. Raises StoreBusy, StoreUnusable."""

    async def totals(self) -> Totals:
        """What there ever was. Raises StoreBusy, StoreUnusable."""
