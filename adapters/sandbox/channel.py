"""
One confined process, as the bot holds it: frames out, frames in, heartbeats, an end.

Rule 1: a frame from inside is the word of a stranger: bounded, and read as data only.
Rule 2: `end` returns only when the process is dead and reaped.
"""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from adapters.sandbox.inside.link import NEWS
from bot.errors import NoSandbox

_LARGEST = 32 * 1024 * 1024
_READY_S = 15.0
_CLOSING_S = 3.0
_BEATS_PER_LIMIT = 5
_HEARTBEAT = b"\0\0\0\0"


class Around(Protocol):
    """What is around a process: a control group, a container."""

    def kills(self) -> int:
        """How often the kernel has ended something in it for want of memory."""

    def remove(self, *, is_forced: bool) -> None:
        """Take it away; `is_forced` where the process had to be killed."""


class Gone(Exception):
    """The confined process has ended, or spoke nonsense and was ended."""


class Channel(asyncio.Protocol):
    """Calls to the tool server of one confined process, one at a time."""

    def __init__(self, heartbeat_s: float) -> None:
        self._beat_s = heartbeat_s / _BEATS_PER_LIMIT
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: asyncio.Future[dict[str, Any]] | None = None
        self._waiting_for = 0
        self._beat: asyncio.TimerHandle | None = None
        self._lost = asyncio.Event()
        self.group: Around | None = None
        self.news: Callable[[dict[str, Any]], None] = lambda frame: None
        """Takes what the server tells without being asked."""

    @classmethod
    async def start(
        cls,
        arguments: Sequence[str],
        *,
        heartbeat_s: float,
        pass_fds: Sequence[int] = (),
        environment: dict[str, str] | None = None,
        cwd: str = "/",
        explain: Callable[[str], str] = str,
        group: Around | None = None,
    ) -> "Channel":
        """Start the process and wait until its server is ready.

        `group` is what is around it, and goes with it.
        `explain` turns what it printed before it failed into a sentence with a mend.

        Raises:
            NoSandbox: it did not start.
        """
        channel = cls(heartbeat_s)
        channel.group = group
        log = os.memfd_create("log")
        ours, theirs = socket.socketpair()
        try:
            # Started on the loop's own thread: the kernel ends it with the thread that made it.
            channel._process = subprocess.Popen(  # noqa: ASYNC220
                arguments,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=log,
                pass_fds=pass_fds,
                env=environment or {},
                cwd=cwd,
            )
            theirs.close()
            channel._waiting = asyncio.get_running_loop().create_future()
            await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
            # Not `wait_for`, which in Python 3.11 swallows a cancellation that comes with the answer.
            async with asyncio.timeout(_READY_S):
                await channel._waiting
        except (OSError, Gone, TimeoutError) as error:
            await channel.end()
            raise NoSandbox(explain(_printed(log) or str(error) or "no answer")) from error
        except asyncio.CancelledError:
            await channel.end()
            raise
        finally:
            theirs.close()
            os.close(log)
            if channel._transport is None:
                ours.close()
        return channel

    @property
    def is_alive(self) -> bool:
        """False once the process has ended."""
        return not self._lost.is_set()

    @property
    def pid(self) -> int:
        """The outermost process."""
        assert self._process is not None
        return self._process.pid

    async def call(self, number: int, frame: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send one call and wait for its answer; cancelled, the call is dead on return.

        Raises:
            Gone: the process has ended.
            TimeoutError: no answer came; the process was ended.
        """
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[dict[str, Any]] = loop.create_future()
        self._waiting = waiting
        self._waiting_for = number
        if not self.is_alive:
            raise Gone
        self._send({"id": number, **frame})
        late = loop.call_later(timeout_s, self._refuse, TimeoutError())
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():
                # Answered at the very moment: nothing is left to withdraw.
                raise
            await _to_its_end(self._withdraw(number))
            raise
        except TimeoutError:
            await self.end()
            raise
        finally:
            late.cancel()
            self._waiting = None

    async def end(self) -> None:
        """Kill everything and reap it, even when a call runs or the caller is cancelled."""
        process, self._process = self._process, None
        if process is not None:
            await _to_its_end(self._end(process))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the heartbeats."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._beat_on()

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big")
            if size > _LARGEST:
                self._break()
                return
            if len(buffer) < 4 + size:
                return
            body = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            self._answered(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has closed its end: it is dead or about to be."""
        self._lost.set()
        self._stop_beating()
        self._refuse(Gone())

    async def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._stop_beating()
        # The server ends everything when its socket closes, and bubblewrap exits only after the
        # last process of the namespace; killing bubblewrap itself would not wait for them.
        self._lost.set()
        try:
            if self._transport is not None:
                self._transport.abort()
                await _exits(process, _CLOSING_S)
        finally:
            is_forced = process.poll() is None
            if is_forced:
                process.kill()
                process.wait()
            if self.group is not None:
                self.group.remove(is_forced=is_forced)

    def _send(self, frame: dict[str, Any]) -> None:
        assert self._transport is not None
        body = json.dumps(frame, separators=(",", ":")).encode("ascii")
        self._transport.write(len(body).to_bytes(4, "big") + body)

    def _answered(self, body: bytes) -> None:
        try:
            frame = json.loads(body)
        except (ValueError, RecursionError):
            frame = None
        if not isinstance(frame, dict):
            self._break()
            return
        if frame.get("id") == NEWS:
            self.news(frame)
            return
        waiting = self._waiting
        if waiting is not None and not waiting.done() and frame.get("id") == self._waiting_for:
            waiting.set_result(frame)

    def _break(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, error: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)

    async def _withdraw(self, number: int) -> None:
        """Have a call killed inside, or end the whole process when that does not work."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            if self.is_alive:
                self._send({"cancel": number})
                await asyncio.wait_for(self._waiting, _CLOSING_S)
        except (TimeoutError, Gone):
            await self.end()

    def _beat_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_HEARTBEAT)
            self._beat = asyncio.get_running_loop().call_later(self._beat_s, self._beat_on)

    def _stop_beating(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
            self._beat = None


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, however often the caller is cancelled; only then let it be so."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


async def _exits(process: subprocess.Popen[bytes], within_s: float) -> None:
    """Wait for the process without a thread, but no longer than that."""
    if process.poll() is not None:
        return
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    fd = os.pidfd_open(process.pid)
    loop.add_reader(fd, exited.set)
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(exited.wait(), within_s)
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def _printed(log: int) -> str:
    return os.pread(log, 4000, 0).decode("utf-8", "replace").strip()
