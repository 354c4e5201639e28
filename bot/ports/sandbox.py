"""
The one place where an agent's path is opened and an agent's command runs.

Rule 1: a path is relative to the goal's workspace and is opened inside the sandbox only.
Rule 2: what a sandbox cannot do is a result for the agent (`ok=False`), never an exception.
Rule 3: losing its worker or ending its process kills everything that a session started. So does closing
        it, but for what it is told to let live on.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bot.ports.tree import Tree

Access = Literal["read_only", "workspace"]
"""Whether the workspace can be written. What a goal's profile lets its tools do is asked before."""


@dataclass(frozen=True, slots=True)
class Line:
    """A way to the network: the proxy behind a Unix socket of the host, and what programs need for it."""

    socket: str
    certificate: str = ""
    """File of the authority that the proxy signs with; empty: it opens no encrypted connection."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Placeholders of secrets by variable, and given secrets."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gave. `text` is for the agent, cut to the output limit and saying so."""

    ok: bool
    text: str
    changed: bool = False
    """True when the workspace is not what it was before."""
    read: Mapping[str, str] | None = None
    """Hash (sha256 hex) of each file this call read whole or in part, by workspace path."""
    exit_code: int | None = None
    timed_out: bool = False


class Session(Protocol):
    """A goal's hands: one confined process group over one workspace."""

    async def call(self, tool: str, args: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        """Run `read`, `write`, `edit`, `glob`, `grep`, `bash`, `poll` or `kill` inside; arguments as in
        bot.tools.

        `fresh`, an argument of `bash` that the agent has not, runs the command in a shell of its own.
        `held`, which the agent has not either, is ok where a background command with that id runs over
        the same workspace, whoever has started it.
        Cancelling the await kills what the call started before it returns.

        Raises:
            NoSandbox: the sandbox itself died and could not be started again.
        """

    async def digest(self) -> str:
        """A hash over the workspace's tree (names, kinds, sizes, contents): has anything changed?"""

    async def hashes(self, paths: tuple[str, ...]) -> Mapping[str, str | None]:
        """sha256 hex of each workspace file now, None where it is gone."""

    async def put(self, path: str, hash: str, pieces: AsyncIterable[bytes]) -> str:
        """Put a file there whose SHA-256 (hexadecimal) is `hash`; returns the path that it has.

        Nothing is replaced: where another file is, it gets a number. Put again, it is the same file.

        Raises:
            BadInput: it cannot be put there, and why.
            NoSandbox: as `call`, or the sandbox ended meanwhile.
        """

    def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        """The bytes of a regular file of the workspace, of at most `most` bytes, in pieces.

        Raises:
            BadInput: there is none, it leads out of the workspace, is too large, or was changed
                while it was read.
            NoSandbox: as `put`.
        """

    @property
    def tree(self) -> Tree:
        """All that is in the workspace, to be kept or put back."""

    async def close(self, *, lives_on: str = "") -> None:
        """End every process of the session; idempotent.

        Args:
            lives_on: for whom what runs in the background goes on, until it is released.
        """


class Sandbox(Protocol):
    """Makes sessions. Holds no state of a goal."""

    @property
    def name(self) -> str:
        """`bubblewrap`, `none` ..., as shown to people."""

    async def check(self) -> None:
        """Prove by trying that commands run confined.

        Raises:
            NoSandbox: the cause, and how to mend it.
        """

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        """A session over the workspace folder of that name, made with its six folders if absent.

        Args:
            line: its only way out; None: there is no network.

        Raises:
            NoSandbox: it cannot be started; nothing runs unconfined instead.
        """

    def processes(self, workspace: str) -> Mapping[str, str]:
        """What runs there in the background or has ended lately, by id: `running`, or how it ended.

        What is not in it is gone.
        """

    @property
    def lingering(self) -> Mapping[str, str]:
        """Workspaces that nobody has open and in which something lives on, with whom it does so for."""

    async def release(self, workspace: str) -> None:
        """End what lives on there."""
