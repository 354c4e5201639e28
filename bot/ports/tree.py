"""
A workspace as a tree of files, folders and links, as a sandbox session walks, reads and changes it.

Rule 1: `cache` and `tmp` are in no tree. Of the workspace's other own folders only what is in them is, as
        long as their rights are the usual ones.
Rule 2: a name that is no UTF-8 is a string with lone surrogates, as `os.fsdecode` makes it.
Rule 3: what is told of an entry is the word of a stranger: whoever keeps it hashes what was read.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

Kind = Literal["file", "link", "folder"]
SPECIAL: Final = "it is no file, folder or link"
"""The reason of what has nothing in it that could be kept: a pipe, a socket."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry: a file of `size` bytes, a link to `target`, or a folder. `mode`: its rights.

    `mark` is another one when a file was changed or replaced; empty where it changed so lately that
    nobody can tell.
    """

    path: str
    kind: Kind
    mode: int = 0
    size: int = 0
    target: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Walk:
    """One look at a workspace, its entries in order: folders before what they hold."""

    signature: str
    """Of all entries with their marks: the same as long as nothing has changed."""
    is_settled: bool
    """False where a file changed so lately that another change could leave the same mark."""
    is_same: bool
    """It is settled and has the signature that was known: `found` is left empty."""
    found: tuple[Found, ...]
    entries: int
    size: int
    """Bytes of its files."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What is no file, folder or link (`SPECIAL`), or cannot be read, with the reason."""
    is_whole: bool = True
    """False where there is more than a workspace may hold: then it ends there."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a file, in order; `mark` is `torn` where it changed under the look."""

    path: str
    data: bytes
    mark: str
    is_last: bool
    is_gone: bool = False
    """It is no file there any more."""


@dataclass(frozen=True, slots=True)
class Filling:
    """Some bytes that a file shall have, whose SHA-256 in the end is `hash`; `at`: where they go."""

    path: str
    hash: str
    mode: int
    at: int
    data: bytes
    is_last: bool


class Tree(Protocol):
    """A session's workspace. Every method raises as `Session.put`."""

    async def walk(self, known: str = "") -> Walk:
        """Look at all there is; `known`: the signature of a settled look, which is not told again."""

    def read(self, files: Sequence[Found]) -> AsyncIterator[Piece]:
        """The bytes of these files, one after the other."""

    async def hashes(self, files: Sequence[Found]) -> Mapping[str, str | None]:
        """sha256 hex of each of these files now, None where it is gone."""

    async def remove(self, paths: Sequence[str]) -> Mapping[str, str]:
        """Remove these with all that is in them; returns what could not be removed, and why."""

    async def lay(self, entries: Sequence[Found]) -> Mapping[str, str]:
        """Have these folders and links there, in the place of anything else; returns what failed."""

    async def fill(self, pieces: AsyncIterable[Filling]) -> Mapping[str, str]:
        """Have these files there, each whole at once, in the place of anything else; what failed."""

    async def finish(self, entries: Sequence[Found]) -> Mapping[str, str]:
        """Set the rights of these, in that order, and bring the workspace to the disk; what failed."""
