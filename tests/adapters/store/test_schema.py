"""Migrations equal the models on both databases; erasable text is in one table only."""

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine

from adapters.store import schema
from adapters.store.open import open_store
from adapters.store.postgres import open_postgres
from adapters.store.tables import METADATA
from bot.goals.limits import LIMITS
from bot.ports.journal import Content, Task
from tests.adapters.store.clocks import HandClock, HandTime
from tests.contracts.stores import Bed
from tests.peers.postgres import Postgres

TABLES = (
    "session goal turn step content event audit decision wait task fact artifact schedule watch "
    "occurrence inbox outbox checkpoint lease reservation room person grant"
)


async def test_migrations_equal_the_models_on_sqlite(tmp_path: Path) -> None:
    async with open_store("sqlite:///h.db", clock=HandClock(), limits=LIMITS, state_dir=tmp_path):
        pass
    engine = create_engine(f"sqlite:///{tmp_path}/h.db", poolclass=NullPool)

    with engine.connect() as connection:
        assert _differences(connection) == []


@pytest.mark.postgres
def test_migrations_equal_the_models_on_postgres(postgres: Postgres) -> None:
    url = postgres.url(postgres.create())
    open_postgres(url)
    engine = create_engine(
        "postgresql+psycopg" + url.removeprefix("postgresql"), poolclass=NullPool
    )

    with engine.connect() as connection:
        assert _differences(connection) == []


def test_the_head_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))

    assert ScriptDirectory.from_config(config).get_current_head() == schema.HEAD


def test_every_table_of_the_design_is_there() -> None:
    assert set(TABLES.split()) <= set(METADATA.tables)


async def test_erasable_text_is_in_content_alone(tmp_path: Path) -> None:
    secret = "SECRET-TEXT"
    clock = HandClock()
    async with open_store(
        "sqlite:///h.db", clock=clock, limits=LIMITS, state_dir=tmp_path
    ) as store:
        bed = Bed(store, HandTime(clock))
        message = bed.message(secret)
        await store.inbox.receive(message)
        goal = await bed.open(objective=secret, handled=(message.id,))
        await bed.commit(goal, contents=(Content(secret),), tasks=(Task(secret, "done", secret),))
        await store.outbox.say(goal.session, "k", secret)

    with sqlite3.connect(tmp_path / "h.db") as database:
        holding = {
            table
            for table in METADATA.tables
            if secret in repr(database.execute(f'SELECT * FROM "{table}"').fetchall())
        }
    database.close()
    assert holding == {"content"}


async def test_an_erased_text_is_gone_and_the_journal_still_replays(tmp_path: Path) -> None:
    clock = HandClock()
    async with open_store(
        "sqlite:///h.db", clock=clock, limits=LIMITS, state_dir=tmp_path
    ) as store:
        bed = Bed(store, HandTime(clock))
        goal = await bed.open(objective="do it")

        await store.writer.do(lambda tx: tx.connection.execute("UPDATE content SET text = NULL"))
        erased = await store.journal.contents(goal.session, [goal.objective])
        await bed.check()
        await bed.commit(goal, contents=(Content("do it"),))

        assert erased == {}
        assert await store.journal.contents(goal.session, [goal.objective]) == {
            goal.objective: "do it"
        }


def _differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, METADATA))
