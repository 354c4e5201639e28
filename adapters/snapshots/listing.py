"""
A tree as bytes, and the marks by which its files are known again. Pure.

Rule 1: the same entries are the same bytes, whoever writes them: a tree's name is their SHA-256.
Rule 2: marks are a help to the next look, and no part of the tree: without them all is read anew.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bot.errors import StoreUnusable
from bot.ports.snapshots import EMPTY, Entry


@dataclass(frozen=True, slots=True)
class Marks:
    """Of the last look at a workspace that had this tree."""

    signature: str
    """Of the whole, where nothing in it could have changed unseen; else empty."""
    by_path: Mapping[str, str]


def name_of(listed: bytes) -> str:
    """The name of the tree that is listed so."""
    return sha256(listed).hexdigest() if listed else EMPTY


def listed(entries: Iterable[Entry]) -> bytes:
    """The entries, a line each, in the order of their paths."""
    lines = [json.dumps(_row(one), separators=(",", ":")) for one in _sorted(entries)]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def read(body: bytes) -> tuple[Entry, ...]:
    """The entries that are listed so.

    Raises:
        StoreUnusable: it is no list.
    """
    try:
        return tuple(_entry(json.loads(line)) for line in body.splitlines())
    except (ValueError, TypeError, IndexError) as error:
        raise StoreUnusable(
            "A snapshot's list of files cannot be read: its disk has altered it. Restore a backup."
        ) from error


def written_marks(marks: Marks) -> bytes:
    """The marks, the signature on a line of its own."""
    return f"{marks.signature}\n{json.dumps(dict(marks.by_path))}\n".encode("ascii")


def read_marks(body: bytes) -> Marks | None:
    """The marks that are written so; None where they are not whole."""
    signature, _, rest = body.partition(b"\n")
    try:
        by_path = json.loads(rest)
        return Marks(signature.decode("ascii"), {str(k): str(v) for k, v in by_path.items()})
    except (ValueError, AttributeError):
        return None


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda one: one.path)


def _row(one: Entry) -> list[Any]:
    match one.kind:
        case "file":
            return [one.path, one.kind, one.mode, one.size, one.hash]
        case "link":
            return [one.path, one.kind, one.target]
        case "folder":
            return [one.path, one.kind, one.mode]


def _entry(row: Any) -> Entry:
    path, kind, *rest = row
    if kind == "file":
        mode, size, hash = rest
        return Entry(path, "file", mode, size, hash)
    [of] = rest
    return Entry(path, "link", target=of) if kind == "link" else Entry(path, "folder", of)
