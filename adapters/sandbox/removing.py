"""
Workspaces that are no longer wanted, and files in them.

Rule 1: no link is followed, and nothing is opened that is not a plain file: an agent made this tree.
Rule 2: a folder that the agent closed to its owner is opened first.
Rule 3: what is done twice does no harm.
"""

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bot.errors import StoreUnusable
from bot.ports.forgetting import Step, Trail
from bot.ports.words import Words

READ_AT_ONCE: Final = 4 * 1024 * 1024
TRIES: Final = 3
OVERLAP: Final = 4096
"""Bytes that are looked at twice, so that nothing hides where two pieces meet."""


async def _nothing(_: str) -> None:
    return


class WorkspaceFolders:
    """The folders of the goals. Ports Workspaces and Traces."""

    def __init__(
        self, workspaces: Path, end_resting: Callable[[str], Awaitable[None]] = _nothing
    ) -> None:
        """`end_resting` ends the processes that wait in a workspace: none keeps a removed one."""
        self._workspaces = workspaces
        self._end_resting = end_resting

    async def names(self) -> tuple[str, ...]:
        """Of all that there are."""
        return await asyncio.to_thread(self._names)

    async def remove(self, name: str) -> None:
        """Remove one; what is not there is none.

        Raises:
            StoreUnusable: something in it cannot be removed.
        """
        await self._end_resting(name)
        await asyncio.to_thread(_remove, self._workspaces / name)

    async def filled(self, folders: Sequence[str]) -> tuple[str, ...]:
        """Those of which one of these folders is not empty."""
        return await asyncio.to_thread(self._filled, folders)

    async def empty(self, name: str, folders: Sequence[str]) -> None:
        """Remove what is in these folders of one.

        Raises:
            StoreUnusable: something in them cannot be removed.
        """
        await asyncio.to_thread(self._empty, self._workspaces / name, folders)

    async def remove_within(self, folder: str, name: str) -> int:
        """Remove what is called `name` in the folder `folder` of any workspace; returns in how many."""
        return await asyncio.to_thread(self._remove_within, folder, name)

    async def take(self, trail: Trail, *, is_dry: bool = False) -> Sequence[Step]:
        """The workspaces of the person's threads whole; of shared ones the files that tell of them."""
        if not is_dry:
            for name in trail.folders:
                await self._end_resting(name)
        return await asyncio.to_thread(self._take, trail, is_dry)

    def _filled(self, folders: Sequence[str]) -> tuple[str, ...]:
        return tuple(
            name
            for name in self._names()
            if any(_has_entries(self._workspaces / name / folder) for folder in folders)
        )

    def _empty(self, workspace: Path, folders: Sequence[str]) -> None:
        for folder in folders:
            if _has_entries(workspace / folder):
                _open(workspace / folder)
                for each in list((workspace / folder).iterdir()):
                    _gone(each)

    def _remove_within(self, folder: str, name: str) -> int:
        count = 0
        for workspace in self._names():
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                # Folder by folder: a link that the agent has put there is not followed.
                inside = _handle(stack, self._workspaces / workspace, None)
                there = _handle(stack, folder, inside)
                shutil.rmtree(name, dir_fd=there)
                count += 1
        return count

    def _names(self) -> tuple[str, ...]:
        try:
            return tuple(sorted(path.name for path in self._workspaces.iterdir() if path.is_dir()))
        except FileNotFoundError:
            return ()

    def _take(self, trail: Trail, is_dry: bool) -> list[Step]:
        there = set(self._names())
        own = [name for name in trail.folders if name in there]
        files = 0
        for spot in trail.shared:
            if spot.session in there and spot.session not in own:
                files += _scrubbed(self._workspaces / spot.session, trail.words, is_dry)
        if not is_dry:
            for name in own:
                _remove(self._workspaces / name)
        steps = [Step("workspace", len(own)), Step("file", files)]
        return [step for step in steps if step.count]


def _handle(stack: contextlib.ExitStack, path: Path | str, within: int | None) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, dir_fd=within)
    stack.callback(os.close, handle)
    return handle


def _has_entries(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        # Its owner, the agent, closed it.
        return True


def _gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        _remove(path)
    else:
        path.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
        return
    for left in reversed(range(TRIES)):
        if not folder.exists():
            return
        try:
            _opened(folder)
            shutil.rmtree(folder)
        except OSError as error:
            # A process that the agent left may have put something there meanwhile, or taken it.
            if not left and folder.exists():
                raise StoreUnusable(
                    f"{folder} cannot be removed ({error.strerror}). Give this user rights on it."
                ) from error


def _opened(folder: Path) -> None:
    """Give its owner every right on the folders of a tree, from the top."""
    _open(folder)
    for place, folders, _ in os.walk(folder, followlinks=False):
        for name in folders:
            path = Path(place, name)
            if not path.is_symlink():
                _open(path)


def _open(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(mode | stat.S_IRWXU)


def _scrubbed(folder: Path, words: Words, is_dry: bool) -> int:
    """Remove each file whose name or bytes hold one of the words; returns how many."""
    count = 0
    if not is_dry:
        _opened(folder)
    for path in list(_files(folder)):
        name = os.fsencode(path.relative_to(folder))
        if words.are_in_bytes(name) or _holds(path, words):
            count += 1
            if not is_dry:
                path.unlink(missing_ok=True)
    for path in list(_folders(folder)):
        if words.are_in_bytes(os.fsencode(path.name)) or (
            path.is_symlink() and _holds(path, words)
        ):
            count += 1
            if not is_dry:
                _remove(path)
    return count


def _holds(path: Path, words: Words) -> bool:
    try:
        if path.is_symlink():
            return words.are_in_bytes(os.fsencode(os.readlink(path)))
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            kept = b""
            while piece := file.read(READ_AT_ONCE):
                if words.are_in_bytes(kept + piece):
                    return True
                kept = piece[-OVERLAP:]
    except OSError:
        # Not readable to us: its owner, the agent, closed it. It goes.
        return os.path.lexists(path)
    return False


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder, followlinks=False):
        for name in names:
            yield Path(place, name)


def _folders(folder: Path) -> Iterator[Path]:
    for place, folders, _ in os.walk(folder, topdown=False, followlinks=False):
        for name in folders:
            yield Path(place, name)
