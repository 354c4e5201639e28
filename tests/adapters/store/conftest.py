"""A PostgreSQL for the session, with a template whose clock tests can move."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from adapters.store.postgres import open_postgres
from tests.adapters.store.clocks import HandClock
from tests.peers.postgres import Postgres, private_postgres

SHIFTED = "-csearch_path=shifted,pg_catalog,public"
"""Tests find a clock of their own before the database's."""

_CLOCK = """
CREATE SCHEMA shifted;
CREATE TABLE shifted.shift (by interval NOT NULL);
INSERT INTO shifted.shift VALUES ('0 s');
CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + (SELECT by FROM shifted.shift)';
"""


@dataclass
class ShiftedTime:
    """The database's clock, moved on by a row."""

    url: str
    by: float = 0.0

    async def now(self) -> float:
        return time.time() + self.by

    async def pass_by(self, seconds: float) -> None:
        self.by += seconds
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("UPDATE shifted.shift SET by = %s * interval '1 s'", (self.by,))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with private_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> str:
    name = postgres.create()
    postgres.run(_CLOCK, name)
    open_postgres(postgres.url(name, options=SHIFTED))
    return name


@pytest.fixture
def database(postgres: Postgres, template: str) -> Iterator[str]:
    """A migrated database of the test's own."""
    name = postgres.create(template=template)
    yield name
    postgres.drop(name)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def sockets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose path is short enough for a socket."""
    return tmp_path_factory.mktemp("s")
