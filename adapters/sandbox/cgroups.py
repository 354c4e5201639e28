"""
One session's share of memory and processes, kept by the kernel: a control group, where one can be made.

Rule 1: what cannot be made is done without; each process has limits of its own then.
Rule 2: a group is made before its first process and taken away after its last; those of a bot that was
        killed are swept by the next.
Rule 3: nothing of the machine is changed but below a folder of ours. The own processes are moved only
        where systemd says that the group is ours to divide.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from adapters.sandbox.inside.limits import Limits

_NAME = "headway-"
_STALE_S = 60.0
_OWN_LEAF = "bot"
"""Where the bot's own processes go in a group that is divided."""
_NEEDED = ("memory", "pids")


@dataclass(frozen=True, slots=True)
class Group:
    """A session's control group: one folder, or one for each controller."""

    memory: Path
    pids: Path

    @property
    def doors(self) -> tuple[str, ...]:
        """Files into which a process writes its pid to be in it."""
        return tuple(str(each / "cgroup.procs") for each in dict.fromkeys((self.memory, self.pids)))

    def kills(self) -> int:
        """How often the kernel has ended a process as the memory was used up."""
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError, ValueError):
                lines = (self.memory / name).read_text("ascii").splitlines()
                counts = dict(line.split()[:2] for line in lines)
                if "oom_kill" in counts:
                    return int(counts["oom_kill"])
        return 0

    def remove(self, *, is_forced: bool = False) -> None:
        """Take it away, once nothing is in it."""
        for each in dict.fromkeys((self.memory, self.pids)):
            with contextlib.suppress(OSError):
                each.rmdir()


@dataclass(frozen=True, slots=True)
class Groups:
    """Where groups are made. With version 2 both are the same folder."""

    memory: Path
    pids: Path
    version: int

    def make(self, limits: Limits) -> Group | None:
        """A group with these limits; None where it cannot be made now."""
        name = f"{_NAME}{os.getpid()}-{os.urandom(4).hex()}"
        group = Group(self.memory / name, self.pids / name)
        try:
            for each in dict.fromkeys((group.memory, group.pids)):
                each.mkdir()
            # The server, its keepers and forwarder, bubblewrap and a shell are in it, too.
            (group.pids / "pids.max").write_text(str(2 * limits.processes + 32))
            if self.version == 1:
                (group.memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
            else:
                (group.memory / "memory.max").write_text(str(limits.memory_bytes))
        except OSError:
            group.remove()
            return None
        swap = "memory.memsw.limit_in_bytes" if self.version == 1 else "memory.swap.max"
        most = limits.memory_bytes if self.version == 1 else 0
        with contextlib.suppress(OSError):
            (group.memory / swap).write_text(str(most))
        return group

    def sweep(self) -> None:
        """Take away what was left."""
        for place in dict.fromkeys((self.memory, self.pids)):
            for left in place.glob(f"{_NAME}*"):
                with contextlib.suppress(OSError):
                    if left.stat().st_mtime < time.time() - _STALE_S:
                        # Only an empty one goes.
                        left.rmdir()


def find(mounts: str = "/proc/self/mounts", own: str = "/proc/self/cgroup") -> Groups | None:
    """Where groups can be made by this process, if anywhere."""
    try:
        roots = _roots(Path(mounts).read_text())
        paths = _paths(Path(own).read_text())
    except OSError:
        return None
    if all(name in roots for name in _NEEDED):
        memory, pids = (_below(roots[name], paths.get(name, "/")) for name in _NEEDED)
        groups = Groups(memory, pids, 1)
        return groups if _works(groups) else None
    root = roots.get("")
    for place in [] if root is None else _candidates(root, paths.get("", "/")):
        groups = Groups(place, place, 2)
        if _is_divided(place) and _works(groups):
            return groups
    return None


def _roots(mounts: str) -> dict[str, Path]:
    """Mount points by controller; version 2 under the empty name."""
    found: dict[str, Path] = {}
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found.setdefault("", Path(place))
        elif kind == "cgroup":
            for option in options.split(","):
                if option in _NEEDED:
                    found.setdefault(option, Path(place))
    return found


def _paths(own: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            found[name] = path
    return found


def _below(root: Path, path: str) -> Path:
    """In a container the path is often that of the host, and only the root is there."""
    place = root / path.strip("/")
    return place if place.is_dir() else root


def _candidates(root: Path, path: str) -> list[Path]:
    own = _below(root, path)
    if own.name == _OWN_LEAF:
        return [own.parent, own]
    return [own, root] if own != root and os.geteuid() == 0 else [own]


def _is_divided(place: Path) -> bool:
    """Whether groups below have controllers, which is brought about where that is allowed."""
    try:
        wanted = [name for name in _NEEDED if name not in _controllers(place, "subtree_control")]
        if not wanted:
            return True
        if any(name not in _controllers(place, "controllers") for name in wanted):
            return False
        if (place / "cgroup.procs").read_text().strip() and not _make_way(place):
            return False
        (place / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
    except OSError:
        return False
    return True


def _controllers(place: Path, name: str) -> list[str]:
    return (place / f"cgroup.{name}").read_text().split()


def _make_way(place: Path) -> bool:
    """Move the processes of a group that is ours to a leaf of it: only then may it be divided."""
    if not _is_delegated(place):
        return False
    leaf = place / _OWN_LEAF
    leaf.mkdir(exist_ok=True)
    for pid in (place / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            (leaf / "cgroup.procs").write_text(pid)
    return True


def _is_delegated(place: Path) -> bool:
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(place, name) == b"1":
                return True
    return False


def _works(groups: Groups) -> bool:
    """Whether one can be made, tried with one that is thrown away."""
    tried = groups.make(Limits())
    if tried is None:
        return False
    tried.remove()
    return True
