"""
Files at the console: those that people give, and those that they get to see.

Rule 1: a file that somebody names is read when they name it, as they themselves could.
Rule 2: one that is shared lies under its own name in a folder that its hash names:
        `console/files/3f2a9c41b7de/report.md`. It goes when the file itself goes.
"""

import asyncio
import os
import shutil
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from pathlib import Path
from typing import BinaryIO, Final

from bot.errors import BadInput, StoreUnusable
from bot.ports.attached import safe_name, type_of
from bot.ports.chat import Attachment
from bot.ports.files import Files

PIECE_BYTES: Final = 1024 * 1024
HASH_CHARS: Final = 12
GRACE_S: Final = 3600.0


class Shelf:
    """Takes files in, and lays them out."""

    def __init__(self, files: Files, folder: Path) -> None:
        """`folder`: where shared files are laid out; made when there is one."""
        self._files, self._folder = files, folder

    async def attach(self, path: str) -> Attachment:
        """Keep the file at a path of this machine.

        Raises:
            BadInput: there is none that can be read, or it is too large.
            StoreUnusable: it cannot be kept.
        """
        try:
            file = await asyncio.to_thread(_opened, path)
        except OSError as error:
            raise BadInput(f"{path} cannot be read ({error.strerror}). Check the path.") from error
        with file:
            kept = await self._files.keep(_pieces(file, path))
        name = safe_name(path)
        return Attachment(name, type_of(name), kept.size, kept.hash)

    async def lay_out(self, file: Attachment) -> Path:
        """Copy it to where people find it, whole; returns where.

        Raises:
            Refused, StoreUnusable: it is gone, or cannot be copied.
        """
        with await self._files.open(file.hash) as blob:
            return await asyncio.to_thread(self._copied, blob, file)

    async def sweep(self, named: Callable[[], Awaitable[Collection[str]]]) -> None:
        """Delete the copies of what is not among the `named` hashes."""
        old = await asyncio.to_thread(self._old)
        if old:
            kept = {hash[:HASH_CHARS] for hash in await named()}
            for path in old:
                if path.name not in kept:
                    await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)

    def _copied(self, blob: BinaryIO, file: Attachment) -> Path:
        path = self._folder / file.hash[:HASH_CHARS] / safe_name(file.name)
        draft = path.with_name(f".{path.name}.coming")
        try:
            for folder in (self._folder, path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as copy:
                shutil.copyfileobj(blob, copy, PIECE_BYTES)
            draft.replace(path)
        except OSError as error:
            raise StoreUnusable(
                f"{path} cannot be written ({error.strerror}): free some space, or mend its rights."
            ) from error
        return path

    def _old(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        latest = time.time() - GRACE_S
        return [path for path in self._folder.iterdir() if path.stat().st_mtime < latest]


def _opened(path: str) -> BinaryIO:
    """A regular file: what never ends is no file to give."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = open(handle, "rb")  # noqa: SIM115 - handed over
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BadInput(f"{path} is no file. Give one file after another, or pack a folder.")
    return file


async def _pieces(file: BinaryIO, path: str) -> AsyncIterator[bytes]:
    while True:
        try:
            piece = await asyncio.to_thread(file.read, PIECE_BYTES)
        except OSError as error:
            raise BadInput(f"{path} cannot be read ({error.strerror}).") from error
        if not piece:
            return
        yield piece
