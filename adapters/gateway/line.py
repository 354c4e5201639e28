"""
One goal's line: its socket, what it may reach, and what went over it.

Rule 1: whoever reaches the socket is the goal: it lies in a folder of ours that is bound into its sandbox alone.
Rule 2: what it may no longer reach is cut the moment that is said.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from adapters.gateway.exchange import closed
from adapters.gateway.placing import Held, placeholder
from adapters.gateway.proxy import Caller, House
from adapters.gateway.verdicts import Denied, Way, secrets_of
from bot.errors import HeadwayError
from bot.ports.gateway import InUse, Passed, Reach, Refusal

REFUSALS_KEPT: Final = 200
PASSED_KEPT: Final = 200
_BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 54\r\n\r\nToo many connections are open. Close some, then again.\n"
)
Value = Callable[[str], Awaitable[str]]
"""A secret's value. Raises KeyError, HeadwayError."""
Noted = Callable[[str, str, str, frozenset[str]], None]
"""Told of a goal, a host, why it was refused (empty: it was not), and the secrets that were put in."""


class GoalLine:
    """Port of one goal to the network."""

    def __init__(
        self, goal: str, reach: Reach, house: House, value: Value, key: bytes, noted: Noted
    ) -> None:
        self.goal, self.reach = goal, reach
        self._house, self._value, self._key, self._noted = house, value, key, noted
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._is_closed = False
        self._under_way: dict[asyncio.Task[object], Way | None] = {}
        self._refused: deque[Refusal] = deque(maxlen=REFUSALS_KEPT)
        self._passed: dict[str, Passed] = {}

    async def open(self, path: Path) -> None:
        """Listen there. Raises OSError."""
        self._server = await asyncio.start_unix_server(
            self._connected, path, backlog=self._house.bounds.connections
        )
        self._path = path
        await asyncio.to_thread(path.chmod, 0o600)

    async def close(self) -> None:
        """Listen no more, and end all that is under way."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def change(self, reach: Reach) -> None:
        """From now on it reaches this."""
        self.reach = reach
        for task, way in list(self._under_way.items()):
            if way is not None and not self._may_stay(way):
                self.refused(way.shown, "it may no longer be reached")
                task.cancel()

    def take_refused(self) -> tuple[Refusal, ...]:
        """What was refused since this was asked last."""
        told = tuple(self._refused)
        self._refused.clear()
        return told

    def take_passed(self) -> tuple[Passed, ...]:
        """What went where since this was asked last."""
        told = tuple(self._passed.values())
        self._passed.clear()
        return told

    async def environment(self) -> Mapping[str, str]:
        """The variables of the goal's secrets. One that does not open is left out, and noted."""
        found = {}
        for one in self.reach.secrets:
            if one.mode == "proxied":
                found[one.variable] = placeholder(self._key, self.goal, one.name)
                continue
            try:
                found[one.variable] = await self._opened(one.name)
            except Denied as error:
                self.refused(error.host, error.why)
        return found

    async def held(self, secrets: tuple[InUse, ...]) -> tuple[Held, ...]:
        """As `proxy.Owner`."""
        held = []
        for one in secrets:
            value = (await self._opened(one.name)).encode("utf-8", "surrogateescape")
            held.append(Held(one.name, placeholder(self._key, self.goal, one.name).encode(), value))
        return tuple(held)

    def allowed(self, host: str, secrets: frozenset[str] = frozenset()) -> None:
        """As `proxy.Owner`."""
        known = self._passed.pop(host, Passed(host, 0))
        put_in = dict.fromkeys((*known.secrets, *sorted(secrets)))
        self._passed[host] = Passed(host, known.count + 1, tuple(put_in))
        while len(self._passed) > PASSED_KEPT:
            del self._passed[next(iter(self._passed))]
        self._noted(self.goal, host, "", secrets)

    def refused(self, host: str, why: str) -> None:
        """As `proxy.Owner`."""
        self._refused.append(Refusal(time.time(), host, why))
        self._noted(self.goal, host, why, frozenset())

    def entered(self, way: Way | None) -> None:
        """As `proxy.Owner`."""
        task = asyncio.current_task()
        if task is not None and task in self._under_way:
            self._under_way[task] = way

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._is_closed:
            # It came at the last moment, and its task begins only now.
            writer.transport.abort()
            return
        if len(self._under_way) >= self._house.bounds.connections:
            writer.write(_BUSY)
            await closed(writer)
            return
        self._under_way[task] = None
        try:
            await Caller(self, self._house, reader, writer).serve()
        except asyncio.CancelledError:
            # It was cut; the task is this connection's own, and ends here.
            writer.transport.abort()
        finally:
            del self._under_way[task]

    def _may_stay(self, way: Way) -> bool:
        if not self._house.verdicts.may_reach(self.reach, way.name, way.port):
            return False
        # A tunnel that is opened here looks for secrets at each request; one that is passed on is to be opened.
        return bool(way.secrets) or not secrets_of(self.reach, way.name, way.port)

    async def _opened(self, name: str) -> str:
        try:
            return await self._value(name)
        except KeyError as error:
            raise Denied(f"the secret {name}", "it is not there any more", status=502) from error
        except HeadwayError as error:
            raise Denied(f"the secret {name}", "it does not open", status=502) from error


def short_folder(wanted: Path, longest_name: int) -> bool:
    """Whether sockets with names of so many bytes fit below a folder (107 bytes of a path on Linux)."""
    return len(os.fsencode(wanted)) + 1 + longest_name <= 107
