"""
Names of the workspace, looked up folder by folder from open descriptors.

Rule 1: no link is followed on the way, and none at the end.
Rule 2: a folder that the agent closed to itself is opened for as long as it is looked into, and closed
        again.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

from adapters.sandbox.inside.limits import SCRATCH
from adapters.sandbox.inside.paths import Impossible

DEPTH_MOST = 150
"""Folders inside one another. Each costs an open file while it is looked into."""

_LOOK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def parts_of(path: str) -> list[str]:
    """The names of a path that is kept in trees. Raises Impossible: it is none."""
    parts = path.split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise Impossible(f"{path!r} is no path in a workspace.")
    if parts[0] in SCRATCH or len(parts) > DEPTH_MOST:
        raise Impossible(f"{path!r} is in no snapshot.")
    return parts


@contextlib.contextmanager
def folder(name: str, within: int | None, *, write: bool = False) -> Iterator[int]:
    """A descriptor of a folder in which names can be looked up, or changed.

    Its rights are afterwards what they were.

    Raises:
        OSError: there is none.
    """
    handle, mode = _opened(name, within, stat.S_IXUSR | (stat.S_IWUSR if write else 0))
    try:
        yield handle
    finally:
        if mode is not None:
            with contextlib.suppress(OSError):
                os.fchmod(handle, mode)
        os.close(handle)


@contextlib.contextmanager
def folder_at(root: int, parts: list[str], *, write: bool = False) -> Iterator[int]:
    """A descriptor of the folder at the end of those names.

    With `write` it can be changed: folders that are missing are made, in the place of anything else.

    Raises:
        OSError: there is none.
    """
    with contextlib.ExitStack() as stack:
        handle = root
        for name in parts:
            if write:
                make_folder(name, handle)
            handle = stack.enter_context(folder(name, handle, write=write))
        yield handle


def make_folder(name: str, within: int) -> None:
    """Have a folder of that name there, in the place of anything else. Raises OSError."""
    try:
        os.mkdir(name, 0o755, dir_fd=within)
    except FileExistsError:
        kind = os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(kind):
            os.unlink(name, dir_fd=within)
            os.mkdir(name, 0o755, dir_fd=within)


def open_file(name: str, within: int) -> int:
    """A descriptor for reading a regular file, whatever its rights. Raises OSError, Impossible."""
    try:
        handle = os.open(name, _READ, dir_fd=within)
    except PermissionError:
        handle, mode = _forced(name, _READ, within)
        os.fchmod(handle, mode)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Impossible(f"{name!r} is no file any more.")
    return handle


def remove(name: str, within: int) -> None:
    """Remove whatever is there, and all that is in it. Raises OSError."""
    try:
        os.unlink(name, dir_fd=within)
        return
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        pass
    with folder(name, within, write=True) as handle:
        for each in os.listdir(handle):
            remove(each, handle)
    os.rmdir(name, dir_fd=within)


def set_mode(name: str, within: int, mode: int) -> None:
    """Give a file or folder these rights; of a link nothing is changed. Raises OSError."""
    handle = os.open(name, _PATH, dir_fd=within)
    try:
        kind = os.fstat(handle).st_mode
        if not stat.S_ISLNK(kind) and stat.S_IMODE(kind) != mode:
            os.chmod(f"/proc/self/fd/{handle}", mode)
    finally:
        os.close(handle)


def _opened(name: str, within: int | None, wanted: int) -> tuple[int, int | None]:
    """An open folder with those rights, and the rights that it had where they were too few."""
    try:
        handle = os.open(name, _LOOK, dir_fd=within)
    except PermissionError:
        return _forced(name, _LOOK, within)
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if mode & wanted == wanted:
        return handle, None
    try:
        os.fchmod(handle, mode | stat.S_IRWXU)
    except OSError:
        os.close(handle)
        raise
    return handle, mode


def _forced(name: str, flags: int, within: int | None) -> tuple[int, int]:
    """Open what its owner has closed, and tell the rights that it had."""
    path = os.open(name, _PATH, dir_fd=within)
    try:
        mode = stat.S_IMODE(os.fstat(path).st_mode)
        if stat.S_ISLNK(os.fstat(path).st_mode):
            raise PermissionError
        os.chmod(f"/proc/self/fd/{path}", mode | stat.S_IRWXU)
    finally:
        os.close(path)
    return os.open(name, flags, dir_fd=within), mode
