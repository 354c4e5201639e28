"""The check of the machine's size: memory and cores, by what a container or a unit leaves of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bot.doctor.finding import warning

LEAST_MEMORY: Final = 512 * 1024**2
"""Bytes. Headway itself takes about 120 MB; the rest is the commands'."""
LEAST_CORES: Final = 0.5
GIB: Final = 1024**3


def size(root: Path = Path("/")) -> str:
    """How much memory and how many cores there are; `root` is where /proc and /sys are."""
    memory = min(_memory(root), default=None)
    cores = min(_cores(root))
    told = "memory not known" if memory is None else f"{memory / GIB:.1f} GiB of memory"
    shown = f"{told}, {cores:g} {'core' if cores == 1 else 'cores'}"
    if memory is not None and memory < LEAST_MEMORY:
        raise warning(
            f"Only {memory // 1024**2} MB of memory are given to Headway and the agent's commands: "
            "large commands will be ended. Give at least 512 MB (MemoryMax=, --memory)."
        )
    if cores < LEAST_CORES:
        raise warning(
            f"Only {cores:g} of a core is given to Headway: turns, and the answers of the terminal, "
            "will be slow. Give at least half a core (CPUQuota=, --cpus)."
        )
    return shown


def _memory(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemTotal:"):
            yield int(line.split()[1]) * 1024
    for group in _groups(root):
        for name in ("memory.max", "memory.limit_in_bytes"):
            for line in _lines(group / name):
                if line.strip().isdecimal():
                    yield int(line)


def _cores(root: Path) -> Iterator[float]:
    yield float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    for group in _groups(root):
        for line in _lines(group / "cpu.max"):
            quota, _, period = line.partition(" ")
            if quota.isdecimal() and period.strip().isdecimal():
                yield int(quota) / int(period)


def _groups(root: Path) -> Iterator[Path]:
    """The folders of this process's control group and of those above it."""
    top = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, kinds, path = line.strip().split(":", 2)
        if kinds in ("", "memory"):
            group = top / kinds / path.lstrip("/")
            while True:
                yield group
                if group in (top, top / kinds) or group == group.parent:
                    break
                group = group.parent


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
