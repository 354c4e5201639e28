"""
Copies a tree that somebody else writes: entry by entry, from folder to folder, never by a path.

Rule 1: no link is followed and nothing outside is opened: a name is looked up in a folder that is
        open already, and is opened only if it is a file or a folder, and not a link.
Rule 2: links are copied as links. What is no file, folder or link, or cannot be read, is left out
        and told; what vanishes meanwhile is gone.
Rule 3: the copy is its owner's alone (0700, 0600; a program stays one), and on the disk when it is
        told. Holes stay holes.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CHUNK: Final = 1024 * 1024
DEPTH_MOST: Final = 150
"""Folders inside one another. Each costs two open files while it is copied."""

_LOOK: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Names = tuple[str, ...]
Told = Callable[[int], None]
"""Is told how many more bytes are done."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or link of a tree; `path` is relative to it, `target` is where a link points."""

    path: str
    size: int = 0
    sha256: str = ""
    target: str = ""
    why: str = ""
    """Why it was left out."""


def copy_tree(
    source: Path,
    to: Path,
    *,
    bare: Callable[[Names], bool] = lambda names: False,
    without: Callable[[Names], bool] = lambda names: False,
    told: Told = lambda size: None,
) -> Iterator[Entry]:
    """Copy the folder `source` to `to`, which is not there yet; give each entry when it is done.

    Args:
        bare: the folders that are copied without what is in them.
        without: the names that are left out without a word.

    Raises:
        OSError: the source's root cannot be read, or the copy cannot be written.
    """
    to.mkdir(mode=0o700)
    into = os.open(to, _LOOK)
    try:
        yield from _Walk(bare, without, told).folder(os.open(source, _LOOK), into, ())
    finally:
        os.close(into)


def read_tree(source: Path, told: Told = lambda size: None) -> Iterator[Entry]:
    """What is in the folder, as `copy_tree` gives it, read and not copied."""
    yield from _Walk(lambda names: False, lambda names: False, told).folder(
        os.open(source, _LOOK), None, ()
    )


class _Walk:
    """One walk. Folders are handed over as open descriptors; whoever gets one closes it."""

    def __init__(
        self, bare: Callable[[Names], bool], without: Callable[[Names], bool], told: Told
    ) -> None:
        self._bare = bare
        self._without = without
        self._told = told

    def folder(self, source: int, to: int | None, names: Names) -> Iterator[Entry]:
        """All that is in one open folder."""
        try:
            for name in sorted(os.listdir(source)):
                within = (*names, name)
                if not self._without(within):
                    yield from self._entry(source, to, within)
            if to is not None:
                os.fsync(to)
        finally:
            os.close(source)

    def _entry(self, source: int, to: int | None, names: Names) -> Iterator[Entry]:
        name, path, target = names[-1], "/".join(names), ""
        try:
            kind = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
            if stat.S_ISLNK(kind):
                target = os.readlink(name, dir_fd=source)
                found = None
            elif stat.S_ISDIR(kind) or stat.S_ISREG(kind):
                found = os.open(name, _LOOK if stat.S_ISDIR(kind) else _READ, dir_fd=source)
            else:
                yield Entry(path, why="it is no file, folder or link")
                return
        except FileNotFoundError:
            return
        except OSError as error:
            yield Entry(path, why=error.strerror or "it cannot be read")
            return
        if found is None:
            if to is not None:
                os.symlink(target, name, dir_fd=to)
            yield Entry(path, target=target)
        elif stat.S_ISDIR(kind):
            yield from self._folder(found, to, names)
        else:
            yield from self._file(found, to, names)

    def _folder(self, found: int, to: int | None, names: Names) -> Iterator[Entry]:
        if len(names) > DEPTH_MOST:
            os.close(found)
            yield Entry("/".join(names), why=f"it lies more than {DEPTH_MOST} folders deep")
            return
        into = None
        try:
            if to is not None:
                os.mkdir(names[-1], 0o700, dir_fd=to)
                into = os.open(names[-1], _LOOK, dir_fd=to)
            if self._bare(names):
                os.close(found)
                return
        except OSError:
            os.close(found)
            raise
        try:
            yield from self.folder(found, into, names)
        finally:
            if into is not None:
                os.close(into)

    def _file(self, found: int, to: int | None, names: Names) -> Iterator[Entry]:
        path = "/".join(names)
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, found)
            about = os.fstat(found)
            if not stat.S_ISREG(about.st_mode):
                yield Entry(path, why="it was replaced while it was looked at")
                return
            into = None
            if to is not None:
                mode = 0o700 if about.st_mode & stat.S_IXUSR else 0o600
                into = os.open(names[-1], _WRITE, mode, dir_fd=to)
                stack.callback(os.close, into)
            try:
                size, sha256 = self._bytes(found, into)
            except _Unreadable as error:
                if to is not None:
                    os.unlink(names[-1], dir_fd=to)
                yield Entry(path, why=str(error))
                return
            if into is not None:
                os.utime(into, ns=(about.st_atime_ns, about.st_mtime_ns))
                os.fsync(into)
            yield Entry(path, size, sha256)

    def _bytes(self, found: int, into: int | None) -> tuple[int, str]:
        size, hash = 0, hashlib.sha256()
        while chunk := _read(found):
            hash.update(chunk)
            if into is not None:
                _write(into, chunk)
            size += len(chunk)
            self._told(len(chunk))
        if into is not None:
            os.ftruncate(into, size)
        return size, hash.hexdigest()


class _Unreadable(Exception):
    """A file was opened and cannot be read."""


def _read(file: int) -> bytes:
    try:
        return os.read(file, CHUNK)
    except OSError as error:
        raise _Unreadable(error.strerror or "it cannot be read") from error


def _write(file: int, chunk: bytes) -> None:
    if chunk.count(0) == len(chunk):
        os.lseek(file, len(chunk), os.SEEK_CUR)
        return
    while chunk:
        chunk = chunk[os.write(file, chunk) :]
