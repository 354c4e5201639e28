"""
What a backup says of itself: `manifest.json`, written last. Pure.

Rule: whatever the file holds, reading it gives a manifest that is whole and of a known format, or an
error that says which of these it is not. It bears the checksum of itself and of every file.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, get_args

from adapters.backup.tree import Entry
from bot.errors import StoreUnusable

FILE: Final = "manifest.json"
FORMAT: Final = 1

_NO_DATE: Final = 253_402_300_800.0
"""Seconds since 1970 that have no date: the year 10000 begins."""

Kind = Literal["sqlite", "postgresql"]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup's own account. Times are seconds since 1970; `entries` are all of its files."""

    made_at: float
    headway: str
    """The version that made it."""
    schema: str
    """Of the database in it."""
    database: Kind
    home: str = ""
    """The name of the folder of workspaces, where several processes share the database."""
    console: str = ""
    """The name of the state folder, likewise."""
    entries: tuple[Entry, ...] = ()
    left_out: tuple[Entry, ...] = ()


def written(manifest: Manifest) -> str:
    """The file's text."""
    row: dict[str, Any] = {"format": FORMAT, **_row(manifest)}
    return json.dumps({**row, "checksum": _checksum(row)}, indent=1) + "\n"


def read(text: str) -> Manifest:
    """What the text says.

    Raises:
        StoreUnusable: it is cut off, altered, or of a newer format.
    """
    try:
        row = json.loads(text)
        number, checksum = row["format"], row.pop("checksum")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StoreUnusable(
            f"The backup's {FILE} is cut off or no manifest: take another backup."
        ) from error
    if not isinstance(number, int) or number > FORMAT:
        raise StoreUnusable(
            f"The backup has format {number}, and this Headway knows {FORMAT} at most: "
            "install the Headway that made it, or a newer one."
        )
    if checksum != _checksum(row):
        raise StoreUnusable(f"The backup's {FILE} was altered: take another backup.")
    return _read(row)


def differences(manifest: Manifest, found: Iterable[Entry]) -> tuple[str, ...]:
    """How the files that are there differ from those that were put there, in words."""
    there = {entry.path: entry for entry in found if entry.path != FILE}
    put = {entry.path: entry for entry in manifest.entries}
    missing = [f"{path} is missing" for path in put if path not in there]
    more = [f"{path} is no part of it" for path in there if path not in put]
    altered = [f"{path} was altered" for path in put if path in there and there[path] != put[path]]
    return (*missing, *altered, *more)


def _row(manifest: Manifest) -> dict[str, Any]:
    row = asdict(manifest)
    for name in ("entries", "left_out"):
        row[name] = [{k: v for k, v in entry.items() if v not in ("", 0)} for entry in row[name]]
    return row


def _read(row: dict[str, Any]) -> Manifest:
    known = {field.name for field in fields(Manifest)}
    of = {name: value for name, value in row.items() if name in known}
    try:
        for name in ("entries", "left_out"):
            of[name] = tuple(Entry(**entry) for entry in of[name])
            for entry in of[name]:
                _refuse_wrong(entry, size=int)
        told = Manifest(**of)
        _refuse_wrong(told, made_at=(int, float), entries=tuple, left_out=tuple)
        if not 0 <= told.made_at < _NO_DATE:
            raise ValueError("made at no time")
        if told.database not in get_args(Kind) or not told.schema.isdecimal():
            raise ValueError("no kind or no schema that there is")
    except (ValueError, LookupError, TypeError) as error:
        raise StoreUnusable(
            f"The backup's {FILE} says what no backup says: take another backup."
        ) from error
    return told


def _refuse_wrong(value: Entry | Manifest, **kinds: type | tuple[type, ...]) -> None:
    """Refuse a value with a field that is of another type; those that are not named are text."""
    for field in fields(value):
        kind, held = kinds.get(field.name, str), getattr(value, field.name)
        if not isinstance(held, kind) or isinstance(held, bool):
            raise TypeError(f"{field.name} is no {kind}")


def _checksum(row: dict[str, Any]) -> str:
    whole = json.dumps(row, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(whole.encode("ascii")).hexdigest()
