"""
Running children and ending them, wherever they have hidden.

Rule 1: whatever a call has started is dead before its reply is sent, but what it was asked to leave
        in the background: that is a group of its own, below a keeper.
Rule 2: as pid 1 of its own namespace the server can be neither killed nor stopped from inside, and
        one `kill(-1)` reaches every other process at once, `setsid` and double forks included.
        Without a namespace the server is the subreaper of its descendants and finds them in /proc.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping

_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_PR_SET_CHILD_SUBREAPER = 36
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING = 1
_DYING_S = 5.0
_PATIENCE_S = 2.0
"""How long those of one group are ended one by one before everything is."""
_CROWD = 2_000
_BIRTH_S = 0.005


def seclude() -> None:
    """Hide the server's memory from its children, and become the reaper of their orphans."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    # The bot's own keyring came along; where the filter refuses this, it refuses to look into it, too.
    libc.syscall(_KEYCTL.get(os.uname().machine, -1), _JOIN_SESSION_KEYRING, None)
    if os.getpid() != 1:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def refuse_calls(program: bytes) -> None:
    """Put a filter of system calls over this process and all that it starts.

    Raises:
        OSError: the kernel does not take it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(program, len(program))
    filter = _Filter(len(program) // 8, ctypes.addressof(held))
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls can be set")


class _Filter(ctypes.Structure):
    """The kernel's `sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


class Family:
    """The processes below the server, and which of them outlive a call."""

    def __init__(self) -> None:
        self.keepers: set[int] = set()
        """Each is the reaper of one background command; it and all below it are spared."""
        self.aide = 0
        """The forwarder. It may be ended with the rest: there is another when it is needed."""

    def living(self) -> list[int]:
        """Pids of all processes of commands, zombies included."""
        known = {self.aide, *self.keepers}
        return [pid for pid in _everybody() if pid not in known]

    def rest(self) -> list[int]:
        """Pids of those that are not spared."""
        if not self.keepers:
            return self.living()
        parents = _parents()
        spared = {self.aide, *_below(self.keepers, parents)}
        mine = parents if os.getpid() == 1 else _below({os.getpid()}, parents)
        return [pid for pid in mine if pid not in spared and pid != os.getpid()]

    def running(self) -> int:
        """How many are neither spared nor dead.

        Who forks and ends is dead while nobody has seen the child yet, so where there are dead it is looked
        twice.
        """
        found = self.rest()
        count = sum(not _is_dead(pid) for pid in found)
        if count or len(found) <= 1:
            return count
        time.sleep(_BIRTH_S)
        return sum(not _is_dead(pid) for pid in self.rest())

    def size(self, keeper: int) -> int:
        """How many live below one keeper."""
        below = _below({keeper}, _parents()) - {keeper}
        return sum(not _is_dead(pid) for pid in below)

    def end_rest(self) -> dict[int, int]:
        """Kill every process that is not spared and reap it; gives wait statuses by pid.

        Where that does not succeed, as new ones come faster, all are ended.
        """
        if not self.keepers:
            return self.end_all()
        statuses: dict[int, int] = {}
        is_done = _end(self.rest)
        self.reap(statuses)
        return statuses if is_done else statuses | self.end_all()

    def end_all(self) -> dict[int, int]:
        """Kill every process but the server and reap them; gives wait statuses by pid."""
        statuses: dict[int, int] = {}
        give_up = time.monotonic() + _DYING_S
        while time.monotonic() < give_up:
            _kill_all()
            if not self.reap(statuses):
                break
            time.sleep(0.001)
        return statuses

    def end_group(self, keeper: int) -> bool:
        """Kill all below one keeper, then the keeper; false where something is left of it."""
        is_done = _end(lambda: _below({keeper}, _parents()) - {keeper})
        if is_done:
            _kill(keeper)
            self.keepers.discard(keeper)
            with contextlib.suppress(ChildProcessError):
                # Nobody else's end is taken: a call may wait for it.
                os.waitpid(keeper, 0)
        return is_done

    def reap(self, statuses: dict[int, int]) -> bool:
        """Collect the dead; false when no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            statuses[pid] = status


def _end(find: Callable[[], Collection[int]]) -> bool:
    """Stop all that `find` finds until there is nobody new, then kill them; false where some are left.

    Who is stopped makes no others, and leaves others no room.
    """
    give_up = time.monotonic() + _PATIENCE_S
    stopped: set[int] = set()
    while time.monotonic() < give_up and (fresh := set(find()) - stopped):
        for pid in fresh:
            _kill(pid, signal.SIGSTOP)
        stopped |= fresh
        if len(stopped) > _CROWD:
            return False
    while time.monotonic() < give_up:
        left = [pid for pid in find() if not _is_dead(pid)]
        if not left:
            return True
        for pid in left:
            _kill(pid)
        time.sleep(0.001)
    return False


def _kill_all() -> None:
    if os.getpid() == 1:
        _kill(-1)
        return
    for pid in _below({os.getpid()}, _parents()) - {os.getpid()}:
        _kill(pid)


def _kill(pid: int, by: signal.Signals = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, by)


def _everybody() -> Iterable[int]:
    if os.getpid() == 1:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and name != "1"]
    return _below({os.getpid()}, _parents()) - {os.getpid()}


def _parents() -> dict[int, int]:
    """Every process that can be seen, with its parent."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal() and (stat := _stat(name)):
            found[int(name)] = int(stat[1])
    return found


def _below(tops: Collection[int], parents: Mapping[int, int]) -> set[int]:
    """These processes and all that descend from them."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found = set(tops)
    open_ = list(tops)
    while open_:
        mine = children.get(open_.pop(), [])
        found.update(mine)
        open_ += mine
    return found


def _is_dead(pid: int) -> bool:
    stat = _stat(str(pid))
    return not stat or stat[0] in (b"Z", b"X")


def _stat(pid: str) -> list[bytes]:
    """State, parent and what follows of a process; empty where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in brackets may hold anything.
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []
