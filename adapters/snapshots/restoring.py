"""
A workspace made what a tree was.

Rule 1: nothing is touched before all that is to be written was found whole in the store. Then what is too
        much goes, so that there is room; then folders, files, links, and rights last.
Rule 2: what is there as it was is not written again: that is known by its bytes, never by its times.
Rule 3: what could not be kept was there before as well, as far as anybody can tell: it stays where it is in
        no way, and is named.
Rule 4: whatever ends it, it is done again from the beginning, and comes to the same.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from adapters.snapshots.objects import Objects
from bot.errors import BadInput, StoreUnusable
from bot.ports.snapshots import Entry, Restored
from bot.ports.tree import SPECIAL, Filling, Found, Tree, Walk

LOOKS_MOST: Final = 100


async def put_back(tree: Tree, entries: Sequence[Entry], files: Objects) -> Restored:
    """Do it. Raises as the tree, and StoreUnusable: a file cannot be read."""
    wanted = {one.path: one for one in entries}
    walk, cleared = await _whole_walk(tree, wanted, files)
    there = {one.path: one for one in walk.found}
    gone = list(_gone(wanted, _in_order(walk, wanted)))
    goes = frozenset(gone)
    unknown = [
        one
        for one in walk.found
        if _looks_the_same(wanted.get(one.path), one) and not _goes_with(one.path, goes)
    ]
    hashes = await tree.hashes(unknown)
    lacking = [
        one
        for one in entries
        if one.kind == "file" and (one.hash == "" or hashes.get(one.path) != one.hash)
    ]
    await asyncio.to_thread(_refuse_damaged, lacking, files)
    failed = {path: why for path, why in _kept_out(walk, wanted) if not _goes_with(path, goes)}
    failed.update(await tree.remove(gone))
    failed.update(await tree.lay([_found(one) for one in entries if one.kind == "folder"]))
    failed.update(await tree.fill(_fillings(lacking, files)))
    links = [one for one in entries if one.kind == "link"]
    failed.update(await tree.lay([_found(one) for one in links]))
    # What is within comes first: a folder may be closed to its owner.
    moded = [_found(one) for one in reversed(entries) if one.kind != "link"]
    failed.update(await tree.finish(moded))
    laid = sum(one.kind == "link" and _differs(one, there.get(one.path)) for one in entries)
    return Restored(len(lacking) + laid, cleared + len(gone), failed)


async def _whole_walk(tree: Tree, wanted: Mapping[str, Entry], files: Objects) -> tuple[Walk, int]:
    """A look at all there is: where that is too much, what is not wanted goes until it is less."""
    walk, cleared = await tree.walk(), 0
    if not walk.is_whole:
        await asyncio.to_thread(
            _refuse_damaged, [one for one in wanted.values() if one.kind == "file"], files
        )
    for _ in range(LOOKS_MOST):
        if walk.is_whole:
            return walk, cleared
        gone = list(_gone(wanted, _in_order(walk, wanted)))
        failed = await tree.remove(gone)
        if len(failed) >= len(gone):
            break
        cleared += len(gone) - len(failed)
        walk = await tree.walk()
    raise BadInput("There is too much in the workspace, and it cannot be removed.")


def _in_order(walk: Walk, wanted: Mapping[str, Entry]) -> Iterator[Found]:
    return chain(walk.found, _others(walk.left_out, wanted))


def _kept_out(walk: Walk, wanted: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    for path, why in walk.left_out.items():
        if why != SPECIAL and path not in wanted:
            yield path, why


def _gone(wanted: Mapping[str, Entry], there: Iterable[Found]) -> Iterator[str]:
    """What is there and not wanted so, without what goes with the folder that it is in."""
    above = "\0"
    for one in there:
        if one.path.startswith(above):
            continue
        entry = wanted.get(one.path)
        if entry is None or entry.kind != one.kind:
            above = f"{one.path}/"
            yield one.path


def _goes_with(path: str, gone: Collection[str]) -> bool:
    """Whether it is in a folder that goes: then it is to be written, however it looks now."""
    while path := path.rpartition("/")[0]:
        if path in gone:
            return True
    return False


def _others(left_out: Mapping[str, str], wanted: Mapping[str, Entry]) -> Iterator[Found]:
    """What is no file, folder or link, and what else is in the way of something."""
    for path, why in left_out.items():
        if why == SPECIAL or path in wanted:
            yield Found(path, "file", size=-1)


def _looks_the_same(entry: Entry | None, one: Found) -> bool:
    return entry is not None and entry.kind == one.kind == "file" and entry.size == one.size


def _differs(entry: Entry, one: Found | None) -> bool:
    return one is None or one.kind != entry.kind or one.target != entry.target


def _found(one: Entry) -> Found:
    return Found(one.path, one.kind, one.mode, target=one.target)


async def _fillings(entries: Sequence[Entry], files: Objects) -> AsyncIterator[Filling]:
    for one in entries:
        at = 0
        pieces = _pieces(one, files)
        while True:
            piece = await asyncio.to_thread(next, pieces, b"")
            is_last = at + len(piece) >= one.size
            if not piece and at < one.size:
                raise StoreUnusable(f"What was kept of {one.path!r} is cut off: restore a backup.")
            yield Filling(one.path, one.hash, one.mode, at, piece, is_last)
            at += len(piece)
            if is_last:
                break


def _refuse_damaged(entries: Sequence[Entry], files: Objects) -> None:
    """Half of a tree is worse than none of it. Raises StoreUnusable."""
    for hash, one in {one.hash: one for one in entries if one.hash}.items():
        read = hashlib.sha256()
        for piece in _pieces(one, files):
            read.update(piece)
        if read.hexdigest() != hash:
            raise StoreUnusable(
                f"What was kept of {one.path!r} is not what it was: its disk has altered it. Restore a "
                "backup."
            )


def _pieces(one: Entry, files: Objects) -> Iterator[bytes]:
    try:
        yield from files.read(one.hash)
    except FileNotFoundError:
        raise StoreUnusable(
            f"What was kept of {one.path!r} is not there any more: restore a backup."
        ) from None
