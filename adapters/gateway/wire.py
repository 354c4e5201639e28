"""
One end of HTTP/1.1: h11 over a pair of streams, with its time-outs.

Rule: what is sent on is written anew by h11 and never copied: no two ends can read one message apart.
"""

import asyncio
from typing import Any, Final

import h11

from adapters.gateway.bounds import Bounds

BLOCK: Final = 64 * 1024
Event = Any
"""Of h11, or one of its two signs."""


class Wire:
    """A connection as its messages."""

    def __init__(
        self,
        role: Any,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        bounds: Bounds,
    ) -> None:
        self.reader, self.writer, self._bounds = reader, writer, bounds
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
            async with asyncio.timeout(self._bounds.idle_s):
                state.receive_data(await self.reader.read(BLOCK))
        return event

    async def send(self, event: Event) -> None:
        """Say it. Raises TimeoutError, OSError, h11.LocalProtocolError."""
        state: Any = self.state
        data = state.send(event)
        if data:
            await write(self.writer, data, self._bounds.idle_s)


async def write(writer: asyncio.StreamWriter, data: bytes, idle_s: float) -> None:
    """Write, and wait until it is taken. Raises TimeoutError, OSError."""
    async with asyncio.timeout(idle_s):
        writer.write(data)
        await writer.drain()
