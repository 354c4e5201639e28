"""PostgreSQL over a line that breaks, and with other processes beside us."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import psycopg
import pytest

from adapters.store import schema
from adapters.store.open import Store, open_store
from adapters.store.postgres import (
    Patience,
    PostgresDatabase,
    PostgresSource,
    open_postgres,
    translated,
)
from bot.errors import IllegalMove, Refused, StoreBusy, StoreUnusable
from bot.goals.events import NoteLeft
from bot.goals.limits import LIMITS
from bot.ports.chat import Incoming, Place, Reacted, Unreacted
from tests.adapters.store.clocks import HandClock
from tests.adapters.store.conftest import SHIFTED, ShiftedTime
from tests.contracts.journal import JournalContract
from tests.contracts.stores import ANN, Bed
from tests.peers.cutproxy import CutProxy, cut_proxy
from tests.peers.postgres import PORT, Postgres

pytestmark = pytest.mark.postgres


@pytest.fixture
def proxy(postgres: Postgres, sockets: Path) -> Iterator[CutProxy]:
    name = f".s.PGSQL.{PORT}"
    with cut_proxy(sockets / name, postgres.folder / name) as proxy:
        yield proxy


@pytest.fixture
async def store(
    proxy: CutProxy, postgres: Postgres, database: str, sockets: Path
) -> AsyncIterator[Store]:
    url = postgres.url(database, host=sockets, options=SHIFTED)
    async with open_store(url, clock=HandClock(), limits=LIMITS, state_dir=sockets) as store:
        yield store


@pytest.fixture
async def bed(store: Store, postgres: Postgres, database: str) -> AsyncIterator[Bed]:
    bed = Bed(store, ShiftedTime(postgres.url(database, options=SHIFTED)))
    yield bed
    await bed.check()


class TestJournalOverALineThatBreaks(JournalContract):
    """The journal's contract while the connection is cut again and again, at any byte."""

    @pytest.fixture(autouse=True)
    def breaking(self, bed: Bed, proxy: CutProxy) -> Iterator[None]:
        # The last size lets even the largest group through.
        proxy.cut_after(700, 4_000, 1_900, 9_000, 50_000, 2_600, 1_000_000, forever=True)
        yield
        proxy.cut_after(10**9)


async def test_a_commit_whose_answer_is_lost_is_found_to_have_happened(
    bed: Bed, proxy: CutProxy
) -> None:
    goal = await bed.work()

    for n in range(5):
        proxy.cut_answer_to(b"COMMIT\x00")
        applied = await bed.commit(goal, NoteLeft(str(n)))
        assert applied.goal.seq == goal.seq + n + 1

    assert proxy.cuts == 5
    notes = [line.entry.event for line in await bed.journal.history(goal.session)]
    assert [e.content for e in notes if isinstance(e, NoteLeft)] == ["0", "1", "2", "3", "4"]


async def test_a_commit_that_never_arrived_is_made_again(bed: Bed, proxy: CutProxy) -> None:
    goal = await bed.work()

    for n in range(1, 400, 29):
        proxy.cut_after(n)
        await bed.commit(goal, NoteLeft(str(n)))

    assert proxy.cuts > 10
    assert (await bed.journal.goal(goal.id)).seq == goal.seq + len(range(1, 400, 29))


async def test_callers_wait_for_a_server_that_comes_back(bed: Bed, proxy: CutProxy) -> None:
    goal = await bed.work()
    proxy.is_down = True
    proxy.cut()

    waiting = asyncio.create_task(bed.commit(goal, NoteLeft("x")))
    reading = asyncio.create_task(bed.journal.goal(goal.id))
    await asyncio.sleep(0.3)
    still = not waiting.done() and not reading.done()
    proxy.is_down = False

    assert still
    assert (await waiting).goal.seq == goal.seq + 1
    assert (await reading).seq >= goal.seq


def test_a_server_that_stays_away_is_said_so(
    proxy: CutProxy, postgres: Postgres, database: str, sockets: Path
) -> None:
    url = postgres.url(database, host=sockets)
    proxy.is_down = True
    writing, reading = PostgresDatabase(url, Patience(0.2)), PostgresSource(url, Patience(0.2))

    outcomes = writing.transact([lambda tx: 1, lambda tx: 2])

    assert [type(one.error) for one in outcomes] == [StoreBusy, StoreBusy]
    with pytest.raises(StoreBusy, match="out of reach"):
        reading.reader()


async def test_two_processes_share_a_database(
    store: Store, bed: Bed, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database, options=SHIFTED)
    async with open_store(url, clock=HandClock(), limits=LIMITS, state_dir=tmp_path) as second:
        other = Bed(second, bed.time, bed.ids)
        goals = [await bed.work() for _ in range(4)]

        await asyncio.gather(
            *(one.commit(goals[n % 4], NoteLeft(str(n))) for n in range(60) for one in (bed, other))
        )
        claims = await asyncio.gather(
            *(one.leases.claim(f"w{n}", limit=1) for n in range(4) for one in (bed, other))
        )
        opened = await asyncio.gather(*(one.open() for _ in range(10) for one in (bed, other)))

    for goal in goals:
        assert (await bed.journal.goal(goal.id)).seq == goal.seq + 30
    assert sorted(lease.goal.id for claim in claims for lease in claim) == sorted(
        goal.id for goal in goals
    )
    assert sorted(goal.number for goal in opened) == list(range(5, 25))


async def test_a_goal_is_claimed_where_its_files_are_and_nowhere_else(
    bed: Bed, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database, options=SHIFTED)
    goals = [await bed.open() for _ in range(3)]
    homes = ("here", "there", "here")
    async with AsyncExitStack() as stack:
        here, there, beside = [
            await stack.enter_async_context(
                open_store(url, clock=HandClock(), limits=LIMITS, state_dir=tmp_path, home=home)
            )
            for home in homes
        ]
        [first] = await here.leases.claim("a", limit=1)
        await there.leases.claim("b", limit=9)
        next_here, next_there = await here.leases.next_due(), await there.leases.next_due()
        await bed.time.pass_by(31)

        theirs = await there.leases.claim("b", limit=9)
        refused = await there.leases.claim_one("b", first.goal.id)
        ours = await beside.leases.claim("c", limit=9)

    assert (next_here, next_there) == (None, None)
    assert {lease.goal.id for lease in theirs} == {goal.id for goal in goals} - {first.goal.id}
    assert refused is None
    assert [lease.goal.id for lease in ours] == [first.goal.id]


async def test_what_a_dead_process_of_the_same_folder_held_is_free_at_once(
    store: Store, bed: Bed
) -> None:
    one, two = await bed.open(), await bed.open()
    await store.leases.claim_one("a.1", one.id)
    [held] = await store.leases.claim("b.1", limit=1)
    place = Place("console", "a", "room", "t")
    await bed.outbox.say((await bed.rooms.begin(place)).session, "k", "hello")
    await bed.outbox.claim("console", limit=1, workspace="a")

    freed, voided = await store.leases.void("a."), await store.outbox.void("console", "a")

    [lease] = await store.leases.claim("a.2", limit=9)
    [due] = await store.outbox.claim("console", limit=1)
    assert (freed, voided) == (1, 1)
    assert (held.goal.id, lease.goal.id) == (two.id, one.id)
    assert (due.key, due.state) == ("k", "unknown")


async def test_what_a_dead_process_was_sending_in_any_workspace_is_looked_up(
    store: Store, bed: Bed
) -> None:
    for network, workspace in (("slack", "T01"), ("slack", "T02"), ("matrix", "T01")):
        thread = await bed.rooms.begin(Place(network, workspace, "room", "t"))  # type: ignore[arg-type]
        await bed.outbox.say(thread.session, f"{network}.{workspace}", "hello")
        await bed.outbox.claim(network, limit=9)

    voided = await store.outbox.void("slack", None)

    due = [*await bed.outbox.claim("slack", limit=9), *await bed.outbox.claim("matrix", limit=9)]
    assert voided == 2
    assert [(one.key, one.state) for one in due] == [
        ("slack.T01", "unknown"), ("slack.T02", "unknown"),
    ]  # fmt: skip


async def test_what_two_processes_hear_at_once_is_stored_once(
    bed: Bed, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database, options=SHIFTED)
    place, card = Place("slack", "T01", "C01"), "C01:1.1"
    put = Reacted("sign", place, ANN, "🎯", card, 2.0)
    undone = Unreacted(place, ANN, "🎯", card, 3.0)
    filled = Incoming(
        "form:1", place, ANN, "do it", 4.0, via="form", form=(("act", "start"),),
        way_back="https://hooks.example/1",
    )  # fmt: skip
    await bed.inbox.receive_all((put,))
    async with open_store(url, clock=HandClock(), limits=LIMITS, state_dir=tmp_path) as second:
        await asyncio.gather(
            *(one.inbox.receive_all((undone, filled)) for one in (bed.ports, second) for _ in "12")
        )

    waiting = [row.message for row in await bed.inbox.waiting()]
    assert [one.id for one in waiting] == ["reacted:sign", "removed:sign", "form:1"]
    assert waiting[2] == filled


async def test_of_several_processes_one_takes_the_charge_and_one_uses_the_state(
    bed: Bed, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database, options=SHIFTED)
    await bed.installs.begin_state("state", lasts_s=60)
    async with open_store(url, clock=HandClock(), limits=LIMITS, state_dir=tmp_path) as second:
        stores = [bed.ports, second] * 4
        taken = await asyncio.gather(
            *(one.installs.take_charge("A", f"h{n}", lasts_s=9) for n, one in enumerate(stores))  # type: ignore[attr-defined]
        )
        used = await asyncio.gather(*(one.installs.end_state("state") for one in stores))  # type: ignore[attr-defined]

    assert (taken.count(True), used.count(True)) == (1, 1)


async def test_one_session_opens_one_goal_however_many_try(
    bed: Bed, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database, options=SHIFTED)
    session = (await bed.rooms.begin(bed.place())).session
    async with open_store(url, clock=HandClock(), limits=LIMITS, state_dir=tmp_path) as second:
        other = Bed(second, bed.time, bed.ids)

        outcomes = await asyncio.gather(
            *(one.open(session) for _ in range(5) for one in (bed, other)), return_exceptions=True
        )

    refused = [one for one in outcomes if isinstance(one, Refused)]
    assert len(refused) == 9


async def test_a_lost_race_is_run_again(bed: Bed, postgres: Postgres, database: str) -> None:
    one, two = await bed.work(), await bed.work()
    first, second = sorted((one.id, two.id))
    with psycopg.connect(postgres.url(database, options=SHIFTED)) as rival:
        rival.execute("SELECT 1 FROM goal WHERE id = %s FOR UPDATE", (second,))
        ours = asyncio.gather(bed.commit(first, NoteLeft("x")), bed.commit(second, NoteLeft("x")))
        await asyncio.sleep(0.2)
        # Now each holds what the other one wants: the server ends one of the two.
        locks = asyncio.to_thread(
            rival.execute, "SELECT 1 FROM goal WHERE id = %s FOR UPDATE", (first,)
        )
        with suppress(psycopg.errors.DeadlockDetected):
            await locks
        rival.rollback()
        applied = await ours

    assert [one.goal.seq for one in applied] == [one.goal.seq for one in applied]
    assert (await bed.journal.goal(first)).seq == 3


async def test_a_row_that_the_database_refuses_fails_alone(store: Store, bed: Bed) -> None:
    goal = await bed.work()

    outcomes = await asyncio.gather(
        bed.commit(goal, NoteLeft("a")),
        store.writer.do(
            lambda tx: tx.connection.execute("INSERT INTO lease VALUES ('no', 1, '', 0)")
        ),
        bed.commit("none", NoteLeft("x")),
        bed.commit(goal, NoteLeft("b")),
        return_exceptions=True,
    )

    assert isinstance(outcomes[1], StoreUnusable)
    assert isinstance(outcomes[2], KeyError)
    assert (await bed.journal.goal(goal.id)).seq == goal.seq + 2


async def test_a_job_that_fails_after_it_wrote_is_undone(store: Store, bed: Bed) -> None:
    goal = await bed.work()

    def half(tx: object) -> None:
        tx.has_written = True  # type: ignore[attr-defined]
        tx.connection.execute("UPDATE lease SET epoch = 99")  # type: ignore[attr-defined]
        raise IllegalMove("on purpose")

    outcomes = await asyncio.gather(
        store.writer.do(half), bed.commit(goal, NoteLeft("b")), return_exceptions=True
    )

    assert isinstance(outcomes[0], IllegalMove)
    [lease] = await bed.leases.claim("w", limit=1)
    assert lease.epoch == 1
    assert lease.goal.seq == goal.seq + 1


async def test_the_journal_only_grows(store: Store, bed: Bed) -> None:
    await bed.work()

    for sql in ("DELETE FROM event", "UPDATE event SET rule = ''"):
        with pytest.raises(StoreUnusable, match="only grows"):
            await store.writer.do(lambda tx, sql=sql: tx.connection.execute(sql))  # type: ignore[misc]


def test_a_newer_database_is_refused_with_both_versions(postgres: Postgres, database: str) -> None:
    postgres.run("UPDATE shifted.alembic_version SET version_num = '9999'", database)

    with pytest.raises(StoreUnusable, match=rf"9999.*{schema.HEAD}"):
        open_postgres(postgres.url(database, options=SHIFTED))


def test_a_wrong_name_is_not_waited_for(postgres: Postgres) -> None:
    with pytest.raises(StoreUnusable, match="does not exist"):
        open_postgres(postgres.url("nowhere"))


def test_every_error_of_the_driver_has_a_mend() -> None:
    for error in (
        psycopg.errors.DiskFull("no space left"),
        psycopg.errors.ReadOnlySqlTransaction("read-only"),
        psycopg.errors.InsufficientPrivilege("denied"),
        psycopg.DataError("odd"),
    ):
        ours = translated(error)

        assert isinstance(ours, StoreUnusable)
        assert ": " in str(ours)
