"""A plan comes first: proposed, approved, refused, changed."""

from dataclasses import replace

import pytest

from bot.goals.events import (
    DecisionAnswered,
    DecisionAsked,
    DecisionExpired,
    Paused,
    Resumed,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import State
from bot.goals.instructions import (
    Checkpoint,
    CloseDecision,
    Post,
)
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from tests.bot.goals.lives import Life, a_message, an_answer, planning


def test_a_planning_turn_ends_in_a_plan_that_somebody_has_to_approve() -> None:
    life = planning()

    assert (life.goal.state, life.rule) == (State.DECIDING, "plan_proposed")
    assert life.goal.decision is not None
    assert (life.goal.decision.kind, life.goal.decision.text) == ("plan", "plan")
    assert life.posts("decision") == [Post("decision", "decision:1", "plan_proposed", "plan")]
    assert Checkpoint(1) in life.last


def test_a_plan_that_a_tool_proposed_is_the_one_that_is_asked() -> None:
    life = Life(plan_first=True).take(TurnStarted()).call()

    life.take(DecisionAsked("p", "plan", "tool's", "toolu"), TurnEnded("done", "there it is"))

    assert life.goal.decision is not None
    assert (life.goal.decision.id, life.goal.decision.text) == ("p", "tool's")


def test_an_approved_plan_is_worked_at_after_a_checkpoint() -> None:
    life = planning()

    life.take(DecisionAnswered("g.d1", "ann", "yes"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "answer")
    assert (life.goal.planning, life.goal.plan) == (False, "plan")
    assert Checkpoint(1) in life.last
    assert CloseDecision("g.d1", "answered", "ann", "yes", "") in life.last


def test_a_refused_plan_blocks_until_somebody_says_what_else() -> None:
    life = planning().take(DecisionAnswered("g.d1", "ann", "no", False))

    assert (life.goal.state, life.goal.reason) == (State.BLOCKED, "plan_rejected")
    assert CloseDecision("g.d1", "answered", "ann", "no", "") in life.last
    assert len(life.posts("blocked")) == 1
    life.take(a_message())
    assert (life.goal.state, life.goal.opening, life.goal.planning) == (
        State.READY, "message", True,
    )  # fmt: skip


def test_a_refused_plan_is_made_anew_when_it_is_resumed() -> None:
    life = planning().take(DecisionAnswered("g.d1", "ann", "no", False), Resumed("ann"))

    life.take(TurnStarted()).call().take(TurnEnded("done", "another plan"))

    assert life.goal.decision is not None
    assert (life.goal.decision.number, life.goal.decision.text) == (2, "another plan")


def test_a_plan_with_edits_opens_the_next_planning_turn() -> None:
    life = planning()

    life.take(DecisionAnswered("g.d1", "ann", "do X", False, edits=True))

    assert (life.goal.state, life.goal.opening, life.goal.planning) == (
        State.READY, "answer", True,
    )  # fmt: skip


def test_a_message_says_what_a_plan_is_to_be_instead() -> None:
    life = planning().take(a_message())

    assert CloseDecision("g.d1", "withdrawn") in life.last
    assert (life.goal.state, life.goal.opening, life.rule) == (
        State.READY, "message", "plan_edited",
    )  # fmt: skip
    assert life.goal.planning


def test_the_same_plan_may_be_proposed_again() -> None:
    life = planning().take(a_message(), TurnStarted()).call()

    life.take(TurnEnded("done", "plan"))

    assert (life.goal.state, life.rule) == (State.DECIDING, "plan_proposed")
    by_a_tool = planning().take(a_message(), TurnStarted()).call()
    by_a_tool.take(DecisionAsked("p", "plan", "plan", "toolu"), TurnEnded("done", ""))
    assert by_a_tool.goal.state is State.DECIDING


@pytest.mark.parametrize(
    ("answer", "state", "opening"),
    [
        (DecisionAnswered("g.d1", "ann", "yes"), State.READY, "answer"),
        (DecisionAnswered("g.d1", "ann", "no", False), State.BLOCKED, None),
        (DecisionAnswered("g.d1", "ann", "do X", False, edits=True), State.READY, "answer"),
    ],
)
def test_a_plan_answered_at_rest_counts_when_it_goes_on(
    answer: DecisionAnswered, state: State, opening: str | None
) -> None:
    life = planning().take(Paused("ann"), answer)
    assert (life.goal.state, life.goal.planning) == (State.PAUSED, True)

    life.take(Resumed("ann"))

    assert life.goal.state is state
    assert opening in (None, life.goal.opening)
    assert life.goal.planning is not answer.accepted
    assert (life.goal.paused_at, life.goal.decision) == (None, None)
    assert (Checkpoint(1) in life.last) == answer.accepted


def test_nothing_unplanned_is_complete() -> None:
    life = Life(plan_first=True).take(TurnStarted()).call().take(TurnEnded("done"))

    life.verdict("complete")

    assert (life.goal.state, life.goal.opening) == (State.READY, "continuation")


def test_a_plan_that_nobody_answers_blocks() -> None:
    life = planning().take(DecisionExpired("g.d1"), after_s=LIMITS.question_expires_s)

    assert (life.goal.state, life.goal.reason) == (State.BLOCKED, "no_answer")
    assert life.goal.planning


def test_a_refused_change_of_an_approved_plan_leaves_the_approved_one() -> None:
    life = planning().take(DecisionAnswered("g.d1", "ann", "yes"), TurnStarted()).call()
    life.take(DecisionAsked("p", "plan", "wider", "toolu"), TurnEnded("done", "r"))

    life.take(DecisionAnswered("p", "ann", "no", False))

    assert (life.goal.state, life.goal.plan, life.goal.planning) == (State.READY, "plan", False)


def test_an_approved_change_of_a_plan_is_the_plan() -> None:
    life = planning().take(DecisionAnswered("g.d1", "ann", "yes"), TurnStarted()).call()

    life.take(DecisionAsked("p", "plan", "wider", "toolu"), TurnEnded("done", "r"), an_answer("p"))

    assert life.goal.plan == "wider"


def test_an_ordinary_turn_is_never_one_of_planning() -> None:
    life = Life(kind="ask", plan_first=True).take(TurnStarted()).call()

    life.take(TurnEnded("done", "answer"))

    assert life.goal.state is State.COMPLETE


def test_planning_over_a_crossed_budget_ends_in_the_wrap_up() -> None:
    life = planning(budget=replace(DEFAULT_BUDGET, tokens=20_000))
    life.take(a_message(), TurnStarted()).call()

    life.take(life.call_event("big", tokens=30_000), TurnEnded("budget")).verdict("complete")

    assert (life.goal.state, life.goal.opening) == (State.READY, "wrap_up")
