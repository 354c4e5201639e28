"""A database is backed up while it is written, and restored on hold, on SQLite and PostgreSQL."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from adapters.clock import WallClock
from adapters.store import schema, upkeep
from adapters.store.copies import nobody
from adapters.store.open import Store, open_store
from adapters.store.posts import queue
from adapters.store.restored import EPOCHS, Origin
from adapters.store.statements import Writes
from bot.errors import StoreUnusable
from bot.goals.events import CallLost, TurnStarted
from bot.goals.limits import LIMITS
from bot.goals.machine import replay
from bot.ports import chat
from bot.ports.holds import RESTORE
from bot.ports.journal import Unit
from bot.ports.positions import Position, Sealed
from bot.ports.restored import RestoreReport
from tests.adapters.store.releases.kept import Kept, load, unpack
from tests.contracts.stores import ANN, Bed
from tests.peers.postgres import Postgres

RELEASE = "0001"
ORIGIN = Origin(1_000.0, "0.9.0")
WAITING, UNSENT = 37, 29
"""Messages that the killed process had not handled, and posts that it was not known to have sent."""
ROOM = chat.Place("matrix", "@bot:here", "!room")
FILE = chat.Attachment("a.txt", "text/plain", 3, "a" * 64)


class WallTime:
    """The store's clock is the wall's."""

    async def now(self) -> float:
        return time.time()

    async def pass_by(self, seconds: float) -> None:
        raise NotImplementedError


@dataclass
class Place:
    """A database in a state folder, with what a killed process left in it; and another, empty one."""

    url: str
    state_dir: Path
    other_url: str
    other_dir: Path
    kept: Kept
    is_shared: bool

    @asynccontextmanager
    async def store(self, *, other: bool = False, home: str = "") -> AsyncIterator[Store]:
        url, folder = (self.other_url, self.other_dir) if other else (self.url, self.state_dir)
        async with open_store(
            url, clock=WallClock(), limits=LIMITS, state_dir=folder, home=home
        ) as store:
            yield store

    def back_up(self, name: str = "backup") -> Path:
        folder = self.state_dir / name
        folder.mkdir()
        assert upkeep.back_up(self.url, state_dir=self.state_dir, folder=folder, told=nobody) in (
            RELEASE,
            schema.HEAD,
        )
        return folder

    def restore(self, folder: Path, origin: Origin = ORIGIN, beside: str = "") -> RestoreReport:
        report, _ = upkeep.restore(
            self.other_url,
            origin,
            state_dir=self.other_dir,
            folder=folder,
            beside=beside,
            now=time.time,
            told=nobody,
        )
        return report

    async def restored(self) -> RestoreReport:
        """Upgrade it, back it up, and restore it to the other place."""
        async with self.store():
            folder = self.back_up()
        return self.restore(folder)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    state_dir, other = tmp_path / "state", tmp_path / "other"
    kept = unpack(RELEASE, state_dir)
    other.mkdir()
    if request.param == "sqlite":
        urls = [f"sqlite:///{folder / 'headway.db'}" for folder in (state_dir, other)]
        return Place(urls[0], state_dir, urls[1], other, kept, is_shared=False)
    postgres: Postgres = request.getfixturevalue("postgres")
    urls = [postgres.url(postgres.create()) for _ in range(2)]
    load(RELEASE, state_dir / "headway.db", urls[0])
    return Place(urls[0], state_dir, urls[1], other, kept, is_shared=True)


async def test_a_restored_database_holds_every_goal_with_its_journal(place: Place) -> None:
    async with place.store() as store:
        before = {row.goal.id: row.goal for row in await store.records.goals(with_asks=True)}
        folder = place.back_up()

    place.restore(folder)

    async with place.store(other=True) as store:
        await Bed(store, WallTime()).check()
        rows = await store.records.goals(with_asks=True)
        assert {row.goal.id: row.goal for row in rows} == before
        waiting = await store.inbox.waiting()
        assert len(waiting) == WAITING


async def test_a_backup_of_a_former_schema_is_brought_to_todays_by_the_restore(
    place: Place,
) -> None:
    folder = place.back_up()

    report = place.restore(folder)

    async with place.store(other=True) as store:
        await Bed(store, WallTime()).check()
        assert await store.restores.report() == report


async def test_nothing_is_claimed_or_sent_until_the_hold_is_released(place: Place) -> None:
    await place.restored()

    async with place.store(other=True) as store:
        assert await store.leases.claim("w", limit=100) == ()
        assert await store.outbox.claim("console", limit=100) == ()
        [hold] = await store.holds.standing()
        assert hold.scope == RESTORE

        await store.holds.release(RESTORE)

        leases = await store.leases.claim("w", limit=100)
        posts = await store.outbox.claim("console", limit=100)
        found = {lease.goal.session for lease in leases}
        assert found - _due_by_now(place.kept) == {
            place.kept.sessions[name] for name in ("streaming", "in_a_tool")
        }
        assert posts
        assert await store.restores.report() is None


async def test_what_a_former_process_still_writes_is_fenced(place: Place) -> None:
    async with place.store() as store:
        leases = await store.leases.claim("former", limit=100)
        former = next(
            lease for lease in leases if lease.goal.session == place.kept.sessions["streaming"]
        )
        folder = place.back_up()
    place.restore(folder)

    async with place.store(other=True) as store:
        call = former.goal.ledger.open[0].call
        late = Unit(former.goal.id, (CallLost(call, "late"), TurnStarted()), epoch=former.epoch)
        applied = await store.journal.commit(late)
        await store.holds.release(RESTORE)
        [ours] = [
            lease
            for lease in await store.leases.claim("new", limit=100)
            if lease.goal.id == former.goal.id
        ]

    assert applied.fenced
    assert ours.epoch > former.epoch + EPOCHS - 1


async def test_every_post_not_known_to_be_sent_is_looked_up(place: Place) -> None:
    report = await place.restored()

    async with place.store(other=True) as store:
        await store.holds.release(RESTORE)
        seen = set()
        while posts := await store.outbox.claim("console", limit=100):
            for post in posts:
                assert post.state == "unknown"
                assert post.may_differ == bool(post.goal)
                await store.outbox.sent(post.key, "there")
                seen.add(post.key)

    of_the_release = {key for key in seen if ":status:" in key and "." in key}
    assert report.to_look_up == len(seen - of_the_release) == UNSENT


async def test_later_posts_of_goals_of_before_are_looked_up_and_those_of_new_goals_are_not(
    place: Place,
) -> None:
    await place.restored()

    async with place.store(other=True) as store:
        bed = Bed(store, WallTime(), count(1000))
        await store.holds.release(RESTORE)
        while posts := await store.outbox.claim("console", limit=100):
            for post in posts:
                await store.outbox.sent(post.key, "there")
        [old] = [
            row.goal
            for row in await store.records.goals()
            if row.goal.session == place.kept.sessions["paused"]
        ]
        new = await bed.open(place=bed.place("slack"))
        for goal in (old, new):
            await store.writer.do(partial(_queue, goal))
        await store.outbox.say(old.session, "reply:new", "hello")

        found = {
            post.key: post
            for network in ("console", "slack")
            for post in await store.outbox.claim(network, limit=100)
        }
        for key in list(found):
            await store.outbox.sent(key, "there")
        later = {post.key: post for post in await store.outbox.claim("console", limit=100)}

    old_post, new_post = found[f"{old.id}:decision:7"], found[f"{new.id}:decision:7"]
    assert (old_post.state, old_post.may_differ) == ("unknown", True)
    assert (new_post.state, new_post.may_differ) == ("claimed", False)
    assert (later["reply:new"].state, later["reply:new"].may_differ) == ("claimed", False)


async def test_the_report_tells_what_nobody_can_be_sure_of(place: Place) -> None:
    report = await place.restored()

    assert report.made_at == ORIGIN.made_at
    assert report.made_by == ORIGIN.made_by
    assert report.goals == {
        "blocked": 1,
        "complete": 1,
        "deciding": 1,
        "over_budget": 1,
        "paused": 1,
        "waiting": 1,
        "working": 2,
    }
    assert [(one.goal, one.name, one.is_tool) for one in report.in_flight] == [
        (6, "agent", False),
        (8, "agent", False),
        (7, "bash", True),
    ]
    assert all(one.tokens > 10_000 for one in report.in_flight if not one.is_tool)
    assert [(due.goal, due.name) for due in report.decisions] == [(4, "question 1")]
    assert [(due.goal, due.name) for due in report.waits] == [(5, "time")]
    assert report.may_have_posted == (4, 5, 6, 7)
    assert (report.unhandled, report.missed) == (WAITING, 0)


async def test_occurrences_whose_time_has_passed_are_missed(place: Place) -> None:
    async with place.store() as store:
        [row, *_] = await store.records.goals()
        await store.writer.do(lambda tx: _schedule(tx, row.goal.session))
        folder = place.back_up()

    report = place.restore(folder)

    assert report.missed == 1


async def test_networks_are_read_anew_and_what_came_sealed_is_history(place: Place) -> None:
    sealed = Sealed("$sealed", "!room", "megolm", "{}", 1.0)
    message = chat.Incoming("$m", ROOM, ANN, "hello", 1.0, files=(FILE,))
    async with place.store() as store:
        await store.inbox.receive_all(
            (message,), Position("matrix", ROOM.workspace, "s1", (sealed,))
        )
        folder = place.back_up()

    place.restore(folder)

    async with place.store(other=True) as store:
        assert await store.positions.position("matrix", ROOM.workspace) is None
        assert await store.positions.sealed("matrix", ROOM.workspace) == ()
        assert message in [row.message for row in await store.inbox.waiting()]
        assert await store.attachments.named() == {FILE.hash}
        assert not await store.inbox.receive(message)


async def test_a_backup_taken_while_goals_are_written_is_one_snapshot(place: Place) -> None:
    async with place.store() as store:
        bed = Bed(store, WallTime(), count(1000))
        goals = [await bed.open(place=bed.place("slack")) for _ in range(8)]
        stop = asyncio.Event()
        more: list[Any] = []

        async def write(goal: Any) -> None:
            while not stop.is_set():
                await bed.turn(goal)
                goal = await bed.open(place=bed.place("slack"))
                more.append(goal)

        writing = [asyncio.create_task(write(goal)) for goal in goals]
        while len(more) < 8:
            await asyncio.sleep(0.01)
        folders = [await asyncio.to_thread(place.back_up, f"backup{number}") for number in (1, 2)]
        stop.set()
        await asyncio.gather(*writing)

    place.restore(folders[1])

    async with place.store(other=True) as store:
        rows = await store.records.goals()
        assert len(rows) >= 24
        for row in rows:
            assert replay(await store.records.journal(row.goal.id)) == row.goal


async def test_rows_written_after_a_restore_come_after_those_of_before(place: Place) -> None:
    await place.restored()

    async with place.store(other=True) as store:
        bed = Bed(store, WallTime(), count(1000))
        goal = await bed.open(place=bed.place("slack"))
        await bed.turn(goal)
        message = bed.message("later", bed.place("slack"))
        await store.inbox.receive(message)
        await bed.check()
        assert (await store.inbox.waiting())[-1].message.id == message.id


async def test_what_is_replaced_is_kept_beside(place: Place) -> None:
    async with place.store() as store:
        folder = place.back_up()
    async with place.store(other=True) as store:
        bed = Bed(store, WallTime(), count(1000))
        await bed.open(objective="of before")

    place.restore(folder, beside="before-restore-1")

    async with place.store(other=True) as store:
        assert len(await store.records.goals()) == 8
    assert _kept_goals(place) == 1


async def test_a_restore_that_fails_changes_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place.store():
        folder = place.back_up()
    async with place.store(other=True) as store:
        await Bed(store, WallTime(), count(1000)).open(objective="of before")

    def broken(*_: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(upkeep, "settle", broken)
    with pytest.raises(ZeroDivisionError):
        place.restore(folder, beside="before-restore-1")

    async with place.store(other=True) as store:
        [row] = await store.records.goals()
        assert row.goal.number == 1
        assert await store.holds.standing() == ()
    assert not list(place.other_dir.glob("*unfinished*"))


@pytest.mark.postgres
async def test_on_postgres_a_restore_beside_a_process_or_over_tables_is_refused(
    postgres: Postgres, tmp_path: Path
) -> None:
    unpack(RELEASE, tmp_path / "state")
    url = postgres.url(postgres.create())
    load(RELEASE, tmp_path / "state" / "headway.db", url)
    place = Place(url, tmp_path / "state", url, tmp_path / "state", None, is_shared=True)  # type: ignore[arg-type]
    async with place.store() as store:
        await store.writer.do(lambda tx: None)
        folder = place.back_up()
        with pytest.raises(StoreUnusable, match=r"connections of Headway are open.*stop every"):
            place.restore(folder, beside="before_1")

    with pytest.raises(StoreUnusable, match=r"has tables of Headway already: give --replace"):
        place.restore(folder)
    place.restore(folder, beside="before_1")

    async with place.store() as store:
        assert [hold.scope for hold in await store.holds.standing()] == [RESTORE]


@pytest.mark.postgres
async def test_on_postgres_the_restored_workspaces_are_at_home_where_they_are_now(
    postgres: Postgres, tmp_path: Path
) -> None:
    unpack(RELEASE, tmp_path / "state")
    url, other = (postgres.url(postgres.create()) for _ in range(2))
    load(RELEASE, tmp_path / "state" / "headway.db", url)
    place = Place(url, tmp_path / "state", other, tmp_path / "other", None, is_shared=True)  # type: ignore[arg-type]
    async with place.store(home="old-home") as store:
        before = {lease.goal.id for lease in await store.leases.claim("w", limit=100)}
        folder = place.back_up()

    place.restore(folder, Origin(1.0, "0.9.0", "old-home", "new-home"))

    async with place.store(other=True, home="old-home") as store:
        await store.holds.release(RESTORE)
        assert await store.leases.claim("w", limit=100) == ()
    async with place.store(other=True, home="new-home") as store:
        after = {lease.goal.id for lease in await store.leases.claim("w", limit=100)}
        assert len(after) >= 2
        assert after >= before


def test_a_copy_tells_how_far_it_is(tmp_path: Path) -> None:
    unpack(RELEASE, tmp_path)
    told: list[tuple[int, int]] = []
    (tmp_path / "backup").mkdir()

    upkeep.back_up(
        f"sqlite:///{tmp_path / 'headway.db'}",
        state_dir=tmp_path,
        folder=tmp_path / "backup",
        told=lambda done, total: told.append((done, total)),
    )

    assert told[-1][0] == told[-1][1] == (tmp_path / "backup" / upkeep.FILE).stat().st_size


def test_a_damaged_database_is_not_taken_for_a_backup(tmp_path: Path) -> None:
    unpack(RELEASE, tmp_path)
    with (tmp_path / "headway.db").open("r+b") as file:
        file.seek(4096 * 8)
        file.write(b"\xff" * 4096 * 4)
    (tmp_path / "backup").mkdir()

    with pytest.raises(StoreUnusable, match="damaged"):
        upkeep.back_up(
            f"sqlite:///{tmp_path / 'headway.db'}",
            state_dir=tmp_path,
            folder=tmp_path / "backup",
            told=nobody,
        )

    assert list((tmp_path / "backup").iterdir()) == []


def _queue(goal: Any, tx: Any) -> None:
    writes = Writes()
    key = f"{goal.id}:decision:7"
    queue(writes, key, "decision", goal.session, tx.now(), goal=goal.id)
    tx.write(writes)


def _schedule(tx: Any, session: str) -> None:
    tx.connection.execute(
        "INSERT INTO schedule (id, room, session, owner, objective, calendar, zone, state, created_at)"
        " SELECT 's', room, id, (SELECT id FROM person), 'o', '', 'UTC', 'on', 0"
        f" FROM session WHERE id = '{session}'"
    )
    for id, at in (("past", 2_000.0), ("future", 9e9)):
        tx.connection.execute(
            "INSERT INTO occurrence (id, schedule, due_at, state, worker, until)"
            f" VALUES ('{id}', 's', {at}, 'due', '', 0)"
        )


def _kept_goals(place: Place) -> int:
    query = "SELECT count(*) FROM {}goal"
    if place.is_shared:
        with psycopg.connect(place.other_url) as connection:
            row = connection.execute(query.format("before_restore_1.").encode()).fetchone()
    else:
        path = place.other_dir / "headway.db.before-restore-1"
        with closing(sqlite3.connect(path)) as database:
            row = database.execute(query.format("")).fetchone()
    assert row is not None
    return int(row[0])


def _due_by_now(kept: Kept) -> set[str]:
    """Threads whose goals were parked when the release was killed, and wait for a time that passes."""
    return {kept.sessions[name] for name in ("waiting", "deciding")}
