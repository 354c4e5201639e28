"""What people allow: a call, a goal, a room."""

import pytest

from bot.errors import IllegalMove, Refused
from bot.goals.events import (
    DecisionExpired,
    Event,
    MessageReceived,
    ObjectiveEdited,
    Paused,
    ProfileSet,
    Resumed,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from bot.goals.goal import State
from bot.goals.hands import Grant, Scope
from bot.goals.instructions import (
    Allow,
    CloseDecision,
    OpenDecision,
    Post,
)
from bot.goals.limits import LIMITS
from tests.bot.goals import lives
from tests.bot.goals.lives import PIP, Life, allowed, asked


def test_an_approval_holds_the_hash_of_its_call_and_what_it_offers() -> None:
    life = lives.in_working().take(asked())

    assert life.goal.state is State.DECIDING
    assert life.goal.decision is not None
    assert (life.goal.decision.call, life.goal.decision.grant) == ("call", PIP)
    assert OpenDecision(life.goal.decision) in life.last


def stands_for(life: Life, decision: str) -> bool:
    """Whether the last move gave the room what `decision` offered, for thirty days."""
    given = [one for one in life.last if isinstance(one, Allow)]
    until = life.journal[-1].event.at + LIMITS.permission_lasts_s
    return given == [Allow(PIP, "ann", decision, until)]


@pytest.mark.parametrize(
    ("scope", "grants", "stands"),
    [("once", (), False), ("goal", (PIP,), False), ("always", (), True)],
)
def test_a_yes_goes_as_far_as_it_says(
    scope: Scope, grants: tuple[Grant, ...], stands: bool
) -> None:
    life = lives.in_working().take(asked(), allowed(scope))

    assert life.goal.grants == grants
    assert stands_for(life, "d") == stands
    assert CloseDecision("d", "answered", "ann", "answer", scope) in life.last
    assert life.goal.state is State.WORKING


@pytest.mark.parametrize("scope", ["once", "goal", "always"])
def test_a_no_allows_nothing_however_far_it_was_to_go(scope: Scope) -> None:
    life = lives.in_working().take(asked(), allowed(scope, accepted=False))

    assert life.goal.grants == ()
    assert not [one for one in life.asked if isinstance(one, Allow)]
    assert CloseDecision("d", "answered", "ann", "answer", "") in life.last


def test_an_approval_that_offers_nothing_further_is_of_that_call_alone() -> None:
    life = lives.in_working().take(asked(None), allowed("always"))

    assert life.goal.grants == ()
    assert CloseDecision("d", "answered", "ann", "answer", "once") in life.last
    assert not [one for one in life.last if isinstance(one, Allow)]


def test_what_is_allowed_already_is_not_allowed_twice() -> None:
    life = lives.in_working().take(asked(), allowed("goal"))

    life.take(asked(id="d2"), allowed("always", "d2"))

    assert life.goal.grants == (PIP,)
    assert stands_for(life, "d2")


def test_an_expired_approval_allows_nothing() -> None:
    life = lives.in_working().take(asked(), DecisionExpired("d"))

    assert (life.goal.state, life.goal.grants, life.goal.decision) == (State.WORKING, (), None)


@pytest.mark.parametrize("accepted", [True, False])
def test_an_approval_answered_at_rest_counts_when_it_goes_on(accepted: bool) -> None:
    life = lives.in_working().take(asked(), Paused("ann"))

    life.take(allowed("goal", accepted=accepted))
    stored = life.goal
    life.take(Resumed("ann"))

    assert stored.state is State.PAUSED
    assert stored.decision is not None
    assert (stored.decision.answered, stored.decision.accepted) == (True, accepted)
    assert life.goal.grants == ((PIP,) if accepted else ())
    assert (life.goal.state, life.goal.turn, life.goal.decision) == (State.WORKING, 1, None)


def test_an_approval_answered_always_at_rest_stands_at_once() -> None:
    life = lives.in_working().take(asked(), Paused("ann"), allowed("always"))

    assert stands_for(life, "d")


def test_an_edit_at_rest_withdraws_an_approval_and_not_one_that_was_answered() -> None:
    waits = lives.in_working().take(asked(), Paused("ann"), ObjectiveEdited("ann", "o2"))
    answered = lives.in_working().take(asked(), Paused("ann"), allowed())
    answered.take(ObjectiveEdited("ann", "o2"))

    assert CloseDecision("d", "withdrawn") in waits.last
    assert not [one for one in answered.last if isinstance(one, CloseDecision)]
    assert answered.goal.decision is None
    with pytest.raises(Refused, match="no longer open"):
        waits.take(allowed())


def test_an_answer_to_an_approval_of_before_an_edit_is_too_late() -> None:
    life = lives.in_working().take(asked(), ObjectiveEdited("ann", "o2"), TurnStarted())

    with pytest.raises(Refused) as refused:
        life.take(allowed("always"))

    assert refused.value.code == "too_late"


def test_an_ordinary_turn_asks_nobody_to_allow_more() -> None:
    life = Life(kind="ask").take(TurnStarted()).call()

    with pytest.raises(IllegalMove, match="only looks"):
        life.take(asked())


def test_a_goal_does_not_gather_what_may_be_asked_again() -> None:
    life = lives.in_working()
    for number in range(3):
        life.take(asked(id=f"d{number}"), allowed("once", f"d{number}"))

    assert life.goal.questions == ()


def test_after_a_kill_the_turn_of_an_answered_approval_is_taken_up() -> None:
    life = lives.in_working().take(asked(), allowed(), TurnResumed())

    assert (life.goal.state, life.goal.turn) == (State.WORKING, 1)


def test_a_goal_that_may_do_everything_by_now_gives_its_room_nothing() -> None:
    life = lives.in_working().take(asked(), ProfileSet("ann", "full"), allowed("always"))

    assert not [one for one in life.asked if isinstance(one, Allow)]
    assert CloseDecision("d", "answered", "ann", "answer", "goal") in life.last
    assert life.goal.grants == (PIP,)


def test_a_call_that_nobody_is_expected_to_approve_lets_the_goal_rest() -> None:
    life = lives.in_working()

    life.take(TurnEnded("needs_approval", call="call"))

    assert (life.goal.state, life.goal.reason) == (State.BLOCKED, "needs_approval")
    assert [one.content for one in life.last if isinstance(one, Post)] == ["call"]


@pytest.mark.parametrize(
    "wakes", [Resumed("ann"), MessageReceived("m", "ann", "hi"), ObjectiveEdited("ann", "other")]
)
def test_whoever_wakes_such_a_goal_attends_to_it(wakes: Event) -> None:
    life = Life(unattended=True).take(TurnStarted()).call()
    life.take(TurnEnded("needs_approval", call="call"))
    assert life.goal.state is State.BLOCKED

    life.take(wakes)

    assert not life.goal.unattended


@pytest.mark.parametrize(
    ("said", "opening"),
    [(MessageReceived("m", "ann", "hi"), "message"), (ObjectiveEdited("ann", "other"), "edit")],
)
def test_whoever_writes_before_such_a_goal_rests_attends_to_it(said: Event, opening: str) -> None:
    life = Life(unattended=True).take(TurnStarted()).call().take(said)

    life.take(TurnEnded("needs_approval", call="call"))

    assert (life.goal.state, life.goal.opening) == (State.READY, opening)
    assert not life.goal.unattended


def test_any_other_stop_leaves_a_goal_unattended() -> None:
    life = Life(unattended=True).take(TurnStarted())
    life.take(TurnEnded("failed", failed="refusal"), Resumed("ann"))

    assert life.goal.unattended
