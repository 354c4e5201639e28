"""
Programs that run for long, each behind a wall of its own: port Programs.

Rule 1: the wall is that of the agent's commands: another folder, the same system, no network.
Rule 2: a command line that the operator trusts, word for word, runs without the wall.
Rule 3: the kernel ends a program when the bot's process ends, and behind a wall all that it started; without
        one only `end` does that.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Collection, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Final

from adapters.sandbox import seccomp
from adapters.sandbox.bubblewrap import _help, find_bwrap, this_python
from adapters.sandbox.confinement import HOME, WORKSPACE, Wall, in_memory, synthesized_files
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.workspace import folder_of
from bot.errors import NoSandbox
from bot.ports.programs import Program

_PIECE_BYTES: Final = 64 * 1024
_TOLD_BYTES: Final = 2_000
_ENDING_S: Final = 3.0
_SHOWN: Final = ("PATH", "HOME", "LANG", "USER")
"""What a trusted program gets of the bot's environment."""
_LAUNCH: Final = """\
import ctypes, json, os, resource, signal, sys
given = json.loads(sys.argv[1])
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
for name, limit in given["limits"].items():
    which, hard = getattr(resource, name), resource.getrlimit(getattr(resource, name))[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(which, (limit, limit))
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]} cannot be run: {error.strerror}")
"""
"""Ends with its parent, under limits: what `adapters.sandbox.inside.shell` sets for a command."""


class WalledPrograms:
    """Port Programs, by bubblewrap."""

    def __init__(
        self,
        folders: Path,
        *,
        trusted: Collection[tuple[str, ...]] = (),
        shown: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
        limits: Limits | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            folders: where each program's own folder is.
            trusted: command lines that run without a wall.
            shown: folders that programs see read-only, beside the system.
            hidden: folders that none may see.
            limits: of memory, processes and files, as of commands.
        """
        self._folders, self._trusted = folders, frozenset(trusted)
        self._shown, self._hidden = shown, hidden
        self._limits = limits or Limits()
        self._made: Wall | None = None

    async def sweep(self) -> None:
        """Remove the folders that a process left which was killed. Only before anything is started."""
        await asyncio.to_thread(shutil.rmtree, self._folders, ignore_errors=True)

    async def start(self, name: str, command: Sequence[str]) -> Program:
        """As in the port."""
        if not command or any("\0" in word for word in command):
            raise NoSandbox("That is no command line. Give the program and its arguments.")
        place = folder_of(self._folders, f"{name}-{token_hex(8)}")
        if tuple(command) in self._trusted:
            return await self._started([*self._launch({}), *command], place, ())
        files = synthesized_files()
        found = seccomp.program()
        filter_fd = in_memory(found) if found else None
        fds = [*files.values(), *([] if filter_fd is None else [filter_fd])]
        try:
            if self._made is None:
                self._made = await asyncio.to_thread(self._wall)
            wall = self._made.arguments(str(place), "workspace", files, filter_fd)
            return await self._started([*self._walled(wall, str(place)), *command], place, fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _wall(self) -> Wall:
        bwrap = find_bwrap()
        return Wall(
            bwrap=bwrap,
            python=this_python(),
            limits=self._limits,
            hidden=(*self._hidden, str(self._folders)),
            forbids_namespaces="--disable-userns" in _help(bwrap),
        )

    def _walled(self, wall: list[str], place: str) -> list[str]:
        """The wall's own command line, up to where its server would be started."""
        words = [word for word in wall[: wall.index("--")] if word != "--as-pid-1"]
        at, limits = words.index(place), self._limits
        own = ["--size", str(limits.tmp_bytes), "--tmpfs", WORKSPACE, "--dir", HOME]
        bound = [word for each in self._shown for word in ("--ro-bind", each, each)]
        # Nobody measures what it writes: its folder is in memory, and of a size.
        words[at - 1 : at + 2] = [*own, *bound]
        return [*words, "--", *self._launch({
            "RLIMIT_CORE": 0,
            "RLIMIT_FSIZE": limits.workspace_bytes,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_DATA": limits.memory_bytes,
            "RLIMIT_AS": 16 * limits.memory_bytes,
            "RLIMIT_NPROC": 2 * limits.processes,
        })]  # fmt: skip

    def _launch(self, limits: dict[str, int]) -> list[str]:
        given = json.dumps({"limits": limits})
        return [this_python().executable, "-I", "-S", "-c", _LAUNCH, given]

    async def _started(
        self, command: list[str], place: Path, fds: Sequence[int]
    ) -> "RunningProgram":
        kept = {name: os.environ[name] for name in _SHOWN if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_PIECE_BYTES,
                pass_fds=fds,
                env=kept,
                cwd=place,
                start_new_session=True,
            )
        except OSError as error:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            raise NoSandbox(f"A program cannot be started: {error.strerror}.") from error
        return RunningProgram(process, place)


class RunningProgram:
    """Port Program."""

    def __init__(self, process: asyncio.subprocess.Process, place: Path) -> None:
        self._process, self._place = process, place
        self._told = bytearray()
        self._listening = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        """Of the outermost process."""
        return self._process.pid

    async def read(self) -> bytes:
        """As in the port."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(_PIECE_BYTES)

    async def write(self, piece: bytes) -> None:
        """As in the port."""
        assert self._process.stdin is not None
        self._process.stdin.write(piece)
        await self._process.stdin.drain()

    def told(self) -> str:
        """As in the port."""
        return bytes(self._told).decode("utf-8", "replace").strip()

    async def end(self) -> None:
        """As in the port."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_S):
                await self._process.wait()
        self._listening.cancel()
        # What outlives its group still holds the pipes: they are ours to close.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        await asyncio.to_thread(shutil.rmtree, self._place, ignore_errors=True)

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(_PIECE_BYTES):
            self._told += piece
            del self._told[:-_TOLD_BYTES]
