"""
Every row of a PostgreSQL database in files, and back: a file a table, as COPY writes it.

Rule 1: an export is one snapshot (repeatable read), taken while others write.
Rule 2: an import is one transaction: the schema at the version of the rows, the rows, then the way to
        today's schema. Killed in the middle, nothing has changed.
Rule 3: tables that are there already are kept beside, in a schema of another name.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import psycopg
from psycopg import sql
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from adapters.store import schema
from adapters.store.copies import Told, flush
from adapters.store.postgres import PostgresTransaction, connect, translated, version_of
from adapters.store.statements import POSTGRES, Compiler
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from bot.errors import StoreUnusable

T = TypeVar("T")
Connection = psycopg.Connection[Any]

INDEX: Final = "tables.json"
"""Which tables there are, in an order in which they can be filled, with their columns."""

_COLUMNS: Final = (
    "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position"
)
_SIZES: Final = (
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
    " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
)
_SERIALS: Final = (
    "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND is_identity = 'YES'"
)
_OTHERS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND application_name = 'headway' AND pid <> pg_backend_pid()"
)
_SAME_SCHEMA: Final = "SELECT pg_advisory_xact_lock(hashtext('headway.schema'))"


def export_postgres(url: str, folder: Path, told: Told) -> str:
    """Write every table into the new folder; returns the version of the schema.

    Raises:
        StoreBusy, StoreUnusable: out of reach, refused, newer, or the disk is full.
    """
    try:
        folder.mkdir(mode=0o700)
        with connect(url) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            version = version_of(connection)
            schema.needs_migration(version, f"The database {connection.info.dbname}")
            if version is None:
                raise StoreUnusable("The database is empty: there is nothing to back up.")
            _export(connection, version, folder, told)
    except psycopg.Error as error:
        raise translated(error) from error
    except OSError as error:
        raise StoreUnusable(
            f"{folder} cannot be written ({error.strerror}): free some space on its disk, or mend "
            "its folder's rights."
        ) from error
    return version


def import_postgres(
    url: str,
    folder: Path,
    *,
    beside: str,
    finish: Callable[[Transaction], T],
    told: Told,
) -> tuple[T, bool]:
    """Fill the database with the rows in `folder`, and let `finish` write what follows from it.

    Returns its result, and whether there were tables before.

    Args:
        beside: the schema that keeps the tables which are there now; empty: there should be none.

    Raises:
        StoreBusy, StoreUnusable: out of reach, refused, in use, or tables are there already.
    """
    index = json.loads((folder / INDEX).read_text("utf-8"))
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool
    )
    try:
        with engine.begin() as outer:
            connection: Any = outer.connection.driver_connection
            had_tables = _make_room(connection, beside)
            schema.migrate(outer, index["schema"])
            _import(connection, folder, index["tables"], told)
            schema.migrate(outer)
            [now] = connection.execute(
                "SELECT extract(epoch FROM clock_timestamp())::float8"
            ).fetchone()
            transaction = PostgresTransaction(connection, Compiler(POSTGRES), lambda: now)
            return finish(transaction), had_tables
    except psycopg.Error as error:
        raise translated(error) from error
    except DBAPIError as error:
        raise translated(error.orig or error) from error


def _export(connection: Connection, version: str, folder: Path, told: Told) -> None:
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(_COLUMNS).fetchall():
        columns.setdefault(table, []).append(column)
    tables = {
        table.name: columns[table.name]
        for table in METADATA.sorted_tables
        if table.name in columns
    }  # fmt: skip
    sizes = dict(connection.execute(_SIZES).fetchall())
    done, total = 0, sum(sizes.get(name, 0) for name in tables)
    for name, of in tables.items():
        copy = sql.SQL("COPY {} ({}) TO STDOUT").format(*_named(name, of))
        _write(connection, copy, folder / f"{name}.copy")
        done += sizes.get(name, 0)
        told(done, total)
    index = {"schema": version, "tables": tables}
    with open(_new(folder / INDEX), "w", encoding="utf-8") as file:
        json.dump(index, file, indent=1)
    flush(folder / INDEX)
    flush(folder)


def _write(connection: Connection, copy: sql.Composed, path: Path) -> None:
    with open(_new(path), "wb") as file:
        with connection.cursor().copy(copy) as blocks:
            file.writelines(blocks)
        file.flush()
        os.fsync(file.fileno())


def _make_room(connection: Connection, beside: str) -> bool:
    """Move tables that are there out of the way; returns whether there were any."""
    connection.execute(_SAME_SCHEMA)
    [others] = connection.execute(_OTHERS).fetchone() or (0,)
    if others:
        raise StoreUnusable(
            f"{others} connections of Headway are open to the database {connection.info.dbname}: "
            "stop every process that works on it first."
        )
    if version_of(connection) is None:
        return False
    if not beside:
        raise StoreUnusable(
            f"The database {connection.info.dbname} has tables of Headway already: give --replace, "
            "which keeps them beside, or another database."
        )
    [here] = connection.execute("SELECT current_schema()").fetchone() or ("public",)
    rename = sql.SQL("ALTER SCHEMA {0} RENAME TO {1}; CREATE SCHEMA {0}")
    connection.execute(rename.format(sql.Identifier(here), sql.Identifier(beside)))
    return True


def _import(
    connection: Connection, folder: Path, tables: dict[str, list[str]], told: Told
) -> None:  # fmt: skip
    sizes = {name: (folder / f"{name}.copy").stat().st_size for name in tables}
    done, total = 0, sum(sizes.values())
    for name, columns in tables.items():
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(*_named(name, columns))
        with (
            (folder / f"{name}.copy").open("rb") as file,
            connection.cursor().copy(copy) as blocks,
        ):
            while block := file.read(1 << 16):
                blocks.write(block)
        done += sizes[name]
        told(done, total)
    for table, column in connection.execute(_SERIALS).fetchall():
        # The next number comes after the last one that was given.
        query = "SELECT setval(pg_get_serial_sequence({0}, {1}), max({2})) FROM {3}"
        names = (sql.Literal(f'"{table}"'), sql.Literal(column))
        columns_of = (sql.Identifier(column), sql.Identifier(table))
        connection.execute(sql.SQL(query).format(*names, *columns_of))


def _named(table: str, columns: list[str]) -> tuple[sql.Identifier, sql.Composed]:
    return sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))


def _new(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
