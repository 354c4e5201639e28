"""
Where the bot's bare repositories lie, one run at a time on each.

Rule 1: a repository is found by hashes of what it is of, never by a name that somebody gave.
Rule 2: what a run that was killed has left (locks, drafts, bundles) goes before the next run.
Rule 3: each has an end: a goal's may grow to four packs, and goes when nothing has looked at it for long; so
        does a mirror that no goal's borrows of.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from adapters.git.program import Git
from bot.errors import BadInput
from bot.ports.repositories import Repository

UNUSED_S: Final = 30 * 24 * 3600.0
"""So long what a goal brought is kept after it was looked at last."""
BUNDLE_S: Final = 3600.0
"""So long a bundle may be on its way into a checkout."""
PACKS: Final = 4


_GOING: Final = ".going"
"""What follows the name of a repository that is being taken away."""


class Shed:
    """The folders of all repositories."""

    def __init__(self, folder: Path, git: Git) -> None:
        self._folder, self._git = folder, git
        self._locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    def mirror(self, repository: Repository) -> Path:
        """What was fetched, by its address: the name may be given to another one."""
        return self._folder / _hash(repository.url) / "mirror.git"

    def of_goal(self, goal: str, repository: Repository) -> Path:
        """What a goal brought."""
        return self._folder / _hash(repository.url) / "goals" / f"{_hash(goal)}.git"

    @contextlib.asynccontextmanager
    async def held(self, at: Path) -> AsyncIterator[Path]:
        """The repository for one run alone, made where it is new."""
        async with self._locks[at]:
            await asyncio.to_thread(_clear, at)
            if not (at / "HEAD").exists():
                await asyncio.to_thread(at.mkdir, mode=0o700, parents=True, exist_ok=True)
                await self._git.run("init", "--quiet", "--bare", "--template=", at=at)
            os.utime(at)
            yield at

    @contextlib.asynccontextmanager
    async def brought(self, goal: str, repository: Repository, most: int) -> AsyncIterator[Path]:
        """A goal's repository, which borrows the mirror's objects, to be added to.

        Raises BadInput: it has too much already. `most`: bytes of one pack.
        """
        at = self.of_goal(goal, repository)
        async with self.held(self.mirror(repository)) as mirror:
            objects = mirror / "objects"
        async with self.held(at):
            await asyncio.to_thread(borrow, at, objects)
            if await asyncio.to_thread(_size, at) > PACKS * most:
                raise BadInput("This goal has brought back more than is kept of one goal.")
            yield at

    async def sweep(self, now: float | None = None) -> int:
        """Take away what no goal has looked at for long; returns how many repositories.

        A mirror stays while a goal's borrows of it.
        """
        before, swept = (time.time() if now is None else now) - UNUSED_S, 0
        for pattern in (f"*/goals/*{_GOING}", f"*/*{_GOING}"):
            for left in await asyncio.to_thread(list, self._folder.glob(pattern)):
                await asyncio.to_thread(shutil.rmtree, left, ignore_errors=True)
        for pattern in ("*/goals/*.git", "*/mirror.git"):
            for one in await asyncio.to_thread(list, self._folder.glob(pattern)):
                async with self._locks[one]:
                    swept += await asyncio.to_thread(_swept, one, before)
        return swept


def _swept(at: Path, before: float) -> bool:
    with contextlib.suppress(OSError):
        is_lent = at.name == "mirror.git" and any(at.parent.glob("goals/*.git"))
        if at.stat().st_mtime < before and not is_lent:
            # Cut off in the middle, half a repository under its own name would be taken for a whole one.
            going = at.rename(at.with_name(f"{at.name}{_GOING}"))
            shutil.rmtree(going, ignore_errors=True)
            return True
    return False


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def borrow(at: Path, objects: Path) -> None:
    """Have a repository find what it lacks among the objects of another one."""
    path = at / "objects" / "info" / "alternates"
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name("alternates.new")
    draft.write_text(f"{objects}\n", encoding="utf-8")
    draft.rename(path)


def _size(at: Path) -> int:
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(at)
        for name in names
    )


def _clear(at: Path) -> None:
    """Take away what is left of runs that have ended: there is no other run now."""
    for left in _left_over(at):
        with contextlib.suppress(OSError):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def _left_over(at: Path) -> Iterator[Path]:
    for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/tmp_*",
                    "objects/*/tmp_obj_*", "objects/pack/.tmp-*"):  # fmt: skip
        yield from at.glob(pattern)
    for bundle in at.glob("bundle-*"):
        with contextlib.suppress(OSError):
            if bundle.stat().st_mtime < time.time() - BUNDLE_S:
                yield bundle
