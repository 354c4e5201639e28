"""
Messages of one thread one after the other, threads beside each other.

Rule: a thread that has to wait (its network is away) holds up no other.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from bot.ports.chat import Place
from bot.ports.mail import Received

Work = Callable[[Sequence[Received]], Coroutine[Any, Any, None]]


class Lanes:
    """The threads in which something is being handled."""

    def __init__(self, work: Work) -> None:
        """`work` handles messages of one thread, in their order."""
        self._work = work
        self._lanes: dict[Place, asyncio.Task[None]] = {}

    def begin(self, waiting: Sequence[Received]) -> None:
        """Begin on each thread in which something waits and that nobody is at."""
        rows: defaultdict[Place, list[Received]] = defaultdict(list)
        for row in waiting:
            rows[row.message.place].append(row)
        for place, lane in rows.items():
            if place not in self._lanes:
                self._lanes[place] = asyncio.create_task(self._work(lane))

    def end(self) -> bool:
        """Let go of those that are done; whether any goes on. Raises the first error of one."""
        done = {place: lane for place, lane in self._lanes.items() if lane.done()}
        for place in done:
            del self._lanes[place]
        for error in filter(None, [lane.exception() for lane in done.values()]):
            raise error
        return bool(self._lanes)

    async def rest(self, look: asyncio.Event, longest_s: float | None = None) -> None:
        """Until one is done or `look` is set, and no longer than `longest_s`."""
        looking = asyncio.create_task(look.wait())
        waits: set[asyncio.Task[Any]] = {looking, *self._lanes.values()}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=longest_s)
        finally:
            looking.cancel()

    async def close(self) -> None:
        """Break off what goes on: it is handled anew at the next start."""
        for lane in self._lanes.values():
            lane.cancel()
        await asyncio.gather(*self._lanes.values(), return_exceptions=True)
