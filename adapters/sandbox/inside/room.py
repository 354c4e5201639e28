"""
How much a workspace may hold, looked at while commands run.

Rule 1: a file that has lost its name and is still open counts, too.
Rule 2: the machine's disk is never filled to its end: what is left is for the bot.
"""

import os
import stat
import time

from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.inside.tree import Survey, survey

_WORTH = 20
"""A walk may cost the twentieth part of the time, no more."""


class Room:
    """Looks now and then whether a workspace is over its limits."""

    def __init__(self, root: str, limits: Limits) -> None:
        self._root, self._limits = root, limits
        self._device = os.stat(root).st_dev
        self._next_walk = 0.0

    def later(self) -> None:
        """A command begins: look in a second."""
        self._next_walk = time.monotonic() + 1.0

    def breach(self) -> str | None:
        """What is over its limit, as a sentence; None also where it is not time to look."""
        if (full := disk_full(self._root, self._limits)) is not None:
            return full
        now = time.monotonic()
        if now < self._next_walk:
            return None
        found = survey(self._root, self._limits)
        hidden = self._nameless()
        total = Survey(found.bytes_used + hidden, found.entries, found.signature)
        breach = total.breach(self._limits)
        self._next_walk = time.monotonic() + max(1.0, _WORTH * (time.monotonic() - now))
        return breach

    def _nameless(self) -> int:
        """Bytes of open files of the workspace's disk that have no name any more."""
        known: dict[int, int] = {}
        for pid in os.listdir("/proc"):
            if not pid.isdecimal():
                continue
            try:
                fds = os.listdir(f"/proc/{pid}/fd")
            except OSError:
                continue
            for fd in fds:
                try:
                    state = os.stat(f"/proc/{pid}/fd/{fd}")
                except OSError:
                    continue
                if (
                    state.st_nlink == 0
                    and state.st_dev == self._device
                    and stat.S_ISREG(state.st_mode)
                ):
                    known[state.st_ino] = state.st_blocks * 512
        return sum(known.values())


def disk_full(root: str, limits: Limits, more: int = 0) -> str | None:
    """The sentence where the machine's disk has no room for `more` bytes beside its reserve."""
    try:
        disk = os.statvfs(root)
    except OSError:
        return None
    free = disk.f_bavail * disk.f_frsize
    if free - more >= limits.disk_reserve_bytes:
        return None
    return (
        f"The machine's disk is almost full: {max(0, free) // (1024 * 1024)} MiB are left, and "
        f"{limits.disk_reserve_bytes // (1024 * 1024)} must stay. Delete what is not needed; "
        "if that is not enough, tell the person that the disk is full."
    )
