"""
Marks of background commands, in the workspace: what runs there has a file that is locked.

A mark without a lock was left by a sandbox that has ended, and is told of once. An agent may write here,
and fools nobody but itself.
"""

import contextlib
import fcntl
import os

_FOLDER = "tmp/.background"
_MOST = 128
_CHARS = 200
BEGINS = "bg-"
"""How the ids of background commands begin."""


class Marks:
    """The marks of one workspace."""

    def __init__(self, root: str) -> None:
        self._folder = os.path.join(root, _FOLDER)

    def make(self, id: str, command: str) -> int:
        """The descriptor that holds the lock; -1 where the workspace takes none."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.makedirs(self._folder, exist_ok=True)
            fd = os.open(os.path.join(self._folder, id), flags, 0o600)
        except OSError:
            return -1
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(fd, command[:_CHARS].encode("utf-8", "replace"))
        return fd

    def end(self, id: str, fd: int) -> None:
        """It has ended."""
        if fd >= 0:
            os.close(fd)
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, id))

    def is_held(self, id: str) -> bool:
        """Whether somebody locks the mark, from whichever sandbox over this workspace."""
        if not id.startswith(BEGINS) or "/" in id:
            return False
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(os.path.join(self._folder, id), flags)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(fd)
        return False

    def left(self, known: set[str]) -> list[str]:
        """Ids with commands of marks that nobody locks, which are taken away."""
        try:
            names = sorted(os.listdir(self._folder))[:_MOST]
        except OSError:
            return []
        ours = [name for name in names if name.startswith(BEGINS) and name not in known]
        return [told for name in ours if (told := self._unlocked(name))]

    def _unlocked(self, name: str) -> str:
        place = os.path.join(self._folder, name)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(place, flags)
        except OSError:
            return ""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(place)
            command = os.read(fd, 4 * _CHARS).decode("utf-8", "replace")[:_CHARS]
        except OSError:
            return ""
        finally:
            os.close(fd)
        return f"{name} ({' '.join(command.split())})"
