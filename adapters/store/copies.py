"""
Whole copies of a SQLite database, taken while its owner writes.

Rule 1: a copy is one snapshot: a reading transaction is held for as long as the pages are copied.
Rule 2: a copy is one file that needs no WAL beside it, checked, for its owner alone, and on the disk
        before it has its name.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from bot.errors import HeadwayError, StoreUnusable

PAGES: Final = 1024
"""Copied in one step; between two steps somebody may be told how far it is."""

Told = Callable[[int, int], None]
"""Is told how many bytes are done, of how many."""
Translate = Callable[[BaseException, Path], HeadwayError]


def nobody(done: int, total: int) -> None:
    """Tell it to nobody."""


def copy_sqlite(source: Path, to: Path, translate: Translate, told: Told) -> None:
    """Copy the database at `source` to the new file `to`.

    Raises:
        StoreBusy, StoreUnusable: as `translate` says; nothing is left at `to`.
    """
    try:
        os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            _copy(source, to, told)
            flush(to)
        except BaseException:
            to.unlink(missing_ok=True)
            raise
    except sqlite3.Error as error:
        is_full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise translate(error, to if is_full else source) from error
    except OSError as error:
        raise _unwritable(to, error) from error


def keep_before(path: Path, head: str, translate: Translate, told: Told) -> Path:
    """Keep the database as it is before it is brought to `head`; returns the copy's path.

    Raises: as `copy_sqlite`.
    """
    kept = path.with_name(f"{path.name}.before-{head}")
    draft = kept.with_name(f"{kept.name}.unfinished")
    try:
        draft.unlink(missing_ok=True)
        copy_sqlite(path, draft, translate, told)
        draft.replace(kept)
        flush(path.parent)
    except OSError as error:
        raise _unwritable(kept, error) from error
    return kept


def flush(path: Path) -> None:
    """Bring a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(to: Path, error: OSError) -> StoreUnusable:
    return StoreUnusable(
        f"The copy {to} cannot be written ({error.strerror}): free some space on its disk, or mend "
        "its folder's rights."
    )


def _copy(source: Path, to: Path, told: Told) -> None:
    reading = sqlite3.connect(
        f"{source.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
    )
    with closing(reading), closing(sqlite3.connect(to, isolation_level=None)) as copy:
        [size] = reading.execute("PRAGMA page_size").fetchone()
        reading.execute("BEGIN")
        # A transaction has its snapshot from its first read on.
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reading.backup(
            copy,
            pages=PAGES,
            progress=lambda _, left, pages: told((pages - left) * size, pages * size),
            sleep=0.0,
        )
        copy.execute("PRAGMA journal_mode=DELETE").fetchone()
        found = copy.execute("PRAGMA quick_check(1)").fetchall()
    if found != [("ok",)]:
        raise StoreUnusable(f"{source} is damaged ({found[0][0]}): restore the last backup.")
