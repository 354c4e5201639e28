"""
Running children and ending them, wherever they have hidden.

Rule 1: whatever a call has started is dead before its reply is sent.
Rule 2: as pid 1 of its own namespace the server can be neither killed nor stopped from inside, and
        one `kill(-1)` reaches every other process at once, `setsid` and double forks included.
        Without a namespace the server is the subreaper of its descendants and finds them in /proc.
"""

import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from adapters.sandbox.inside.link import Link

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_TICK_S = 0.1
_DYING_S = 5.0


class Ending(NamedTuple):
    """How a child came to its end: `ended`, `timeout`, `cancelled`, or the guard's sentence."""

    cause: str
    status: int | None
    """Exit code, negative for a signal; None when it was ended by us."""
    left_running: int
    """Processes that were still there when the child itself had ended."""


def seclude() -> None:
    """Hide the server's memory from its children, and become the reaper of their orphans."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if os.getpid() != 1:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def attend(
    link: Link,
    call: int,
    pid: int,
    output: int,
    take: Callable[[bytes], None],
    deadline: float,
    guard: Callable[[], str | None],
) -> Ending:
    """Feed a child's output to `take` until it ends, is withdrawn, too late or stopped by `guard`.

    `deadline` is on the monotonic clock. Everything the child left behind is dead on return.

    Raises:
        BotGone: the bot is silent; nothing was killed yet.
    """
    os.set_blocking(output, False)
    watch = os.pidfd_open(pid)
    try:
        cause = _watch(link, call, watch, output, take, deadline, guard)
        left_running = len(living()) - 1 if cause == "ended" else 0
        statuses = end_all()
        _drain(output, take)
    finally:
        os.close(watch)
        os.close(output)
    status = os.waitstatus_to_exitcode(statuses[pid]) if pid in statuses else None
    return Ending(cause, status if cause == "ended" else None, max(0, left_running))


def living() -> list[int]:
    """Pids of all processes of the sandbox but the server, zombies included."""
    return _others() if os.getpid() == 1 else _descendants()


def end_all() -> dict[int, int]:
    """Kill every process but the server and reap them; gives wait statuses by pid."""
    statuses: dict[int, int] = {}
    give_up = time.monotonic() + _DYING_S
    while time.monotonic() < give_up:
        _kill_all()
        if not _reap(statuses):
            break
        time.sleep(0.001)
    return statuses


def _watch(
    link: Link,
    call: int,
    watch: int,
    output: int,
    take: Callable[[bytes], None],
    deadline: float,
    guard: Callable[[], str | None],
) -> str:
    poller = select.poll()
    for fd in (link.fd, watch, output):
        poller.register(fd, select.POLLIN)
    guarded = time.monotonic() + _TICK_S
    while True:
        now = time.monotonic()
        if now >= deadline:
            return "timeout"
        if now >= guarded:
            link.check()
            if (broken := guard()) is not None:
                return broken
            guarded = time.monotonic() + _TICK_S
        ready = {fd for fd, _ in poller.poll(1000 * min(deadline - now, _TICK_S) + 1)}
        if link.fd in ready:
            link.take()
            if link.is_cancelled(call):
                return "cancelled"
        if output in ready and not _move(output, take):
            poller.unregister(output)
        if watch in ready:
            return "ended"


def _move(output: int, take: Callable[[bytes], None]) -> bool:
    """False at the end of the output."""
    try:
        block = os.read(output, 65536)
    except BlockingIOError:
        return True
    if block:
        take(block)
    return bool(block)


def _drain(output: int, take: Callable[[bytes], None]) -> None:
    # Nobody is left to write, so this ends with what the pipe still holds.
    with contextlib.suppress(BlockingIOError):
        while block := os.read(output, 65536):
            take(block)


def _kill_all() -> None:
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in _descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _reap(statuses: dict[int, int]) -> bool:
    """Collect the dead; False when no child is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        statuses[pid] = status


def _others() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and name != "1"]


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The name in brackets may hold anything; the parent is the second field after it.
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    open_ = [os.getpid()]
    while open_:
        mine = children.get(open_.pop(), [])
        found += mine
        open_ += mine
    return found
