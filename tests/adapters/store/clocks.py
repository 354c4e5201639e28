"""Time in a test's hand."""

from dataclasses import dataclass


@dataclass
class HandClock:
    """A clock that goes on when it is told to."""

    at: float = 1_000_000.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class HandTime:
    """The same, as the contract suites want it."""

    clock: HandClock

    async def now(self) -> float:
        return self.clock.at

    async def pass_by(self, seconds: float) -> None:
        self.clock.at += seconds
