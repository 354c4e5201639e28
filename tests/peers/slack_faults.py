"""
What a Slack and its network do to the bot: faults of single calls, and the schedule they come from.

Faults come from a schedule (`next_times`), used up in order, and from a seeded lottery, which never
hits the same method more than a few times running, so that a bot that tries again gets through.
"""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

MOST_RUNNING: Final = 3
"""Faults of the lottery in a row on one method."""


@dataclass(frozen=True, slots=True)
class Limited:
    """429 with `Retry-After`, in seconds; None leaves the header away."""

    retry_after_s: int | None = 1


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page of whatever stands before Slack; `passes` it on first."""

    status: int = 502
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is gone before Slack did it, after it did, or in the middle of the answer."""

    when: Literal["before", "after", "middle"] = "before"


@dataclass(frozen=True, slots=True)
class Slow:
    """It is done at once, and answered so much later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """`ok: false` with this error and what else is to be said; `passes`: it is done all the same."""

    error: str
    status: int = 200
    passes: bool = False
    further: tuple[tuple[str, str], ...] = ()


Fault = Limited | Page | Cut | Slow | Failed


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the Web API as it came by."""

    method: str
    arguments: dict[str, Any]
    token: str
    at: float
    fault: Fault | None = None
    status: int = 0
    """What was answered; 0: nothing was."""
    answer: dict[str, Any] | None = None

    @property
    def is_done(self) -> bool:
        """Whether Slack did it and said so."""
        return self.status == 200 and bool(self.answer and self.answer.get("ok"))


class Faults:
    """What happens to the next calls."""

    def __init__(self) -> None:
        self._scheduled: dict[str, deque[Fault | None]] = defaultdict(deque)
        self._chance = random.Random(0)
        self._share, self._left = 0.0, 0
        self._drawn: tuple[Fault, ...] = ()
        self._methods: frozenset[str] = frozenset()
        self._running: Counter[str] = Counter()

    def next_times(self, method: str, *faults: Fault | None) -> None:
        """What happens to the next calls of a method, in order; None: nothing does."""
        self._scheduled[method].extend(faults)

    def lottery(
        self, seed: int, share: float, faults: Sequence[Fault], *, most: int = 100_000,
        methods: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """From now on a `share` of the calls, of all `methods` or of these, meets one of `faults`."""
        self._chance = random.Random(seed)
        self._share, self._left, self._drawn = share, most, tuple(faults)
        self._methods = frozenset(methods)

    def calm(self) -> None:
        """No more faults."""
        self._scheduled.clear()
        self._left = 0

    def choose(self, method: str) -> Fault | None:
        """What happens to a call."""
        if scheduled := self._scheduled.get(method):
            return scheduled.popleft()
        if self._methods and method not in self._methods:
            return None
        hits = self._left > 0 and self._chance.random() < self._share
        if not hits or self._running[method] >= MOST_RUNNING:
            self._running[method] = 0
            return None
        self._running[method] += 1
        self._left -= 1
        return self._chance.choice(self._drawn)
