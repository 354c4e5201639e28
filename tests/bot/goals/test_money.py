"""Money: reservations, the four classes of tokens, and what happens at the end of the budget."""

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

from bot.errors import IllegalMove
from bot.goals.events import (
    BudgetSet,
    CallLost,
    CallReleased,
    DecisionAsked,
    Paused,
    Resumed,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from bot.goals.goal import State
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from bot.goals.money import (
    LOST_KEPT,
    Budget,
    Ledger,
    Price,
    Reservation,
    Usage,
    charge_all_lost,
    charge_lost,
    covers,
    left_nano_usd,
    left_tokens,
    release,
    reserve,
    settle,
    worked,
)
from tests.bot.goals import lives
from tests.bot.goals.lives import Life, a_message, settled

COUNTS = st.integers(0, 10**6)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
SMALL = Budget(None, 20_000, None)


def crossed(*, turns: int = 0) -> Life:
    """A goal whose next call its budget did not cover, in the turn that found out."""
    life = Life(budget=SMALL)
    for _ in range(turns):
        life.turn().verdict("continue")
    life.take(TurnStarted()).call()
    return life.take(life.call_event("big", tokens=30_000))


@given(USAGES, USAGES)
def test_every_token_counts_once_in_its_class(one: Usage, other: Usage) -> None:
    price = Price(input=3, cache_write_5m=4, cache_write_1h=6, cache_read=1, output=15)

    both = one + other

    assert both.tokens == one.tokens + other.tokens
    assert price.of(both) == price.of(one) + price.of(other)


@given(USAGES, st.integers(0, 10**6), st.none() | st.integers(0, 10**9))
def test_a_reservation_is_replaced_by_what_the_call_cost(
    usage: Usage, tokens: int, nano: int | None
) -> None:
    ledger = reserve(Ledger(), Reservation("c", "agent", tokens, nano))

    after = settle(ledger, "c", usage, nano)

    assert after.open == ()
    assert (after.usage, after.nano_usd, after.calls) == (usage, nano or 0, 1)
    assert after.has_unknown_price == (nano is None)


def test_a_lost_reply_is_charged_in_full_and_marked() -> None:
    ledger = reserve(Ledger(), Reservation("c", "agent", 700, 50))

    after = charge_lost(ledger, "c")

    assert (after.tokens, after.estimated_tokens) == (700, 700)
    assert (after.nano_usd, after.estimated_nano_usd) == (50, 50)


def test_a_lost_call_of_unknown_price_leaves_the_price_unknown() -> None:
    ledger = reserve(Ledger(), Reservation("c", "agent", 700, None))

    assert charge_lost(ledger, "c").has_unknown_price


def test_a_reply_that_turns_up_late_replaces_its_estimate() -> None:
    lost = charge_lost(reserve(Ledger(), Reservation("c", "agent", 700, 50)), "c")

    after = settle(lost, "c", Usage(input=10), 2)

    assert after == Ledger(usage=Usage(input=10), nano_usd=2, calls=1)


def test_a_call_is_charged_as_lost_once() -> None:
    once = charge_lost(reserve(Ledger(), Reservation("c", "agent", 700, 50)), "c")

    assert charge_lost(once, "c") == once


def test_only_the_last_few_lost_calls_are_remembered_and_all_are_charged() -> None:
    ledger = Ledger()
    for number in range(LOST_KEPT + 2):
        ledger = reserve(ledger, Reservation(f"c{number}", "agent", 10, 1))

    after = charge_all_lost(ledger)

    assert len(after.lost) == LOST_KEPT
    assert after.estimated_tokens == 10 * (LOST_KEPT + 2)


def test_a_call_that_was_not_served_owes_nothing() -> None:
    ledger = reserve(Ledger(), Reservation("c", "agent", 700, 50))

    assert release(ledger, "c") == Ledger()


def test_what_is_in_flight_is_not_left() -> None:
    ledger = reserve(Ledger(), Reservation("c", "agent", 700, 50))

    assert left_tokens(Budget(100, 1_000, None), ledger) == 300
    assert left_nano_usd(Budget(100, 1_000, None), ledger) == 50
    assert left_tokens(Budget(None, None, None), ledger) is None
    assert left_nano_usd(Budget(None, None, None), ledger) is None


@pytest.mark.parametrize(
    ("budget", "call", "held_back", "is_covered"),
    [
        (Budget(None, 1_000, None), Reservation("c", "agent", 1_000, 1), 0, True),
        (Budget(None, 1_000, None), Reservation("c", "agent", 1_000, 1), 1, False),
        (Budget(100, None, None), Reservation("c", "agent", 50, 100), 0, True),
        (Budget(100, None, None), Reservation("c", "agent", 50, 99), 2, False),
        (Budget(100, None, None), Reservation("c", "agent", 0, 100), 50, True),
        (Budget(100, None, None), Reservation("c", "agent", 50, None), 0, False),
        (Budget(100, 1_000, None), Reservation("c", "agent", 50, None), 0, True),
        (Budget(None, None, 10.0), Reservation("c", "agent", 50, 1), 0, True),
        (Budget(None, None, 0.0), Reservation("c", "agent", 50, 1), 0, False),
        (Budget(None, None, None), Reservation("c", "agent", 50, 1), 0, True),
    ],
)
def test_a_call_starts_only_if_what_is_left_covers_it(
    budget: Budget, call: Reservation, held_back: int, is_covered: bool
) -> None:
    assert covers(budget, worked(Ledger(), 5.0), call, held_back=held_back) is is_covered


def test_four_thousand_tokens_are_held_back_for_the_audit() -> None:
    life = Life(budget=SMALL).take(TurnStarted())

    life.take(life.call_event("c", tokens=20_000 - LIMITS.audit_held_back_tokens + 1))
    assert life.rule == "budget_crossed"
    life.take(TurnEnded("budget"))
    life.take(TurnStarted())

    assert life.goal.wrapping_up


def test_a_crossing_ends_in_the_audit_one_wrap_up_and_over_budget() -> None:
    life = crossed().take(TurnEnded("budget"))
    assert life.rule == "turn_done"

    life.take(life.call_event("a", tokens=3_000, role="audit"), settled("a"))
    life.verdict("continue").take(TurnStarted())
    life.take(life.call_event("w", tokens=50_000, role="wrap_up"), settled("w"))
    life.take(TurnEnded("done", "done and left"))

    assert life.goal.state is State.OVER_BUDGET
    assert [(post.reason, post.content) for post in life.posts("over_budget")] == [
        ("wrap_up_ended", "done and left")
    ]


def test_a_goal_that_is_complete_at_its_crossing_is_complete() -> None:
    life = crossed().take(TurnEnded("budget"))

    life.verdict("complete")

    assert life.goal.state is State.COMPLETE
    assert not life.posts("over_budget")


@pytest.mark.parametrize("verdict", ["continue", "blocked", "wait", "needs_person"])
def test_every_other_verdict_at_a_crossing_wraps_up(verdict: str) -> None:
    life = crossed().take(TurnEnded("budget"))

    life.verdict(verdict, wait=lives.a_wait(), ref_is_known=True, text="q")

    assert (life.goal.state, life.goal.opening) == (State.READY, "wrap_up")


def test_a_failed_audit_at_a_crossing_wraps_up() -> None:
    life = crossed().take(TurnEnded("budget")).audit_fails()

    assert life.goal.opening == "wrap_up"


def test_an_audit_that_is_not_covered_wraps_up() -> None:
    life = Life(budget=SMALL).take(TurnStarted()).call().take(TurnEnded("done", "reply"))

    life.take(life.call_event("a", tokens=30_000, role="audit"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "wrap_up")


def test_a_message_before_a_crossed_turn_ends_goes_into_the_wrap_up() -> None:
    life = crossed().take(a_message())

    life.take(TurnEnded("budget"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "wrap_up")


def test_a_message_during_the_audit_of_a_crossed_turn_goes_into_the_wrap_up() -> None:
    life = crossed().take(TurnEnded("budget"), a_message())

    assert (life.goal.state, life.goal.opening) == (State.READY, "wrap_up")
    life.take(a_message("m2"), TurnStarted())
    life.take(life.call_event("w", role="wrap_up"))

    assert not life.goal.has_unread


def test_a_first_call_that_is_too_dear_is_wrapped_up_and_does_not_go_round() -> None:
    life = Life(budget=SMALL).take(TurnStarted())

    life.take(life.call_event("big", tokens=30_000), TurnEnded("budget"))

    assert life.goal.opening == "wrap_up"


def test_nothing_but_the_wrap_up_calls_over_a_crossed_budget() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue").take(TurnStarted())

    life.take(life.call_event("c", tokens=1))

    assert life.rule == "budget_crossed"
    assert not life.goal.ledger.open


def test_a_wrap_up_that_died_is_not_begun_again() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue").take(TurnStarted())

    life.take(TurnResumed())

    assert life.goal.state is State.OVER_BUDGET
    assert life.rule == "wrap_up_died"
    assert len(life.posts("over_budget")) == 1


def test_a_wrap_up_that_was_paused_is_not_begun_again() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue").take(TurnStarted())

    life.take(Paused("ann"), TurnEnded("stopped"), Resumed("ann"))

    assert life.goal.state is State.OVER_BUDGET
    assert life.goal.paused_at is None


def test_a_wrap_up_asks_nobody_to_allow_more() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue").take(TurnStarted())

    with pytest.raises(IllegalMove, match="only looks"):
        life.take(DecisionAsked("d", "approval", "x", "t"))


def test_a_budget_raised_before_the_wrap_up_forgets_the_crossing() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue")

    life.take(BudgetSet("ann", DEFAULT_BUDGET))

    assert (life.goal.opening, life.goal.crossed) == ("resume", False)


def test_a_budget_raised_before_the_crossed_turn_ends_forgets_the_crossing() -> None:
    life = crossed().take(BudgetSet("ann", DEFAULT_BUDGET))

    life.take(TurnEnded("budget", "reply")).verdict("continue")

    assert life.goal.opening == "continuation"


def test_a_budget_raised_during_a_paused_wrap_up_lets_the_goal_go_on() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue").take(TurnStarted())

    life.take(Paused("ann"), BudgetSet("ann", DEFAULT_BUDGET), Resumed("ann"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "resume")


def test_a_budget_raised_during_the_wrap_up_counts_at_resume() -> None:
    life = crossed().take(TurnEnded("budget")).verdict("continue").take(TurnStarted())

    life.take(BudgetSet("ann", DEFAULT_BUDGET), TurnEnded("done", "left"))
    assert life.goal.state is State.OVER_BUDGET
    life.take(Resumed("ann"))

    assert life.goal.opening == "resume"


def test_raising_and_resuming_goes_on_and_a_second_crossing_is_wrapped_up_again() -> None:
    life = lives.in_over_budget()

    life.take(BudgetSet("ann", Budget(None, 40_000, None)), Resumed("ann"))
    assert (life.goal.state, life.goal.crossed) == (State.READY, False)
    life.take(TurnStarted()).call()
    life.take(life.call_event("big", tokens=60_000), TurnEnded("budget"))
    life.verdict("continue").take(TurnStarted(), TurnEnded("done", "left again"))

    assert len(life.posts("over_budget")) == 2


def test_active_time_spent_crosses_the_budget_too() -> None:
    life = Life(budget=Budget(None, None, 100.0)).take(TurnStarted()).call()

    life.take(TurnEnded("budget", active_s=100.0)).verdict("continue")

    assert life.goal.opening == "wrap_up"


def test_a_turn_that_goes_on_and_on_crosses_the_time_of_the_budget_at_its_next_call() -> None:
    life = Life(budget=Budget(None, None, 100.0)).take(TurnStarted()).call()
    life.take(replace(life.call_event("c2"), active_s=99.0))
    within = life.rule

    life.take(replace(life.call_event("c3"), active_s=100.0))

    assert within == "call_started"
    assert life.rule == "budget_crossed"
    assert life.goal.ledger.active_s == 0.0


def test_a_released_or_lost_call_settles_in_any_state() -> None:
    life = lives.in_working()
    life.take(life.call_event("c1"), life.call_event("c2"), Paused("ann"))

    life.take(CallReleased("c1"), CallLost("c2"))

    assert life.goal.ledger.open == ()
    assert life.goal.ledger.estimated_tokens == 100


def test_a_role_that_does_not_fit_the_state_makes_no_call() -> None:
    life = lives.in_auditing()

    with pytest.raises(IllegalMove, match="no agent call"):
        life.take(life.call_event("c"))
