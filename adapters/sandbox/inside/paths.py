"""
An agent's path, resolved within the workspace or refused with a sentence.

Rule 1: only what lies in the workspace after all links are followed is opened.
        Between its resolving and its opening no link is followed any more.
Rule 2: only regular files are opened, and never one that could block (pipes, devices, sockets).
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Impossible(Exception):
    """What the agent asked cannot be done; the text says why and what would work."""


def resolve(root: str, path: str) -> str:
    """The real path of `path`, which need not exist.

    Raises:
        Impossible: it leads out of the workspace, or no path can be spelt so.
    """
    if "\0" in path:
        raise Impossible("The path holds a NUL character. Give a plain path in the workspace.")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Impossible("The path holds half a character (a lone surrogate).") from None
    if ".." in path.split("/"):
        raise Impossible(f"{path!r} holds '..'. Give the path from the workspace's top.")
    if path == "/workspace" or path.startswith("/workspace/"):
        path = path[len("/workspace") :].lstrip("/")
    elif path.startswith("/") and not _is_within(root, path):
        raise Impossible(f"{path} is outside the workspace. Only /workspace can be reached.")
    try:
        real = os.path.realpath(os.path.join(root, path))
    except OSError as error:
        raise Impossible(sentence(error, path)) from None
    if not _is_within(root, real):
        raise Impossible(f"{path} is a link that leads out of the workspace.")
    return real


def shown(root: str, real: str) -> str:
    """A real path as the agent knows it, relative to the workspace."""
    return os.path.relpath(real, root)


@contextlib.contextmanager
def folder_of(real: str, *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that a resolved path lies in; with `make` what is missing is made.

    No link is followed: what has become one since the path was resolved is refused.

    Raises:
        OSError: there is none.
    """
    handle = os.open("/", _FOLDER)
    try:
        for name in real.split("/")[1:-1]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=handle)
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def open_regular(real: str, name: str, largest: int | None) -> int:
    """A descriptor for reading, of a regular file of at most `largest` bytes.

    Raises:
        Impossible: it is something else, too large, absent or not ours to read.
    """
    own = os.path.basename(real)
    try:
        with folder_of(real) as folder:
            # Looked at before it is opened: to open a pipe or a device can already have an effect.
            refuse_special(os.stat(own, dir_fd=folder, follow_symlinks=False), name)
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            fd = os.open(own, flags, dir_fd=folder)
    except OSError as error:
        raise Impossible(sentence(error, name)) from None
    try:
        state = os.fstat(fd)
        refuse_special(state, name)
        if largest is not None and state.st_size > largest:
            raise Impossible(
                f"{name} has {state.st_size} bytes, and at most {largest} are read at once. "
                "Use bash with head, tail, sed or grep to see a part of it."
            )
    except Impossible:
        os.close(fd)
        raise
    return fd


def refuse_special(state: os.stat_result, name: str) -> None:
    """Raise Impossible unless it is a regular file."""
    if stat.S_ISDIR(state.st_mode):
        raise Impossible(f"{name} is a folder. Use glob to list what is in it.")
    if not stat.S_ISREG(state.st_mode):
        raise Impossible(f"{name} is a pipe, socket or device, not a file.")


_SENTENCES = {
    errno.ENOENT: "There is no {name}.",
    errno.ENOTDIR: "A part of {name} is a file, not a folder.",
    errno.EACCES: "{name} may not be opened: permission denied.",
    errno.EPERM: "{name} may not be changed: operation not permitted.",
    errno.EROFS: "The workspace is read-only here, so {name} was not written.",
    errno.ENOSPC: "The disk is full, so {name} was not written. Delete what is not needed.",
    errno.EDQUOT: "The disk quota is used up, so {name} was not written.",
    errno.ENAMETOOLONG: "The name is too long (255 bytes a part, 4,096 in all).",
    errno.ELOOP: "{name} is a link that leads to itself, or has just become one.",
    errno.EISDIR: "{name} is a folder.",
    errno.EFBIG: "{name} would be larger than a file may be.",
}


def sentence(error: OSError, name: str) -> str:
    """An operating system's error in words, with the agent's own name for the file."""
    shortened = name if len(name) <= 200 else name[:200] + "..."
    known = _SENTENCES.get(error.errno or 0)
    if known is None:
        return f"{shortened}: {error.strerror or error}."
    return known.format(name=shortened)


def _is_within(root: str, path: str) -> bool:
    return path == root or path.startswith(root + "/")
