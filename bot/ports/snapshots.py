"""
Workspaces as they were at a checkpoint: trees of files, kept by their contents.

Rule 1: a tree is named by the hash of what is in it, and everything of it is on disk before the
        transaction that names it.
Rule 2: links are kept as links and never followed; `.git` folders are files like any others; nothing of
        a workspace is read or written but through its sandbox session.
Rule 3: what no checkpoint and no goal names is swept, once it is older than any transaction.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.ports.sandbox import Session

EMPTY = "empty"
"""The tree of a workspace in which there is nothing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a tree: a file (`hash`, `size` in bytes), a link (`target`), or a folder."""

    path: str
    kind: Literal["file", "link", "folder"]
    mode: int = 0
    size: int = 0
    hash: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Restored:
    """What putting a tree back did: counts, and paths that could not be put back with the reason."""

    written: int
    removed: int
    failed: Mapping[str, str]


class Snapshots(Protocol):
    """Keeps trees."""

    async def take(self, session: Session, *, before: str = "") -> str:
        """Keep what is in the session's workspace, scratch folders apart; returns the tree's name.

        Args:
            before: the tree that was kept last of this workspace: what is in it is not read again
                where path, size and time of change are the same.

        Raises:
            BadInput: it is over the quota; the sentence says by how much.
            NoSandbox: as the session.
            StoreUnusable: it cannot be written (the disk is full, say).
        """

    async def restore(self, session: Session, tree: str) -> Restored:
        """Make the workspace what the tree was, byte for byte, scratch folders apart. Idempotent.

        Raises:
            BadInput: the tree is not there (any more).
            NoSandbox: as the session.
        """

    async def entries(self, tree: str) -> tuple[Entry, ...]:
        """What is in it, by path. Raises BadInput where it is not there."""

    async def without(self, tree: str, folder: str) -> str:
        """The tree without what is in that folder; its own name where nothing is.

        Raises:
            BadInput: the tree is not there (any more).
            StoreUnusable: the new one cannot be written.
        """

    async def sweep(self, named: Collection[str], *, older_s: float) -> int:
        """Remove what none of these trees holds and nobody has written for so long; returns bytes."""
