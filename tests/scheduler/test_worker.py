"""The worker over the in-memory store: leases, wake-ups, errors, shutdown."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.clock import WallClock
from bot.goals.events import (
    CallStarted,
    Cancelled,
    GoalOpened,
    Paused,
    Stopped,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal, State
from bot.goals.limits import DEFAULT_BUDGET
from bot.ports.chat import Place, Speaker
from bot.ports.holds import ALL
from bot.ports.journal import Content, Lease, Unit
from scheduler.alarms import Alarms
from scheduler.worker import Worker
from tests.doubles.store import MemoryStore


class _Turns:
    """Begins a turn, does what the test says, and ends it with a failure (which parks the goal)."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.begun: list[str] = []
        self.interrupted: list[str] = []
        self.during: Callable[[str], object] = lambda goal: None

    async def run(self, lease: Lease) -> Goal:
        goal = lease.goal.id
        self.begun.append(goal)
        if lease.goal.state is State.READY:
            await self.store.journal.commit(Unit(goal, (TurnStarted(),), epoch=lease.epoch))
        try:
            waited = self.during(goal)
            if asyncio.iscoroutine(waited):
                await waited
        except asyncio.CancelledError:
            self.interrupted.append(goal)
            raise
        ended = TurnEnded("failed", failed="test")
        return (await self.store.journal.commit(Unit(goal, (ended,), epoch=lease.epoch))).goal


async def test_a_due_goal_is_taken_and_moved_until_nothing_is_due() -> None:
    async with _working() as (store, turns, _):
        goal = await _opened(store, 1)

        await _is(store, goal, State.BLOCKED)

        assert turns.begun == [goal]


async def test_an_error_of_one_goal_reaches_no_other() -> None:
    async with _working() as (store, turns, _):
        turns.during = lambda goal: _raise() if goal == "g1" else None
        await _opened(store, 1)

        other = await _opened(store, 2)

        await _is(store, other, State.BLOCKED)


async def test_a_stop_aborts_the_running_step_at_once() -> None:
    async with _working() as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        goal = await _opened(store, 1)
        await _until(lambda: turns.begun == [goal])

        applied = await store.journal.commit(Unit(goal, (Stopped("ann"),), urgent=True))
        worker.wake(goal, applied.instructions)

        await _until(lambda: turns.interrupted == [goal] and not worker.busy)
        assert (await store.journal.goal(goal)).state is State.PAUSED


async def test_a_stop_by_way_of_another_process_aborts_the_running_step() -> None:
    async with _working(is_alone=False) as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        stopped, paused = await _opened(store, 1), await _opened(store, 2)
        await _until(lambda: len(turns.begun) == 2)

        await store.journal.commit(Unit(paused, (Paused("ann"),)))
        await store.journal.commit(Unit(stopped, (Stopped("ann"),)))

        await _until(lambda: worker.busy == {paused})
        assert turns.interrupted == [stopped]


async def test_a_lost_lease_ends_the_work() -> None:
    clock = _Skipping()
    async with _working(MemoryStore(clock), renew_s=0.05, clock=clock) as (store, turns, _):
        turns.during = lambda goal: asyncio.sleep(60)
        goal = await _opened(store, 1)
        await _until(lambda: turns.begun == [goal])

        # Another worker takes it once the lease has lapsed.
        clock.skip(31.0)
        await store.leases.claim("w2", limit=10)

        await _until(lambda: goal in turns.interrupted)


async def test_a_worker_that_is_cut_off_stops_when_its_leases_lapse() -> None:
    store = MemoryStore(WallClock())
    async with _working(store, renew_s=0.1, lease_s=1.0, is_alone=False) as (_, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        goal = await _opened(store, 1)
        await _until(lambda: turns.begun == [goal])

        store.leases.renew = _never  # type: ignore[method-assign]

        await _until(lambda: turns.interrupted == [goal] and not worker.busy)


async def test_a_clock_that_jumps_takes_no_goal_from_its_own_worker() -> None:
    clock = _Skipping()
    async with _working(MemoryStore(clock), clock=clock) as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        goal = await _opened(store, 1)
        await _until(lambda: turns.begun == [goal])

        clock.skip(4000.0)
        worker.wake(goal)
        await asyncio.sleep(0.1)

        assert turns.begun == [goal]
        assert not turns.interrupted


@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_hold_aborts_what_runs_and_nothing_begins_until_the_release(is_alone: bool) -> None:
    async with _working(is_alone=is_alone) as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        goal = await _opened(store, 1)
        await _until(lambda: turns.begun == [goal])

        await store.holds.hold(ALL, "ann")
        if is_alone:
            await worker.recall()
        await _until(lambda: turns.interrupted == [goal] and not worker.busy)
        other = await _opened(store, 2)
        worker.wake(other)
        await asyncio.sleep(0.05)
        during = list(turns.begun)
        await store.holds.release(ALL)
        await worker.recall()

        await _until(lambda: turns.begun == [goal, goal, other])
        assert during == [goal]


async def test_a_hold_that_is_set_while_goals_are_claimed_stops_them_too() -> None:
    store = MemoryStore(WallClock())
    async with _working(store) as (_, turns, at_work):
        turns.during = lambda goal: asyncio.sleep(60)
        claim = store.leases.claim

        async def claim_and_hold(worker: str, *, limit: int) -> tuple[Lease, ...]:
            claimed = await claim(worker, limit=limit)
            if claimed:
                await store.holds.hold(ALL, "ann")
                await at_work.recall()
            return claimed

        store.leases.claim = claim_and_hold  # type: ignore[method-assign]
        goal = await _opened(store, 1)
        at_work.wake(goal)

        async with asyncio.timeout(5):
            while not await store.holds.standing() or at_work.busy:
                await asyncio.sleep(0.005)
        assert turns.begun in ([], [goal])


async def test_a_drained_worker_lets_a_turn_end_and_claims_nothing_more() -> None:
    async with _working() as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(0.1 if goal == "g1" else 60)
        await _opened(store, 1)
        await _opened(store, 2)
        await _until(lambda: len(turns.begun) == 2)

        left = await worker.drain(0.5)
        worker.wake(await _opened(store, 3))
        await asyncio.sleep(0.05)

        assert left == 1
        assert worker.busy == {"g2"}
        assert (await store.journal.goal("g1")).state is State.BLOCKED
        assert sorted(turns.begun) == ["g1", "g2"]


async def test_no_more_goals_are_worked_at_than_allowed() -> None:
    async with _working(at_once=2) as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        for number in range(5):
            await _opened(store, number)
        await _until(lambda: len(turns.begun) == 2)

        await asyncio.sleep(0.05)

        assert len(worker.busy) == 2


async def test_a_shutdown_gives_a_step_its_grace_and_then_aborts_it() -> None:
    async with _working() as (store, turns, worker):
        turns.during = lambda goal: asyncio.sleep(0.1 if goal == "g1" else 60)
        await _opened(store, 1)
        await _opened(store, 2)
        await _until(lambda: len(turns.begun) == 2)

        await worker.stop(0.5)

        assert turns.interrupted == ["g2"]
        assert (await store.journal.goal("g1")).state is State.BLOCKED
        assert (await store.journal.goal("g2")).state is State.WORKING


async def test_what_a_shutdown_left_is_taken_up_by_the_next_worker() -> None:
    store = MemoryStore(WallClock())
    async with _working(store) as (_, turns, worker):
        turns.during = lambda goal: asyncio.sleep(60)
        goal = await _opened(store, 1)
        await _until(lambda: turns.begun == [goal])
        await worker.stop(0.0)

    async with _working(store) as (_, turns, worker):
        await _is(store, goal, State.BLOCKED)


@pytest.mark.parametrize("count", [200])
async def test_many_goals_all_come_to_their_end(count: int) -> None:
    async with _working(at_once=10) as (store, turns, _):
        for number in range(count):
            await _opened(store, number)

        for number in range(count):
            await _is(store, f"g{number}", State.BLOCKED)

        assert sorted(turns.begun) == sorted(f"g{n}" for n in range(count))


async def test_a_call_of_a_process_that_has_gone_is_charged_where_no_turn_will_do_it() -> None:
    store = MemoryStore(WallClock())
    goal = await _opened(store, 1)
    call = CallStarted("c1", "agent", "m", 100, 100, revision=1)
    await store.journal.commit(Unit(goal, (TurnStarted(), call, Cancelled("ann"))))

    async with _working(store):
        async with asyncio.timeout(10.0):
            while (await store.journal.goal(goal)).ledger.open:
                await asyncio.sleep(0.005)

    ledger = (await store.journal.goal(goal)).ledger
    assert ledger.estimated_tokens == 100
    assert ledger.calls == 1


class _Skipping(WallClock):
    """The wall's clock, which a test may put forward."""

    skipped = 0.0

    def now(self) -> float:
        return super().now() + self.skipped

    def skip(self, seconds: float) -> None:
        self.skipped += seconds


@asynccontextmanager
async def _working(
    store: MemoryStore | None = None,
    *,
    at_once: int = 10,
    renew_s: float = 10.0,
    clock: WallClock | None = None,
    is_alone: bool = True,
    lease_s: float = 30.0,
) -> AsyncIterator[tuple[MemoryStore, _Turns, Worker]]:
    clock = clock or WallClock()
    store = store or MemoryStore(clock)
    turns = _Turns(store)
    alarms = Alarms()
    worker = Worker(
        "w1",
        journal=store.journal,
        leases=store.leases,
        runners={State.READY: turns, State.WORKING: turns},
        alarms=alarms,
        clock=clock,
        at_once=at_once,
        renew_s=renew_s,
        lease_s=lease_s,
        is_alone=is_alone,
    )
    alarms.start()
    running = asyncio.create_task(worker.run())
    try:
        yield store, turns, worker
    finally:
        await worker.stop(0.0)
        running.cancel()
        alarms.stop()


async def _opened(store: MemoryStore, number: int) -> str:
    objective = Content(f"Objective {number}")
    thread = await store.rooms.begin(Place("console", "here", "room", f"t{number}"))
    opened = GoalOpened(
        goal=f"g{number}",
        session=thread.session,
        number=0,
        owner=await store.rooms.person("console", Speaker("ann", "Ann")),
        objective=objective.hash,
        budget=replace(DEFAULT_BUDGET),
    )
    await store.journal.open(opened, (objective,))
    return opened.goal


async def _is(store: MemoryStore, goal: str, state: State) -> None:
    async with asyncio.timeout(10.0):
        while (await store.journal.goal(goal)).state is not state:
            await asyncio.sleep(0.005)


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10.0):
        while not is_so():
            await asyncio.sleep(0.005)


async def _never(worker: str, held: Mapping[str, int]) -> frozenset[str]:
    await asyncio.sleep(60)
    return frozenset()


async def _raise() -> None:
    raise ValueError("made by the test")
