"""
Confined processes that rest between two sessions over the same workspace.

To start one costs tens of milliseconds of CPU, and a goal's next turn wants the same one again.

Rule 1: what runs in the background ends with its session, unless that was told for whom it lives on;
        then it does so until it is released, whoever opens and closes a session there meanwhile.
Rule 2: what rests counts as idle in the pool, gives way there, and ends by itself after a while.
Rule 3: a session that is closed under a call, or whose process is gone, does not rest.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.sandbox.lines import Key
from adapters.sandbox.session import ConfinedSession, Pool
from adapters.sandbox.trees import ConfinedTree
from bot.errors import NoSandbox
from bot.ports.sandbox import Access, Outcome

Place = tuple[str, Access, Key | None]
"""A workspace's name, how it is seen, and its way to the network."""

LOOK_S = 60.0
"""How often it is looked whether what lives on still runs."""
UNREAD_S = 900.0
"""How long the output of what has ended waits for whoever reads it."""


@dataclass(slots=True)
class _Rest:
    """A session that nobody has."""

    place: Place
    timer: asyncio.TimerHandle
    lives_on: str = ""
    """For whom its background goes on; empty: it has none."""
    ended_s: float = 0.0
    """How long nothing has run in it."""


class Resting:
    """The sessions of a sandbox: those that somebody has, and those that rest."""

    def __init__(self, most_s: float) -> None:
        """An idle one rests for `most_s` seconds at most; 0: only what lives on rests."""
        self._most_s = most_s
        self._resting: dict[ConfinedSession, _Rest] = {}
        self._held: dict[ConfinedSession, Place] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def open(
        self, place: Place, begin: Callable[[], Awaitable[ConfinedSession]]
    ) -> "HeldSession":
        """The session that rests there, or a new one. Raises as `begin`."""
        taken = self._take(place)
        session, lives_on = taken if taken is not None else (await begin(), "")
        self._held[session] = place
        return HeldSession(place, session, lives_on, self)

    async def leave(self, place: Place, session: ConfinedSession, lives_on: str) -> None:
        """Let it rest, or close it."""
        self._held.pop(session, None)
        goes_on = bool(lives_on and session.background)
        if (
            session.is_busy
            or not session.is_alive
            or not (goes_on or self._may_rest(place, session))
        ):
            await session.close()
            return
        after_s = LOOK_S if goes_on else self._most_s
        self._rest(session, _Rest(place, self._in(after_s, session), lives_on if goes_on else ""))

    def processes(self, workspace: str) -> dict[str, str]:
        """What the sessions over a workspace have in the background, by id."""
        found: dict[str, str] = {}
        for session in self._all(workspace):
            found |= session.background
        return found

    def having(self, workspace: str, id: str) -> ConfinedSession | None:
        """The session over the workspace that has this in the background."""
        return next((one for one in self._all(workspace) if id in one.background), None)

    @property
    def lingering(self) -> dict[str, str]:
        """Workspaces in which something lives on, with whom it does so for."""
        rests = self._resting.values()
        return {rest.place[0]: rest.lives_on for rest in rests if rest.lives_on}

    async def release(self, workspace: str) -> None:
        """End what lives on in a workspace that nobody has open."""
        rests = self._resting.items()
        await self._closed(
            [one for one, rest in rests if rest.lives_on and _is_of(workspace, rest)]
        )

    async def end(self, workspace: str) -> None:
        """End all that rests over a workspace."""
        rests = self._resting.items()
        await self._closed([one for one, rest in rests if _is_of(workspace, rest)])

    async def close(self) -> None:
        """End all that rests."""
        for session in list(self._resting):
            self._end(self._taken_out(session))
        while self._ending:
            await asyncio.gather(*self._ending)

    async def _closed(self, sessions: Sequence[ConfinedSession]) -> None:
        # All of them at once: while one is closed, nobody takes another; who waits may go, they end still.
        ending = [self._end(self._taken_out(session)) for session in sessions]
        await asyncio.shield(asyncio.gather(*ending))

    def _take(self, place: Place) -> tuple[ConfinedSession, str] | None:
        there = [(one, rest.lives_on) for one, rest in self._resting.items() if rest.place == place]
        for session, lives_on in sorted(there, key=lambda found: not found[1]):
            self._taken_out(session)
            if session.is_alive:
                return session, lives_on
            self._end(session)
        return None

    def _may_rest(self, place: Place, session: ConfinedSession) -> bool:
        others = (rest for rest in self._resting.values() if not rest.lives_on)
        is_first = all(rest.place != place for rest in others)
        return bool(self._most_s) and is_first and not session.is_running

    def _all(self, workspace: str) -> list[ConfinedSession]:
        held = [one for one, place in self._held.items() if place[0] == workspace]
        return held + [one for one, rest in self._resting.items() if rest.place[0] == workspace]

    def _rest(self, session: ConfinedSession, rest: _Rest) -> None:
        self._resting[session] = rest

    def _in(self, seconds: float, session: ConfinedSession) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self._lapsed, session)

    def _lapsed(self, session: ConfinedSession) -> None:
        rest = self._resting[session]
        rest.ended_s = 0.0 if session.is_running else rest.ended_s + LOOK_S
        if rest.lives_on and session.is_alive and rest.ended_s < UNREAD_S:
            rest.timer = self._in(LOOK_S, session)
            return
        self._end(self._taken_out(session))

    def _taken_out(self, session: ConfinedSession) -> ConfinedSession:
        self._resting.pop(session).timer.cancel()
        return session

    def _end(self, session: ConfinedSession) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(session.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task


def _is_of(workspace: str, rest: _Rest) -> bool:
    return rest.place[0] == workspace


class Keeps:
    """What every sandbox does with what lives on, as in the port."""

    _resting: Resting
    _pool: Pool

    @property
    def sessions(self) -> int:
        """How many servers there are, resting ones included."""
        return len(self._pool)

    def processes(self, workspace: str) -> Mapping[str, str]:
        """As in the port."""
        return self._resting.processes(workspace)

    @property
    def lingering(self) -> Mapping[str, str]:
        """As in the port."""
        return self._resting.lingering

    async def release(self, workspace: str) -> None:
        """As in the port."""
        await self._resting.release(workspace)

    async def end(self, workspace: str) -> None:
        """End the processes that rest over a workspace, which is to be removed."""
        await self._resting.end(workspace)

    async def close(self) -> None:
        """End the processes that rest. Sessions that are open stay."""
        await self._resting.close()


class HeldSession:
    """A session of the sandbox port, over a process that may rest after it."""

    def __init__(
        self, place: Place, session: ConfinedSession, lives_on: str, resting: Resting
    ) -> None:
        self._place = place
        self._session = session
        self._lives_on = lives_on
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
        session = self._open()
        if tool in ("poll", "kill") and args.get("id") not in session.background:
            # It may have been started when the goal saw its workspace or the network otherwise.
            session = self._resting.having(self._place[0], str(args.get("id"))) or session
        return await session.call(tool, args, timeout_s=timeout_s)

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

    async def close(self, *, lives_on: str = "") -> None:
        """As in the port: what runs is ended; the idle process may rest."""
        if not self._is_closed:
            self._is_closed = True
            await self._resting.leave(self._place, self._session, lives_on or self._lives_on)

    def _open(self) -> ConfinedSession:
        if self._is_closed:
            raise NoSandbox("The session is closed. Open another one.")
        return self._session
