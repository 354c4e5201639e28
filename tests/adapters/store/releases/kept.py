"""The kept databases of former releases, unpacked where a test may do with them as it likes."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from psycopg import sql
from sqlalchemy import NullPool, create_engine

from adapters.store import schema
from adapters.store.tables import METADATA

HERE: Final = Path(__file__).parent
RELEASES: Final = tuple(sorted(path.name for path in HERE.glob("[0-9]*") if path.is_dir()))
WHO: Final = "ann"
"""Whose goals they are."""


@dataclass(frozen=True)
class Kept:
    """One release's folder: when it was made, and the thread and session of each goal by name."""

    made_at: float
    threads: dict[str, str]
    sessions: dict[str, str]


def kept(release: str) -> Kept:
    """What is told of a release."""
    told = json.loads((HERE / release / "made.json").read_text())
    return Kept(told["made_at"], told["threads"], told["sessions"])


def unpack(release: str, state_dir: Path) -> Kept:
    """Make `state_dir` what the killed process left."""
    source = HERE / release
    (state_dir / "console").mkdir(parents=True, mode=0o700)
    for name, path in (("headway.db", "headway.db"), ("room.jsonl", "console/room.jsonl")):
        (state_dir / path).write_bytes(gzip.decompress((source / f"{name}.gz").read_bytes()))
    shutil.copytree(source / "workspaces", state_dir / "workspaces")
    return kept(release)


def load(release: str, path: Path, url: str) -> None:
    """Put the rows of a release's SQLite database into an empty PostgreSQL, at its schema."""
    engine = create_engine(
        "postgresql+psycopg" + url.removeprefix("postgresql"), poolclass=NullPool
    )
    with engine.begin() as outer, closing(sqlite3.connect(path)) as source:
        schema.migrate(outer, release)
        connection: Any = outer.connection.driver_connection
        for table in METADATA.sorted_tables:
            if not source.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (table.name,)
            ).fetchone():
                continue
            flags = {c.name for c in table.columns if str(c.type) == "BOOLEAN"}
            found = source.execute(f'SELECT * FROM "{table.name}"')
            columns = [column[0] for column in found.description]
            insert = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})").format(
                sql.Identifier(table.name),
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                sql.SQL(", ").join([sql.Placeholder()] * len(columns)),
            )
            for row in found.fetchall():
                values = [
                    bool(value) if name in flags else value
                    for name, value in zip(columns, row, strict=True)
                ]
                connection.execute(insert, values)
        for name, column in (("event", "position"), ("inbox", "sequence"), ("outbox", "sequence")):
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{name}', '{column}'), max({column}))"
                f" FROM {name}"
            )
