"""Files that people give and get: kept as the settings have it, swept, backed up and restored."""

import operator
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from adapters.backup.tree import Entry, Told, copy_tree
from adapters.files.blobs import DRAFTS, MB, BlobFolder
from bot.ports.files import Attachments
from bot.settings import Settings
from scheduler.alarms import Alarms

FOLDER: Final = "files"
"""In the state folder, and in a backup."""
SWEEP_S: Final = 300.0
_HASH: Final = re.compile("[0-9a-f]{64}")


def open_files(settings: Settings) -> BlobFolder:
    """The files of the state folder; its folder is made at the first use."""
    return BlobFolder(settings.state_dir / FOLDER, most=settings.file_most_mb * MB)


class Swept(Protocol):
    """Something that keeps files for as long as they are named."""

    async def sweep(self, named: Callable[[], Awaitable[Collection[str]]]) -> object:
        """As `Files.sweep`."""


def keep_swept(
    alarms: Alarms, kept: Sequence[Swept], attachments: Attachments, rate: float
) -> None:
    """Delete what nothing names any more, for as long as the alarms ring."""

    async def sweep() -> None:
        for each in kept:
            await each.sweep(attachments.named)

    alarms.add("files", sweep, SWEEP_S / rate)


def back_up_files(settings: Settings, to: Path, told: Told) -> Iterator[Entry]:
    """Copy the files into a backup's folder, those that are being written left out."""
    source = settings.state_dir / FOLDER
    if not source.exists():
        return
    is_draft = partial(operator.eq, (DRAFTS,))
    for entry in copy_tree(source, to / FOLDER, without=is_draft, told=told):
        yield replace(entry, path=f"{FOLDER}/{entry.path}")


def restore_files(settings: Settings, place: Path, entries: Iterable[Entry]) -> None:
    """Put the files of a backup beside those that are there; each appears whole.

    A name is a hash of what it names, so none replaces another one; what nothing names is swept later.
    """
    for entry in entries:
        hash = entry.path.rpartition("/")[2]
        if entry.path != f"{FOLDER}/{hash[:2]}/{hash}" or not _HASH.fullmatch(hash):
            continue
        path = settings.state_dir / entry.path
        path.parent.parent.mkdir(mode=0o700, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        draft = path.with_name(f".{hash}.unfinished")
        with open(place / entry.path, "rb") as source, open(draft, "wb") as target:
            os.fchmod(target.fileno(), 0o600)
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        draft.replace(path)
