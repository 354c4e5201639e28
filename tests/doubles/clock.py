"""A clock that moves only when it is told to, or slept on."""

import asyncio


class HandClock:
    """Port Clock. Sleeping moves it, and yields once."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        """Where it stands."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Move it on."""
        self._now += max(0.0, seconds)
        await asyncio.sleep(0)

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
