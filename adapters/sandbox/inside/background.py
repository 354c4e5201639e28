"""
Commands that run on while others come and go.

Rule 1: each is below a keeper, which is the reaper of all that descends from it: `setsid` and double
        forks do not lead out. When the command itself ends, so has everything below its keeper.
Rule 2: who ends a keeper makes what was below it ownerless, and what is ownerless dies with the next
        command at the latest.
Rule 3: there are only so many, each for so long, and of its output only so much is held.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from adapters.sandbox.inside.hints import hints
from adapters.sandbox.inside.launch import Launcher
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.inside.marks import BEGINS, Marks
from adapters.sandbox.inside.paths import Impossible
from adapters.sandbox.inside.processes import Family
from adapters.sandbox.inside.room import Room
from adapters.sandbox.inside.tail import Tail

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TICK_S = 1.0
_REMEMBERED = 32
_FDS = 65_536
RUNNING = "running"


class Running:
    """One background command, running or ended."""

    def __init__(self, id: str, command: str, most: int) -> None:
        self.id, self.command = id, command
        self.tail = Tail(most)
        self._most = most
        self.keeper = 0
        self.output = self.status = self.mark = -1
        self.until = 0.0
        self.ending = ""
        """How it ended; empty while it runs."""
        self.code: int | None = None
        self.is_told = False

    @property
    def is_over(self) -> bool:
        """It has ended."""
        return bool(self.ending)

    def news(self) -> str:
        """What it has printed since this was asked last."""
        text = self.tail.text()
        self.tail = Tail(self._most)
        return text


class Background:
    """The background commands of a session."""

    def __init__(
        self, root: str, limits: Limits, family: Family, launcher: Launcher, room: Room
    ) -> None:
        self._limits, self._family = limits, family
        self._launcher, self._room = launcher, room
        self._marks = Marks(root)
        self._known: dict[str, Running] = {}
        self._next_tick = 0.0
        self._has_ownerless = False
        self.tell: Callable[[], None] = lambda: None
        """Called when one has ended by itself."""
        self.tend: Callable[[], None] = lambda: None
        """Looks after what serves the commands."""

    @property
    def states(self) -> dict[str, str]:
        """Each that is remembered: `running`, or how it ended."""
        return {one.id: one.ending or RUNNING for one in self._known.values()}

    @property
    def is_running(self) -> bool:
        """Something runs."""
        return any(not one.is_over for one in self._known.values())

    def start(self, command: str) -> Running:
        """Start one.

        Raises:
            Impossible: there are too many already.
        """
        running = [one for one in self._known.values() if not one.is_over]
        if len(running) >= self._limits.background:
            names = ", ".join(one.id for one in running)
            raise Impossible(
                f"{len(running)} commands run in the background already, as many as may: {names}. "
                "End one with kill first."
            )
        self._forget()
        self.tend()
        self._room.later()
        one = Running(f"{BEGINS}{os.urandom(4).hex()}", command, self._limits.output_chars)
        one.until = time.monotonic() + self._limits.background_s
        one.mark = self._marks.make(one.id, command)
        one.output, theirs = os.pipe2(os.O_CLOEXEC)
        one.status, told = os.pipe2(os.O_CLOEXEC)
        server = os.getpid()
        one.keeper = os.fork()
        if one.keeper == 0:
            self._keep(command, theirs, told, server)
        os.close(theirs)
        os.close(told)
        for fd in (one.output, one.status):
            os.set_blocking(fd, False)
        self._family.keepers.add(one.keeper)
        self._known[one.id] = one
        return one

    def get(self, id: str) -> Running:
        """The one of that id.

        Raises:
            Impossible: there is none.
        """
        one = self._known.get(id)
        if one is None:
            there = ", ".join(self._known) or "none"
            raise Impossible(
                f"There is no background command {id}: it never was, or it has gone with the sandbox "
                f"in which it ran. There are: {there}."
            )
        return one

    def end(self, one: Running, why: str) -> None:
        """End one, with all that descends from it."""
        if one.is_over:
            return
        is_gone = self._family.end_group(one.keeper)
        if not is_gone:
            # What forks faster than it is killed ends with all the rest.
            self._family.end_all()
        self._over(one, why)

    def fds(self) -> set[int]:
        """What can become readable."""
        return {
            fd
            for one in self._known.values()
            if not one.is_over
            for fd in (one.output, one.status)
            if fd >= 0
        }

    def pause_s(self, most: float) -> float:
        """How long nobody need look when nothing becomes readable."""
        return min(most, _TICK_S) if self.is_running else most

    def look(self, ready: set[int]) -> None:
        """Take what has been printed, see who has ended, and keep the limits."""
        for one in list(self._known.values()):
            if one.output in ready and not one.is_over:
                self._take(one)
            if one.status in ready and not one.is_over:
                self._ended(one)
        now = time.monotonic()
        if now >= self._next_tick and self.is_running:
            self._next_tick = now + _TICK_S
            self._guard(now)

    def settle(self) -> None:
        """Between two calls: end what has lost its keeper, and bury the dead."""
        self._family.reap({})
        if self._has_ownerless:
            self._has_ownerless = False
            self._family.end_rest()

    def endings(self) -> list[str]:
        """What has ended by itself and was not told yet, a line each."""
        fresh = [one for one in self._known.values() if one.is_over and not one.is_told]
        for one in fresh:
            one.is_told = True
        return [f"[{one.id}: {one.ending}. Its last output: poll]" for one in fresh]

    def lost(self) -> list[str]:
        """Those of sandboxes that have ended, each told once: their ids with their commands."""
        return self._marks.left(set(self._known))

    def is_held(self, id: str) -> bool:
        """Whether it runs, here or in another sandbox over this workspace."""
        return self._marks.is_held(id)

    def _guard(self, now: float) -> None:
        self.tend()
        for one in list(self._known.values()):
            if one.is_over:
                continue
            if now >= one.until:
                self.end(one, f"ended after {self._limits.background_s:g} s")
            elif self._family.size(one.keeper) > self._limits.background_processes:
                most = self._limits.background_processes
                self.end(one, f"ended: it ran more than {most} processes at once")
            else:
                continue
            self.tell()
        breach = self._room.breach()
        if breach is not None:
            for one in self._known.values():
                self.end(one, f"ended: {breach}")
            self.tell()

    def _take(self, one: Running) -> None:
        with contextlib.suppress(BlockingIOError):
            block = os.read(one.output, 65_536)
            if block:
                one.tail.take(block)
            else:
                os.close(one.output)
                one.output = -1

    def _ended(self, one: Running) -> None:
        told = os.read(one.status, 64)
        left = self._family.size(one.keeper)
        if not self._family.end_group(one.keeper):
            self._family.end_all()
        code = int(told) if told else None
        self._has_ownerless |= code is None
        ending = _how(code)
        if left:
            ending += f"; {left} processes that it left running were ended"
        self._over(one, ending, code)
        self.tell()

    def _over(self, one: Running, ending: str, code: int | None = None) -> None:
        one.ending, one.code = ending, code
        self._family.keepers.discard(one.keeper)
        if one.output >= 0:
            with contextlib.suppress(BlockingIOError):
                while block := os.read(one.output, 65_536):
                    one.tail.take(block)
        for fd in (one.output, one.status):
            if fd >= 0:
                os.close(fd)
        one.output = one.status = -1
        self._marks.end(one.id, one.mark)

    def _forget(self) -> None:
        over = [id for id, one in self._known.items() if one.is_over]
        for id in over[: max(0, len(self._known) - _REMEMBERED)]:
            del self._known[id]

    def _keep(self, command: str, output: int, told: int, server: int) -> None:
        """The keeper's life: start the command, tell how it ended, wait to be ended itself."""
        try:
            os.setsid()
            libc = ctypes.CDLL(None)
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            _end_with(libc, server)
            keeper = os.getpid()
            pid = os.fork()
            if pid == 0:
                _end_with(libc, keeper)
                self._launcher.become(command, "background", output)
            os.closerange(3, told)
            os.closerange(told + 1, _FDS)
            while True:
                ended, status = os.wait()
                if ended == pid:
                    os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
                    os.close(told)
        except ChildProcessError:
            signal.pause()
        finally:
            os._exit(1)


def _end_with(libc: ctypes.CDLL, parent: int) -> None:
    """End when the parent does, which may have been already."""
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _how(code: int | None) -> str:
    if code is None:
        return "ended: something in the sandbox killed what watched it, so its outcome is not known"
    if code < 0:
        return f"ended by signal {-code}"
    return f"ended with exit code {code}"


def as_told(one: Running, text: str, limits: Limits) -> dict[str, Any]:
    """What the agent is told of one, with what it printed."""
    one.is_told = one.is_over
    note = f"[{one.id}: {one.ending or RUNNING}]"
    body = f"{text.rstrip()}\n{note}" if text.strip() else f"{note}\n[nothing new was printed]"
    told = "\n".join([body, *hints(text, one.code, limits)])
    return {"ok": not one.code, "text": told, "exit_code": one.code}
