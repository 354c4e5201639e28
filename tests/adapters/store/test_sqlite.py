"""SQLite's own troubles: a full disk, a second owner, damage, and being killed."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from adapters.store import queries, schema
from adapters.store.open import Store, open_store
from adapters.store.sqlite import Ownership, translated
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from bot.errors import BadSettings, StoreBusy, StoreUnusable
from bot.goals import machine
from bot.goals.events import NoteLeft
from bot.goals.limits import LIMITS
from bot.ports.journal import Content
from tests.adapters.store.clocks import HandClock, HandTime
from tests.contracts.permissions import HERE, give
from tests.contracts.stores import Bed

URL = "sqlite:///headway.db"
_TOLD = METADATA.tables["told"]
_TELL = queries.into(_TOLD)


@pytest.fixture
async def store(tmp_path: Path, clock: HandClock) -> AsyncIterator[Store]:
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        yield store


@pytest.fixture
async def bed(store: Store, clock: HandClock) -> AsyncIterator[Bed]:
    bed = Bed(store, HandTime(clock))
    yield bed
    await bed.check()


async def test_a_second_owner_is_refused_with_the_pid_of_the_first(
    store: Store, tmp_path: Path
) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom adapters.store.sqlite import Ownership\n"
        "from bot.errors import StoreUnusable\n"
        "try: Ownership(Path(sys.argv[1])).__enter__()\n"
        "except StoreUnusable as error: print(error)\n"
    )

    other = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code, str(tmp_path / "headway.db")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"pid {os.getpid()}" in other.stdout
    assert "headway.db:" in other.stdout


async def test_what_was_written_is_there_after_closing(tmp_path: Path, clock: HandClock) -> None:
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        goal = await Bed(store, HandTime(clock)).open()
        [lease] = await store.leases.claim("w", limit=1)

    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        assert await store.journal.goal(goal.id) == goal
        [again] = await store.leases.claim("other", limit=1)

    assert again.epoch == lease.epoch + 1
    assert not (tmp_path / "headway.db-wal").exists()


async def test_what_the_former_owner_was_sending_is_of_unknown_outcome(
    tmp_path: Path, clock: HandClock
) -> None:
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        bed = Bed(store, HandTime(clock))
        session = await store.rooms.begin(bed.place())
        await store.outbox.say(session.session, "k", "x")
        await store.outbox.claim("console", limit=1)

    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        [due] = await store.outbox.claim("console", limit=1)

    assert (due.key, due.state) == ("k", "unknown")


async def test_a_full_disk_fails_every_caller_and_loses_nothing(store: Store, bed: Bed) -> None:
    goals = [await bed.work() for _ in range(3)]

    def limit(pages: int) -> None:
        database = _inner(store)
        database.connection.execute(f"PRAGMA max_page_count={pages}")

    limit(1)  # SQLite takes what it has already as the least
    big = Content("x" * 3_000_000)
    outcomes = await asyncio.gather(
        *(bed.commit(goal, NoteLeft(big.hash), contents=(big,)) for goal in goals),
        return_exceptions=True,
    )
    rows = [await bed.journal.goal(goal.id) for goal in goals]
    limit(1_000_000)
    after = await bed.commit(goals[0], NoteLeft(big.hash), contents=(big,))

    assert [type(one) for one in outcomes] == [StoreUnusable] * 3
    assert "disk is full" in str(outcomes[0])
    assert rows == goals
    assert after.goal.seq == goals[0].seq + 1


async def test_a_job_that_fails_half_done_is_undone_alone(store: Store) -> None:
    def writes(key: str) -> Callable[[Transaction], str]:
        def job(tx: Transaction) -> str:
            tx.run(_TELL, key=key, at=1.0)
            return key

        return job

    def breaks(tx: Transaction) -> None:
        tx.run(_TELL, key="half", at=1.0)
        raise ValueError("in the middle")

    outcomes = await asyncio.gather(
        store.writer.do(writes("before")),
        store.writer.do(breaks),
        store.writer.do(writes("after")),
        store.writer.do(lambda tx: tx.run(_TELL, key="before", at=2.0)),
        return_exceptions=True,
    )
    told = await store.writer.do(lambda tx: tx.all(select(_TOLD.c.key).order_by(_TOLD.c.key)))

    assert outcomes[0] == "before"
    assert isinstance(outcomes[1], ValueError)
    assert outcomes[2] == "after"
    assert isinstance(outcomes[3], StoreUnusable)
    assert told == [("after",), ("before",)]


async def test_a_commit_that_fails_fails_everyone_in_it(store: Store, bed: Bed) -> None:
    goals = [await bed.work() for _ in range(3)]
    database = _inner(store)
    connection = database.connection

    class Breaking:
        """The connection, with a COMMIT that the disk refuses once."""

        broken = False

        def execute(self, sql: str, *rest: object) -> object:
            if sql == "COMMIT" and not self.broken:
                self.broken = True
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                raise error
            return connection.execute(sql, *rest)

        def __getattr__(self, name: str) -> object:
            return getattr(connection, name)

    database.connection = Breaking()
    outcomes = await asyncio.gather(
        *(bed.commit(goal, NoteLeft("x")) for goal in goals), return_exceptions=True
    )
    rows = [await bed.journal.goal(goal.id) for goal in goals]

    assert [type(one) for one in outcomes] == [StoreUnusable] * 3
    assert rows == goals
    assert (await bed.commit(goals[0], NoteLeft("y"))).goal.seq == goals[0].seq + 1


async def test_a_database_locked_by_another_program_is_busy(
    store: Store, bed: Bed, tmp_path: Path
) -> None:
    goal = await bed.work()
    database = _inner(store)
    database.connection.execute("PRAGMA busy_timeout=50")

    with sqlite3.connect(tmp_path / "headway.db", isolation_level=None) as rival:
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="locked"):
            await bed.commit(goal, NoteLeft("x"))
        rival.execute("ROLLBACK")
    rival.close()

    assert (await bed.commit(goal, NoteLeft("x"))).goal.seq == goal.seq + 1


async def test_the_journal_only_grows(store: Store, bed: Bed) -> None:
    await bed.work()

    for sql in ("DELETE FROM event", "UPDATE event SET rule = ''"):
        with pytest.raises(StoreUnusable, match=r"only grows|refused"):
            await store.writer.do(lambda tx, sql=sql: tx.connection.execute(sql))  # type: ignore[misc]


async def test_the_wal_stays_small(store: Store, bed: Bed, tmp_path: Path) -> None:
    goal = await bed.work()

    for n in range(150):
        big = Content(f"{n}" + "x" * 200_000)
        await bed.commit(goal, NoteLeft(big.hash), contents=(big,))

    assert (tmp_path / "headway.db-wal").stat().st_size < 20_000_000


@pytest.mark.parametrize("is_moved", [False, True], ids=["the WAL removed", "the file moved"])
async def test_a_file_that_vanishes_in_use_is_noticed_before_anything_is_lost(
    tmp_path: Path, clock: HandClock, is_moved: bool
) -> None:
    path, elsewhere = tmp_path / "headway.db", tmp_path / "elsewhere.db"
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        bed = Bed(store, HandTime(clock))
        goal = await bed.open()
        assert await store.journal.goal(goal.id) == goal

        if is_moved:
            path.rename(elsewhere)
        else:
            (tmp_path / "headway.db-wal").unlink()
        for _ in range(2):
            with pytest.raises(StoreUnusable, match="removed or replaced while it was in use"):
                await bed.open()

    if is_moved:
        assert not path.exists()
        elsewhere.rename(path)
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        assert await store.journal.goal(goal.id) == goal


async def test_a_closed_store_says_so(tmp_path: Path, clock: HandClock) -> None:
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        pass

    with pytest.raises(StoreUnusable, match="closed"):
        await store.rooms.begin(Bed(store, HandTime(clock)).place())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"this is no database, however long it is" * 200, "not a database"),
        (b"SQLite format 3\0" + b"\xff" * 9_000, r"not a database|damaged|cannot be"),
    ],
)
async def test_a_file_that_is_no_database_is_refused(
    tmp_path: Path, clock: HandClock, content: bytes, said: str
) -> None:
    (tmp_path / "headway.db").write_bytes(content)

    with pytest.raises(StoreUnusable, match=said):
        async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path):
            pass

    assert (tmp_path / "headway.db").read_bytes() == content
    with Ownership(tmp_path / "headway.db"):
        pass


async def test_a_damaged_database_is_refused(tmp_path: Path, clock: HandClock) -> None:
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        bed = Bed(store, HandTime(clock))
        for _ in range(30):
            await bed.work()
    path = tmp_path / "headway.db"
    whole = bytearray(path.read_bytes())
    whole[8192 : len(whole) // 2] = b"\x55" * (len(whole) // 2 - 8192)
    path.write_bytes(whole)

    with pytest.raises(StoreUnusable, match="damaged"):
        async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path):
            pass


async def test_a_newer_database_is_refused_with_both_versions(
    tmp_path: Path, clock: HandClock
) -> None:
    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path):
        pass
    with sqlite3.connect(tmp_path / "headway.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()

    with pytest.raises(StoreUnusable, match=f"9999.*{schema.HEAD}"):
        async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path):
            pass


async def test_an_unknown_kind_of_database_is_a_bad_setting(
    tmp_path: Path, clock: HandClock
) -> None:
    with pytest.raises(BadSettings, match="mysql"):
        async with open_store("mysql://x", clock=clock, limits=LIMITS, state_dir=tmp_path):
            pass


def test_every_error_of_the_driver_says_what_to_do() -> None:
    for code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT, 999):
        error = sqlite3.OperationalError("odd")
        error.sqlite_errorcode = code

        ours = translated(error, Path("/d/h.db"))

        assert isinstance(ours, StoreUnusable)
        assert str(ours).startswith("/d/h.db ")
        assert ": " in str(ours)


CHILD = """
import asyncio, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from adapters.store.open import open_store
from bot.goals.events import NoteLeft
from bot.goals.limits import LIMITS
from bot.ports.journal import Content
from tests.adapters.store.clocks import HandClock, HandTime
from tests.contracts.permissions import HERE, give
from tests.contracts.stores import Bed

async def write(bed, goal, n):
    while True:
        n += 1
        note = Content(f"{{goal.id}} {{n}}")
        await bed.commit(goal, NoteLeft(note.hash), contents=(note,))
        print(goal.id, n, flush=True)

async def main():
    clock = HandClock()
    async with open_store({url!r}, clock=clock, limits=LIMITS, state_dir=Path({folder!r})) as store:
        bed = Bed(store, HandTime(clock))
        goals = [await bed.work() for _ in range(4)]
        await asyncio.gather(*(write(bed, goal, 0) for goal in goals))

asyncio.run(main())
"""


@pytest.mark.process
async def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path, clock: HandClock) -> None:
    root = str(Path(__file__).parents[3])
    code = CHILD.format(root=root, url=URL, folder=str(tmp_path))
    seen: dict[str, int] = {}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, cwd=root
    )
    assert child.stdout is not None
    until = time.monotonic() + 30
    while sum(seen.values()) < 60 and time.monotonic() < until:
        goal, n = (await child.stdout.readline()).split()
        seen[goal.decode()] = int(n)

    child.send_signal(signal.SIGKILL)
    rest = await child.stdout.read()
    await child.wait()
    for line in rest.decode().splitlines():
        with suppress(ValueError):
            goal_id, number = line.split()
            seen[goal_id] = int(number)

    async with open_store(URL, clock=clock, limits=LIMITS, state_dir=tmp_path) as store:
        await Bed(store, HandTime(clock)).check()
        for goal_id, acknowledged in seen.items():
            row = await store.journal.goal(goal_id)
            journal = await store.records.journal(goal_id)
            notes = [e.event for e in journal if isinstance(e.event, NoteLeft)]
            texts = await store.journal.contents(row.session, [note.content for note in notes])
            assert machine.replay(journal) == row
            assert acknowledged <= len(notes) <= acknowledged + 1
            assert list(texts.values()) == [f"{goal_id} {n + 1}" for n in range(len(notes))]


def _inner(store: Store) -> Any:
    """The database itself, beneath what times it."""
    timed: Any = store.writer._database
    return timed._database


async def test_a_look_at_permissions_waits_for_no_writer(
    store: Store, bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await give(bed)
    monkeypatch.setattr(store.writer, "do", None)

    assert len(await store.permissions.of(HERE)) == 1
