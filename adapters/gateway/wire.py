"""
One end of HTTP/1.1: h11 over a pair of streams, with its time-outs.

Rule: what is sent on is written anew by h11 and never copied: no two ends can read one message apart.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import h11

from adapters.gateway.bounds import Bounds

BLOCK: Final = 64 * 1024
Event = Any
"""Of h11, or one of its two signs."""


class Quiet:
    """How long nobody has said a byte, on any way of one conversation."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._waiting: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Wait for a byte, or until it is taken. Raises TimeoutError: it was quiet for too long."""
        async with asyncio.timeout(self._idle_s) as limit:
            self._waiting.add(limit)
            try:
                yield
            finally:
                self._waiting.discard(limit)
        self._heard()

    def _heard(self) -> None:
        """Who waits on the other way waits anew."""
        until = asyncio.get_running_loop().time() + self._idle_s
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(until)


class Wire:
    """A connection as its messages."""

    def __init__(
        self,
        role: Any,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        bounds: Bounds,
        quiet: Quiet | None = None,
    ) -> None:
        """`quiet`: of the other end, too, where both are one conversation."""
        self.reader, self.writer = reader, writer
        self.quiet = quiet or Quiet(bounds.idle_s)
        self.state = h11.Connection(role, max_incomplete_event_size=bounds.head)

    async def event(self) -> Event:
        """The next one.

        Raises:
            TimeoutError, OSError, h11.RemoteProtocolError.
        """
        state: Any = self.state
        while (event := state.next_event()) is h11.NEED_DATA:
            if state.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            async with self.quiet.limit():
                state.receive_data(await self.reader.read(BLOCK))
        return event

    async def send(self, event: Event) -> None:
        """Say it. Raises TimeoutError, OSError, h11.LocalProtocolError."""
        state: Any = self.state
        data = state.send(event)
        if data:
            await write(self.writer, data, self.quiet)


async def write(writer: asyncio.StreamWriter, data: bytes, quiet: Quiet) -> None:
    """Write, and wait until it is taken. Raises TimeoutError, OSError."""
    async with quiet.limit():
        writer.write(data)
        await writer.drain()
