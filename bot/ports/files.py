"""
Files that people give and get: bytes, kept under their SHA-256.

Rule 1: bytes are on the disk before anything names them. What nothing names goes after an hour.
Rule 2: what is read is what was kept, or an error.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from bot.ports.chat import Attachment


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept: its SHA-256 (hexadecimal) and its size in bytes."""

    hash: str
    size: int


class Attachments(Protocol):
    """Which files there are. Those that came are written by the inbox, those shared by the journal."""

    async def came(
        self, session: str, names: Sequence[str]
    ) -> Mapping[str, tuple[Attachment, ...]]:
        """The files of these names that came in a session's room, by the message that brought them.

        A goal that was asked for in another goal's thread has one of its own: so it is the room.
        """

    async def of_goal(self, goal: str) -> tuple[Attachment, ...]:
        """The files that a goal has shared, in their order."""

    async def named(self) -> frozenset[str]:
        """The hashes of all files that anything names."""


class Files(Protocol):
    """Keeps bytes. Who names them is written elsewhere."""

    @property
    def most(self) -> int:
        """Bytes that one file may have."""

    async def keep(self, pieces: AsyncIterable[bytes]) -> Kept:
        """Keep what `pieces` give, whole or not at all. Kept again, it counts as new.

        Raises:
            BadInput: it is larger than `most`, which the message says.
            StoreUnusable: the disk is full or nearly so, or cannot be written.
        """

    async def open(self, hash: str) -> BinaryIO:
        """What is kept under the hash, read through and found whole, at its beginning.

        Raises:
            Refused: nothing is kept under it (any more); code `file_gone`.
            StoreUnusable: it is not what was kept, or cannot be read.
        """

    async def sweep(self, named: Callable[[], Awaitable[Collection[str]]]) -> int:
        """Delete what was kept over an hour ago and is not among the `named` hashes; returns how many.

        `named` is asked only where there is something to ask about.

        Raises:
            StoreUnusable: the folder cannot be read. Whatever `named` raises.
        """
