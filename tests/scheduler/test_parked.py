"""What the clock does to goals that wait or ask."""

from dataclasses import replace
from typing import Literal

import pytest

from bot.goals.events import (
    CallSettled,
    CallStarted,
    CapReached,
    DecisionAsked,
    GoalOpened,
    TurnEnded,
    TurnStarted,
    WaitAsked,
)
from bot.goals.goal import Goal, State, Wait, WaitKind
from bot.goals.limits import DEFAULT_BUDGET, LIMITS, SLOT_LOOK_S
from bot.goals.money import Usage
from bot.ports.chat import Place, Speaker
from bot.ports.holds import ALL
from bot.ports.journal import Content, Lease, Unit
from scheduler.parked import Parked
from tests.doubles.store import MemoryStore

HOUR = 3600.0


class _Clock:
    time = 1_000_000.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


class _Prober:
    def __init__(self, *answers: tuple[bool, bool]) -> None:
        self.answers = list(answers)
        self.standing: Literal["running", "ended", "gone"] = "gone"

    async def process(self, goal: Goal, id: str) -> Literal["running", "ended", "gone"]:
        return self.standing

    async def probe(self, goal: Goal, command: str) -> tuple[bool, bool]:
        return self.answers.pop(0)


QUIET, CAME, BROKEN = (False, True), (True, True), (False, False)


async def test_a_time_that_has_come_wakes_the_goal() -> None:
    clock, store, goal = await _waiting("time", HOUR)
    clock.time += HOUR

    woken = await _parked(store, clock).run(Lease(goal, 1))

    assert (woken.state, woken.opening) == (State.READY, "wait")


async def test_a_quiet_probe_is_looked_at_again_later_and_later() -> None:
    clock, store, goal = await _waiting("probe", 10 * HOUR)
    parked = _parked(store, clock, QUIET, QUIET, QUIET)
    pauses = []

    for _ in range(3):
        clock.time = goal.due_at or 0.0
        goal = await parked.run(Lease(goal, 1))
        pauses.append((goal.due_at or 0.0) - clock.time)

    assert goal.state is State.WAITING
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] <= LIMITS.probe_most_s


async def test_waits_that_others_have_ended_are_not_counted_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scheduler.parked.KNOWN", 1)
    clock, store, goal = await _waiting("process", 10 * HOUR)
    prober = _Prober()
    prober.standing = "running"
    parked = _parked(store, clock, prober)
    parked._looks["another"] = 5

    await parked.run(Lease(goal, 1))

    assert "another" not in parked._looks
    assert len(parked._looks) == 1


async def test_a_probe_that_succeeds_wakes_the_goal() -> None:
    clock, store, goal = await _waiting("probe", 10 * HOUR)

    woken = await _parked(store, clock, CAME).run(Lease(goal, 1))

    assert woken.state is State.READY


async def test_three_probes_that_cannot_run_end_the_wait() -> None:
    clock, store, goal = await _waiting("probe", 10 * HOUR)
    parked = _parked(store, clock, BROKEN, BROKEN, BROKEN)

    for _ in range(3):
        goal = await parked.run(Lease(goal, 1))

    assert goal.state is State.READY


async def test_the_back_stop_ends_a_probe_that_stays_quiet() -> None:
    clock, store, goal = await _waiting("probe", HOUR)
    clock.time += HOUR

    woken = await _parked(store, clock, QUIET).run(Lease(goal, 1))

    assert woken.state is State.READY


async def test_a_wait_on_a_process_that_is_gone_wakes_at_once() -> None:
    clock, store, goal = await _waiting("process", HOUR)

    woken = await _parked(store, clock).run(Lease(goal, 1))

    assert woken.state is State.READY


async def test_a_wait_on_a_process_that_runs_is_looked_at_again_ever_more_seldom() -> None:
    clock, store, goal = await _waiting("process", HOUR)
    prober = _Prober()
    prober.standing = "running"
    parked = _parked(store, clock, prober)

    pauses = []
    for _ in range(7):
        goal = await parked.run(Lease(goal, 1))
        assert goal.due_at is not None
        pauses.append(goal.due_at - clock.time)
        clock.time = goal.due_at

    assert goal.state is State.WAITING
    assert pauses[:5] == [60, 120, 240, 480, 900]


async def test_a_wait_on_a_process_lasts_no_longer_than_it_says() -> None:
    clock, store, goal = await _waiting("process", HOUR)
    prober = _Prober()
    prober.standing = "running"
    clock.time += HOUR

    woken = await _parked(store, clock, prober).run(Lease(goal, 1))

    assert woken.state is State.READY


async def test_a_goal_that_a_cap_held_goes_on_when_its_day_is_over() -> None:
    clock, store, goal = await _working()
    cap = CapReached("person", 1_000, clock.time + HOUR, nano_usd=10)
    held = (await store.journal.commit(Unit(goal.id, (cap,)))).goal
    clock.time += HOUR

    woken = await _parked(store, clock).run(Lease(held, 1))

    assert held.due_at == clock.time
    assert (woken.state, woken.turn_open) == (State.WORKING, True)


async def test_a_queued_goal_is_looked_at_again_and_stays_queued() -> None:
    clock, store, goal = await _queued()
    assert goal.due_at is not None
    clock.time = goal.due_at
    lease = await store.leases.claim_one("w", goal.id)
    assert lease is not None

    still = await _parked(store, clock).run(lease)

    assert (still.state, still.reason) == (State.WAITING, "slot:person:3")
    assert still.due_at == clock.time + SLOT_LOOK_S


async def test_a_question_is_reminded_of_at_half_time_and_blocks_at_its_end() -> None:
    clock, store, goal = await _asking()
    parked = _parked(store, clock)
    begun = clock.time

    clock.time = goal.due_at or 0.0
    reminded = await parked.run(Lease(goal, 1))
    clock.time = reminded.due_at or 0.0
    blocked = await parked.run(Lease(reminded, 1))

    assert (goal.due_at or 0.0) - begun == pytest.approx(LIMITS.question_expires_s / 2)
    assert reminded.decision is not None
    assert reminded.decision.reminded
    assert (blocked.state, blocked.reason) == (State.BLOCKED, "no_answer")


async def test_a_goal_whose_lease_a_hold_has_ended_stays_parked() -> None:
    clock, store, goal = await _waiting("time", HOUR)
    clock.time += HOUR
    await store.holds.hold(ALL, goal.owner)

    still = await _parked(store, clock).run(Lease(goal, 1))

    assert still == goal
    assert await store.journal.goal(goal.id) == goal


def _parked(store: MemoryStore, clock: _Clock, *answers: tuple[bool, bool] | _Prober) -> Parked:
    first = answers[0] if answers else None
    prober = first if isinstance(first, _Prober) else _Prober(*answers)  # type: ignore[arg-type]
    return Parked(store.journal, clock, LIMITS, prober)


async def _waiting(kind: WaitKind, lasts_s: float) -> tuple[_Clock, MemoryStore, Goal]:
    clock, store, goal = await _working()
    wait = Wait("w1", kind, "test -e done", clock.time + lasts_s)
    ended = Unit(goal.id, (WaitAsked(wait), TurnEnded("done")))
    return clock, store, (await store.journal.commit(ended)).goal


async def _asking() -> tuple[_Clock, MemoryStore, Goal]:
    clock, store, goal = await _working()
    asked = DecisionAsked("d1", "question", Content("Which?").hash, "t1")
    ended = Unit(goal.id, (asked, TurnEnded("done")))
    return clock, store, (await store.journal.commit(ended)).goal


async def _queued() -> tuple[_Clock, MemoryStore, Goal]:
    clock, store = await _opened(queued="person:3")
    [row] = await store.records.goals()
    return clock, store, row.goal


async def _working() -> tuple[_Clock, MemoryStore, Goal]:
    clock, store = await _opened()
    await store.leases.claim("w", limit=1)
    called = CallStarted("c", "agent", "model", 1000, 1000, revision=1)
    begun = Unit("g", (TurnStarted(), called, CallSettled("c", Usage(1, output=1), 1)))
    goal = (await store.journal.commit(begun)).goal
    return clock, store, goal


async def _opened(queued: str = "") -> tuple[_Clock, MemoryStore]:
    clock = _Clock()
    store = MemoryStore(clock)
    thread = await store.rooms.begin(Place("console", "here", "room", "t"))
    objective = Content("Do it")
    owner = await store.rooms.person("console", Speaker("ann", "Ann"))
    opened = GoalOpened(
        "g", thread.session, 0, owner, objective.hash, replace(DEFAULT_BUDGET), queued=queued
    )
    await store.journal.open(opened, (objective,))
    return clock, store
