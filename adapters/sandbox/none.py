"""
No sandbox at all: the same tools as plain processes, with the rights of the bot itself.

It is taken only when it is named. Whatever the bot's user may read, change or send, the agent may.
"""

import contextlib
import importlib
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from adapters.sandbox import lines
from adapters.sandbox.channel import Channel
from adapters.sandbox.confinement import server_settings
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.resting import Keeps, Resting
from adapters.sandbox.session import ConfinedSession, Pool
from adapters.sandbox.workspace import folder_of
from bot.errors import NoSandbox
from bot.ports.sandbox import Access, Line, Session

_START = (
    "import sys; sys.path.insert(0, sys.argv.pop()); "
    "from adapters.sandbox.inside.server import main; main()"
)


class Unconfined(Keeps):
    """Makes sessions that are confined by nothing."""

    def __init__(
        self, workspaces: Path, *, limits: Limits | None = None, max_sessions: int = 64
    ) -> None:
        self._workspaces = workspaces
        self._limits = limits or Limits()
        self._pool = Pool(max_sessions)
        self._resting = Resting(0.0)

    @property
    def name(self) -> str:
        """As shown to people, for as long as it is so."""
        return "NONE: the agent's commands run unconfined, with all rights of this process"

    async def check(self) -> None:
        """There is nothing to prove; only that bash is there.

        Raises:
            NoSandbox: it is not.
        """
        if shutil.which("bash", path=_path()) is None:
            raise NoSandbox("There is no bash on PATH. Install it.")

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        """As in the port; `read_only` cannot be kept without a sandbox and is refused.

        Raises:
            NoSandbox: it cannot be started, or the access is `read_only`.
        """
        if access == "read_only":
            raise NoSandbox(
                "Without a sandbox nothing can be made read-only, so no tools run here. "
                "Set HEADWAY_SANDBOX=bubblewrap."
            )
        folder = str(folder_of(self._workspaces, workspace))

        async def begin() -> ConfinedSession:
            session = ConfinedSession(lambda: self._start(folder, line), self._pool, self._limits)
            await session.begin()
            return session

        return await self._resting.open((workspace, access, lines.key(line)), begin)

    async def _start(self, folder: str, line: Line | None) -> Channel:
        importlib.import_module("adapters.sandbox.inside.server")
        state = os.path.join(folder, "tmp", ".shell")
        settings = server_settings(folder, state, self._limits, is_writable=True)
        code = str(Path(__file__).parents[2])
        marked = _Marked(f"HEADWAY_SESSION={os.urandom(16).hex()}")
        name, _, value = marked.mark.partition("=")
        home = os.path.join(folder, "tmp")
        channel = await Channel.start(
            [sys.executable, "-I", "-S", "-c", _START, settings, code],
            heartbeat_s=self._limits.heartbeat_s,
            environment={"PATH": _path(), "HOME": home, "LANG": "C.UTF-8", name: value},
            cwd=folder,
            group=marked,
        )
        if line is not None:
            # The loopback is the machine's own here, and another goal may have the usual port.
            await lines.laid(channel, line, socket=line.socket, port=0)
        return channel


@dataclass(frozen=True, slots=True)
class _Marked:
    """All processes of a session, known by a variable that they have inherited."""

    mark: str

    def kills(self) -> int:
        """Nobody limits their memory together."""
        return 0

    def remove(self, *, is_forced: bool) -> None:
        """End what outlived the server, which something may have killed."""
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (place / "environ").read_bytes().split(b"\0"):
                    os.kill(int(place.name), signal.SIGKILL)


def _path() -> str:
    return os.environ.get("PATH", os.defpath)
