"""What former releases left is brought to today's schema, with rows in it, on both databases."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from adapters.clock import WallClock
from adapters.store import schema, upkeep
from adapters.store.copies import nobody
from adapters.store.open import Store, open_store
from bot.errors import StoreUnusable
from bot.goals.limits import LIMITS
from bot.goals.machine import replay
from bot.ports.chat import Place, Speaker, Unreacted
from tests.adapters.store.releases.kept import RELEASES, WHO, kept, load, unpack
from tests.peers.postgres import Postgres

STATES = {
    "complete": "complete",
    "blocked": "blocked",
    "over_budget": "over_budget",
    "paused": "paused",
    "deciding": "deciding",
    "waiting": "waiting",
    "streaming": "working",
    "in_a_tool": "working",
}
"""What each kept goal is in the middle of, and its state."""


@pytest.mark.parametrize("release", RELEASES)
async def test_a_former_releases_database_is_kept_beside_and_brought_to_todays_schema(
    release: str, tmp_path: Path
) -> None:
    unpack(release, tmp_path)
    before = _rows(tmp_path / "headway.db")

    states = await _checked(release, f"sqlite:///{tmp_path / 'headway.db'}", tmp_path)

    assert states == STATES
    assert _version(tmp_path / "headway.db") == schema.HEAD
    beside = tmp_path / f"headway.db.before-{schema.HEAD}"
    assert _version(beside) == release
    assert _rows(beside) == before
    assert beside.stat().st_mode & 0o777 == 0o600
    assert not beside.with_name(f"{beside.name}-wal").exists()
    after = _rows(tmp_path / "headway.db")
    for table in ("event", "goal", "step", "decision", "wait", "content", "inbox"):
        assert [row[: len(was)] for row, was in zip(after[table], before[table], strict=True)] == (
            before[table]
        )


async def test_a_reaction_that_came_before_the_upgrade_is_taken_away_after_it(
    tmp_path: Path,
) -> None:
    unpack("0003", tmp_path)
    house, ann = Place("matrix", "@bot:example.org", "!house"), Speaker("@ann:example.org", WHO)
    undone = Unreacted(house, ann, "👍", "$asked", time.time())

    async with open_store(
        "sqlite:///headway.db", clock=WallClock(), limits=LIMITS, state_dir=tmp_path
    ) as store:
        stored = [await store.inbox.receive_all((undone,)) for _ in range(2)]

    assert stored == [1, 0]


@pytest.mark.parametrize("release", RELEASES)
def test_an_upgrade_that_was_killed_after_its_copy_or_in_it_is_made_again(
    release: str, tmp_path: Path
) -> None:
    unpack(release, tmp_path)
    beside = tmp_path / f"headway.db.before-{schema.HEAD}"
    beside.write_bytes(b"of an upgrade that was killed before it changed anything")
    beside.with_name(f"{beside.name}.unfinished").write_bytes(b"half")
    url = f"sqlite:///{tmp_path / 'headway.db'}"

    first = upkeep.upgrade(url, state_dir=tmp_path, told=nobody, before=_never)
    second = upkeep.upgrade(url, state_dir=tmp_path, told=nobody, before=_never)

    assert (first, second) == (str(beside), "")
    assert _version(beside) == release
    assert not beside.with_name(f"{beside.name}.unfinished").exists()


@pytest.mark.parametrize("release", RELEASES)
def test_where_no_copy_can_be_kept_nothing_is_upgraded(release: str, tmp_path: Path) -> None:
    unpack(release, tmp_path)
    (tmp_path / f"headway.db.before-{schema.HEAD}.unfinished").mkdir()

    with pytest.raises(StoreUnusable, match=r"copy .* cannot be written"):
        upkeep.upgrade(
            f"sqlite:///{tmp_path / 'headway.db'}", state_dir=tmp_path, told=nobody, before=_never
        )

    assert _version(tmp_path / "headway.db") == release


@pytest.mark.postgres
@pytest.mark.parametrize("release", RELEASES)
async def test_the_same_rows_are_brought_to_todays_schema_on_postgres(
    release: str, tmp_path: Path, postgres: Postgres
) -> None:
    unpack(release, tmp_path)
    url = postgres.url(postgres.create())
    load(release, tmp_path / "headway.db", url)

    found: list[str] = []

    def before() -> None:
        with psycopg.connect(url) as connection:
            [version] = connection.execute(schema.VERSION_SQL).fetchone() or ("",)
        found.append(version)

    states = await _checked(release, url, tmp_path, before)

    assert states == STATES
    assert found == [release]


@pytest.mark.postgres
def test_a_newer_database_is_refused_by_every_way_in_on_postgres(
    tmp_path: Path, postgres: Postgres
) -> None:
    url = postgres.url(postgres.create())
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num text)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")

    with pytest.raises(StoreUnusable, match="schema 9999"):
        upkeep.upgrade(url, state_dir=tmp_path, told=nobody, before=_never)
    with pytest.raises(StoreUnusable, match="schema 9999"):
        upkeep.back_up(url, state_dir=tmp_path, folder=tmp_path, told=nobody)


def test_a_newer_database_is_refused_by_every_way_in(tmp_path: Path) -> None:
    unpack(RELEASES[0], tmp_path)
    with closing(sqlite3.connect(tmp_path / "headway.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    url = f"sqlite:///{tmp_path / 'headway.db'}"
    (tmp_path / "backup").mkdir()

    refused = r"schema 9999.*install the Headway that wrote it"
    with pytest.raises(StoreUnusable, match=refused):
        upkeep.upgrade(url, state_dir=tmp_path, told=nobody, before=_never)
    with pytest.raises(StoreUnusable, match=refused):
        upkeep.back_up(url, state_dir=tmp_path, folder=tmp_path / "backup", told=nobody)


def _never(told: object) -> Path:
    raise AssertionError("A SQLite database is copied beside.")


async def _checked(
    release: str, url: str, state_dir: Path, before: Callable[[], object] = lambda: None
) -> dict[str, str]:
    """Open it as a process does; each journal folds to its row. Returns each goal's state by name."""
    names = {session: name for name, session in kept(release).sessions.items()}
    async with open_store(
        url, clock=WallClock(), limits=LIMITS, state_dir=state_dir, before=before
    ) as store:
        states = {}
        for row in await store.records.goals():
            journal = await store.records.journal(row.goal.id)
            trace = await store.records.trace(row.goal.id)
            assert replay(journal) == row.goal == trace.goal
            states[names[row.goal.session]] = row.goal.state.value
        assert await store.restores.report() is None
        waiting = [row.message for row in await store.inbox.waiting()]
        assert len(waiting) > 0
        assert {(one.via, one.form, one.way_back) for one in waiting} == {("message", (), "")}
        if release >= "0003":
            await _check_networks(store)
    return states


async def _check_networks(store: Store) -> None:
    """What came on Matrix is as it was, and is gone on with."""
    house = Place("matrix", "@bot:example.org", "!house")
    [due] = await store.outbox.claim("matrix", limit=9)
    asked, [sealed] = (
        await store.doors.heeded("$asked"),
        await store.positions.sealed("matrix", house.workspace),
    )

    assert (due.key, due.place, due.only_for) == (
        "reply:$asked", replace(house, thread="$asked"), "",
    )  # fmt: skip
    assert asked is not None
    assert [file.name for file in asked.message.files] == ["plan.txt"]
    assert await store.positions.position("matrix", house.workspace) == "s1"
    assert sealed.id == "$sealed"


def _rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = [name for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )]  # fmt: skip
        return {
            name: database.execute(f'SELECT * FROM "{name}" ORDER BY rowid').fetchall()
            for name in tables
            if name != "alembic_version"
        }


def _version(path: Path) -> str:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        [version] = database.execute(schema.VERSION_SQL).fetchone()
    return str(version)
