"""What people do: answers, expiry, pause and resume, messages in the middle."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.errors import IllegalMove, Refused
from bot.goals.events import (
    DecisionAnswered,
    DecisionExpired,
    DecisionReminded,
    ObjectiveEdited,
    OwnerChanged,
    OwnerLost,
    Paused,
    Resumed,
    RoomWasLost,
    Stopped,
    TurnStarted,
    Undone,
    WaitChecked,
    WaitFired,
)
from bot.goals.goal import State
from bot.goals.instructions import (
    Checkpoint,
    CloseDecision,
    CloseWait,
    OpenDecision,
    RemovePosts,
    ShowStatus,
    StopTurn,
)
from bot.goals.limits import LIMITS
from bot.goals.machine import replay
from tests.bot.goals import lives
from tests.bot.goals.lives import HOUR, Life, a_message, a_wait, an_answer


@pytest.mark.parametrize("accepted", [True, False])
def test_an_answered_approval_goes_on_with_the_same_turn(accepted: bool) -> None:
    life = lives.in_approval()

    life.take(an_answer(accepted=accepted))

    assert (life.goal.state, life.goal.turn, life.goal.turn_open) == (State.WORKING, 1, True)
    scope = "once" if accepted else ""
    assert CloseDecision("d", "answered", "ann", "answer", scope) in life.last
    assert life.goal.continuations == 0


def test_an_approval_expires_as_no_and_the_turn_goes_on() -> None:
    life = lives.in_approval()
    assert life.goal.due_at == life.at + LIMITS.approval_expires_s

    life.take(DecisionExpired("d"), after_s=LIMITS.approval_expires_s)

    assert life.goal.state is State.WORKING
    assert CloseDecision("d", "expired") in life.last


@pytest.mark.parametrize("kind", ["question", "plan", "sign_off", "review"])
def test_nothing_else_is_answered_for_a_person(kind: str) -> None:
    life = lives.in_deciding(kind)  # type: ignore[arg-type]
    assert life.goal.due_at == life.at + LIMITS.question_expires_s / 2

    life.take(DecisionReminded("d"))
    assert life.goal.due_at == life.at - 1 + LIMITS.question_expires_s
    life.take(DecisionExpired("d"))

    assert (life.goal.state, life.goal.reason) == (State.BLOCKED, "no_answer")
    assert len(life.posts("reminder")) == 1


def test_a_reminder_comes_once() -> None:
    life = lives.in_deciding().take(DecisionReminded("d"))

    with pytest.raises(IllegalMove):
        life.take(DecisionReminded("d"))


def test_the_first_answer_wins() -> None:
    life = lives.in_deciding().take(an_answer())

    with pytest.raises(Refused) as refused:
        life.take(an_answer())

    assert refused.value.code == "too_late"


@pytest.mark.parametrize("event", [DecisionExpired("x"), DecisionReminded("x")])
def test_a_timer_of_another_decision_is_no_move(event: DecisionExpired | DecisionReminded) -> None:
    with pytest.raises(IllegalMove):
        lives.in_deciding().take(event)


@pytest.mark.parametrize("event", [WaitFired("x", "time"), WaitChecked("x", 0.0)])
def test_a_timer_of_another_wait_is_no_move(event: WaitFired | WaitChecked) -> None:
    with pytest.raises(IllegalMove):
        lives.in_waiting().take(event)


def test_an_accepted_plan_is_a_checkpoint() -> None:
    life = lives.in_deciding("plan").take(an_answer())

    assert Checkpoint(1) in life.last
    assert life.rule == "plan_accepted"


def test_a_pause_keeps_the_wait_and_resuming_takes_it_up() -> None:
    life = lives.in_waiting().take(Paused("ann"))
    assert (life.goal.due_at, life.goal.by) == (None, "ann")

    life.take(Resumed("ann"))

    assert life.goal.state is State.WAITING
    assert life.goal.due_at == life.at
    assert not [asked for asked in life.asked if isinstance(asked, CloseWait)]


def test_a_wait_for_a_time_goes_on_waiting_for_it_after_a_pause() -> None:
    life = Life().turn()
    life.verdict("wait", wait=a_wait(kind="time"), ref_is_known=True)

    life.take(Paused("ann"), Resumed("ann"))

    assert life.goal.due_at == a_wait().until


def test_a_wait_that_fires_during_a_pause_counts_at_resume() -> None:
    life = lives.in_waiting().take(Paused("ann"), WaitFired("w", "probe"))
    assert life.goal.state is State.PAUSED

    life.take(Resumed("ann"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "wait")
    assert [asked for asked in life.asked if isinstance(asked, CloseWait)] == [
        CloseWait("w", "fired")
    ]


def test_a_wait_fires_once() -> None:
    life = lives.in_waiting().take(Paused("ann"), WaitFired("w", "probe"))

    with pytest.raises(IllegalMove):
        life.take(WaitFired("w", "probe"))


def test_an_edit_after_a_wait_fired_in_a_pause_does_not_close_it_again() -> None:
    life = lives.in_waiting().take(Paused("ann"), WaitFired("w", "probe"))

    life.take(ObjectiveEdited("ann", "another"))

    assert (life.goal.state, life.goal.wait) == (State.PAUSED, None)
    assert not [asked for asked in life.last if isinstance(asked, CloseWait)]


def test_a_wait_whose_time_came_during_a_pause_wakes_at_resume() -> None:
    life = lives.in_waiting().take(Paused("ann"))

    life.take(Resumed("ann"), after_s=2 * HOUR)

    assert life.goal.state is State.READY
    assert CloseWait("w", "fired") in life.last


def test_the_clock_of_a_decision_stands_still_while_paused() -> None:
    life = lives.in_deciding()
    before = life.goal.decision
    life.take(Paused("ann")).take(Stopped("ann"), after_s=HOUR)

    life.take(Resumed("ann"), after_s=HOUR)

    assert before is not None
    assert life.goal.decision is not None
    assert life.goal.state is State.DECIDING
    assert life.goal.decision.expires_at == before.expires_at + 2 * HOUR


def test_an_answer_during_a_pause_counts_at_resume() -> None:
    life = lives.in_deciding().take(Paused("ann"), an_answer())
    with pytest.raises(Refused):
        life.take(an_answer())

    life.take(Resumed("ann"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "answer")


def test_an_approval_answered_during_a_pause_goes_on_with_its_turn_at_resume() -> None:
    life = lives.in_approval().take(Paused("ann"), an_answer())

    life.take(Resumed("ann"))

    assert (life.goal.state, life.goal.turn) == (State.WORKING, 1)


def test_an_answer_to_another_decision_during_a_pause_is_too_late() -> None:
    with pytest.raises(Refused):
        lives.in_paused_deciding().take(DecisionAnswered("other", "ann", "h"))


def test_stop_aborts_and_pause_lets_the_step_end() -> None:
    paused, stopped = lives.in_working().take(Paused("ann")), lives.in_working()

    stopped.take(Stopped("ann"))

    assert StopTurn("stopped") in stopped.last
    assert not [asked for asked in paused.last if isinstance(asked, StopTurn)]
    assert paused.goal.state is stopped.goal.state is State.PAUSED


def test_stop_reaches_a_step_that_a_pause_let_run() -> None:
    life = lives.in_working().take(Paused("ann"))

    life.take(Stopped("ben"))

    assert StopTurn("stopped") in life.last
    assert life.goal.by == "ben"


def test_resuming_a_first_turn_that_never_reached_the_model_keeps_its_objective() -> None:
    never, once = lives.in_paused(), lives.in_working().take(Paused("ann"))

    never.take(Resumed("ann"))
    once.take(Resumed("ann"))

    assert (never.goal.opening, once.goal.opening) == ("objective", "resume")


def test_a_message_to_a_waiting_goal_withdraws_the_wait() -> None:
    life = lives.in_waiting().take(a_message())

    assert (life.goal.state, life.goal.opening) == (State.READY, "message")
    assert CloseWait("w", "withdrawn") in life.last


def test_a_wait_for_a_message_has_got_it() -> None:
    life = Life().turn()
    life.verdict("wait", wait=a_wait(kind="message"), ref_is_known=True)

    life.take(a_message())

    assert CloseWait("w", "fired") in life.last


def test_a_message_to_a_ready_goal_opens_its_turn_but_not_its_first() -> None:
    first, later = Life(), lives.in_auditing().verdict("continue")

    first.take(a_message())
    later.take(a_message())

    assert (first.goal.opening, later.goal.opening) == ("objective", "message")


def test_a_message_to_an_open_decision_is_held() -> None:
    life = lives.in_deciding().take(a_message())

    assert life.goal.state is State.DECIDING
    assert life.goal.has_unread


def test_resume_re_attaches_what_is_active() -> None:
    life = lives.in_working().take(Resumed("ann"), after_s=50)

    assert (life.goal.state, life.goal.due_at) == (State.WORKING, life.at)


def test_an_edit_withdraws_an_open_decision() -> None:
    life = lives.in_deciding().take(ObjectiveEdited("ann", "another"))

    assert CloseDecision("d", "withdrawn") in life.last
    assert (life.goal.state, life.goal.revision) == (State.READY, 2)


def test_an_edit_leaves_an_answered_decision_closed() -> None:
    life = lives.in_paused_deciding().take(an_answer())

    life.take(ObjectiveEdited("ann", "another"))

    assert not [asked for asked in life.last if isinstance(asked, CloseDecision)]
    assert life.goal.decision is None


def test_an_edit_of_a_blocked_goal_gives_it_a_fresh_allowance() -> None:
    life = lives.in_blocked().take(ObjectiveEdited("ann", "another"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "edit")


def test_decisions_are_numbered_in_the_goal() -> None:
    life = lives.in_deciding().take(an_answer()).turn()
    life.verdict("needs_person", text="another", decision="d2")

    opened = [asked.decision.number for asked in life.asked if isinstance(asked, OpenDecision)]
    assert opened == [1, 2]


def test_a_decision_without_an_id_of_its_own_gets_one_from_its_number() -> None:
    life = Life().turn().verdict("needs_person", text="who?")

    assert life.goal.decision is not None
    assert life.goal.decision.id == "g.d1"


def test_a_journal_with_a_gap_or_nothing_in_it_folds_to_no_goal() -> None:
    journal = lives.in_working().journal

    with pytest.raises(IllegalMove):
        replay(journal[:1] + journal[2:])
    with pytest.raises(IllegalMove):
        replay([])


def test_a_journal_folds_by_its_outcomes_whatever_the_rules_of_today() -> None:
    life = lives.in_deciding().take(an_answer(), TurnStarted())

    assert replay(life.journal) == life.goal


@pytest.mark.parametrize("enter", [lives.in_working, lives.in_deciding, lives.in_over_budget])
def test_a_goal_that_changes_hands_stays_where_it_is(enter: Callable[[], Life]) -> None:
    life = enter()
    before = life.goal

    life.take(OwnerChanged("ben", "ben"))

    assert life.goal == replace(before, owner="ben", seq=before.seq + 1)
    assert replay(life.journal) == life.goal


def test_a_goal_is_not_handed_to_its_owner() -> None:
    with pytest.raises(Refused) as refused:
        lives.in_working().take(OwnerChanged("ann", "ann"))

    assert refused.value.code == "own_already"


def test_a_goal_that_lost_its_owner_rests_and_a_new_one_resumes_it_with_its_question() -> None:
    life = lives.in_deciding()

    life.take(OwnerLost("gone"))
    rests = life.goal
    life.take(OwnerChanged("ben", "ben"), Resumed("ben"))

    assert (rests.state, rests.reason, rests.by) == (State.PAUSED, "owner_lost:gone", "")
    assert rests.decision is not None
    assert life.goal.state is State.DECIDING
    assert life.goal.reason == ""


def test_a_running_turn_of_a_lost_owner_lets_its_step_end() -> None:
    life = lives.in_working()

    life.take(OwnerLost("removed"))

    assert life.goal.turn_open
    assert not [one for one in life.last if isinstance(one, StopTurn)]


def test_an_ordinary_turn_of_a_lost_owner_is_over() -> None:
    life = Life(kind="ask").take(OwnerLost("removed"))

    assert life.goal.state is State.CANCELLED


def test_what_is_taken_back_in_its_first_turn_ends_and_leaves_nothing_to_see() -> None:
    life = lives.in_approval().take(Undone("ann"))

    assert (life.goal.state, life.goal.reason) == (State.CANCELLED, "undone")
    assert RemovePosts() in life.last
    assert StopTurn("cancelled") in life.last
    assert ShowStatus() not in life.last
    assert replay(life.journal) == life.goal


def test_a_goal_whose_room_is_lost_rests_and_says_nothing() -> None:
    life = lives.in_deciding().take(RoomWasLost("kicked", "ben", "note"))

    assert (life.goal.state, life.goal.by) == (State.PAUSED, "ben")
    assert life.goal.reason == "room_lost:kicked:note"
    assert life.last == ()
    assert replay(life.journal) == life.goal

    life.take(Resumed("ann"))

    assert life.goal.state is State.DECIDING


def test_what_was_stopped_stays_stopped_when_its_room_is_lost() -> None:
    life = Life().take(TurnStarted(), Stopped("ann"), RoomWasLost("banned", "ben"))

    assert (life.goal.reason, life.goal.by) == ("stopped", "ann")


def test_an_ordinary_turn_ends_with_its_room() -> None:
    life = Life(kind="ask").take(RoomWasLost("gone"))

    assert life.goal.state is State.CANCELLED
    assert ShowStatus() not in life.last
