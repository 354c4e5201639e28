"""
A backup's folder: made beside its place, under another name, and renamed when it is whole.

Rule 1: it is made where nothing is, or in an empty folder.
Rule 2: what a killed backup left is removed by the next one to the same place; of two at the same
        time the second is refused.
Rule 3: an error leaves nothing behind.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from adapters.backup import manifest
from adapters.backup.manifest import Manifest
from adapters.backup.tree import Told, read_tree
from bot.errors import BadInput, StoreUnusable

_NOT_DONE: Final = "The backup {} cannot be made or read"
_MENDS: Final = {
    errno.ENOSPC: "free some space, or name another disk",
    errno.EDQUOT: "free some space, or name another disk",
    errno.EACCES: "mend its rights",
    errno.EPERM: "mend its rights",
}


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """A folder to be filled, which is at `place` when the context has ended well.

    Raises:
        BadInput: something is there already, or another backup to it is being made.
        StoreUnusable: it cannot be made or written.
    """
    with spoken_of(_NOT_DONE.format(place)), contextlib.ExitStack() as stack:
        _refuse_taken(place)
        part = place.with_name(f".{place.name}.unfinished")
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        stack.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(f"Another backup to {place} is being made: wait for it.") from error
        _emptied(part)
        try:
            yield part
            os.fsync(handle)
            part.rename(place)
            _flush(place.parent)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def write_manifest(folder: Path, told: Manifest) -> None:
    """Write the manifest, which makes the folder a backup."""
    put(folder / manifest.FILE, manifest.written(told).encode("ascii"))


def put(path: Path, body: bytes) -> None:
    """Write a new file for its owner alone, and onto the disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def read_manifest(folder: Path) -> Manifest:
    """What the backup says of itself, without a look at its files.

    Raises:
        BadInput: there is no backup there.
        StoreUnusable: the manifest is cut off, altered or newer.
    """
    try:
        text = (folder / manifest.FILE).read_text("ascii", "replace")
    except OSError as error:
        raise BadInput(
            f"There is no backup in {folder} ({error.strerror}). Give the folder that "
            "`headway backup` made."
        ) from error
    return manifest.read(text)


def verify(folder: Path, told: Manifest, progress: Told) -> None:
    """Read every file, and compare it with what the backup says of it.

    Raises:
        StoreUnusable: a file is missing, altered or too much.
    """
    with spoken_of(_NOT_DONE.format(folder)):
        wrong = manifest.differences(told, read_tree(folder, progress))
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise StoreUnusable(
            f"The backup {folder} is not what was made: {wrong[0]}{more}. Use another backup."
        )


@contextmanager
def spoken_of(what: str) -> Iterator[None]:
    """The system's errors as ours; `what` tells what cannot be done.

    Raises:
        StoreUnusable: it cannot; the mend is what this error needs.
    """
    try:
        yield
    except OSError as error:
        mend = _MENDS.get(error.errno or 0, "name another place")
        raise StoreUnusable(f"{what} ({error.strerror}): {mend}.") from error


def _refuse_taken(place: Path) -> None:
    try:
        is_taken = bool(os.listdir(place))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        is_taken = os.path.lexists(place)
    if is_taken:
        raise BadInput(
            f"{place} is there already and is not empty: name a folder that is not there yet."
        )


def _emptied(folder: Path) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
