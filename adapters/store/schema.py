"""
The schema's version: what the database has, what this program needs, and the way there.

Rule 1: an empty or older database is migrated when it is opened; a newer one is refused.
Rule 2: Alembic is loaded only when there is something to migrate.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.errors import StoreUnusable

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import Connection

HEAD: Final = "0005"
"""The revision of the tables in `adapters.store.tables`."""

VERSION_SQL: Final = "SELECT version_num FROM alembic_version"
_IS_IN_SQLITE: Final = "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
_MIGRATIONS: Final = Path(__file__).parent / "migrations"


def needs_migration(found: str | None, database: str) -> bool:
    """True when the database is empty (None) or older than this program.

    Raises:
        StoreUnusable: it is newer.
    """
    if found is not None and found > HEAD:
        raise StoreUnusable(
            f"{database} has schema {found}, and this Headway knows {HEAD} at most: "
            "install the Headway that wrote it, or a newer one."
        )
    return found != HEAD


def version_in_sqlite(connection: "sqlite3.Connection") -> str | None:
    """The version of a SQLite database; None where it has no tables."""
    is_there = connection.execute(_IS_IN_SQLITE).fetchone()
    row = connection.execute(VERSION_SQL).fetchone() if is_there else None
    return None if row is None else str(row[0])


def migrate(connection: "Connection", to: str = HEAD) -> None:
    """Bring the database up to a version, in the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
