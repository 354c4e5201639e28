"""
Sessions over confined processes, of which only so many live at a time.

Rule 1: a session without a process gets a new one at its next call; the least recently used idle
        one gives its own up for it, those with something in the background last. Files stay, what ran,
        the shell's directory and variables do not, and the agent is told so.
Rule 2: one call of a session at a time.
Rule 3: a process that dies under a call is that call's result; only one that cannot be started is
        an error.
"""

import asyncio
import base64
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from adapters.sandbox.channel import Channel, Gone
from adapters.sandbox.inside.background import RUNNING
from adapters.sandbox.inside.limits import MIB, Limits
from adapters.sandbox.trees import ConfinedTree
from bot.errors import BadInput, NoSandbox
from bot.ports.sandbox import Outcome

Start = Callable[[], Awaitable[Channel]]

_GRACE_S = 10.0
"""What the server may take beyond a call's own limit before it counts as hung."""
_WHOLE_TREE_S = 130.0
_PIECE_S = 60.0
_PIECE_BYTES = 1024 * 1024
_NOTES_CHARS = 4_000
"""What the server's notes may add to an output at its limit."""
_BACKGROUND = 64
_RUNNING_TOOLS = ("bash", "poll", "kill")
_RESTARTED = "[The shell was started anew: its directory and variables are not those from before.]"


class Pool:
    """Keeps at most `most` confined processes alive."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._living: OrderedDict[ConfinedSession, None] = OrderedDict()
        self._waiters: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._living)

    async def admit(self, session: "ConfinedSession") -> None:
        """Give a place, waiting for one or taking that of the longest idle session."""
        while session not in self._living:
            if len(self._living) < self._most:
                self._living[session] = None
                return
            idle = min(
                (each for each in self._living if not each.is_busy),
                key=lambda each: each.is_running,
                default=None,
            )
            if idle is not None:
                del self._living[idle]
                self._living[session] = None
                await idle.give_up()
                return
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def used(self, session: "ConfinedSession") -> None:
        """Mark a session as the most recently used."""
        if session in self._living:
            self._living.move_to_end(session)

    def leave(self, session: "ConfinedSession") -> None:
        """Give the place back."""
        self._living.pop(session, None)
        self.look_again()

    def look_again(self) -> None:
        """A session has left or become idle: whoever waits for a place may look."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class ConfinedSession:
    """A session of the sandbox port over one workspace."""

    def __init__(self, start: Start, pool: Pool, limits: Limits) -> None:
        self._start = start
        self._pool = pool
        self._limits = limits
        self._channel: Channel | None = None
        self._turn = asyncio.Lock()
        self._calls = 0
        self._has_shell = False
        self._lost_shell = False
        self._is_closed = False
        self._background: dict[str, str] = {}
        self._kills = 0

    async def begin(self) -> None:
        """Start the process now, so that a sandbox that does not work shows at once.

        Raises:
            NoSandbox: it cannot be started.
        """
        async with self._turn:
            await self._open()
        self._pool.look_again()

    @property
    def is_busy(self) -> bool:
        """True while a call runs."""
        return self._turn.locked()

    @property
    def background(self) -> Mapping[str, str]:
        """What it has in the background, by id: `running`, or how it ended."""
        return self._background

    @property
    def is_running(self) -> bool:
        """True while something runs in the background."""
        return RUNNING in self._background.values()

    @property
    def is_alive(self) -> bool:
        """True while its process lives."""
        return self._channel is not None and self._channel.is_alive

    @property
    def pid(self) -> int | None:
        """The outermost confined process, while there is one."""
        return self._channel.pid if self._channel is not None else None

    @property
    def tree(self) -> ConfinedTree:
        """As in the port."""
        return ConfinedTree(self._transfer)

    async def call(self, tool: str, args: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        """As in the port.

        Raises:
            NoSandbox: the process had ended and could not be started again.
        """
        allowed_s = min(timeout_s, self._limits.longest_call_s)
        try:
            answer = await self._ask(tool, args, allowed_s)
        except Gone:
            return Outcome(False, _ended(tool))
        except TimeoutError:
            return Outcome(False, _ended(tool), timed_out=True)
        return self._outcome(tool, answer)

    async def digest(self) -> str:
        """As in the port."""
        return str((await self._look("digest", {})).get("text", ""))

    async def hashes(self, paths: tuple[str, ...]) -> Mapping[str, str | None]:
        """As in the port."""
        given = (await self._look("hashes", {"paths": list(paths)})).get("hashes")
        found = given if isinstance(given, dict) else {}
        return {path: _text_or_none(found.get(path)) for path in paths}

    async def put(self, path: str, hash: str, pieces: AsyncIterable[bytes]) -> str:
        """As in the port."""
        at, of = 0, {"path": path, "hash": hash}
        async for piece in pieces:
            for part in _parts(piece):
                data = base64.b64encode(part).decode("ascii")
                await self._transfer("put", {**of, "at": at, "data": data})
                at += len(part)
        if not at:
            await self._transfer("put", {**of, "at": 0, "data": ""})
        return _text((await self._transfer("place", of)).get("path", path), len(path) + 4)

    async def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        """As in the port."""
        at, mark = 0, None
        while True:
            answer = await self._transfer("take", {"path": path, "at": at, "most": most})
            if mark not in (None, answer.get("mark")):
                raise BadInput(f"{path} was changed while it was read. Take it when it is done.")
            mark = answer.get("mark")
            piece = _decoded(answer.get("data"))
            at += len(piece)
            if at > most:
                raise BadInput(f"{path} has more than {most} bytes, as many as can be shared.")
            if not piece:
                return
            yield piece
            if at == answer.get("size"):
                return

    async def close(self) -> None:
        """As in the port."""
        self._is_closed = True
        await self.give_up()
        async with self._turn:
            # A call that was about to start its process may have done so meanwhile.
            await self.give_up()
        self._pool.leave(self)

    async def give_up(self) -> None:
        """End the process; the next call starts another."""
        channel, self._channel = self._channel, None
        self._background = {}
        if channel is not None:
            self._lost_shell = self._has_shell
            await channel.end()

    async def _look(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._ask(tool, args, _WHOLE_TREE_S)
        except (Gone, TimeoutError) as error:
            raise NoSandbox(
                "The sandbox ended while the workspace was looked at. Try again; if it "
                "lasts, run `headway doctor`."
            ) from error
        if answer.get("ok") is not True:
            raise NoSandbox(f"The workspace could not be looked at: {answer.get('text')}")
        return answer

    async def _transfer(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._ask(tool, args, _PIECE_S)
        except (Gone, TimeoutError) as error:
            raise NoSandbox(
                "The sandbox ended while a file went through its wall. Try again."
            ) from error
        if answer.get("ok") is not True:
            raise BadInput(_text(answer.get("text", ""), self._limits.output_chars))
        return answer

    async def _ask(self, tool: str, args: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        frame = {"tool": tool, "args": dict(args), "timeout_s": timeout_s}
        try:
            async with self._turn:
                channel = await self._open()
                self._calls += 1
                try:
                    answer = await channel.call(self._calls, frame, timeout_s + _GRACE_S)
                    return self._with_memory(channel, tool, answer)
                finally:
                    if not channel.is_alive:
                        await self.give_up()
        finally:
            self._pool.look_again()

    def _with_memory(self, channel: Channel, tool: str, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer, with a note where the kernel has ended something for its use of memory."""
        if channel.group is None or tool not in _RUNNING_TOOLS:
            return answer
        kills, self._kills = self._kills, channel.group.kills()
        if self._kills <= kills:
            return answer
        most = self._limits.memory_bytes // MIB
        note = f"[What ran used more than {most} MiB of memory together, so a process was ended.]"
        return {**answer, "text": f"{answer.get('text', '')}\n{note}"}

    async def _open(self) -> Channel:
        if self._is_closed:
            raise NoSandbox("The session is closed. Open another one.")
        channel = self._channel
        if channel is not None and channel.is_alive:
            self._pool.used(self)
            return channel
        await self.give_up()
        await self._pool.admit(self)
        try:
            self._channel = await self._start()
        except BaseException:
            self._pool.leave(self)
            raise
        self._channel.news = self._heard
        self._kills = 0
        return self._channel

    def _heard(self, frame: Mapping[str, Any]) -> None:
        """Take what a frame says of the background."""
        given = frame.get("background")
        if isinstance(given, dict):
            # As many as a server remembers, and a few more.
            told = list(given.items())[-_BACKGROUND:]
            self._background = {_text(id, 32): _text(state, 300) for id, state in told}

    def _outcome(self, tool: str, answer: dict[str, Any]) -> Outcome:
        self._heard(answer)
        text = _text(answer.get("text", ""), self._limits.output_chars)
        if tool == "bash":
            if self._lost_shell:
                text = f"{_RESTARTED}\n{text}"
            self._has_shell, self._lost_shell = True, False
        read = answer.get("read")
        code = answer.get("exit_code")
        return Outcome(
            ok=answer.get("ok") is True,
            text=text,
            changed=answer.get("changed") is True,
            read=_hashes(read) if isinstance(read, dict) else None,
            exit_code=code if isinstance(code, int) else None,
            timed_out=answer.get("timed_out") is True,
        )


def _parts(piece: bytes) -> Iterator[bytes]:
    for at in range(0, len(piece), _PIECE_BYTES):
        yield piece[at : at + _PIECE_BYTES]


def _decoded(given: object) -> bytes:
    """A piece from inside, which is the word of a stranger."""
    try:
        return base64.b64decode(given if isinstance(given, str) else "", validate=True)
    except ValueError:
        raise BadInput("What came out of the sandbox is no piece of a file.") from None


def _ended(tool: str) -> str:
    return (
        f"The sandbox ended while {tool} ran, with everything in it. What {tool} had done by then "
        "is not known: check it. The next call starts a new sandbox over the same files."
    )


def _text(given: object, most: int) -> str:
    """What came from inside, as text that can be stored and sent: no NUL, no half characters."""
    text = str(given)[: most + _NOTES_CHARS]
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _hashes(given: Mapping[object, object]) -> dict[str, str]:
    """A file whose name is no text cannot be kept track of."""
    named = {str(path): str(value) for path, value in given.items()}
    return {path: value for path, value in named.items() if path.isascii() or _is_text(path)}


def _is_text(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
