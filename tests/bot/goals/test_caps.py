"""Caps and queues: what is counted, what is passed, and where a goal goes on that was held."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.goals.caps import (
    SCOPES,
    Amount,
    Booked,
    Caps,
    Reached,
    booked,
    full_scope,
    needs,
    reached,
)
from bot.goals.events import (
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Event,
    MessageReceived,
    ObjectiveEdited,
    Paused,
    Resumed,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    WaitAsked,
    WaitFired,
)
from bot.goals.goal import State
from bot.goals.instructions import CloseWait, Post
from bot.goals.limits import ASK_BUDGET
from bot.goals.money import NANO, Budget, Usage
from tests.bot.goals import lives
from tests.bot.goals.lives import START, Life, a_cap, a_message, a_wait

AMOUNTS = st.builds(Amount, st.integers(0, 100), st.integers(0, 100))
SUMS = st.fixed_dictionaries(dict.fromkeys(SCOPES, AMOUNTS))
LIMITS = st.dictionaries(st.sampled_from(SCOPES), st.integers(0, 150))


def held(life: Life) -> str:
    assert life.goal.wait is not None
    return life.goal.wait.id


@given(spent=SUMS, held=SUMS, need=AMOUNTS, usd=LIMITS, tokens=LIMITS)
def test_what_no_cap_stops_fits_every_cap(
    spent: Any, held: Any, need: Amount, usd: Any, tokens: Any
) -> None:
    found = reached(Caps(usd, tokens), spent, held, need)

    passed = {
        (scope, limit, part == "tokens")
        for limits, part in ((usd, "nano_usd"), (tokens, "tokens"))
        for scope, limit in limits.items()
        if getattr(need, part)
        and sum(getattr(one, part) for one in (spent[scope], held[scope], need)) > limit
    }
    assert (found is None) == (not passed)
    assert found is None or (found.scope, found.limit, found.in_tokens) in passed


def test_a_cap_that_is_really_spent_is_named_before_one_that_others_hold() -> None:
    nothing = dict.fromkeys(SCOPES, Amount())
    spent = {**nothing, "all": Amount(100)}
    held = {**nothing, "person": Amount(100)}

    found = reached(Caps({"person": 100, "all": 100}), spent, held, Amount(1))

    assert found == Reached("all", 100, in_tokens=False, is_spent=True)


def test_of_a_rooms_cap_and_the_settings_the_smaller_holds() -> None:
    caps = Caps({"room": 20 * NANO}, live={"room": 10})

    assert caps.in_room(5.0, 3).nano_usd["room"] == 5 * NANO
    assert caps.in_room(50.0, 30) == caps
    assert caps.in_room(5.0, 3).live["room"] == 3
    assert Caps().in_room(5.0, None).nano_usd == {"room": 5 * NANO}


@pytest.mark.parametrize(
    ("person", "room", "full"), [(2, 9, ""), (3, 9, "person:3"), (0, 10, "room:10")]
)
def test_the_first_limit_of_live_goals_that_is_full_is_named(
    person: int, room: int, full: str
) -> None:
    caps = Caps(live={"person": 3, "room": 10})

    assert full_scope(caps, {"person": person, "room": room, "all": 99}) == full


def test_a_call_of_unknown_price_needs_tokens_and_another_dollars() -> None:
    assert needs(500, None) == Amount(0, 500)
    assert needs(500, 7) == Amount(7)


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["settle", "lose", "release", "late", "gone"]),
            st.sampled_from([0, 500, None]),
            st.integers(0, 900),
        ),
        max_size=20,
    )
)
def test_what_is_booked_is_what_the_ledger_came_to(calls: Any) -> None:
    life = Life(budget=Budget(NANO, 10_000_000, None)).take(TurnStarted())
    total, unpriced = Booked(), 0

    for number, (ends, nano, tokens) in enumerate(calls):
        name = f"c{number}"
        reply = CallSettled(name, Usage(input=tokens), nano)
        after: dict[str, tuple[Event, ...]] = {
            "settle": (reply,), "lose": (CallLost(name),), "release": (CallReleased(name),),
            "late": (CallLost(name), reply), "gone": (TurnResumed(),),
        }  # fmt: skip
        for event in (CallStarted(name, "agent", "m", 1_000, nano), *after[ends]):
            before = life.goal.ledger
            life.take(event)
            total += booked(before, life.goal.ledger, life.journal[-1].event)
        if nano is None and ends != "release":
            unpriced += tokens if ends in ("settle", "late") else 1_000

    assert total == Booked(life.goal.ledger.tokens, life.goal.ledger.nano_usd, unpriced)


def test_a_capped_turn_goes_on_with_what_it_had_asked_for() -> None:
    life = lives.in_working().take(WaitAsked(a_wait("asked")))
    life.take(a_cap(active_s=7.0))
    assert life.goal.ledger.active_s == 7.0

    life.take(WaitFired(held(life), "day"))

    assert (life.goal.state, life.goal.turn_open) == (State.WORKING, True)
    assert life.goal.wait == a_wait("asked")
    life.take(TurnResumed(), TurnEnded("done", "reply 1"))
    assert (life.goal.state, life.goal.wait) == (State.WAITING, a_wait("asked"))


def test_a_message_to_a_capped_turn_enters_when_it_goes_on() -> None:
    life = lives.in_capped().take(a_message())

    life.take(WaitFired(held(life), "raised"), TurnResumed()).call()

    assert life.goal.state is State.WORKING
    assert not life.goal.has_unread


@pytest.mark.parametrize(
    ("said", "opening"),
    [
        (MessageReceived("m", "ann", "h"), "message"),
        (ObjectiveEdited("ann", "o2"), "edit"),
    ],
)
def test_what_is_said_while_an_audit_is_held_opens_a_turn(said: Any, opening: str) -> None:
    life = lives.in_capped_audit().take(said)
    assert life.goal.state is State.WAITING

    life.take(WaitFired(held(life), "day"))

    assert (life.goal.state, life.goal.opening) == (State.READY, opening)


def test_an_audit_that_was_held_is_made() -> None:
    life = lives.in_capped_audit()

    life.take(WaitFired(held(life), "day"))

    assert (life.goal.state, life.goal.due_at) == (State.AUDITING, life.at)
    life.verdict("complete")
    assert life.goal.state is State.COMPLETE


def test_a_paused_goal_that_a_cap_held_waits_again_until_the_day_is_over() -> None:
    early = lives.in_paused_capped()
    late = lives.in_paused_capped()

    early.take(Resumed("ann"))
    late.take(Resumed("ann"), after_s=2 * lives.HOUR)

    assert (early.goal.state, early.goal.due_at) == (State.WAITING, START + lives.HOUR)
    assert (late.goal.state, late.rule) == (State.WORKING, "wait_counts")


def test_a_queued_goal_begins_with_the_objective_that_it_then_has() -> None:
    life = lives.in_queued().take(ObjectiveEdited("ann", "o2"), a_message())

    life.take(WaitFired(held(life), "slot"))

    assert (life.goal.state, life.goal.opening, life.goal.objective) == (
        State.READY,
        "objective",
        "o2",
    )
    assert CloseWait("g.slot", "fired") in life.last


def test_a_queued_goal_that_rested_is_queued_again() -> None:
    life = lives.in_queued().take(Paused("ann"), ObjectiveEdited("ann", "o2"), Resumed("ann"))

    assert (life.goal.state, life.goal.reason) == (State.WAITING, "slot:person:3")
    assert life.goal.due_at == life.at


def test_an_ordinary_turn_is_answered_that_the_cap_is_reached() -> None:
    life = Life(budget=ASK_BUDGET, kind="ask").take(TurnStarted(), a_cap())

    assert life.goal.state is State.COMPLETE
    assert life.posts("answer") == [Post("answer", "settle", "cap:person")]


def test_a_wrap_up_that_a_cap_stops_is_told_from_the_journal() -> None:
    life = Life(budget=Budget(None, 20_000, None)).take(TurnStarted()).call()
    life.take(life.call_event("big", tokens=30_000), TurnEnded("budget"))
    life.verdict("continue").take(TurnStarted())

    life.take(a_cap())

    assert life.goal.state is State.OVER_BUDGET
    assert [post.reason for post in life.posts("over_budget")] == ["wrap_up_died"]
