"""When a turn ends: the first rule that applies, and the streaks that it counts."""

from dataclasses import replace

import pytest

from bot.errors import IllegalMove, Refused
from bot.goals.events import (
    BudgetSet,
    Cancelled,
    DecisionAsked,
    ObjectiveEdited,
    Paused,
    Resumed,
    Stopped,
    TasksPlanned,
    ToolEnded,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    WaitAsked,
    WaitFired,
)
from bot.goals.goal import State
from bot.goals.instructions import Checkpoint, CloseWait, OpenDecision, OpenWait
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from tests.bot.goals import lives
from tests.bot.goals.lives import Life, a_message, a_wait


def test_a_turn_that_ends_by_itself_is_audited_and_checkpointed() -> None:
    life = lives.in_working()

    life.take(TurnEnded("done", "reply", active_s=12.0))

    assert life.goal.state is State.AUDITING
    assert life.goal.ledger.active_s == 12.0
    assert Checkpoint(1) in life.last


def test_a_turn_that_ends_after_a_pause_books_its_time_and_changes_nothing_else() -> None:
    life = lives.in_working().take(Paused("ann"))
    before = life.goal

    life.take(TurnEnded("stopped", "half a reply", active_s=5.0))

    ledger = replace(before.ledger, active_s=5.0)
    assert life.goal == replace(before, turn_open=False, ledger=ledger, seq=before.seq + 1)


def test_a_stopped_turn_is_never_audited() -> None:
    life = lives.in_working().take(WaitAsked(a_wait()))

    life.take(TurnEnded("stopped"))

    assert life.goal.state is State.PAUSED
    assert life.goal.wait is None


@pytest.mark.parametrize("failed", ["invalid_request", "refusal"])
def test_a_failed_turn_blocks_with_the_true_cause(failed: str) -> None:
    life = lives.in_working()

    life.take(TurnEnded("failed", failed=failed))

    assert life.goal.state is State.BLOCKED
    assert [post.reason for post in life.posts("blocked")] == [f"failed:{failed}"]


def test_an_unread_message_opens_the_next_turn_instead_of_an_audit() -> None:
    life = lives.in_working().take(WaitAsked(a_wait()), a_message())

    life.take(TurnEnded("done", "reply"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "message")
    assert life.goal.wait is None
    assert not [asked for asked in life.asked if isinstance(asked, OpenWait)]


def test_a_message_that_a_call_carried_is_read() -> None:
    life = lives.in_working().take(a_message()).call()

    life.take(TurnEnded("done", "reply"))

    assert life.goal.state is State.AUDITING


def test_an_edit_that_no_call_carried_opens_the_next_turn_unaudited() -> None:
    life = lives.in_working().take(ObjectiveEdited("ann", "another"))

    life.take(TurnEnded("done", "reply"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "edit")


def test_a_running_turn_that_carried_the_edit_goes_to_the_audit() -> None:
    life = lives.in_working().take(ObjectiveEdited("ann", "another")).call()

    life.take(TurnEnded("done", "reply"))

    assert life.goal.state is State.AUDITING


def test_an_edit_before_a_continuation_makes_it_a_persons_turn() -> None:
    life = lives.in_auditing().verdict("continue")

    life.take(ObjectiveEdited("ann", "another"))

    assert life.goal.opening == "edit"


def test_what_the_turn_asked_for_parks_it_when_it_ends() -> None:
    waiting = lives.in_waiting()
    deciding = lives.in_deciding()

    assert waiting.goal.state is State.WAITING
    assert deciding.goal.state is State.DECIDING
    assert [post.key for post in deciding.posts("decision")] == ["decision:1"]


def test_the_last_thing_asked_for_counts() -> None:
    life = lives.in_working().take(WaitAsked(a_wait("w1")), WaitAsked(a_wait("w2")))

    life.take(DecisionAsked("d", "question", "text", "t"), TurnEnded("done", "reply"))

    assert life.goal.state is State.DECIDING
    assert life.goal.wait is None


def test_a_wait_asked_before_an_approval_still_parks_the_turn_after_it() -> None:
    life = lives.in_working().take(WaitAsked(a_wait()), DecisionAsked("d", "approval", "x", "t"))
    assert life.goal.wait is None

    life.take(lives.an_answer(), TurnEnded("done", "reply"))

    assert life.goal.state is State.WAITING
    assert life.goal.wait == a_wait()


def test_a_question_asked_before_an_approval_is_put_after_it_under_a_number_of_its_own() -> None:
    life = lives.in_working().take(
        DecisionAsked("q", "question", "why", "t1"), DecisionAsked("d", "approval", "x", "t2")
    )

    life.take(lives.an_answer(), TurnEnded("done", "reply"))

    opened = [asked.decision for asked in life.asked if isinstance(asked, OpenDecision)]
    assert [(decision.id, decision.number) for decision in opened] == [("d", 1), ("q", 2)]


def test_an_edit_during_an_approval_forgets_what_the_turn_had_asked_for() -> None:
    life = lives.in_working().take(WaitAsked(a_wait()), DecisionAsked("d", "approval", "x", "t"))

    life.take(ObjectiveEdited("ann", "another"))

    assert life.goal.aside is None
    assert not [asked for asked in life.asked if isinstance(asked, CloseWait)]


def test_compaction_continues_unaudited_at_most_twice_in_a_row() -> None:
    life = Life()

    states = [life.turn(compacted=True).goal.state for _ in range(3)]

    assert states == [State.READY, State.READY, State.AUDITING]
    assert life.goal.compactions == 0
    assert life.goal.continuations == 0


def test_a_resumed_turn_charges_what_was_in_flight() -> None:
    life = Life().take(TurnStarted())
    life.take(life.call_event("lost", tokens=500))

    life.take(TurnResumed())

    assert life.goal.state is State.WORKING
    assert life.goal.ledger.estimated_tokens == 500


def test_an_audit_taken_up_again_charges_what_was_in_flight() -> None:
    life = lives.in_auditing()
    life.take(life.call_event("lost", tokens=500, role="audit"))

    life.take(TurnResumed())

    assert life.goal.state is State.AUDITING
    assert life.goal.ledger.estimated_tokens == 500


def test_the_audit_waits_a_quiet_moment_only_after_a_person_spoke() -> None:
    silent = lives.in_auditing()
    spoken = lives.in_working().take(a_message()).call().take(TurnEnded("done", "reply"))
    long_ago = lives.in_working().take(a_message()).call()

    long_ago.take(TurnEnded("done", "reply"), after_s=LIMITS.quiet_after_message_s)

    assert silent.goal.due_at == silent.at
    assert spoken.goal.due_at == spoken.at + LIMITS.quiet_s
    assert long_ago.goal.due_at == long_ago.at


def test_twenty_continuations_then_blocked() -> None:
    life = Life()
    for _ in range(LIMITS.continuations):
        life.turn().verdict("continue")

    life.turn().verdict("continue")

    assert life.goal.turn == 21
    assert life.rule == "continuations"
    assert life.goal.state is State.BLOCKED


def test_progress_adds_a_continuation_a_turn_up_to_sixty() -> None:
    life = Life()
    while life.goal.state is State.READY:
        life.turn(progress=True).verdict("continue")

    assert life.rule == "continuations"
    assert life.goal.continuations == LIMITS.continuations_most


def test_turns_that_people_and_waits_open_are_no_continuation() -> None:
    life = lives.in_blocked().take(a_message())
    life.turn().take(a_message("m2")).turn()
    life.take(Paused("ann"), Resumed("ann")).turn().take(ObjectiveEdited("ann", "x")).turn()

    assert life.goal.continuations == 0
    assert life.goal.idle_turns == 0


def test_three_continuations_without_a_tool_are_a_stall() -> None:
    life = Life().turn(touched=False)

    for _ in range(3):
        life.verdict("continue").turn(touched=False)
    life.verdict("continue")

    assert life.rule == "stall:no_tool"
    assert life.goal.state is State.BLOCKED


def test_three_continuations_with_the_same_reply_are_a_stall() -> None:
    life = Life().turn("first").verdict("continue")

    for _ in range(2):
        life.turn("same").verdict("continue")
    assert life.goal.state is State.READY
    life.turn("same").verdict("continue")

    assert life.rule == "stall:same_reply"


def test_an_answer_in_between_starts_the_stall_count_again() -> None:
    life = Life().turn(touched=False)
    for _ in range(2):
        life.verdict("continue").turn(touched=False)

    life.take(a_message()).turn(touched=False)

    assert (life.goal.idle_turns, life.goal.same_replies) == (0, 0)


def test_a_person_who_resumes_a_blocked_goal_gives_it_a_fresh_allowance() -> None:
    life = Life()
    while life.goal.state is State.READY:
        life.turn().verdict("continue")

    life.take(Resumed("ann"))

    assert (life.goal.continuations, life.goal.allowance) == (0, LIMITS.continuations)
    assert life.goal.opening == "resume"


def test_the_third_parking_on_one_ref_with_nothing_new_asks_the_owner() -> None:
    life = lives.in_waiting()
    for name in ("w2", "w3"):
        life.take(WaitFired(life.goal.wait.id if life.goal.wait else "", "probe"))
        life.take(TurnStarted()).call().take(WaitAsked(a_wait(name)), TurnEnded("done", name))

    assert life.goal.state is State.DECIDING
    assert life.rule == "parked_too_often"


def test_progress_between_parkings_is_something_new() -> None:
    life = lives.in_waiting()
    for name in ("w2", "w3"):
        life.take(WaitFired(life.goal.wait.id if life.goal.wait else "", "probe"))
        life.take(TurnStarted()).call().take(WaitAsked(a_wait(name)))
        life.take(TurnEnded("done", name, progress=True))

    assert life.goal.state is State.WAITING


def test_a_question_is_not_asked_twice_in_one_revision() -> None:
    life = lives.in_deciding().take(lives.an_answer(), TurnStarted())

    with pytest.raises(IllegalMove):
        life.take(DecisionAsked("d2", "question", "text of d", "t"))
    life.take(ObjectiveEdited("ann", "another"), DecisionAsked("d2", "question", "text of d", "t"))

    assert life.rule == "decision_asked"


def test_the_same_call_may_need_an_approval_twice() -> None:
    life = lives.in_approval().take(lives.an_answer())

    life.take(DecisionAsked("d2", "approval", "text of d", "toolu_2"))

    assert life.goal.state is State.DECIDING


def test_a_wait_lasts_a_week_at_most() -> None:
    life = lives.in_working().take(WaitAsked(a_wait(kind="message", in_s=1e9)))

    life.take(TurnEnded("done", "reply"))

    assert life.goal.due_at == life.at + LIMITS.wait_most_s


def test_a_time_that_has_passed_wakes_at_once() -> None:
    life = lives.in_working().take(WaitAsked(a_wait(kind="time", in_s=-5)))

    life.take(TurnEnded("done", "reply"))

    assert life.goal.due_at is not None
    assert life.goal.due_at < life.at


def test_an_ask_ends_with_its_turn_and_posts_its_answer_once() -> None:
    life = Life(kind="ask").take(TurnStarted()).call()

    life.take(TurnEnded("done", "answer"))

    assert life.goal.state is State.COMPLETE
    assert [(post.kind, post.content) for post in life.posts("answer")] == [("answer", "answer")]


def test_a_stopped_ask_is_cancelled() -> None:
    life = Life(kind="ask").take(TurnStarted())

    life.take(Stopped("ann"))

    assert life.goal.state is State.CANCELLED


def test_an_ask_over_its_budget_is_not_wrapped_up() -> None:
    life = Life(kind="ask").take(TurnStarted())
    life.take(life.call_event("big", tokens=10**9), Paused("ann"), Resumed("ann"))
    assert life.goal.opening == "objective"

    life.take(TurnStarted(), TurnEnded("budget"))

    assert life.goal.state is State.COMPLETE
    assert life.goal.reason == "budget"


def test_tasks_and_tools_are_remembered() -> None:
    life = lives.in_working()

    life.take(TasksPlanned("h", 3, 1, 1), ToolEnded("t", "ok", "h", touched=True))

    assert (life.goal.tasks_open, life.goal.tasks_done, life.goal.touched) == (3, 1, True)


def test_cancelling_posts_nothing_and_withdraws_what_was_open() -> None:
    life = lives.in_waiting()

    life.take(Cancelled("ann"))

    assert CloseWait("w", "withdrawn") in life.last
    assert not life.posts("complete")


def test_a_budget_change_bumps_no_revision() -> None:
    life = lives.in_working()

    life.take(BudgetSet("ann", DEFAULT_BUDGET))

    assert life.goal.revision == 1


def test_a_refused_event_leaves_the_journal_as_it_was() -> None:
    life = lives.in_complete()
    entries, goal = len(life.journal), life.goal

    with pytest.raises(Refused):
        life.take(Paused("ann"))

    assert (len(life.journal), life.goal) == (entries, goal)
