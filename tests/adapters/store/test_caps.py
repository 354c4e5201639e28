"""Caps, tallies and queues, on both databases: what is counted is what was spent, and nothing passes."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.store.open import Store, open_store
from adapters.store.tallies import SPREAD_S, Guard, day_of, jitter_s, midnight_after
from bot.errors import Refused
from bot.goals.caps import NO_CAPS, Caps
from bot.goals.events import (
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Cancelled,
    Event,
    GoalOpened,
    MessageReceived,
    ObjectiveEdited,
    Paused,
    Resumed,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    WaitFired,
)
from bot.goals.goal import Goal, State
from bot.goals.limits import ASK_BUDGET, DEFAULT_BUDGET, LIMITS
from bot.goals.money import NANO, Budget, Usage
from bot.ports.chat import Speaker
from bot.ports.journal import Content
from bot.ports.people import Answer
from bot.ports.spending import Spent
from tests.adapters.store.clocks import HandClock, HandTime
from tests.adapters.store.conftest import SHIFTED, ShiftedTime
from tests.contracts.stores import SHARED, Bed
from tests.peers.postgres import Postgres

Begin = Callable[[Caps], Awaitable[Bed]]
DOLLAR = NANO
AMPLE = Budget(1_000 * NANO, 100_000_000, None)
BEN = Speaker("U2", "Ben")
DAY_S = 86_400.0
NOON_S = DAY_S / 2


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def begin(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Begin]:
    """Opens the one database of the test under the caps that are given, again and again."""
    clock = HandClock()
    url = "sqlite:///headway.db"
    hand: HandTime | ShiftedTime = HandTime(clock)
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("database"), options=SHIFTED)
        hand = ShiftedTime(url)
        # No midnight comes by itself.
        await hand.pass_by((NOON_S - time.time()) % DAY_S)
        clock.at = await hand.now()
    stack = AsyncExitStack()
    beds: list[Bed] = []

    async def opened(caps: Caps) -> Bed:
        if request.param == "sqlite":
            await stack.aclose()
        store = await stack.enter_async_context(
            open_store(url, clock=clock, limits=LIMITS, state_dir=tmp_path, guard=Guard(caps, UTC))
        )
        beds.append(Bed(store, hand, beds[0].ids) if beds else Bed(store, hand))
        return beds[-1]

    yield opened
    if beds:
        await beds[-1].check()
        await assert_tallied(beds[-1].ports)  # type: ignore[arg-type]
    await stack.aclose()


def usd(**dollars: float) -> Caps:
    return Caps({scope: round(n * NANO) for scope, n in dollars.items()})  # type: ignore[misc]


def live(**goals: int) -> Caps:
    return Caps(live=goals)  # type: ignore[arg-type]


def a_call(name: str, dollars: float | None, tokens: int = 1_000) -> CallStarted:
    nano = None if dollars is None else round(dollars * NANO)
    return CallStarted(name, "agent", "claude", tokens, nano, messages=99, revision=9)


def a_reply(name: str, dollars: float | None, tokens: int = 100) -> CallSettled:
    nano = None if dollars is None else round(dollars * NANO)
    return CallSettled(name, Usage(input=tokens), nano)


async def working(bed: Bed, room: str = "room") -> Goal:
    goal = await bed.open(place=bed.place(room=room), budget=AMPLE)
    return (await bed.commit(goal, TurnStarted())).goal


async def tally(store: Store) -> list[tuple[str, str, int, int, int]]:
    """Day, person's name, tokens, nano-dollars, unpriced tokens of every row."""
    sql = (
        "SELECT day, name, tokens, nano_usd, unpriced_tokens FROM tally"
        " JOIN person ON person.id = tally.person ORDER BY day, name"
    )
    rows = await store.writer.do(lambda tx: tx.connection.execute(sql).fetchall())
    return [tuple(row) for row in rows]


async def assert_tallied(store: Store) -> None:
    """The tallies are the sum of what the steps cost, and of the ledgers."""
    rows = await tally(store)
    bills = await store.spending.bills()
    goals = [row.goal for row in await store.records.goals(with_asks=True)]
    tokens, nano = sum(row[2] for row in rows), sum(row[3] for row in rows)
    assert tokens == sum(bill.tokens for bill in bills)
    assert nano == sum(bill.nano_usd for bill in bills)
    assert sum(row[4] for row in rows) == sum(bill.unpriced_tokens for bill in bills)
    assert tokens == sum(goal.ledger.tokens for goal in goals)
    assert nano == sum(goal.ledger.nano_usd for goal in goals)


async def test_what_a_reply_cost_is_tallied_with_it(begin: Begin) -> None:
    bed = await begin(NO_CAPS)
    goal = await working(bed)

    await bed.commit(goal, a_call("c1", 0.5))
    before = await tally(bed.ports)  # type: ignore[arg-type]
    await bed.commit(goal, a_reply("c1", 0.2))

    assert before == []
    [(_, name, tokens, nano, unpriced)] = await tally(bed.ports)  # type: ignore[arg-type]
    assert (name, tokens, nano, unpriced) == ("Ann", 100, DOLLAR // 5, 0)


async def test_a_lost_reply_is_tallied_by_its_reservation_and_a_late_one_takes_its_place(
    begin: Begin,
) -> None:
    bed = await begin(NO_CAPS)
    goal = await working(bed)
    await bed.commit(goal, a_call("c1", 0.5), CallLost("c1"))
    lost = await tally(bed.ports)  # type: ignore[arg-type]

    await bed.commit(goal, a_reply("c1", 0.2))

    late = await tally(bed.ports)  # type: ignore[arg-type]
    assert [row[2:4] for row in lost] == [(1_000, DOLLAR // 2)]
    assert [row[2:4] for row in late] == [(100, DOLLAR // 5)]


async def test_a_call_that_would_pass_a_cap_does_not_start_and_suspends_its_turn(
    begin: Begin,
) -> None:
    bed = await begin(usd(person=1.0))
    goal = await working(bed)
    await bed.commit(goal, a_call("c1", 0.6), a_reply("c1", 0.6))

    applied = await bed.commit(goal, a_call("c2", 0.5))

    held = applied.goal
    now = await bed.time.now()
    assert applied.rules == ("cap_reached",)
    assert (held.state, held.reason, held.turn_open) == (State.WAITING, "cap:person", True)
    assert held.wait is not None
    assert (held.wait.kind, held.wait.ref) == ("cap", f"person:{DOLLAR}")
    assert held.due_at == midnight_after(now, UTC) + jitter_s(goal.id)
    assert 0 <= jitter_s(goal.id) < SPREAD_S
    assert held.ledger.open == ()


async def test_with_fifty_goals_at_once_nothing_passes_the_cap(begin: Begin) -> None:
    bed = await begin(usd(all=1.0))
    goals = [await working(bed) for _ in range(50)]

    outcomes = await asyncio.gather(
        *(bed.commit(goal, a_call(f"c{goal.id}", 0.05)) for goal in goals)
    )

    started = [one for one in outcomes if one.rules == ("call_started",)]
    assert len(started) == 20
    assert sum(call.nano_usd or 0 for one in started for call in one.goal.ledger.open) == DOLLAR


async def test_a_cap_counts_what_is_held_back_of_its_scope_alone(begin: Begin) -> None:
    bed = await begin(usd(person=9.0, room=1.0, all=9.0))
    here, there = await working(bed, "here"), await working(bed, "there")
    await bed.commit(here, a_call("c1", 0.9))

    elsewhere = await bed.commit(there, a_call("c2", 0.9))
    second = await working(bed, "here")
    in_the_room = await bed.commit(second, a_call("c3", 0.9))

    assert elsewhere.rules == ("call_started",)
    assert in_the_room.rules == ("cap_reached",)


async def test_a_room_of_its_own_cap_keeps_to_the_smallest(begin: Begin) -> None:
    bed = await begin(usd(room=5.0))
    goal = await working(bed, "small")
    await set_room(bed, "small", cap_usd=0.05)

    applied = await bed.commit(goal, a_call("c1", 0.06))

    assert applied.goal.wait is not None
    assert applied.goal.wait.ref == f"room:{DOLLAR // 20}"


async def test_a_reached_cap_is_said_once_a_room(begin: Begin) -> None:
    bed = await begin(usd(person=1.0))
    goals = [await working(bed, room) for room in ("one", "one", "two")]
    await bed.commit(goals[0], a_call("c0", 0.9), a_reply("c0", 0.9))

    for goal in goals:
        await bed.commit(goal, a_call(f"c{goal.id}", 0.5))

    swept = await bed.spending.sweep()
    due = await bed.outbox.claim("console", limit=100)
    assert swept.spent == (Spent("person", "Ann", DOLLAR, in_tokens=False),)
    said = [json.loads(one.reason) for one in due if one.kind == "cap"]
    assert len(said) == 2
    assert {one["limit"] for one in said} == {DOLLAR}
    assert {one.place.room for one in due if one.kind == "cap"} == {"one", "two"}
    assert {one.place.thread for one in due if one.kind == "cap"} == {""}


async def test_what_is_held_only_for_calls_in_flight_goes_on_when_they_cost_less(
    begin: Begin,
) -> None:
    bed = await begin(usd(person=1.0))
    first, second = await working(bed), await working(bed)
    await bed.commit(first, a_call("c1", 0.9))
    held = (await bed.commit(second, a_call("c2", 0.5))).goal
    kept = (await bed.spending.sweep()).freed
    await bed.commit(first, a_reply("c1", 0.1))

    freed = (await bed.spending.sweep()).freed

    after = await bed.journal.goal(second.id)
    assert (held.state, kept, freed) == (State.WAITING, (), (second.id,))
    assert (after.state, after.turn_open) == (State.WORKING, True)
    due = await bed.outbox.claim("console", limit=100)
    assert "cap" not in {one.kind for one in due}


async def test_a_look_lets_no_more_go_than_fit(begin: Begin) -> None:
    bed = await begin(usd(person=1.0))
    first, *others = [await working(bed) for _ in range(4)]
    await bed.commit(first, a_call("c1", 1.0))
    for goal in others:
        await bed.commit(goal, a_call(f"c{goal.id}", 0.4))
    await bed.commit(first, CallReleased("c1"))

    freed = (await bed.spending.sweep()).freed

    assert freed == (others[0].id, others[1].id)


async def test_a_raised_cap_lets_its_goals_go_at_once(begin: Begin) -> None:
    bed = await begin(usd(room=0.05))
    goals = [await working(bed), await working(bed)]
    for goal in goals:
        await bed.commit(goal, a_call(f"c{goal.id}", 0.06))
    raised = await begin(usd(room=1.0))

    freed = (await raised.spending.sweep()).freed

    assert freed == tuple(goal.id for goal in goals)
    for goal in goals:
        after = await raised.commit(goal, TurnResumed(), a_call(f"d{goal.id}", 0.06))
        assert after.rules == ("turn_resumed", "call_started")


async def test_while_all_is_on_hold_nothing_is_let_go(begin: Begin) -> None:
    bed = await begin(live(person=1))
    await bed.open()
    queued = await bed.open()
    await bed.holds.hold("all", queued.owner)
    raised = await begin(live(person=2))

    on_hold = await raised.spending.sweep()
    await raised.holds.release("all")
    after = await raised.spending.sweep()

    assert (on_hold.is_on_hold, on_hold.freed) == (True, ())
    assert (after.is_on_hold, after.freed) == (False, (queued.id,))


async def test_a_day_is_the_rooms_by_its_zone(begin: Begin) -> None:
    bed = await begin(usd(room=1.0))
    goal = await working(bed, "far")
    await set_room(bed, "far", zone="Pacific/Kiritimati")
    zone = ZoneInfo("Pacific/Kiritimati")
    now = await bed.time.now()

    await bed.commit(goal, a_call("c1", 0.9), a_reply("c1", 0.9))
    held = (await bed.commit(goal, a_call("c2", 0.9))).goal

    [(day, *_)] = await tally(bed.ports)  # type: ignore[arg-type]
    assert day == day_of(now, zone)
    assert held.due_at == midnight_after(now, zone) + jitter_s(goal.id)


async def test_a_room_may_have_fewer_live_goals_than_the_settings_allow(begin: Begin) -> None:
    bed = await begin(live(room=5))
    await bed.open(place=bed.place(room="quiet"))
    await set_room(bed, "quiet", cap_live_goals=1)

    queued = await bed.open(place=bed.place(room="quiet"))
    elsewhere = await bed.open(place=bed.place(room="loud"))

    assert (queued.reason, elsewhere.state) == ("slot:room:1", State.READY)


async def test_an_admins_word_lets_one_goal_pass_for_today(begin: Begin) -> None:
    bed = await begin(usd(person=0.1))
    goals = [await working(bed), await working(bed)]
    for goal in goals:
        await bed.commit(goal, a_call(f"c{goal.id}", 0.5))

    lifted = await bed.spending.lift(goals[0].id, Answer())
    again = await bed.spending.lift(goals[0].id, Answer())
    passed = await bed.commit(goals[0], TurnResumed(), a_call("d", 0.5))
    swept = await bed.spending.sweep()

    assert (lifted, again) == (True, False)
    assert passed.rules == ("turn_resumed", "call_started")
    assert swept.freed == ()
    assert (await bed.journal.goal(goals[1].id)).state is State.WAITING


async def test_the_next_day_begins_with_nothing_spent_and_each_goal_at_its_own_time(
    begin: Begin,
) -> None:
    bed = await begin(usd(person=1.0))
    goal = await working(bed)
    await bed.commit(goal, a_call("c1", 0.9), a_reply("c1", 0.9))
    held = (await bed.commit(goal, a_call("c2", 0.5))).goal
    now = await bed.time.now()
    await bed.time.pass_by(midnight_after(now, UTC) - now + SPREAD_S)

    by_a_look = (await bed.spending.sweep()).freed
    assert held.wait is not None
    after = await bed.commit(goal, WaitFired(held.wait.id, "day"), a_call("c3", 0.5))

    assert by_a_look == ()
    assert after.rules == ("wait_fired", "call_started")
    await bed.commit(goal, CallLost("c3"))
    assert len(await tally(bed.ports)) == 2  # type: ignore[arg-type]


async def test_a_message_to_a_held_goal_is_kept_and_spends_nothing(begin: Begin) -> None:
    bed = await begin(usd(person=0.1))
    goal = await working(bed)
    await bed.commit(goal, a_call("c1", 0.5))
    said = Content("hurry", goal.owner)

    after = await bed.commit(goal, MessageReceived("m", goal.owner, said.hash), contents=(said,))

    assert after.goal.state is State.WAITING
    assert after.goal.has_unread
    with pytest.raises(Refused) as refused:
        await bed.commit(goal, Resumed(goal.owner))
    assert refused.value.code == "cap"


async def test_an_ordinary_turn_is_charged_to_the_same_caps_and_is_answered(begin: Begin) -> None:
    bed = await begin(usd(person=0.1))
    ask = await bed.open(kind="ask", budget=ASK_BUDGET)

    after = await bed.commit(ask, TurnStarted(), a_call("c1", 0.2, 20_000))

    assert (after.goal.state, after.goal.reason) == (State.COMPLETE, "cap:person")
    assert await bed.keys()


async def test_a_call_of_unknown_price_keeps_to_the_caps_in_tokens(begin: Begin) -> None:
    bed = await begin(Caps({"person": DOLLAR}, {"person": 1_500}))
    first, second = await working(bed), await working(bed)
    await bed.commit(first, a_call("c1", None), a_reply("c1", None, tokens=900))

    passed = await bed.commit(second, a_call("c2", None))
    priced = await bed.commit(first, a_call("c3", 0.5))

    assert passed.goal.wait is not None
    assert (passed.goal.wait.ref, passed.goal.wait.tokens) == ("person:1500", 1_000)
    assert priced.rules == ("call_started",)


async def test_the_share_of_each_cap_is_told(begin: Begin) -> None:
    bed = await begin(usd(person=1.0, room=2.0))
    goal = await working(bed)
    await bed.commit(goal, a_call("c1", 0.5), a_reply("c1", 0.5))

    shares = await bed.spending.shares(goal)

    assert [(share.scope, share.spent, share.limit) for share in shares] == [
        ("person", DOLLAR // 2, DOLLAR),
        ("room", DOLLAR // 2, 2 * DOLLAR),
    ]
    place = bed.place()
    assert await bed.spending.shares_of(goal.owner, place) == shares


async def test_the_goal_above_the_limit_is_queued_and_begins_when_a_live_one_ends(
    begin: Begin,
) -> None:
    bed = await begin(live(person=2))
    first, _ = await bed.open(), await bed.open()
    third, fourth = await bed.open(), await bed.open()

    await bed.commit(first, Cancelled(first.owner))

    assert (third.state, third.reason) == (State.WAITING, "slot:person:2")
    assert (await bed.journal.goal(third.id)).state is State.READY
    assert (await bed.journal.goal(third.id)).opening == "objective"
    assert (await bed.journal.goal(fourth.id)).state is State.WAITING


async def test_a_queued_goal_is_passed_by_one_that_fits_and_by_none_of_its_own(
    begin: Begin,
) -> None:
    bed = await begin(live(person=1, all=2))
    ann = await bed.open()
    anns = await bed.open()
    ben = await open_of(bed, BEN)
    bens = await open_of(bed, BEN)

    await bed.commit(ben, Cancelled(ben.owner))

    assert (anns.reason, bens.reason) == ("slot:person:1", "slot:person:1")
    assert (await bed.journal.goal(anns.id)).state is State.WAITING
    assert (await bed.journal.goal(bens.id)).state is State.READY
    assert (await bed.journal.goal(ann.id)).state is State.READY


async def test_a_queued_goal_can_be_edited_told_paused_and_cancelled(begin: Begin) -> None:
    bed = await begin(live(person=1))
    first, queued = await bed.open(), await bed.open()
    other, said = Content("another", queued.owner), Content("and this", queued.owner)

    edited = await bed.commit(queued, ObjectiveEdited(queued.owner, other.hash), contents=(other,))
    told = await bed.commit(queued, MessageReceived("m", queued.owner, said.hash), contents=(said,))
    paused = await bed.commit(queued, Paused(queued.owner))
    await bed.commit(first, Cancelled(first.owner))
    resting = await bed.journal.goal(queued.id)
    await bed.commit(queued, Resumed(queued.owner))
    freed = (await bed.spending.sweep()).freed

    assert edited.goal.state is told.goal.state is State.WAITING
    assert (paused.goal.state, resting.state) == (State.PAUSED, State.PAUSED)
    assert freed == (queued.id,)
    begun = await bed.journal.goal(queued.id)
    assert (begun.state, begun.objective) == (State.READY, other.hash)
    assert begun.has_unread


async def test_a_raised_limit_lets_the_oldest_in_the_queue_begin(begin: Begin) -> None:
    bed = await begin(live(room=1))
    await bed.open()
    queued = [await bed.open() for _ in range(3)]
    raised = await begin(live(room=3))

    freed = (await raised.spending.sweep()).freed

    assert freed == (queued[0].id, queued[1].id)


async def test_ordinary_turns_of_a_person_are_bounded_in_number(begin: Begin) -> None:
    bed = await begin(Caps(live_asks=2))
    asks = [await bed.open(kind="ask", budget=ASK_BUDGET) for _ in range(2)]

    with pytest.raises(Refused) as refused:
        await bed.open(kind="ask", budget=ASK_BUDGET)
    await bed.commit(asks[0], TurnStarted(), TurnEnded("done"))
    await bed.open(kind="ask", budget=ASK_BUDGET)

    assert refused.value.code == "asks"


@settings(max_examples=12, deadline=None, suppress_health_check=SHARED)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["settle", "lose", "release", "late", "gone", "leave"]),
            st.sampled_from([0.0, 0.01, 0.3, None]),
            st.integers(0, 2_000),
        ),
        max_size=12,
    )
)
async def test_whatever_calls_come_to_the_tallies_are_the_sum_of_the_steps(
    begin: Begin, steps: list[tuple[int, str, float | None, int]]
) -> None:
    bed = await begin(usd(person=1.0, room=0.8))
    goals = [await working(bed, room) for room in ("one", "one", "two")]

    for number, (which, ends, dollars, tokens) in enumerate(steps):
        goal, call = goals[which], f"c{number}.{next(bed.ids)}"
        if (await bed.journal.goal(goal.id)).state is not State.WORKING:
            continue
        if (await bed.commit(goal, a_call(call, dollars))).rules != ("call_started",):
            continue
        after: dict[str, tuple[Event, ...]] = {
            "settle": (a_reply(call, dollars, tokens),),
            "lose": (CallLost(call),),
            "release": (CallReleased(call),),
            "late": (CallLost(call), a_reply(call, dollars, tokens)),
            "gone": (TurnResumed(),),
            "leave": (),
        }
        await bed.commit(goal, *after[ends])
        await bed.time.pass_by(3_600)

    await assert_tallied(bed.ports)  # type: ignore[arg-type]
    for goal in goals:
        await bed.commit(goal, Cancelled(goal.owner))


@pytest.mark.postgres
async def test_two_processes_together_do_not_pass_a_cap(
    postgres: Postgres, database: str, tmp_path: Path
) -> None:
    url = postgres.url(database, options=SHIFTED)
    async with AsyncExitStack() as stack:
        guard = Guard(usd(all=1.0), UTC)
        stores = [
            await stack.enter_async_context(
                open_store(
                    url,
                    clock=HandClock(),
                    limits=LIMITS,
                    state_dir=tmp_path,
                    guard=guard,
                    home=home,
                )
            )
            for home in ("a", "b")
        ]
        beds = [Bed(store, ShiftedTime(url)) for store in stores]
        beds[1].ids = beds[0].ids
        goals = [await working(beds[0]) for _ in range(40)]

        outcomes = await asyncio.gather(
            *(
                beds[number % 2].commit(goal, a_call(f"c{goal.id}", 0.05))
                for number, goal in enumerate(goals)
            )
        )

    started = [one for one in outcomes if one.rules == ("call_started",)]
    assert 0 < len(started) <= 20


async def open_of(bed: Bed, speaker: Speaker) -> Goal:
    """A goal of somebody else."""
    owner = await bed.rooms.person("console", speaker)
    session = (await bed.rooms.begin(bed.place())).session
    content = Content("theirs", owner)
    opened = GoalOpened(f"g{next(bed.ids)}", session, 0, owner, content.hash, DEFAULT_BUDGET)
    return (await bed.journal.open(opened, [content])).goal


async def set_room(bed: Bed, room: str, **values: float | str) -> None:
    """Settings of a room, as they are kept."""
    kept = json.dumps({key: {"value": n, "by": "p1", "at": 1.0} for key, n in values.items()})
    sql = f"UPDATE room SET settings = '{kept}' WHERE name = '{room}'"
    await bed.writer.do(lambda tx: tx.connection.execute(sql))
