"""
What lies in a workspace, by name: for lists that people read.

Rule 1: no file is opened and no link followed: a name is looked up in a folder that is open already.
Rule 2: what cannot be looked into is left out, and so is what vanishes meanwhile.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEPTH_MOST: Final = 100
_LOOK: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Listed:
    """A file or link: `size` in bytes, `changed_at` in seconds since 1970."""

    path: str
    size: int
    changed_at: float
    is_link: bool = False


def listed(workspace: Path) -> tuple[Listed, ...]:
    """All that is in it, by path; nothing where there is no workspace."""
    try:
        handle = os.open(workspace, _LOOK)
    except OSError:
        return ()
    return tuple(sorted(_within(handle, "", 1), key=lambda one: one.path))


def _within(handle: int, above: str, depth: int) -> Iterator[Listed]:
    """Of one open folder, which is closed in the end."""
    try:
        for name in os.listdir(handle):
            path = f"{above}/{name}" if above else name
            try:
                state = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if not stat.S_ISDIR(state.st_mode):
                    is_link = stat.S_ISLNK(state.st_mode)
                    yield Listed(path, state.st_size, state.st_mtime, is_link)
                elif depth < DEPTH_MOST:
                    inner = os.open(name, _LOOK, dir_fd=handle)
                    yield from _within(inner, path, depth + 1)
            except OSError:
                continue
    finally:
        os.close(handle)
