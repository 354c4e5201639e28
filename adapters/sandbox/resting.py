"""
Confined processes that rest between two sessions over the same workspace.

To start one costs tens of milliseconds of CPU, and a goal's next turn wants the same one again.

Rule 1: nothing of the last session runs on: the server ends what a call started with that call.
Rule 2: what rests counts as idle in the pool, gives way there, and ends by itself after a while.
Rule 3: a session that is closed under a call, or whose process is gone, does not rest.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from typing import Any

from adapters.sandbox.lines import Key
from adapters.sandbox.session import ConfinedSession
from adapters.sandbox.trees import ConfinedTree
from bot.errors import NoSandbox
from bot.ports.sandbox import Access, Outcome

Place = tuple[str, Access, Key | None]
"""A workspace's name, how it is seen, and its way to the network."""


class Resting:
    """The sessions that nobody has, by place: one each."""

    def __init__(self, most_s: float) -> None:
        """Each rests for `most_s` seconds at most."""
        self._most_s = most_s
        self._resting: dict[Place, tuple[ConfinedSession, asyncio.TimerHandle]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def take(self, place: Place) -> "HeldSession | None":
        """The session that rests there, if its process still lives."""
        session, timer = self._resting.pop(place, (None, None))
        if session is None or timer is None:
            return None
        timer.cancel()
        if session.is_alive:
            return self.hold(place, session)
        self._end(session)
        return None

    def hold(self, place: Place, session: ConfinedSession) -> "HeldSession":
        """The session as its user has it: closing it lets it rest."""
        return HeldSession(place, session, self)

    async def leave(self, place: Place, session: ConfinedSession) -> None:
        """Let it rest, or close it."""
        if session.is_busy or not session.is_alive or place in self._resting:
            await session.close()
            return
        timer = asyncio.get_running_loop().call_later(self._most_s, self._lapsed, place)
        self._resting[place] = session, timer

    async def close(self) -> None:
        """End all that rests."""
        for place in list(self._resting):
            self._lapsed(place)
        while self._ending:
            await asyncio.gather(*self._ending)

    def _lapsed(self, place: Place) -> None:
        session, timer = self._resting.pop(place)
        timer.cancel()
        self._end(session)

    def _end(self, session: ConfinedSession) -> None:
        task = asyncio.get_running_loop().create_task(session.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


class HeldSession:
    """A session of the sandbox port, over a process that may rest after it."""

    def __init__(self, place: Place, session: ConfinedSession, resting: Resting) -> None:
        self._place = place
        self._session = session
        self._resting = resting
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The outermost confined process, while there is one."""
        return self._session.pid

    @property
    def tree(self) -> ConfinedTree:
        """As in the port."""
        return self._open().tree

    async def call(self, tool: str, args: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        """As in the port."""
        return await self._open().call(tool, args, timeout_s=timeout_s)

    async def digest(self) -> str:
        """As in the port."""
        return await self._open().digest()

    async def hashes(self, paths: tuple[str, ...]) -> Mapping[str, str | None]:
        """As in the port."""
        return await self._open().hashes(paths)

    async def put(self, path: str, hash: str, pieces: AsyncIterable[bytes]) -> str:
        """As in the port."""
        return await self._open().put(path, hash, pieces)

    def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        """As in the port."""
        return self._open().take(path, most=most)

    async def close(self) -> None:
        """As in the port: what runs is ended; the idle process may rest."""
        if not self._is_closed:
            self._is_closed = True
            await self._resting.leave(self._place, self._session)

    def _open(self) -> ConfinedSession:
        if self._is_closed:
            raise NoSandbox("The session is closed. Open another one.")
        return self._session
