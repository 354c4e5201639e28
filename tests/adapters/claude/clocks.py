"""Clocks for tests of the limiter: one that only moves when told, one that runs fast."""

import asyncio
import heapq
import itertools
import time


class FastClock:
    """The wall's clock, `factor` times as fast."""

    def __init__(self, factor: float = 1.0) -> None:
        self._factor = factor
        self._start = time.time()

    def now(self) -> float:
        return self._start + (time.time() - self._start) * self._factor

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self._factor)


class SteppedClock:
    """Time that stands still while anybody can run, then jumps to the next sleeper."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self.time = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._count), future))
        await future

    async def run(self, seconds: float) -> None:
        """Let `seconds` of this clock pass, stopping at every sleeper on the way."""
        end = self.time + seconds
        while True:
            await settle()
            while self._sleepers and self._sleepers[0][2].done():
                heapq.heappop(self._sleepers)
            if not self._sleepers or self._sleepers[0][0] > end:
                self.time = end
                return
            due, _, future = heapq.heappop(self._sleepers)
            self.time = max(self.time, due)
            future.set_result(None)


async def settle() -> None:
    """Let everything run that can run without time passing."""
    for _ in range(30):
        await asyncio.sleep(0)
