"""Verdicts and failed audits: the only authority that ends a goal, within the hard stops."""

import pytest

from bot.goals.events import (
    Audited,
    AuditFailed,
    GatesRan,
    MessageReceived,
    NoteLeft,
    Resumed,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import State
from bot.goals.instructions import Post
from bot.goals.limits import LIMITS
from tests.bot.goals import lives
from tests.bot.goals.lives import Life, a_message, a_wait


def test_complete_ends_the_goal_with_one_notice_that_holds_the_reply() -> None:
    life = lives.in_auditing()

    life.verdict("complete", note="done")

    assert life.goal.state is State.COMPLETE
    assert life.goal.closed_at == life.at
    assert life.posts("complete") == [Post("complete", "settle", "complete", "reply 1")]


def test_the_goal_keeps_the_last_note_of_the_turn_that_completes_it() -> None:
    life = Life().turn().verdict("continue")
    life.take(TurnStarted()).call().take(NoteLeft("first"), NoteLeft("last"))
    life.take(TurnEnded("done", "reply 2"))

    life.verdict("complete")

    assert life.goal.finish_note == "last"
    assert life.posts("complete") == [Post("complete", "settle", "complete", "reply 2")]


def test_the_note_of_an_earlier_turn_is_forgotten() -> None:
    life = Life().take(TurnStarted()).call().take(NoteLeft("too early"))
    life.take(TurnEnded("done", "reply 1")).verdict("continue")

    life.turn("reply 2").verdict("complete")

    assert life.goal.finish_note == ""


def test_a_failing_gate_rules_complete_out() -> None:
    life = lives.in_auditing()

    life.verdict("complete", gates_pass=False)

    assert (life.goal.state, life.goal.opening) == (State.READY, "continuation")


def test_three_blocked_in_a_row_block() -> None:
    life = Life()
    for _ in range(2):
        life.turn().verdict("blocked")
        assert life.goal.state is State.READY

    life.turn().verdict("blocked", note="no access")

    assert life.goal.state is State.BLOCKED
    assert [(post.reason, post.content) for post in life.posts("blocked")] == [
        ("audits", "no access")
    ]


@pytest.mark.parametrize("between", ["continue", "complete"])
def test_any_other_verdict_starts_the_count_of_blocked_again(between: str) -> None:
    life = Life()
    for _ in range(2):
        life.turn().verdict("blocked")
    life.turn().verdict(between, gates_pass=False)

    for _ in range(2):
        life.turn().verdict("blocked")

    assert life.goal.state is State.READY
    assert life.goal.blocked_streak == 2


def test_resuming_starts_the_count_of_blocked_again() -> None:
    life = Life()
    for _ in range(3):
        life.turn().verdict("blocked")

    life.take(Resumed("ann")).turn().verdict("blocked")

    assert life.goal.state is State.READY


def test_one_failed_audit_is_tolerated_and_the_second_in_a_row_blocks_naming_its_class() -> None:
    life = Life().turn().audit_fails("timeout")
    assert (life.goal.state, life.rule) == (State.READY, "unaudited")

    life.turn().audit_fails("auth")

    assert life.goal.state is State.BLOCKED
    assert life.goal.reason == "audit:auth"


def test_a_verdict_in_between_starts_the_count_of_failures_again() -> None:
    life = Life().turn().audit_fails().turn().verdict("continue")

    life.turn().audit_fails()

    assert life.goal.state is State.READY


def test_the_unaudited_continuation_counts_as_one() -> None:
    life = Life().turn().audit_fails()

    assert life.goal.continuations == 1


@pytest.mark.parametrize(
    "seen", [(2, 1, 0), (1, 0, 0), (1, 1, 1)], ids=["revision", "turn", "messages"]
)
def test_a_verdict_on_what_the_goal_no_longer_is_is_dropped(seen: tuple[int, int, int]) -> None:
    life = lives.in_auditing()

    life.take(Audited(*seen, "complete"), AuditFailed(*seen, "timeout"))

    assert life.goal.state is State.AUDITING
    assert [line.rule for line in life.journal[-2:]] == ["verdict_fenced", "verdict_fenced"]
    assert life.goal.audit_failures == 0


def test_a_message_during_the_audit_drops_the_verdict() -> None:
    life = lives.in_auditing()
    late: Audited = life.verdict_event("complete")
    life.take(MessageReceived("m", "ann", "h")).turn()

    life.take(late)

    assert life.rule == "verdict_fenced"
    assert life.goal.state is State.AUDITING


def test_a_wait_that_the_records_hold_parks_the_goal() -> None:
    life = lives.in_auditing()

    life.verdict("wait", wait=a_wait(), ref_is_known=True)

    assert life.goal.state is State.WAITING
    assert life.goal.due_at == life.at + LIMITS.probe_first_s


@pytest.mark.parametrize("wait", [a_wait(), None])
def test_a_wait_on_something_unknown_counts_as_continue(wait: object) -> None:
    life = lives.in_auditing()

    life.verdict("wait", wait=wait, ref_is_known=wait is None)

    assert life.rule == "continue"


def test_needing_a_person_asks_once_in_a_revision() -> None:
    life = lives.in_auditing().verdict("needs_person", text="who?", decision="d")
    assert (life.goal.state, life.rule) == (State.DECIDING, "audit_asks")

    life.take(lives.an_answer()).turn().verdict("needs_person", text="who?", decision="d2")

    assert life.rule == "continue"


def test_a_sign_off_given_goes_to_the_audit_and_one_refused_to_the_agent() -> None:
    given, refused = lives.in_deciding("sign_off"), lives.in_deciding("sign_off")

    given.take(lives.an_answer())
    refused.take(lives.an_answer(accepted=False))

    assert (given.goal.state, given.goal.reason) == (State.AUDITING, "signed_off")
    assert (refused.goal.state, refused.goal.opening) == (State.READY, "answer")


def test_a_sign_off_with_something_unread_goes_to_the_agent() -> None:
    life = lives.in_deciding("sign_off").take(a_message())

    life.take(lives.an_answer())

    assert life.goal.state is State.READY


def test_a_gate_that_cannot_run_three_times_in_a_row_blocks_and_says_which() -> None:
    life = Life()
    for _ in range(2):
        life.turn().take(GatesRan(("lint",), ("lint",))).verdict("continue")
    assert life.goal.state is State.READY

    life.turn().take(GatesRan(("lint",), ("lint",)))

    assert (life.goal.state, life.goal.reason) == (State.BLOCKED, "gate:lint")


def test_a_gate_that_ran_starts_that_count_again() -> None:
    life = Life().turn().take(GatesRan((), ("lint",))).verdict("continue")

    life.turn().take(GatesRan(("lint",), ()))

    assert life.goal.gate_breaks == 0
