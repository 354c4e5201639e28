"""
What is done to a database as a whole: backed up, restored, brought to today's schema.

Rule 1: a database appears under its name when it is whole, with its hold in it.
Rule 2: whatever is replaced is kept beside.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, Literal

from adapters.store import schema
from adapters.store.copies import Told, copy_sqlite, flush
from adapters.store.open import POSTGRES, SQLITE, address_of, file_of, unknown_kind
from adapters.store.restored import Origin, settle
from adapters.store.statements import SQLITE as DIALECT
from adapters.store.statements import Compiler
from adapters.store.transaction import Transaction
from bot.errors import StoreBusy, StoreUnusable
from bot.ports.restored import RestoreReport

Kind = Literal["sqlite", "postgresql"]

FILE: Final = "headway.db"
"""Of a SQLite database in a backup."""
ROWS: Final = "rows"
"""The folder of a PostgreSQL database's rows in a backup."""


def kind_of(url: str) -> Kind:
    """Which kind of database the URL names. Raises BadSettings: none that is known."""
    if url.startswith(SQLITE):
        return "sqlite"
    if url.startswith(POSTGRES):
        return "postgresql"
    raise unknown_kind(url)


def back_up(url: str, *, state_dir: Path, folder: Path, told: Told) -> str:
    """Write the database into the folder, in one snapshot; returns the version of its schema.

    Raises:
        StoreBusy, StoreUnusable: there is none, it is newer, damaged, out of reach, or the disk is full.
    """
    if kind_of(url) == "postgresql":
        from adapters.store.export import export_postgres

        return export_postgres(address_of(url), folder / ROWS, told)
    from adapters.store.sqlite import translated

    source = file_of(url, state_dir)
    if not source.is_file():
        raise StoreUnusable(
            f"There is no database {source} yet, so there is nothing to back up: "
            "--state-dir names another folder."
        )
    copy_sqlite(source, folder / FILE, translated, told)
    version = _version_of(folder / FILE)
    schema.needs_migration(version, str(source))
    if version is None:
        raise StoreUnusable(f"{source} is empty: there is nothing to back up.")
    return version


def is_there(url: str, *, state_dir: Path) -> bool:
    """Whether a restore to this URL would replace a database."""
    return kind_of(url) == "sqlite" and file_of(url, state_dir).exists()


def restore(
    url: str,
    origin: Origin,
    *,
    state_dir: Path,
    folder: Path,
    beside: str,
    now: Callable[[], float],
    told: Told,
) -> tuple[RestoreReport, str]:
    """Make the database that of the backup in `folder`, on hold, at today's schema.

    Whoever calls owns the state folder. Returns where the former database is kept, too.

    Args:
        beside: what the name of what is replaced is given as its end.
        now: seconds since 1970; PostgreSQL has its own clock.

    Raises:
        StoreBusy, StoreUnusable: out of reach, in use, or the disk is full.
    """
    if kind_of(url) == "postgresql":
        from adapters.store.export import import_postgres

        name = beside.replace("-", "_")
        report, had_tables = import_postgres(
            address_of(url),
            folder / ROWS,
            beside=name,
            finish=lambda tx: settle(tx, origin),
            told=told,
        )
        return report, f"schema {name} of the database" if had_tables else ""
    return _restore_sqlite(file_of(url, state_dir), folder / FILE, origin, beside, now, told)


def upgrade(url: str, *, state_dir: Path, told: Told, before: Callable[[Told], Path]) -> str:
    """Bring the database to today's schema, after a copy of it has been kept; returns its path.

    That is empty where the database is of today's schema already. `before` keeps the copy of a
    PostgreSQL; that of a SQLite database is kept beside it.

    Raises:
        StoreBusy, StoreUnusable: newer, owned by a process, out of reach, or the disk is full.
    """
    if kind_of(url) == "postgresql":
        from adapters.store.postgres import open_postgres

        kept = list[Path]()
        open_postgres(address_of(url), before=lambda: kept.append(before(told)))
        return str(kept[0]) if kept else ""
    from adapters.store import sqlite

    path = file_of(url, state_dir)
    with sqlite.Ownership(path), closing(_opened(path)) as connection:
        sqlite.check(connection, path)
        return str(sqlite.migrate(connection, path, told) or "")


def _restore_sqlite(
    path: Path, backup: Path, origin: Origin, beside: str, now: Callable[[], float], told: Told
) -> tuple[RestoreReport, str]:
    from adapters.store import sqlite

    draft = path.with_name(f"{path.name}.unfinished")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with sqlite.Ownership(path):
        _remove(draft)
        try:
            copy_sqlite(backup, draft, sqlite.translated, told)
            report = _settled(draft, origin, now)
            flush(draft)
            kept = _keep_beside(path, beside)
            draft.replace(path)
            flush(path.parent)
        except BaseException:
            _remove(draft)
            raise
    return report, kept


def _settled(draft: Path, origin: Origin, now: Callable[[], float]) -> RestoreReport:
    from adapters.store import sqlite

    with closing(_opened(draft)) as connection:
        try:
            sqlite.migrate(connection, draft, None)
            connection.execute("BEGIN IMMEDIATE")
            report = settle(Transaction(connection, Compiler(DIALECT), now), origin)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.Error as error:
            raise sqlite.translated(error, draft) from error
    return report


def _keep_beside(path: Path, beside: str) -> str:
    """Give the database that is there a second name, with what its WAL holds brought home."""
    from adapters.store import sqlite

    if not path.exists():
        return ""
    try:
        with closing(_opened(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        # What is damaged is replaced as well, and kept as it is, with its WAL.
        for end in ("-wal", "-shm"):
            if path.with_name(path.name + end).exists():
                shutil.copy2(path.with_name(path.name + end), f"{path}.{beside}{end}")
        ours = sqlite.translated(error, path)
        if isinstance(ours, StoreBusy):
            raise ours from error
    os.link(path, f"{path}.{beside}")
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    return f"{path}.{beside}"


def _opened(path: Path) -> sqlite3.Connection:
    from adapters.store import sqlite

    try:
        return sqlite.opened(path)
    except sqlite3.Error as error:
        raise sqlite.translated(error, path) from error


def _version_of(path: Path) -> str | None:
    reading = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    with closing(reading):
        return schema.version_in_sqlite(reading)


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)
