"""
What the agent's tools do outside the conversation: one sandbox session a turn, opened when needed.

Rule 1: a sandbox that is absent or dies is a result for the agent, never an error of the turn.
Rule 2: a call with another access than the turn's has a session of its own, which ends with it, or with
        the turn where it has begun something in the background.
Rule 3: what runs in the background lives on after the turn only where the goal goes on.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from bot.errors import NoSandbox
from bot.ports.sandbox import Access, Line, Outcome, Sandbox, Session
from bot.ports.snapshots import Restored, Snapshots

GRACE_S = 5.0
"""A command's own limit ends it before the call's."""
Lines = Callable[[], Awaitable[Line | None]]
"""Gives the way to the network that the goal has now, None where it has none."""


async def no_line() -> Line | None:
    """There is no network."""
    return None


class Hands:
    """The session of one turn over its workspace."""

    def __init__(
        self,
        sandbox: Sandbox | None,
        workspace: str,
        access: Access,
        *,
        line: Lines = no_line,
    ) -> None:
        """`line` is asked when a session is opened."""
        self._sandbox, self._workspace, self._access = sandbox, workspace, access
        self._line = line
        self._session: Session | None = None
        self._further: list[Session] = []
        self._opening = asyncio.Lock()

    @property
    def are_on(self) -> bool:
        """There is a sandbox."""
        return self._sandbox is not None

    @property
    def leave_something(self) -> bool:
        """Something runs in the background, or did: nobody has seen what it writes."""
        return self._sandbox is not None and bool(self._sandbox.processes(self._workspace))

    async def call(
        self, tool: str, args: Mapping[str, Any], *, timeout_s: float, access: Access | None = None
    ) -> Outcome:
        """Run one tool. Cancelling it ends what it started.

        Args:
            access: for this call alone, where it is another than the turn's.
        """
        own_s = args.get("timeout_s")
        limit_s = timeout_s if own_s is None else own_s + GRACE_S
        try:
            if access is None or access == self._access:
                return await (await self._opened()).call(tool, args, timeout_s=limit_s)
            session = await self._begun(access)
            if args.get("background"):
                self._further.append(session)
                return await session.call(tool, args, timeout_s=limit_s)
            try:
                return await session.call(tool, args, timeout_s=limit_s)
            finally:
                await session.close()
        except NoSandbox as error:
            return Outcome(False, f"The tools are off: {error}")

    async def stale(self, read: Mapping[str, str]) -> tuple[str, ...]:
        """Which of the files that were read are not so any more."""
        if not read or self._sandbox is None:
            return ()
        try:
            now = await (await self._opened()).hashes(tuple(read))
        except NoSandbox:
            return ()
        return tuple(path for path, hash in read.items() if now.get(path) != hash)

    async def put(self, path: str, hash: str, pieces: AsyncIterable[bytes]) -> str:
        """Put a file that came into the workspace, which a turn that only reads does, too.

        Raises: as `Session.put`.
        """
        if self._access == "workspace":
            return await (await self._opened()).put(path, hash, pieces)
        if self._sandbox is None:
            raise _absent()
        session = await self._sandbox.open(self._workspace, "workspace")
        try:
            return await session.put(path, hash, pieces)
        finally:
            await session.close()

    async def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        """The bytes of a file of the workspace. Raises as `Session.take`."""
        async for piece in (await self._opened()).take(path, most=most):
            yield piece

    async def keep(self, snapshots: Snapshots, before: str) -> str:
        """Keep the workspace as it is now. Raises as `Snapshots.take`."""
        return await snapshots.take(await self._opened(), before=before)

    async def put_back(self, snapshots: Snapshots, tree: str) -> Restored:
        """Make the workspace what it was, when nothing runs in it. Raises as `Snapshots.restore`."""
        if self._sandbox is None:
            raise _absent()
        await self.close()
        session = await self._sandbox.open(self._workspace, "workspace")
        try:
            return await snapshots.restore(session, tree)
        finally:
            await session.close()

    def process(self, id: str) -> str | None:
        """`running`, or how a background command has ended; None where there is none of that id."""
        if self._sandbox is None:
            return None
        return self._sandbox.processes(self._workspace).get(id)

    async def close(self, *, lives_on: str = "", spares: bool = False) -> None:
        """End everything that the turn started.

        Args:
            lives_on: the goal for which what runs in the background goes on; empty: that ends, too.
            spares: what earlier turns left there goes on, for whomever it does.
        """
        sessions = [*self._further, *([] if self._session is None else [self._session])]
        self._session, self._further = None, []
        for session in sessions:
            await session.close(lives_on=lives_on)
        if self._sandbox is not None and not (lives_on or spares):
            await self._sandbox.release(self._workspace)

    async def _opened(self) -> Session:
        async with self._opening:
            if self._session is None:
                self._session = await self._begun(self._access)
            return self._session

    async def _begun(self, access: Access) -> Session:
        if self._sandbox is None:
            raise _absent()
        return await self._sandbox.open(self._workspace, access, await self._line())


def _absent() -> NoSandbox:
    return NoSandbox("there is no sandbox on this machine.")
