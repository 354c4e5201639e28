"""
A look at a database that owns, makes, migrates and changes nothing: what `headway doctor` asks.
"""

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from adapters.store import schema
from adapters.store.open import POSTGRES, SQLITE, address_of, file_of, unknown_kind
from adapters.store.sqlite import check, translated
from bot.errors import StoreUnusable

LEAST_POSTGRES: Final = 130_000
"""The first with `pg_current_xact_id`, by which a lost commit is settled."""
_HOMES: Final = (
    "SELECT home, count(*) FROM goal JOIN session ON session.id = goal.session"
    " WHERE goal.state NOT IN ('complete', 'cancelled') AND home <> '' GROUP BY home ORDER BY home"
)


@dataclass(frozen=True, slots=True)
class Look:
    """What there is. `version` is None in a database that nothing has been written to."""

    is_there: bool
    version: str | None = None
    owner: int | None = None
    """The process that owns it now (SQLite)."""
    homes: Mapping[str, int] = field(default_factory=dict)
    """How many live goals have their files in each folder of workspaces (PostgreSQL)."""

    @property
    def will_be_migrated(self) -> bool:
        """Whether the next start brings it to this program's version."""
        return self.version is not None and self.version != schema.HEAD


def look(url: str, *, state_dir: Path) -> Look:
    """What is at `url`, as `open_store` reads it.

    Raises:
        BadSettings: no such kind of database.
        StoreBusy, StoreUnusable: damaged, no database, newer, out of reach, or closed to us.
    """
    if url.startswith(SQLITE):
        return _sqlite(file_of(url, state_dir))
    if url.startswith(POSTGRES):
        return _postgres(address_of(url))
    raise unknown_kind(url)


def _sqlite(path: Path) -> Look:
    if not path.exists():
        return Look(is_there=False)
    if not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnusable(f"{path} is closed to this user: give them access to it.")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as found:
            found.execute("PRAGMA busy_timeout=2000")
            check(found, path)
            version = schema.version_in_sqlite(found)
    except sqlite3.Error as error:
        raise translated(error, path) from error
    schema.needs_migration(version, str(path))
    return Look(is_there=True, version=version, owner=_owner(path))


def _postgres(url: str) -> Look:
    import psycopg

    from adapters.store.postgres import connect, version_of
    from adapters.store.postgres import translated as translated_postgres

    try:
        with connect(url) as found:
            server_version = found.info.server_version
            if server_version < LEAST_POSTGRES:
                raise StoreUnusable(
                    f"The server runs PostgreSQL {server_version // 10_000}, and Headway needs "
                    f"{LEAST_POSTGRES // 10_000} or later: upgrade it, or give another in `database`."
                )
            found.execute("SET default_transaction_read_only = on")
            version = version_of(found)
            name = f"The database {found.info.dbname}"
            homes = dict(found.execute(_HOMES).fetchall()) if version == schema.HEAD else {}
    except psycopg.Error as error:
        raise translated_postgres(error) from error
    schema.needs_migration(version, name)
    return Look(is_there=True, version=version, homes=homes)


def _owner(path: Path) -> int | None:
    """Who holds the lock, read from the kernel's table: trying it would be in the owner's way."""
    lock = path.with_name(path.name + ".lock")
    try:
        node = lock.stat().st_ino
        held = Path("/proc/locks").read_text("ascii", "replace")
    except OSError:
        return None
    for line in held.splitlines():
        words = line.split()
        if "FLOCK" in words and any(word.endswith(f":{node}") for word in words):
            text = lock.read_text("ascii", "replace").strip()
            return int(text) if text.isdecimal() else None
    return None
