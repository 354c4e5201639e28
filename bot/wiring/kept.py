"""Something that is read now and then on one loop, and asked for from any other."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

PATIENCE_S: Final = 4.0
"""How long who asks waits for a read before the last one has to do."""


class Kept(Generic[T]):
    """Something read, kept for as long as it is fresh; one read at a time, on the main loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fresh_s: Callable[[float], float]) -> None:
        self._loop, self._fresh_s = loop, fresh_s
        self._reading: Future[T] | None = None
        self._read_at = 0.0
        self.value: T | None = None
        self.took_s = 0.0

    @property
    def age_s(self) -> float:
        """Seconds since it was read."""
        return time.monotonic() - self._read_at if self._read_at else 0.0

    async def fresh(self, read: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Read it again where it is old. A read that fails or takes long leaves the last one."""
        if self.value is not None and self.age_s < self._fresh_s(self.took_s):
            return
        if self._reading is None or self._reading.done():
            self._reading = asyncio.run_coroutine_threadsafe(self._read(read), self._loop)
        await done_within(self._reading, PATIENCE_S)

    async def _read(self, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        began = time.monotonic()
        self.value = value = await read()
        self._read_at = time.monotonic()
        self.took_s = self._read_at - began
        return value


async def done_within(future: "Future[Any]", seconds: float) -> bool:
    """Whether it ends in time, however it does; where it does not, it goes on."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: object) -> None:
        # Whoever waited may have gone, and its loop with it.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, seconds)):
            await done.wait()
    return future.done()
