"""The bare drivers that the store is measured against: one transaction for each unit's rows."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import psycopg

from adapters.store.statements import POSTGRES, SQLITE, Compiler
from tests.bench.store_load import Recorded


def replay_on_sqlite(path: Path, recorded: Recorded) -> list[float]:
    """Seconds of each commit on a migrated, empty file with plain sqlite3 (WAL, FULL)."""
    before, units = recorded.for_driver(Compiler(SQLITE))
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    try:
        return _replay(connection, "BEGIN IMMEDIATE", before, units)
    finally:
        connection.close()


def replay_on_postgres(url: str, recorded: Recorded) -> list[float]:
    """Seconds of each commit on a migrated, empty database with plain psycopg."""
    before, units = recorded.for_driver(Compiler(POSTGRES))
    with psycopg.connect(url, autocommit=True) as connection:
        return _replay(connection, "BEGIN", before, units)


def fill(connection: Any, goals: int) -> None:
    """Copy the file's first goal, with its journal, until there are so many: ended, with their rows."""
    series = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {goals}) "
    first = "(SELECT id FROM goal WHERE number > 0 ORDER BY number LIMIT 1)"
    session = f"(SELECT session FROM goal WHERE id = {first})"
    special: dict[str, dict[str, str | None]] = {
        "session": {"id": "'fs' || i", "thread": "'ft' || i"},
        "goal": {
            "id": "'fg' || i", "session": "'fs' || i", "number": "1000000 + i",
            "state": "'complete'", "due_at": "NULL",
        },
        "lease": {"goal": "'fg' || i"},
        "content": {"session": "'fs' || i"},
        "event": {"position": None, "goal": "'fg' || i", "session": "'fs' || i"},
        "step": {"goal": "'fg' || i"},
    }  # fmt: skip
    of = {"session": f"id = {session}", "goal": f"id = {first}", "content": f"session = {session}"}
    connection.execute("BEGIN")
    for table, changed in special.items():
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        kept = [name for name in columns if changed.get(name, "") is not None]
        values = [changed.get(name) or f'"{name}"' for name in kept]
        names = ", ".join(f'"{name}"' for name in kept)
        connection.execute(
            f"INSERT INTO {table} ({names}) {series}"
            f"SELECT {', '.join(values)} FROM {table}, n WHERE {of.get(table, f'goal = {first}')}"
        )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _replay(connection: Any, begin: str, before: list[Any], units: list[list[Any]]) -> list[float]:
    connection.execute(begin)
    for sql, parameters in before:
        connection.execute(sql, parameters)
    connection.execute("COMMIT")
    taken = []
    for unit in units:
        begun = time.perf_counter()
        connection.execute(begin)
        for sql, parameters in unit:
            connection.execute(sql, parameters)
        connection.execute("COMMIT")
        taken.append(time.perf_counter() - begun)
    return taken
