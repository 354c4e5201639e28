"""The wall's clock, or one that runs faster for rehearsals."""

import asyncio
import time


class WallClock:
    """Time of this machine. With a `rate` other than 1 it runs that much faster from its start."""

    def __init__(self, rate: float = 1.0) -> None:
        self._rate = rate
        self._origin = time.time()
        self._started = time.monotonic()

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        if self._rate == 1.0:
            return time.time()
        return self._origin + (time.monotonic() - self._started) * self._rate

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of this clock's time."""
        await asyncio.sleep(max(0.0, seconds) / self._rate)
