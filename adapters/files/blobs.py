"""
Bytes in a folder, each under its SHA-256: `files/ab/<sha256>`.

Rule 1: a draft is written and flushed to the disk, then renamed: a blob is whole or not there.
Rule 2: folders are 0700, files 0600.
Rule 3: `keep` and `sweep` exclude each other where one would delete what the other just kept.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import threading
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Iterator
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

from bot.errors import BadInput, Refused, StoreUnusable
from bot.ports.attached import size_of
from bot.ports.files import Kept

MB: Final = 1_000_000
GRACE_S: Final = 3600.0
"""So long bytes may lie without a name: they are kept first, and named in a later transaction."""
FREE_LEAST: Final = 200 * MB
"""The database and the goals' work need what is left of the disk more."""
DRAFTS: Final = "drafts"
"""The folder of those that are being written."""


class BlobFolder:
    """Port Files."""

    def __init__(
        self,
        folder: Path,
        *,
        most: int,
        free_least: int = FREE_LEAST,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`most`: bytes of one file. The folder is made at the first use."""
        self._folder = folder
        self._most, self._free_least = most, free_least
        self._now = now
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        """Bytes that one file may have."""
        return self._most

    async def keep(self, pieces: AsyncIterable[bytes]) -> Kept:
        """As in the port."""
        draft = await asyncio.to_thread(self._begin)
        try:
            hash, size = hashlib.sha256(), 0
            with draft:
                async for piece in pieces:
                    size += len(piece)
                    self._refuse_too_large(size)
                    await asyncio.to_thread(self._write, draft, piece)
                    hash.update(piece)
                await asyncio.to_thread(self._flush, draft)
            await asyncio.to_thread(self._place, draft.name, hash.hexdigest())
        finally:
            with contextlib.suppress(OSError):
                os.unlink(draft.name)
        return Kept(hash.hexdigest(), size)

    async def open(self, hash: str) -> BinaryIO:
        """As in the port."""
        return await asyncio.to_thread(self._open, hash)

    async def sweep(self, named: Callable[[], Awaitable[Collection[str]]]) -> int:
        """As in the port."""
        old = await asyncio.to_thread(self._old)
        if not old:
            return 0
        kept = await named()
        gone = [path for path in old if path.name not in kept]
        return await asyncio.to_thread(self._remove, gone)

    def _begin(self) -> BinaryIO:
        with self._spoken():
            folder = self._folder / DRAFTS
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            self._refuse_full()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            path = folder / token_hex(8)
            return open(path, "wb", opener=lambda name, _: os.open(name, flags, 0o600))

    def _write(self, draft: BinaryIO, piece: bytes) -> None:
        with self._spoken():
            self._refuse_full()
            draft.write(piece)

    def _flush(self, draft: BinaryIO) -> None:
        with self._spoken():
            draft.flush()
            os.fsync(draft.fileno())

    def _place(self, draft: str, hash: str) -> None:
        """Put it in its place, over one that is there already: that one may be old, or spoilt."""
        path = self._path(hash)
        with self._spoken():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with self._lock:
                at = self._now()
                os.utime(draft, (at, at))
                os.replace(draft, path)
            for folder in (path.parent, self._folder):
                _flush_folder(folder)

    def _open(self, hash: str) -> BinaryIO:
        path = self._path(hash)
        with self._spoken():
            try:
                file = open(path, "rb")  # noqa: SIM115 - handed over
            except FileNotFoundError:
                raise Refused(
                    "The file is not kept any more: give it again.", code="file_gone"
                ) from None
            if hashlib.file_digest(file, "sha256").hexdigest() != hash:
                file.close()
                raise StoreUnusable(
                    f"{path} is not what was kept there: its disk has altered it. Restore it from a backup."
                )
            file.seek(0)
            return file

    def _old(self) -> list[Path]:
        with self._spoken():
            return [path for path in self._all() if self._is_old(path)]

    def _all(self) -> Iterator[Path]:
        with contextlib.suppress(FileNotFoundError):
            for folder in sorted(self._folder.iterdir()):
                if folder.is_dir():
                    yield from folder.iterdir()

    def _is_old(self, path: Path) -> bool:
        try:
            return path.stat().st_mtime < self._now() - GRACE_S
        except FileNotFoundError:
            return False

    def _remove(self, paths: Collection[Path]) -> int:
        count = 0
        with self._spoken():
            for path in paths:
                with self._lock:
                    # It may have been kept again since it was looked at.
                    if self._is_old(path):
                        path.unlink()
                        count += 1
        return count

    def _path(self, hash: str) -> Path:
        return self._folder / hash[:2] / hash

    def _refuse_too_large(self, size: int) -> None:
        if size > self._most:
            raise BadInput(f"It is larger than {size_of(self._most)}, which a file may have here.")

    def _refuse_full(self) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < self._free_least:
            raise StoreUnusable(
                f"The disk of {self._folder} has {size_of(free)} left, too little to keep files: "
                "free some space."
            )

    @contextlib.contextmanager
    def _spoken(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnusable(
                f"The files in {self._folder} cannot be kept or read ({error.strerror}): free some "
                "space on its disk, or mend its rights."
            ) from error


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
