"""
The sandbox where Docker or Podman is: the same tool server, in a container of its own for each session.

Rule 1: a container gets what is named here: the workspace, the server's code read-only, a private /tmp, and
        no network, no capability, no way to new privileges. All else is the image's, read-only.
        The server puts the filter of system calls over itself, beside the engine's own.
Rule 2: nothing is pulled while somebody waits: an image that is not there is a sentence with its mend.
Rule 3: the server ends with its input, and the container with its server. One that does not is removed by
        its name.
"""

import asyncio
import contextlib
import importlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.sandbox import lines, seccomp
from adapters.sandbox.channel import Channel
from adapters.sandbox.confinement import HOME, WORKSPACE, server_settings
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.resting import Keeps, Resting
from adapters.sandbox.session import ConfinedSession, Pool
from adapters.sandbox.workspace import a_name, folder_of, sweep
from bot.errors import NoSandbox
from bot.ports.sandbox import Access, Line, Session

ENGINES = ("docker", "podman")
_CODE = "/headway"
_START = (
    f"import sys; sys.path.insert(0, {_CODE!r}); "
    "from adapters.sandbox.inside.server import main; main()"
)
_TMP = "/tmp"  # noqa: S108 - the container's own, on a file system of its own
_PROBE_S = 60.0
_OWN_PROCESSES = 32
"""What the server, its keepers and its forwarder may be, beside the commands."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How containers are run here."""

    command: tuple[str, ...]
    """`docker` or `podman`, with what it needs before its verb."""
    image: str
    is_podman: bool
    user: str
    """Numeric, `user:group`: that of the bot, so that files of the workspace are its own."""
    further: tuple[str, ...] = ()
    """Options of `run` beside ours."""
    filter: bytes = b""
    """A seccomp program, beside that of the engine."""

    def run(
        self, name: str, workspace: str, access: Access, limits: Limits, proxy: str | None = None
    ) -> list[str]:
        """The command line of one container."""
        return [
            *(*self.command, "run", "--rm", "--interactive", "--pull", "never", "--name", name),
            *self._fences(limits),
            *self._mounts(workspace, access, limits, proxy),
            *self._environment(),
            *self.further,
            *("--workdir", WORKSPACE, "--entrypoint", "python3", self.image),
            *("-I", "-S", "-c", _START),
            server_settings(
                WORKSPACE,
                f"{_TMP}/.shell",
                limits,
                is_writable=access == "workspace",
                filter=self.filter,
            ),
        ]

    def remove(self, name: str) -> list[str]:
        """The command line that ends a container, whatever it does."""
        return [*self.command, "rm", "--force", name]

    def _fences(self, limits: Limits) -> list[str]:
        memory = str(limits.memory_bytes)
        return [
            *("--network", "none", "--hostname", "workspace", "--user", self.user),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"),
            *(["--read-only-tmpfs=false", "--userns", "keep-id"] if self._is_rootless else []),
            *(["--read-only-tmpfs=false"] if self.is_podman and not self._is_rootless else []),
            *("--pids-limit", str(2 * limits.processes + _OWN_PROCESSES)),
            *("--memory", memory, "--memory-swap", memory),
            *("--ulimit", f"nofile={limits.open_files}:{limits.open_files}"),
            *("--ulimit", "core=0:0"),
        ]

    @property
    def _is_rootless(self) -> bool:
        return self.is_podman and not self.user.startswith("0:")

    def _mounts(
        self, workspace: str, access: Access, limits: Limits, proxy: str | None
    ) -> list[str]:
        code = str(Path(__file__).parent / "inside")
        inside = f"{_CODE}/adapters/sandbox/inside"
        mounts = [
            *("--tmpfs", f"{_TMP}:rw,nosuid,nodev,exec,mode=1777,size={limits.tmp_bytes}"),
            *("--shm-size", str(limits.tmp_bytes)),
            *("--mount", f"type=bind,source={code},target={inside},readonly"),
            *("--mount", _bind(workspace, WORKSPACE, is_writable=access == "workspace")),
        ]
        if proxy is not None:
            mounts += ["--mount", _bind(proxy, lines.SOCKET, is_writable=False)]
        return mounts

    def _environment(self) -> list[str]:
        values = {
            "HOME": HOME,
            "USER": "agent",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": _TMP,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return [word for name in values for word in ("--env", f"{name}={values[name]}")]


@dataclass(frozen=True, slots=True)
class _Container:
    """What is left of a session where its client was killed."""

    engine: Engine
    name: str

    def kills(self) -> int:
        """The kernel's count is the engine's own."""
        return 0

    def remove(self, *, is_forced: bool) -> None:
        """End the container, where it did not end with its client."""
        if is_forced:
            quiet = subprocess.DEVNULL
            with contextlib.suppress(OSError):
                subprocess.Popen(
                    self.engine.remove(self.name), stdin=quiet, stdout=quiet, stderr=quiet
                )


class Containers(Keeps):
    """Makes sessions in containers."""

    def __init__(
        self,
        workspaces: Path,
        image: str,
        *,
        limits: Limits | None = None,
        max_sessions: int = 64,
        rest_s: float = 0.0,
        command: Sequence[str] = (),
        further: Sequence[str] = (),
    ) -> None:
        """`command` is found by itself when not given; `further` are options of `run` beside ours."""
        self._workspaces = workspaces
        self._image = image
        self._limits = limits or Limits()
        self._command, self._further = tuple(command), tuple(further)
        self._pool = Pool(max_sessions)
        self._resting = Resting(rest_s)
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        """As shown to people."""
        return "docker" if self._engine is None else self._engine.command[0].rpartition("/")[2]

    async def check(self) -> None:
        """As in the port: a command is run in a container over a workspace that is thrown away."""
        await asyncio.to_thread(sweep, self._workspaces)
        name = a_name()
        try:
            session = await self._begun(name, "workspace", None)
            try:
                outcome = await session.call("bash", {"command": "echo $$"}, timeout_s=_PROBE_S)
            finally:
                await session.close()
        finally:
            # Nothing but the probe has been in it, and the probe left only empty folders.
            await asyncio.to_thread(shutil.rmtree, self._workspaces / name, ignore_errors=True)
        if not outcome.ok:
            raise NoSandbox(
                f"The container starts, but a command in it fails: {outcome.text.strip()[:300]}. "
                f"Take an image with bash and Python 3.11 or later; {self._image} is set."
            )

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        """As in the port."""
        place = workspace, access, lines.key(line)
        return await self._resting.open(place, lambda: self._begun(workspace, access, line))

    async def _begun(self, workspace: str, access: Access, line: Line | None) -> ConfinedSession:
        folder = str(folder_of(self._workspaces, workspace))
        if self._engine is None:
            self._engine = await asyncio.to_thread(self._found)
        engine = self._engine

        async def start() -> Channel:
            return await self._start(engine, folder, access, line)

        session = ConfinedSession(start, self._pool, self._limits)
        await session.begin()
        return session

    async def _start(
        self, engine: Engine, folder: str, access: Access, line: Line | None
    ) -> Channel:
        # Its compiled form is left beside the source, which the container sees read-only.
        importlib.import_module("adapters.sandbox.inside.server")
        name = f"headway-{os.getpid()}-{os.urandom(6).hex()}"
        channel = await Channel.start(
            engine.run(name, folder, access, self._limits, line.socket if line else None),
            heartbeat_s=self._limits.heartbeat_s,
            environment=_own_environment(),
            explain=lambda printed: _explained(printed, engine),
            group=_Container(engine, name),
        )
        if line is not None:
            await lines.laid(channel, line, socket=lines.SOCKET, port=lines.PORT)
        return channel

    def _found(self) -> Engine:
        command = self._command or found_engine()
        told = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=_PROBE_S, check=False
        ).stdout
        return Engine(
            command=command,
            image=self._image,
            is_podman="podman" in told.lower(),
            user=f"{os.getuid()}:{os.getgid()}",
            further=self._further,
            filter=seccomp.program() or b"",
        )


def found_engine() -> tuple[str, ...]:
    """The first engine's command line on PATH.

    Raises:
        NoSandbox: there is none.
    """
    for name in ENGINES:
        place = shutil.which(name)
        if place is not None:
            return (place,)
    raise NoSandbox(
        "There is neither docker nor podman on PATH. Install one, or set HEADWAY_SANDBOX=bubblewrap."
    )


def _bind(source: str, target: str, *, is_writable: bool) -> str:
    # A comma would begin another option; the bot names workspaces, the operator their folder.
    if "," in source:
        raise NoSandbox(f"{source} has a comma, which no engine mounts. Set another state folder.")
    return f"type=bind,source={source},target={target}" + ("" if is_writable else ",readonly")


def _own_environment() -> dict[str, str]:
    """What the engine's client needs to find its engine."""
    wanted = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST")
    return {name: os.environ[name] for name in wanted if name in os.environ}


_CAUSES = (
    (
        ("Cannot connect to the Docker daemon", "connection refused", "permission denied while"),
        "no engine answers. Start it (`systemctl start docker`) and let this user use it (group docker)",
    ),
    (
        ("No such image", "image not known", "does not exist locally", "Unable to find image"),
        "its image is not here. Get it with `{command} pull {image}`, or set HEADWAY_SANDBOX_IMAGE",
    ),
    (
        ("python3", "executable file not found"),
        "its image has no python3. Set HEADWAY_SANDBOX_IMAGE to one with Python 3.11, bash and git",
    ),
)


def _explained(printed: str, engine: Engine) -> str:
    for signs, cause in _CAUSES:
        if any(sign.lower() in printed.lower() for sign in signs):
            told = cause.format(command=engine.command[0], image=engine.image)
            return f"The container does not start: {told}. (It said: {printed[-300:]})"
    return f"The container does not start: {printed[-300:]}."
