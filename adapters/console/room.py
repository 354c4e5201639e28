"""
The room's file: what a chat server would hold, in one append-only file of JSON lines.

Rule 1: a line is appended whole, in one write, and is on the disk before `append` returns.
Rule 2: a last line without its end was cut by a crash: it is closed before the next one, and
        skipped by readers.
Rule 3: any number of processes may read, from where they last were. A file that was replaced or
        cut is read from its beginning: who reads knows each line by its id.
Rule 4: a line longer than any that Headway writes is skipped, and never held whole.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from adapters.console.parse import Line, read, written
from bot.errors import StoreUnusable

FILE = "room.jsonl"
LINE_MOST = 32 * 1024 * 1024
"""Bytes. A message of 1 MB in characters that JSON escapes has 12."""


class RoomFile:
    """One open end of the file, with its place in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._file = 0
        """Its inode."""
        self._is_skipping = False

    def append(self, *lines: Line) -> None:
        """Write lines for good.

        Raises:
            StoreUnusable: the disk is full, or the file cannot be written.
        """
        body = "".join(written(line) + "\n" for line in lines).encode("ascii")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                _write_whole(handle, (b"" if _ends_whole(handle) else b"\n") + body)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise StoreUnusable(
                f"The room's file {self._path} cannot be written ({error.strerror}). "
                "Free space on its disk, or mend its rights."
            ) from error

    def news(self) -> Iterator[Line]:
        """The whole lines after those that were read before.

        Raises:
            StoreUnusable: the file is there and cannot be read.
        """
        try:
            if self.size() == self._offset:
                return
            with self._path.open("rb") as file:
                self._find_place(os.fstat(file.fileno()))
                file.seek(self._offset)
                yield from self._lines(file)
        except FileNotFoundError:
            self._offset, self._is_skipping = 0, False
        except OSError as error:
            raise StoreUnusable(
                f"The room's file {self._path} cannot be read ({error.strerror}). Mend its rights."
            ) from error

    def size(self) -> int:
        """Bytes in the file: when it has grown there is news."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _lines(self, file: BinaryIO) -> Iterator[Line]:
        while text := file.readline(LINE_MOST):
            is_end, skips = text.endswith(b"\n"), self._is_skipping
            if not (is_end or skips or len(text) == LINE_MOST):
                return
            self._offset += len(text)
            self._is_skipping = not is_end
            line = read(text.decode("ascii", "replace")) if is_end and not skips else None
            if line is not None:
                yield line

    def _find_place(self, now: os.stat_result) -> None:
        if now.st_ino != self._file or now.st_size < self._offset:
            self._offset, self._is_skipping = 0, False
        self._file = now.st_ino


def room_path(state_dir: Path) -> Path:
    """Where a state folder keeps its room."""
    return state_dir / "console" / FILE


def _ends_whole(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size == 0 or os.pread(handle, 1, size - 1) == b"\n"


def _write_whole(handle: int, body: bytes) -> None:
    """Write all of it, or leave the file as it was."""
    size = os.fstat(handle).st_size
    try:
        while body:
            body = body[os.write(handle, body) :]
    except OSError:
        os.ftruncate(handle, size)
        raise
