"""A file that a checkout is made of: what a branch of a mirror holds, or what is new of it."""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from adapters.git.program import Git
from adapters.git.shed import borrow
from bot.errors import BadInput
from bot.ports.mirrors import Bundle, Head

PIECE_BYTES: Final = 1024 * 1024


async def bundled(
    git: Git, at: Path, head: Head, without: Sequence[str], *, most: int
) -> Bundle | None:
    """The bundle of a branch without what is known already; None where nothing is new.

    Raises BadInput: it has more than `most` bytes.
    """
    count = await git.run("rev-list", "--count", head.commit, *without, "--", at=at)
    if count.out.strip() == b"0":
        return None
    path = Path(tempfile.mkdtemp(prefix="bundle-", dir=at)) / "bundle"
    try:
        view = await _view(git, at, head, path.with_name("view.git"))
        ref = f"refs/heads/{head.branch}"
        await git.run("bundle", "create", "--quiet", str(path), ref, *without, at=view)
        await asyncio.to_thread(shutil.rmtree, view)
        hash, size = await asyncio.to_thread(_digest, path)
        if size > most:
            raise BadInput(f"It has {size // 1024**2} MB, more than a checkout may have here.")
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise
    return Bundle(hash, size, _pieces(path), partial(_gone, path))


async def _view(git: Git, at: Path, head: Head, view: Path) -> Path:
    """The mirror with its branch as it was fetched: meanwhile it may lead elsewhere."""
    await asyncio.to_thread(view.mkdir)
    await git.run("init", "--quiet", "--bare", "--template=", at=view)
    await asyncio.to_thread(borrow, view, at / "objects")
    await git.run("update-ref", f"refs/heads/{head.branch}", head.commit, at=view)
    return view


def _digest(path: Path) -> tuple[str, int]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return digest.hexdigest(), file.tell()


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    """The file's bytes."""
    with await asyncio.to_thread(open, path, "rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece


def _gone(path: Path) -> None:
    shutil.rmtree(path.parent, ignore_errors=True)
