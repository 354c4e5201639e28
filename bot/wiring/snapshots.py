"""Snapshots of workspaces: kept, thinned, swept, forgotten, backed up and restored; scratch folders emptied."""

import asyncio
import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from adapters.backup.tree import Entry, Told, copy_tree
from adapters.sandbox.inside.limits import SCRATCH
from adapters.sandbox.removing import WorkspaceFolders
from adapters.snapshots.folder import INSTEAD, SnapshotFolder
from adapters.snapshots.objects import DRAFTS, Altered
from adapters.store.open import Store
from bot.errors import BadInput, HeadwayError
from bot.ports.attached import INBOX, folder_of
from bot.ports.checkpoints import Checkpoints
from bot.ports.forgetting import Scrub, Step, Trail
from bot.ports.snapshots import EMPTY
from bot.settings import Settings
from scheduler.alarms import Alarms

log = logging.getLogger(__name__)

FOLDER: Final = "snapshots"
"""In a backup."""
KEEP: Final = 50
"""Trees of one goal, beside those of approved plans."""
GRACE_S: Final = 3_600.0
"""So long a tree may lie without a name: it is written first, and named in a later transaction."""
SWEEP_S: Final = 3_600.0
SCRATCH_S: Final = 300.0
FORGET_S: Final = 20.0
MARKS: Final = "withdrawn"
"""The folder of what has to be taken out of trees: a file each, named as the folder in the workspace."""
_OBJECTS: Final = ("files", "trees")
_NOTES: Final = (INSTEAD, MARKS)
"""What is to be taken out of trees, and which trees have come of that: an older state names the old ones."""
_KEPT: Final = re.compile(
    f"(files|trees)/[0-9a-f]{{2}}/[0-9a-f]{{64}}|{INSTEAD}/[0-9a-f]{{64}}|{MARKS}/[A-Z0-9a-z_-]+"
)


def open_snapshots(settings: Settings) -> SnapshotFolder:
    """The snapshots of the goals' folders; their own folder is made at the first use."""
    return SnapshotFolder(settings.snapshots_dir)


def keep_snapshots(
    alarms: Alarms, settings: Settings, snapshots: SnapshotFolder, store: Store
) -> None:
    """Keep them bounded, and what was withdrawn out of them, for as long as the alarms ring."""
    withdrawn = Withdrawn(settings, snapshots, store.checkpoints)
    scratch = ScratchFolders(settings, store)

    async def sweep() -> None:
        await store.checkpoints.thin(KEEP)
        await snapshots.sweep(await store.checkpoints.named(), older_s=GRACE_S)

    alarms.add("snapshots", sweep, SWEEP_S / settings.clock_rate)
    alarms.add("withdrawn", withdrawn.sweep, FORGET_S)
    alarms.add("scratch", scratch.sweep, SCRATCH_S / settings.clock_rate)


class Withdrawn:
    """Files of messages that were taken back: out of the workspaces, and out of their snapshots.

    Rule 1: what is to be taken out is noted on the disk first, so that it is done even after a kill. It
            stays noted while a tree that was taken before may still be on its way to its name.
    Rule 2: a tree never changes, so each is read once, whoever takes back what.
    """

    def __init__(
        self, settings: Settings, snapshots: SnapshotFolder, checkpoints: Checkpoints
    ) -> None:
        self._workspaces = WorkspaceFolders(settings.workspaces_dir)
        self._marks = settings.snapshots_dir / MARKS
        self._snapshots, self._checkpoints = snapshots, checkpoints
        self._inboxes: dict[str, frozenset[str]] = {}
        """By tree, the folders in it of messages with files."""

    async def withdraw(self, message: str) -> None:
        """The message of that id was taken back."""
        await asyncio.to_thread(self._note, folder_of(message))
        await self._workspaces.remove_within(INBOX, folder_of(message))

    async def sweep(self) -> None:
        """Take out what was noted; checkpoints name the trees without it from then on."""
        until = time.time() - GRACE_S
        names = await asyncio.to_thread(self._noted)
        if not names:
            return
        named = await self._checkpoints.named()
        trees = {tree: await self._without(tree, names) for tree in named}
        changed = {old: new for old, new in trees.items() if old != new}
        kept = named - changed.keys()
        self._inboxes = {tree: one for tree, one in self._inboxes.items() if tree in kept}
        if changed:
            # A goal that is still to be put back names the old one, and gets the new one.
            await self._snapshots.put_instead(changed)
            await self._checkpoints.replace(changed)
            self._snapshots.let_go(changed)
            await self._snapshots.sweep(await self._checkpoints.named(), older_s=0)
        await asyncio.to_thread(self._done, names, until)

    async def _without(self, tree: str, names: Sequence[str]) -> str:
        left = tree
        try:
            inbox = await self._inbox(tree)
            for name in inbox.intersection(names):
                left = await self._snapshots.without(left, f"{INBOX}/{name}")
        except BadInput:
            # Another machine has it, or nobody any more.
            return tree
        except Altered as error:
            # Nobody can have it back, and its files go with the next sweep.
            log.warning("A snapshot is lost: %s", error)
            self._inboxes[tree] = frozenset()
            return tree
        return left

    async def _inbox(self, tree: str) -> frozenset[str]:
        if tree not in self._inboxes:
            parts = [one.path.split("/", 2) for one in await self._snapshots.entries(tree)]
            inbox = frozenset(one[1] for one in parts if one[0] == INBOX and len(one) > 1)
            self._inboxes[tree] = inbox
        return self._inboxes[tree]

    def _note(self, name: str) -> None:
        self._marks.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._marks / name).touch(mode=0o600)

    def _noted(self) -> list[str]:
        try:
            return sorted(path.name for path in self._marks.iterdir())
        except FileNotFoundError:
            return []

    def _done(self, names: Iterable[str], until: float) -> None:
        for mark in (self._marks / name for name in names):
            with contextlib.suppress(FileNotFoundError):
                if mark.stat().st_mtime <= until:
                    mark.unlink()


class ScratchFolders:
    """`cache` and `tmp` of workspaces whose goal has ended."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._workspaces, self._rooms = WorkspaceFolders(settings.workspaces_dir), store.rooms

    async def sweep(self) -> None:
        """Empty them."""
        for name in await self._workspaces.filled(SCRATCH):
            goal = await self._rooms.last_goal(name)
            if goal is not None and goal.is_final:
                try:
                    await self._workspaces.empty(name, SCRATCH)
                except HeadwayError as error:
                    log.info("A scratch folder stays until the next time: %s", error)


class KeptFolders:
    """The folders of the goals: with one that is removed its snapshots go, too. Port Workspaces."""

    def __init__(
        self, workspaces: WorkspaceFolders, snapshots: SnapshotFolder, checkpoints: Checkpoints
    ) -> None:
        self._workspaces, self._snapshots = workspaces, snapshots
        self._checkpoints = checkpoints

    async def names(self) -> tuple[str, ...]:
        """Of all that there are, and of those of which snapshots alone are left."""
        kept = (await self._checkpoints.trees()).items()
        left = {session for session, trees in kept if set(trees) - {EMPTY}}
        return tuple(sorted({*await self._workspaces.names(), *left}))

    async def remove(self, name: str) -> None:
        """Remove one; its trees are swept later. Raises StoreUnusable."""
        trees = (await self._checkpoints.trees()).get(name, ())
        await self._checkpoints.let_go([name])
        self._snapshots.let_go(trees)
        await self._workspaces.remove(name)


class SnapshotTraces:
    """What snapshots hold of a person. Port Traces.

    Rule: of a thread that they had a part in no snapshot stays: nobody can tell what of them is in which.
    """

    def __init__(self, snapshots: SnapshotFolder, checkpoints: Checkpoints) -> None:
        self._snapshots, self._checkpoints = snapshots, checkpoints

    async def take(self, trail: Trail, *, is_dry: bool = False) -> Sequence[Step]:
        """Let go of the trees of their threads, and remove what nothing else names."""
        sessions = [spot.session for spot in (*trail.own, *trail.shared)]
        trees = await self._checkpoints.trees()
        count = sum(len(trees.get(session, ())) for session in sessions)
        if count and not is_dry:
            await self._checkpoints.let_go(sessions)
            self._snapshots.let_go({tree for one in sessions for tree in trees.get(one, ())})
            await self._snapshots.sweep(await self._checkpoints.named(), older_s=0)
        return [Step("snapshot", count)] if count else []


def scrubbing(snapshots: SnapshotFolder, checkpoints: Checkpoints, scrub: Scrub) -> Scrub:
    """Leaves no free page of the database, and no snapshot that nothing names any more."""

    async def scrubbed() -> None:
        await scrub()
        await snapshots.sweep(await checkpoints.named(), older_s=0)

    return scrubbed


def back_up_snapshots(settings: Settings, to: Path, told: Told) -> Iterator[Entry]:
    """Copy the snapshots into a backup's folder, what is being written left out."""
    source = settings.snapshots_dir
    if not source.exists():
        return

    def is_none(names: tuple[str, ...]) -> bool:
        is_draft = names[1:2] == (DRAFTS,) or names[-1].startswith(".")
        return is_draft or names[0] not in (*_OBJECTS, *_NOTES)

    for entry in copy_tree(source, to / FOLDER, without=is_none, told=told):
        yield replace(entry, path=f"{FOLDER}/{entry.path}")


def restore_snapshots(settings: Settings, place: Path, entries: Iterable[Entry]) -> None:
    """Put the snapshots of a backup beside those that are there; each appears whole.

    A name is a hash of what it names, so none replaces another one; what nothing names is swept later.
    What was taken out of trees since the backup stays so.
    """
    for entry in entries:
        kept = entry.path.removeprefix(f"{FOLDER}/")
        if kept == entry.path or not _KEPT.fullmatch(kept):
            continue
        path = settings.snapshots_dir / kept
        if kept.startswith(f"{INSTEAD}/") and path.exists():
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.unfinished")
        with open(place / entry.path, "rb") as source, open(draft, "wb") as target:
            os.fchmod(target.fileno(), 0o600)
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        draft.replace(path)


def withdrawing(
    settings: Settings, snapshots: SnapshotFolder, checkpoints: Checkpoints
) -> Callable[[str], Awaitable[None]]:
    """What takes a message's files out of workspaces and snapshots, told of its id."""
    return Withdrawn(settings, snapshots, checkpoints).withdraw
