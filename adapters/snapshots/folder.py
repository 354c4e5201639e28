"""
Snapshots in a folder: `files` by their contents, `trees` that list them, `marks` to know files again.

Rule 1: files are on the disk before the tree that lists them, and the tree before its name is told.
Rule 2: a tree that was written lately counts as named: the transaction that names it may be under way. So
        it does for `UNNAMED_S` whatever age a sweep asks for, until it was named or let go.
Rule 3: threads of the loop's pool do what touches the disk; no two of them the same batch.
Rule 4: whatever the system says of that disk is said as StoreUnusable: it fails no turn and no command.
"""

import asyncio
import contextlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeVar

from adapters.snapshots import listing
from adapters.snapshots.listing import Marks
from adapters.snapshots.objects import FREE_LEAST, Altered, Batch, Objects, spoken
from adapters.snapshots.reading import TRIES, Reading
from adapters.snapshots.restoring import put_back
from bot.errors import BadInput, StoreUnusable
from bot.ports.attached import size_of
from bot.ports.sandbox import Session
from bot.ports.snapshots import EMPTY, Entry, Restored
from bot.ports.tree import SPECIAL, Found, Piece, Tree, Walk

log = logging.getLogger(__name__)

MIB: Final = 1024 * 1024
MOST_BYTES: Final = 1024 * MIB
MOST_ENTRIES: Final = 200_000
INSTEAD: Final = "instead"
"""The folder of trees that stand for others: a file each, named as the other one."""
UNNAMED_S: Final = 300.0
"""So long the transaction may take that names a tree of this process."""
_HELD_BYTES: Final = 1 * MIB
_HELD: Final = 200
_NAME: Final = re.compile("[0-9a-f]{64}")

T = TypeVar("T")


class SnapshotFolder:
    """Port Snapshots."""

    def __init__(
        self,
        folder: Path,
        *,
        most_bytes: int = MOST_BYTES,
        most_entries: int = MOST_ENTRIES,
        free_least: int = FREE_LEAST,
    ) -> None:
        """`most_*`: of one tree. The folder is made at the first use."""
        self._files = Objects(folder / "files", free_least=free_least)
        self._trees = Objects(folder / "trees", free_least=free_least)
        self._folder = folder
        self._marks = folder / "marks"
        self._instead = folder / INSTEAD
        self._most_bytes, self._most_entries = most_bytes, most_entries
        self._has_swept = False
        self._one_sweep, self._telling = threading.Lock(), threading.Lock()
        self._unnamed: dict[str, float] = {}
        """Trees that were told and not seen named yet, by when."""

    async def take(self, session: Session, *, before: str = "") -> str:
        """As in the port."""
        with spoken(self._folder):
            return await self._take(session, before)

    async def restore(self, session: Session, tree: str) -> Restored:
        """As in the port."""
        entries = await self.entries(tree)
        with spoken(self._folder):
            return await put_back(session.tree, entries, self._files)

    async def entries(self, tree: str) -> tuple[Entry, ...]:
        """As in the port."""
        with spoken(self._folder):
            return await asyncio.to_thread(self._entries, tree)

    async def without(self, tree: str, folder: str) -> str:
        """As in the port."""
        with spoken(self._folder):
            return await asyncio.to_thread(self._without, tree, folder)

    async def put_instead(self, trees: Mapping[str, str]) -> None:
        """Have other trees stand for these from now on (old -> new), whoever still names the old ones."""
        with spoken(self._folder):
            await asyncio.to_thread(self._put_instead, trees)

    async def sweep(self, named: Collection[str], *, older_s: float) -> int:
        """As in the port."""
        with spoken(self._folder):
            return await asyncio.to_thread(self._sweep, frozenset(named), older_s)

    def let_go(self, trees: Collection[str]) -> None:
        """Whoever named these names them no more: nothing waits for that."""
        self._are_named(frozenset(trees))

    async def _take(self, session: Session, before: str) -> str:
        known = await asyncio.to_thread(self._known, before)
        walk = await session.tree.walk(known.signature if known is not None else "")
        if walk.is_same:
            return before
        self._refuse_too_much(walk)
        for path, why in walk.left_out.items():
            if why != SPECIAL:
                log.warning("%r is in no snapshot: %s", path, why)
        kept = await asyncio.to_thread(self._kept, before, known) if known is not None else {}
        same, fresh = _sorted_out(walk.found, kept, known)
        batch = Batch(self._files)
        batch.hold(one.hash for one in same if one.kind == "file")
        reading = Reading(batch)
        try:
            await _read(session.tree, fresh, reading)
            return await _to_its_end(self._write, walk, same, reading, batch)
        finally:
            _let_go(reading, batch)

    def _known(self, tree: str) -> Marks | None:
        """What is known of the files of a tree that is there; it counts as new from now on."""
        if not _is_name(tree):
            return None
        self._is_told(tree)
        if not self._trees.touch(tree):
            return None
        try:
            return listing.read_marks((self._marks / tree).read_bytes())
        except OSError:
            return None

    def _kept(self, tree: str, known: Marks) -> dict[str, Entry]:
        try:
            return {one.path: one for one in self._entries(tree)}
        except (BadInput, StoreUnusable):
            # It is lost, or altered: what is there now is read anew.
            return {}

    def _entries(self, tree: str) -> tuple[Entry, ...]:
        return self._listed(self._standing(tree))

    def _listed(self, tree: str) -> tuple[Entry, ...]:
        if tree == EMPTY:
            return ()
        try:
            body = b"".join(self._trees.read(tree)) if _is_name(tree) else None
        except FileNotFoundError:
            body = None
        if body is None:
            raise BadInput("The files of that checkpoint are not kept any more.")
        if listing.name_of(body) != tree:
            raise Altered(
                f"{self._trees.path(tree)} is not what was kept there: its disk has altered it. "
                "Restore it from a backup."
            )
        return listing.read(body)

    def _refuse_too_much(self, walk: Walk) -> None:
        if walk.entries > self._most_entries:
            raise BadInput(
                f"The workspace holds more than {self._most_entries} files and folders, as many as a "
                "snapshot may have."
            )
        if walk.size > self._most_bytes:
            raise BadInput(
                f"The workspace holds {size_of(walk.size)}, {size_of(walk.size - self._most_bytes)} "
                "more than a snapshot may have."
            )

    def _write(self, walk: Walk, same: Sequence[Entry], reading: Reading, batch: Batch) -> str:
        """Bring files and tree to the disk; returns the tree's name."""
        batch.settle()
        read = reading.done
        entries = [*same]
        entries += [
            Entry(one.path, "file", one.mode, read[one.path].size, read[one.path].hash)
            for one in walk.found
            if one.path in read
        ]
        tree = self._list(entries)
        self._refuse_swept(entries)
        self._remember(tree, walk, reading)
        return tree

    def _list(self, entries: Sequence[Entry]) -> str:
        body = listing.listed(entries)
        if body:
            self._is_told(listing.name_of(body))
            trees = Batch(self._trees)
            try:
                trees.add(body)
                trees.settle()
            finally:
                trees.drop()
        return listing.name_of(body)

    def _refuse_swept(self, entries: Sequence[Entry]) -> None:
        """What was kept before may have been taken away meanwhile, with all that was forgotten."""
        for one in entries:
            if one.kind == "file" and not self._files.path(one.hash).exists():
                raise StoreUnusable(
                    "The snapshot before was taken away meanwhile: it is made anew."
                )

    def _remember(self, tree: str, walk: Walk, reading: Reading) -> None:
        """Write the marks; without them the next look only takes longer."""
        if tree == EMPTY:
            return
        marks, is_true = {}, walk.is_settled
        for found in walk.found:
            if found.kind == "file" and found.mark:
                done = reading.done.get(found.path)
                if done is None or done.mark == found.mark:
                    marks[found.path] = found.mark
                else:
                    is_true = False
        body = listing.written_marks(Marks(walk.signature if is_true else "", marks))
        draft = self._marks / f".{token_hex(8)}"
        with contextlib.suppress(OSError):
            self._marks.mkdir(mode=0o700, exist_ok=True)
            draft.write_bytes(body)
            os.replace(draft, self._marks / tree)

    def _put_instead(self, trees: Mapping[str, str]) -> None:
        with spoken(self._instead):
            self._instead.mkdir(mode=0o700, parents=True, exist_ok=True)
            for old, new in trees.items():
                draft = self._instead / f".{token_hex(8)}"
                draft.write_text(new)
                os.replace(draft, self._instead / old)

    def _standing(self, tree: str) -> str:
        """The tree that stands for one of that name: as a rule, itself."""
        if not _is_name(tree):
            return tree
        with spoken(self._instead):
            try:
                new = (self._instead / tree).read_text()
            except FileNotFoundError:
                return tree
        return new if new == EMPTY or _is_name(new) else tree

    def _without(self, tree: str, folder: str) -> str:
        entries = self._entries(tree)
        left = [
            one for one in entries if one.path != folder and not one.path.startswith(f"{folder}/")
        ]
        return tree if len(left) == len(entries) else self._list(left)

    def _is_told(self, tree: str) -> None:
        with self._telling:
            if tree not in self._unnamed:
                self._trees.hold([tree])
            self._unnamed[tree] = time.monotonic()

    def _are_named(self, named: Collection[str]) -> None:
        before = time.monotonic() - UNNAMED_S
        with self._telling:
            for tree, told in list(self._unnamed.items()):
                if tree in named or told < before:
                    del self._unnamed[tree]
                    self._trees.release([tree])

    def _sweep(self, named: frozenset[str], older_s: float) -> int:
        with self._one_sweep:
            return self._swept(named, older_s)

    def _swept(self, named: frozenset[str], older_s: float) -> int:
        until = time.time() - older_s
        self._are_named(named)
        # Files are held until their tree is.
        self._files.begin_sweep()
        told = self._trees.begin_sweep()
        self._forget_instead(named, until)
        named = frozenset(map(self._standing, named))
        there = dict(self._trees.names())
        named |= told
        kept = {name for name, state in there.items() if name in named or state.st_mtime > until}
        if kept == there.keys() and self._has_swept:
            # No tree goes, so no file does: to read them all would only take time.
            return 0
        self._has_swept = False
        size = self._trees.sweep(kept, older_s=older_s)
        # Some may be held since.
        left = [name for name, _ in self._trees.names()]
        hashes = {hash for tree in left for hash in self._hashes(tree)}
        size += self._files.sweep(hashes, older_s=older_s)
        self._forget_marks()
        self._has_swept = True
        return size

    def _hashes(self, tree: str) -> set[str]:
        try:
            return {one.hash for one in self._listed(tree) if one.kind == "file"}
        except Altered as error:
            # Nobody gets it back, and nothing else waits for it.
            log.warning("A snapshot is lost: %s", error)
            return set()

    def _forget_instead(self, named: frozenset[str], until: float) -> None:
        with spoken(self._instead), contextlib.suppress(FileNotFoundError):
            for one in list(self._instead.iterdir()):
                if one.name not in named and one.stat().st_mtime <= until:
                    one.unlink(missing_ok=True)

    def _forget_marks(self) -> None:
        with spoken(self._marks), contextlib.suppress(FileNotFoundError):
            for one in list(self._marks.iterdir()):
                if not self._trees.path(one.name).exists():
                    one.unlink(missing_ok=True)


def _is_name(tree: str) -> bool:
    return _NAME.fullmatch(tree) is not None


def _sorted_out(
    found: Sequence[Found], kept: Mapping[str, Entry], known: Marks | None
) -> tuple[list[Entry], list[Found]]:
    """What need not be read, and the files that have to be."""
    marks = known.by_path if known is not None else {}
    same: list[Entry] = []
    fresh: list[Found] = []
    for one in found:
        before = kept.get(one.path)
        if one.kind == "folder":
            same.append(Entry(one.path, "folder", one.mode))
        elif one.kind == "link":
            same.append(Entry(one.path, "link", target=one.target))
        elif (
            before is not None
            and before.kind == "file"
            and before.size == one.size
            and one.mark != ""
            and marks.get(one.path) == one.mark
        ):
            same.append(replace(before, mode=one.mode))
        else:
            fresh.append(one)
    return same, fresh


async def _read(tree: Tree, files: Sequence[Found], reading: Reading) -> None:
    """Read the files; those that change meanwhile again, a few times."""
    for _ in range(TRIES):
        held: list[Piece] = []
        size = 0
        async for piece in tree.read(files):
            held.append(piece)
            size += len(piece.data)
            if size >= _HELD_BYTES or len(held) >= _HELD:
                await _to_its_end(reading.take, held)
                held, size = [], 0
        await _to_its_end(reading.take, held)
        files = [one for one in files if one.path in reading.torn]
        if not files:
            return


def _let_go(reading: Reading, batch: Batch) -> None:
    reading.close()
    batch.drop()


async def _to_its_end(do: Callable[..., T], *of: Any) -> T:
    """Do it in a thread; a caller that is cancelled goes when it is done."""
    task = asyncio.ensure_future(asyncio.to_thread(do, *of))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise
