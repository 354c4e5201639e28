"""
A session's workspace as a tree: port Tree over the calls of the tool server (`inside/snapshot.py`).

Rule: a frame from inside is the word of a stranger: what has another shape than expected is refused.
"""

import base64
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from bot.errors import BadInput
from bot.ports.tree import Filling, Found, Piece, Walk

Transfer = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Makes one call of the server; raises as `Session.put`."""

AT_ONCE: Final = 1_000
"""Paths of one call."""
BYTES_AT_ONCE: Final = 1024 * 1024
HASHED_AT_ONCE: Final = 64 * 1024 * 1024
FILES_AT_ONCE: Final = 200
PAGES_MOST: Final = 1_000
_KINDS: Final = frozenset({"file", "link", "folder"})


class ConfinedTree:
    """The tree of one session."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer

    async def walk(self, known: str = "") -> Walk:
        """As in the port."""
        first = await self._step("walk", at=0, known=known)
        rows, answer = _rows(first), first
        while answer.get("more") is True and len(rows) < PAGES_MOST * len(_rows(first)):
            answer = await self._step("walk", at=len(rows), known=known)
            rows += _rows(answer)
        return Walk(
            signature=str(first.get("signature", "")),
            is_settled=first.get("settled") is True,
            is_same=first.get("same") is True,
            found=tuple(rows),
            entries=_number(first.get("entries")),
            size=_number(first.get("bytes")),
            left_out=_reasons(first.get("left_out")),
            is_whole=first.get("whole") is not False,
        )

    async def read(self, files: Sequence[Found]) -> AsyncIterator[Piece]:
        """As in the port."""
        left: list[tuple[str, int, int | None]] = [(one.path, 0, None) for one in files]
        while left:
            asked = left[:FILES_AT_ONCE]
            parts = _list((await self._step("read", want=asked)).get("parts"))
            if not parts or len(parts) > len(asked):
                raise _nonsense()
            done = 0
            for part in parts:
                if done == len(asked):
                    raise _nonsense()
                path, at, _ = left[done]
                piece, size = _piece(path, part)
                yield piece
                if piece.is_last:
                    done += 1
                else:
                    left[done] = (path, at + len(piece.data), size)
            del left[:done]

    async def hashes(self, files: Sequence[Found]) -> Mapping[str, str | None]:
        """As in the port."""
        found: dict[str, str | None] = {}
        for group in _groups(files, AT_ONCE, HASHED_AT_ONCE):
            paths = [one.path for one in group]
            given = _list((await self._step("hash", paths=paths)).get("hashes"))
            if len(given) != len(paths):
                raise _nonsense()
            found.update(
                (path, hash if isinstance(hash, str) else None)
                for path, hash in zip(paths, given, strict=True)
            )
        return found

    async def remove(self, paths: Sequence[str]) -> Mapping[str, str]:
        """As in the port."""
        return await self._all("remove", "paths", paths, list(paths))

    async def lay(self, entries: Sequence[Found]) -> Mapping[str, str]:
        """As in the port."""
        rows = [(one.path, one.kind, one.target) for one in entries]
        return await self._all("lay", "entries", [one.path for one in entries], rows)

    async def fill(self, pieces: AsyncIterable[Filling]) -> Mapping[str, str]:
        """As in the port."""
        failed: dict[str, str] = {}
        held: list[Filling] = []
        size = 0
        async for piece in pieces:
            held.append(piece)
            size += len(piece.data)
            if size >= BYTES_AT_ONCE or len(held) >= FILES_AT_ONCE:
                failed.update(await self._filled(held))
                held, size = [], 0
        failed.update(await self._filled(held))
        return failed

    async def finish(self, entries: Sequence[Found]) -> Mapping[str, str]:
        """As in the port."""
        rows = [(one.path, one.mode) for one in entries]
        failed = await self._all("close", "modes", [one.path for one in entries], rows, last=False)
        await self._step("close", modes=[], last=True)
        return failed

    async def _filled(self, held: Sequence[Filling]) -> Mapping[str, str]:
        rows = [
            {
                "path": one.path,
                "hash": one.hash,
                "mode": one.mode,
                "at": one.at,
                "data": base64.b64encode(one.data).decode("ascii"),
                "last": one.is_last,
            }
            for one in held
        ]
        return await self._all("fill", "pieces", [one.path for one in held], rows)

    async def _all(
        self, do: str, name: str, paths: Sequence[str], rows: Sequence[Any], **further: Any
    ) -> dict[str, str]:
        """Do a step for all of them, so many in a call; what failed by its path."""
        failed: dict[str, str] = {}
        for at in range(0, len(rows), AT_ONCE):
            answer = await self._step(do, **{name: rows[at : at + AT_ONCE]}, **further)
            for place, why in _reasons(answer.get("failed")).items():
                if place.isdecimal() and at + int(place) < len(paths):
                    failed[paths[at + int(place)]] = why
        return failed

    async def _step(self, do: str, **args: Any) -> dict[str, Any]:
        return await self._transfer("snapshot", {"do": do, **args})


def _rows(answer: Mapping[str, Any]) -> list[Found]:
    found = []
    for row in _list(answer.get("rows")):
        match row:
            case [str(path), str(kind), int(mode), int(size), str(target), str(mark)] if (
                kind in _KINDS and size >= 0 and 0 <= mode <= 0o7777
            ):
                found.append(Found(path, kind, mode, size, target, mark))  # type: ignore[arg-type]
            case _:
                raise _nonsense()
    return found


def _piece(path: str, part: Any) -> tuple[Piece, int]:
    """A piece, and the size that its file had at the first one."""
    match part:
        case None:
            return Piece(path, b"", "", is_last=True, is_gone=True), 0
        case {"data": str(data), "mark": str(mark), "end": bool(end), "size": int(size)}:
            try:
                piece = Piece(path, base64.b64decode(data, validate=True), mark, is_last=end)
                return piece, size
            except ValueError:
                raise _nonsense() from None
        case _:
            raise _nonsense()


def _groups(files: Sequence[Found], most: int, size: int) -> list[list[Found]]:
    """The files in groups of at most so many, and of about so many bytes."""
    groups: list[list[Found]] = []
    room = 0
    for one in files:
        if not groups or len(groups[-1]) >= most or room <= 0:
            groups.append([])
            room = size
        groups[-1].append(one)
        room -= one.size
    return groups


def _reasons(given: Any) -> dict[str, str]:
    """Why of each; what has another shape tells nothing."""
    return {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _number(given: Any) -> int:
    return given if isinstance(given, int) else 0


def _nonsense() -> BadInput:
    return BadInput("What came out of the sandbox tells of no workspace.")
