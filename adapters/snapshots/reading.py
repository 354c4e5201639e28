"""
The files of a workspace on their way into the store.

Rule 1: what is kept of a file is what was read of it from its beginning to its end. One that changes
        meanwhile is read again, `TRIES` times in all; then it is kept as it was read last.
Rule 2: what is gone when it is read is in no tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adapters.snapshots.objects import Batch, Draft
from bot.ports.tree import Piece

TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read: its hash, its bytes, and its mark, if that held all the time."""

    hash: str
    size: int
    mark: str


class Reading:
    """Takes pieces in the order in which they come."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.done: dict[str, Read] = {}
        """By path."""
        self.torn: set[str] = set()
        """Files that changed while they were read last."""
        self._draft: Draft | None = None
        self._mark = ""

    def take(self, pieces: Sequence[Piece]) -> None:
        """Keep them. Raises StoreUnusable."""
        for piece in pieces:
            if piece.is_gone:
                self._drop()
                self.done.pop(piece.path, None)
            elif self._draft is None and piece.is_last:
                self._read(piece.path, self._batch.add(piece.data), len(piece.data), piece.mark)
            else:
                self._go_on(piece)

    def close(self) -> None:
        """Nothing more comes."""
        self._drop()

    def _go_on(self, piece: Piece) -> None:
        if self._draft is None:
            self._draft, self._mark = self._batch.begin(piece.data), piece.mark
        self._draft.add(piece.data)
        if piece.mark != self._mark:
            self._mark = TORN
        if piece.is_last:
            draft, self._draft = self._draft, None
            self._read(piece.path, self._batch.end(draft), draft.size, self._mark)

    def _read(self, path: str, hash: str, size: int, mark: str) -> None:
        self.done[path] = Read(hash, size, "" if mark == TORN else mark)
        (self.torn.add if mark == TORN else self.torn.discard)(path)

    def _drop(self) -> None:
        draft, self._draft = self._draft, None
        if draft is not None:
            draft.drop()


TORN: Final = "torn"
