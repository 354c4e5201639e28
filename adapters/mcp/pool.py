"""
The connections to servers, of a process: begun at the first call, kept warm between turns, tried again later.

Rule 1: a goal has connections of its own: what it told a server is no other goal's.
Rule 2: a server that did not start is tried again after a while that doubles, whoever asks; at once where an
        admin has changed it, or has found it there.
Rule 3: a server that offers other tools than those that were taken is not called.
Rule 4: what it says of new tools is looked at between turns: within one nothing changes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from adapters.mcp.listing import digest_of
from adapters.mcp.losses import CallFailed, Lost
from bot.ports.mcp_servers import How, McpServer

if TYPE_CHECKING:
    # The package takes a second to load: it is when the first server is reached.
    from adapters.mcp.peer import Peer

FIRST_WAIT_S: Final = 2.0
LONGEST_WAIT_S: Final = 300.0
REST_S: Final = 60.0
"""How long the server of a goal waits for its next turn."""
CONNECTIONS_MOST: Final = 64

Reach = Callable[[str, McpServer], Awaitable["Peer"]]
"""A server for a goal's session, not begun yet. Raises Lost."""
Key = tuple[str, str, str, str, str]


class Changed(Exception):
    """A server's tools are not those that were taken."""


@dataclass
class _Failed:
    """A server that did not start: as what, why, how often, and when it is tried again."""

    how: tuple[How, str]
    why: str
    times: int
    until: float


@dataclass
class _Kept:
    """A connection, and who uses it."""

    peer: "Peer"
    is_taken: bool = True
    lapse: asyncio.TimerHandle | None = None


@dataclass
class Pool:
    """All connections."""

    reach: Reach
    rest_s: float = REST_S
    now: Callable[[], float] = time.monotonic
    _kept: dict[Key, _Kept] = field(default_factory=dict)
    _failed: dict[tuple[str, str, str, str], _Failed] = field(default_factory=dict)
    _ending: set[asyncio.Task[None]] = field(default_factory=set)

    async def take(self, session: str, server: McpServer) -> "Peer":
        """A connection for a goal's turn, which gives it back. Raises Lost, Changed, CallFailed."""
        key = _key(session, server)
        kept = self._kept.get(key)
        if kept is not None and not kept.is_taken:
            if kept.lapse is not None:
                kept.lapse.cancel()
            if kept.peer.is_alive and not kept.peer.has_changed:
                kept.is_taken, kept.lapse = True, None
                return kept.peer
            del self._kept[key]
            self._end(kept.peer)
        return await self._begun(key, session, server)

    def give(self, session: str, server: McpServer, peer: "Peer") -> None:
        """The turn is over, or the connection is lost."""
        key = _key(session, server)
        kept = self._kept.get(key)
        if kept is None or kept.peer is not peer:
            self._end(peer)
            return
        if not peer.is_alive:
            del self._kept[key]
            self._end(peer)
            return
        kept.is_taken = False
        kept.lapse = asyncio.get_running_loop().call_later(self.rest_s, self._lapsed, key, peer)

    def is_there(self, server: McpServer) -> None:
        """It has answered: whoever calls it next need not wait."""
        self._failed.pop(_place(server), None)

    async def close(self) -> None:
        """End all of them."""
        for kept in self._kept.values():
            if kept.lapse is not None:
                kept.lapse.cancel()
            self._end(kept.peer)
        self._kept.clear()
        while self._ending:
            await asyncio.gather(*self._ending, return_exceptions=True)

    async def _begun(self, key: Key, session: str, server: McpServer) -> "Peer":
        failed = self._failed.get(_place(server))
        if failed is not None and failed.how != _how(server):
            failed = None
        if failed is not None and self.now() < failed.until:
            wait = round(failed.until - self.now()) + 1
            raise Lost(f"{failed.why}; it is tried again in {wait} s")
        self._make_room()
        peer = await self.reach(session, server)
        try:
            await peer.begin()
        except Lost as why:
            times = failed.times + 1 if failed is not None else 1
            wait_s = min(FIRST_WAIT_S * 2 ** (times - 1), LONGEST_WAIT_S)
            self._failed[_place(server)] = _Failed(
                _how(server), str(why), times, self.now() + wait_s
            )
            raise
        try:
            offered = await peer.tools()
        except (Lost, CallFailed):
            await peer.close()
            raise
        except asyncio.CancelledError:
            self._end(peer)
            raise
        self.is_there(server)
        if digest_of(offered) != server.digest:
            await peer.close()
            raise Changed
        self._kept[key] = _Kept(peer)
        return peer

    def _make_room(self) -> None:
        """Somebody's rests: it goes."""
        if len(self._kept) >= CONNECTIONS_MOST:
            resting = [key for key, kept in self._kept.items() if not kept.is_taken]
            if not resting:
                raise Lost("too many servers run at once; try again later")
            kept = self._kept.pop(resting[0])
            if kept.lapse is not None:
                kept.lapse.cancel()
            self._end(kept.peer)

    def _lapsed(self, key: Key, peer: "Peer") -> None:
        kept = self._kept.get(key)
        if kept is not None and kept.peer is peer and not kept.is_taken:
            del self._kept[key]
            self._end(peer)

    def _end(self, peer: "Peer") -> None:
        task = asyncio.get_running_loop().create_task(peer.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _place(server: McpServer) -> tuple[str, str, str, str]:
    room = server.room
    return room.network, room.workspace, room.room, server.name


def _how(server: McpServer) -> tuple[How, str]:
    return server.how, server.digest


def _key(session: str, server: McpServer) -> Key:
    how = server.how
    return session, server.name, " ".join(how.command) or how.url, how.secret, server.digest
