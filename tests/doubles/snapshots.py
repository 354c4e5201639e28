"""Snapshots in memory, and the tree of a workspace in memory."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Collection, Mapping, Sequence

from bot.errors import BadInput
from bot.ports.sandbox import Session
from bot.ports.snapshots import EMPTY, Entry, Restored
from bot.ports.tree import Filling, Found, Piece, Walk

SCRATCH = ("cache/", "tmp/")


class MemoryTree:
    """The tree of a dict of files: no links, no folders of their own, no rights."""

    def __init__(self, files: dict[str, str], *, is_writable: bool = True) -> None:
        self._files, self._is_writable = files, is_writable

    async def walk(self, known: str = "") -> Walk:
        found = tuple(
            Found(path, "file", 0o644, len(_bytes(text)), mark=_hash(_bytes(text)))
            for path, text in sorted(self._files.items())
            if not path.startswith(SCRATCH)
        )
        signature, size = _hash(repr(found).encode()), sum(one.size for one in found)
        is_same = signature == known
        return Walk(signature, True, is_same, () if is_same else found, len(found), size)

    async def read(self, files: Sequence[Found]) -> AsyncIterator[Piece]:
        for one in files:
            if one.path not in self._files:
                yield Piece(one.path, b"", "", is_last=True, is_gone=True)
                continue
            data = _bytes(self._files[one.path])
            yield Piece(one.path, data, _hash(data), is_last=True)

    async def hashes(self, files: Sequence[Found]) -> Mapping[str, str | None]:
        return {
            one.path: _hash(_bytes(self._files[one.path])) if one.path in self._files else None
            for one in files
        }

    async def remove(self, paths: Sequence[str]) -> Mapping[str, str]:
        self._refuse()
        for path in paths:
            self._files.pop(path, None)
        return {}

    async def lay(self, entries: Sequence[Found]) -> Mapping[str, str]:
        self._refuse()
        return {}

    async def fill(self, pieces: AsyncIterable[Filling]) -> Mapping[str, str]:
        self._refuse()
        held = b""
        async for piece in pieces:
            held += piece.data
            if piece.is_last:
                self._files[piece.path] = held.decode("utf-8", "surrogateescape")
                held = b""
        return {}

    async def finish(self, entries: Sequence[Found]) -> Mapping[str, str]:
        return {}

    def _refuse(self) -> None:
        if not self._is_writable:
            raise BadInput("The workspace is read-only here.")


class MemorySnapshots:
    """Port Snapshots. `most_bytes`: of one tree."""

    def __init__(self, *, most_bytes: int = 1_000_000) -> None:
        self.trees: dict[str, dict[Entry, bytes]] = {}
        self.restored: list[str] = []
        self._most_bytes = most_bytes

    async def take(self, session: Session, *, before: str = "") -> str:
        walk = await session.tree.walk()
        if walk.size > self._most_bytes:
            raise BadInput(f"The workspace holds {walk.size - self._most_bytes} bytes too much.")
        data = {piece.path: piece.data async for piece in session.tree.read(walk.found)}
        return self._keep(
            {
                Entry(one.path, one.kind, one.mode, one.size, _hash(data[one.path])): data[one.path]
                for one in walk.found
            }
        )

    async def restore(self, session: Session, tree: str) -> Restored:
        kept = self._of(tree)
        walk = await session.tree.walk()
        wanted = {entry.path: data for entry, data in kept.items()}
        gone = [one.path for one in walk.found if one.path not in wanted]
        there = {piece.path: piece.data async for piece in session.tree.read(walk.found)}
        lacking = [entry for entry, data in kept.items() if there.get(entry.path) != data]

        async def pieces() -> AsyncIterator[Filling]:
            for one in lacking:
                yield Filling(one.path, one.hash, one.mode, 0, wanted[one.path], is_last=True)

        await session.tree.remove(gone)
        await session.tree.fill(pieces())
        self.restored.append(tree)
        return Restored(len(lacking), len(gone), {})

    async def entries(self, tree: str) -> tuple[Entry, ...]:
        return tuple(sorted(self._of(tree), key=lambda one: one.path))

    async def without(self, tree: str, folder: str) -> str:
        kept = self._of(tree).items()
        return self._keep(
            {entry: data for entry, data in kept if not entry.path.startswith(f"{folder}/")}
        )

    async def sweep(self, named: Collection[str], *, older_s: float) -> int:
        gone = [tree for tree in self.trees if tree not in named] if not older_s else []
        return sum(sum(map(len, self.trees.pop(tree).values())) for tree in gone)

    def _keep(self, entries: dict[Entry, bytes]) -> str:
        if not entries:
            return EMPTY
        tree = _hash(repr(sorted(map(repr, entries))).encode())
        self.trees[tree] = entries
        return tree

    def _of(self, tree: str) -> dict[Entry, bytes]:
        if tree == EMPTY:
            return {}
        if tree not in self.trees:
            raise BadInput("The files of that checkpoint are not kept any more.")
        return self.trees[tree]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
