"""What a rewind and a fork do to a goal, wherever it is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.errors import IllegalMove, Refused
from bot.goals.events import (
    BudgetSet,
    CapReached,
    DecisionAnswered,
    DecisionAsked,
    GatesSet,
    GoalOpened,
    Paused,
    ProfileSet,
    Resumed,
    TurnEnded,
    TurnStarted,
    WaitFired,
    WorkspaceRestored,
)
from bot.goals.goal import Goal, State
from bot.goals.hands import GateLine, Grant
from bot.goals.instructions import (
    CloseDecision,
    CloseWait,
    DropPosts,
    StopTurn,
)
from bot.goals.limits import DEFAULT_BUDGET
from bot.goals.machine import open_goal, replay
from tests.bot.goals import lives
from tests.bot.goals.lives import (
    HOUR,
    PIP,
    Life,
    a_message,
    allowed,
    asked,
    planning,
    settled,
)

LINT = GateLine(1, "lint", "ann")
TEST = GateLine(2, "test", "ann")


def a_life() -> Life:
    """Two turns with their checkpoints; the second left a task list and touched more."""
    return lives.in_auditing().verdict("continue").turn("reply 2").verdict("continue")


def point_of(life: Life, number: int = 0) -> Goal:
    """The goal as a checkpoint has it."""
    return life.points[number]


BACK: dict[str, Callable[[], Life]] = {
    "ready": a_life,
    "working": lambda: a_life().take(TurnStarted()).call(),
    "auditing": lambda: a_life().turn("reply 3"),
    "waiting": lives.in_waiting,
    "capped": lambda: a_life().take(TurnStarted()).call().take(lives.a_cap()),
    "deciding": lives.in_deciding,
    "planned": lives.in_planned,
    "approval": lambda: a_life().take(TurnStarted()).call().take(asked()),
    "paused": lambda: a_life().take(Paused("ann")),
    "paused, waits": lives.in_paused_waiting,
    "paused, asks": lives.in_paused_deciding,
    "blocked": lambda: a_life().take(TurnStarted(), TurnEnded("failed", failed="refusal")),
    "restoring": lives.in_restoring,
}


@pytest.mark.parametrize("where", BACK)
def test_a_rewind_puts_it_to_rest_where_it_was_and_keeps_what_was_spent(where: str) -> None:
    life = BACK[where]()
    before, point = life.goal, point_of(life)

    life.take(life.back_event(point))

    after = life.goal
    assert (after.state, after.reason, after.by) == (State.PAUSED, "rewound", "ben")
    assert after.revision == before.revision + 1
    assert (after.ledger, after.messages, after.turn) == (
        before.ledger, before.messages, before.turn,
    )  # fmt: skip
    assert (after.reply, after.continuations) == (point.reply, point.continuations)
    assert (after.wait, after.decision, after.aside, after.due_at) == (None, None, None, None)
    assert after.restore == "tree"
    assert {StopTurn("stopped"), DropPosts()} <= set(life.last)
    assert replay(life.journal) == after


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("where", ["approval", "capped"])
def test_a_suspended_turn_ends_with_the_rewind(where: str, paused: bool) -> None:
    life = BACK[where]()
    if paused:
        life.take(Paused("ann"))
    assert life.goal.turn_open

    life.take(life.back_event(point_of(life)))

    assert not life.goal.turn_open


def test_a_turn_that_runs_is_open_until_its_worker_has_ended_it() -> None:
    life = BACK["working"]()

    life.take(life.back_event(point_of(life)))

    assert life.goal.turn_open


@pytest.mark.parametrize("where", BACK)
def test_after_a_rewind_it_goes_on_with_a_new_turn(where: str) -> None:
    life = BACK[where]()
    turn = life.goal.turn
    life.take(life.back_event(point_of(life)))

    life.take(Resumed("ann"), TurnStarted(), WorkspaceRestored("tree")).call()

    assert (life.goal.state, life.goal.turn, life.goal.restore) == (State.WORKING, turn + 1, "")


def test_a_rewind_closes_what_is_open_and_only_that() -> None:
    waits, asks = lives.in_waiting(), lives.in_deciding()
    waits.take(waits.back_event())
    asks.take(asks.back_event())
    working = lives.in_auditing().verdict("continue").take(TurnStarted()).call()
    working.take(DecisionAsked("q", "question", "?", "t"))
    working.take(working.back_event())

    assert CloseWait("w", "withdrawn") in waits.last
    assert CloseDecision("d", "withdrawn") in asks.last
    assert not [one for one in working.last if isinstance(one, CloseDecision)]


def test_an_answer_after_a_rewind_is_too_late() -> None:
    life = BACK["approval"]()
    life.take(life.back_event())

    with pytest.raises(Refused) as refused:
        life.take(allowed("always"))

    assert refused.value.code == "too_late"
    assert life.goal.grants == ()


def test_the_turn_that_a_rewind_stopped_ends_without_a_trace_but_its_cost() -> None:
    life = a_life().take(TurnStarted()).take(Life().call_event("late"))
    life.take(life.back_event(point_of(life)))
    back = life.goal

    life.take(settled("late"), TurnEnded("stopped", "words", active_s=2.0))

    after = life.goal
    assert (after.state, after.reply, after.turn_open) == (State.PAUSED, back.reply, False)
    assert after.ledger.usage.tokens == back.ledger.usage.tokens + 10
    assert not after.ledger.open


def test_a_turn_that_was_stopped_by_a_rewind_does_not_end_the_next_one() -> None:
    life = a_life().take(TurnStarted()).call()
    life.take(life.back_event(point_of(life)), Resumed("ann"))

    life.take(TurnEnded("stopped"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "resume")


def test_a_verdict_on_what_was_rewound_is_dropped() -> None:
    life = a_life().turn("reply 3")
    verdict = life.verdict_event("complete")
    life.take(life.back_event(point_of(life)), Resumed("ann"))
    life.take(TurnStarted()).call().take(TurnEnded("done", "r"))

    life.take(verdict)

    assert (life.goal.state, life.rule) == (State.AUDITING, "verdict_fenced")


def test_a_rewind_forgets_the_plan_of_later_and_plans_again() -> None:
    life = planning().take(DecisionAnswered("g.d1", "ann", "yes")).turn()
    proposed, approved, _ = life.points

    life.take(life.back_event(approved))
    assert (life.goal.planning, life.goal.plan) == (False, "plan")
    life.take(life.back_event(proposed), Resumed("ann"), TurnStarted()).call()
    assert (life.goal.planning, life.goal.plan) == (True, "")

    life.take(TurnEnded("done", "plan"))
    assert (life.goal.state, life.goal.decisions) == (State.DECIDING, 2)


def test_what_was_allowed_later_falls_and_what_people_set_stays() -> None:
    life = lives.in_working().take(asked(), allowed("goal"), TurnEnded("done", "r"))
    early = point_of(life)
    life.verdict("continue").take(TurnStarted()).call()
    life.take(asked(Grant("host", "h"), "d2"), allowed("goal", "d2"))
    life.take(ProfileSet("ann", "networked"), GatesSet("ann", (LINT,)))
    life.take(BudgetSet("ann", replace(DEFAULT_BUDGET, tokens=99_999)))

    life.take(life.back_event(early))

    assert life.goal.grants == (PIP,)
    assert (life.goal.profile, life.goal.gates) == ("networked", (LINT,))
    assert life.goal.budget.tokens == 99_999


def test_a_rewind_asks_again_what_was_asked_before_it() -> None:
    life = lives.in_deciding()
    life.take(life.back_event(), Resumed("ann"), TurnStarted()).call()

    life.take(DecisionAsked("d2", "question", "text of d", "t"), TurnEnded("done", "r"))

    assert life.goal.decision is not None
    assert (life.goal.decision.id, life.goal.decision.number) == ("d2", 2)


def test_a_rewind_of_a_goal_without_a_budget_does_not_give_it_another_wrap_up() -> None:
    life = lives.in_over_budget()

    life.take(life.back_event(point_of(life)))
    assert (life.goal.state, life.goal.reason) == (State.OVER_BUDGET, "budget")
    life.take(BudgetSet("ann", replace(DEFAULT_BUDGET, tokens=10)))
    with pytest.raises(Refused) as refused:
        life.take(Resumed("ann"))

    assert refused.value.code == "no_money"
    life.take(BudgetSet("ann", DEFAULT_BUDGET), Resumed("ann"))
    assert (life.goal.state, life.goal.opening, life.goal.restore) == (
        State.READY, "resume", "tree",
    )  # fmt: skip


def test_a_rewind_in_the_wrap_up_is_its_end() -> None:
    life = a_life().take(BudgetSet("ann", replace(DEFAULT_BUDGET, tokens=20_000)), TurnStarted())
    life.take(life.call_event("big", tokens=30_000), TurnEnded("budget")).verdict("continue")
    life.take(TurnStarted())
    assert life.goal.wrapping_up

    life.take(life.back_event(point_of(life)), Resumed("ann"))

    assert (life.goal.state, life.rule) == (State.OVER_BUDGET, "wrap_up_died")
    assert len(life.posts("over_budget")) == 1


def test_a_rewind_before_the_wrap_up_leaves_it_to_come() -> None:
    life = a_life().take(BudgetSet("ann", replace(DEFAULT_BUDGET, tokens=20_000)), TurnStarted())
    life.take(life.call_event("big", tokens=30_000), TurnEnded("budget"))

    life.take(life.back_event(point_of(life)), Resumed("ann"))

    assert (life.goal.state, life.goal.opening) == (State.READY, "wrap_up")


def test_a_goal_that_a_cap_holds_is_held_again_by_its_next_call() -> None:
    life = BACK["capped"]()

    life.take(life.back_event(point_of(life)), Resumed("ann"), TurnStarted())
    life.take(CapReached("person", 1_000, lives.START + HOUR, nano_usd=100))

    assert (life.goal.state, life.goal.reason) == (State.WAITING, "cap:person")


@pytest.mark.parametrize("paused", [False, True])
def test_what_is_queued_has_nothing_to_go_back_to(paused: bool) -> None:
    life = lives.in_queued()
    if paused:
        life.take(Paused("ann"))

    with pytest.raises(Refused) as refused:
        life.take(life.back_event())

    assert refused.value.code == "slot"


def test_an_ordinary_turn_has_nothing_to_go_back_to() -> None:
    life = Life(kind="ask").take(TurnStarted())

    with pytest.raises(Refused) as refused:
        life.take(life.back_event())

    assert refused.value.code == "ordinary"


@pytest.mark.parametrize(
    "wrong",
    [
        {"point": replace(Life().goal, id="another")},
        {"to_seq": 0},
        {"to_seq": 99},
        {"point": replace(Life().goal, state=State.COMPLETE)},
    ],
)
def test_a_rewind_to_where_it_never_was_is_no_move(wrong: dict[str, object]) -> None:
    life = a_life()

    with pytest.raises(IllegalMove, match="never where"):
        life.take(replace(life.back_event(), **wrong))  # type: ignore[arg-type]


def test_a_rewind_can_be_rewound() -> None:
    life = a_life()
    first, second = life.points
    life.take(life.back_event(first, tree="one"), Resumed("ann"), TurnStarted())

    life.take(life.back_event(second, tree="two"))

    assert (life.goal.restore, life.goal.reply) == ("two", "reply 2")
    assert life.goal.turn == 3


def test_a_workspace_with_nothing_in_it_is_put_back_too() -> None:
    life = a_life()
    life.take(life.back_event(tree="empty"), Resumed("ann"), TurnStarted())

    life.take(WorkspaceRestored("empty"))

    assert life.goal.restore == ""


def test_a_point_whose_files_are_not_kept_is_no_way_back() -> None:
    life = a_life()

    with pytest.raises(Refused) as refused:
        life.take(life.back_event(tree=""))

    assert refused.value.code == "no_checkpoint"


@pytest.mark.parametrize("tree", ["another", ""])
def test_files_that_are_not_the_ones_asked_for_are_no_move(tree: str) -> None:
    with pytest.raises(IllegalMove, match="put back"):
        lives.in_restoring().take(WorkspaceRestored(tree))


def test_a_workspace_that_needs_nothing_is_not_put_back() -> None:
    with pytest.raises(IllegalMove, match="nothing"):
        lives.in_working().take(WorkspaceRestored(""))


def test_what_is_to_be_put_back_stays_so_until_it_is() -> None:
    life = lives.in_restoring().take(TurnEnded("failed", failed="restore"), Resumed("ann"))

    assert (life.goal.state, life.goal.restore) == (State.READY, "tree")


def test_an_unread_message_of_before_the_point_opens_no_turn_by_itself() -> None:
    life = lives.in_working().take(a_message(), TurnEnded("done", "r"))
    assert life.goal.has_unread

    life.take(life.back_event(), Resumed("ann"))

    assert (life.goal.opening, life.goal.has_unread) == ("resume", False)


def test_a_wait_that_fires_after_a_rewind_is_no_move() -> None:
    life = lives.in_waiting()
    life.take(life.back_event())

    with pytest.raises(IllegalMove):
        life.take(WaitFired("w", "probe"))


def test_a_fork_begins_with_its_plan_checks_and_files() -> None:
    opened = GoalOpened(
        "g2", "s2", 2, "ben", "objective", DEFAULT_BUDGET,
        profile="networked", unattended=True, gates=(LINT, TEST), forks="g", fork_seq=7,
        restore="tree", plan="plan", at=5.0,
    )  # fmt: skip

    goal = open_goal(opened).goal

    assert (goal.state, goal.opening, goal.turn) == (State.READY, "objective", 0)
    assert (goal.forks, goal.fork_seq, goal.restore) == ("g", 7, "tree")
    assert (goal.plan, goal.planning, goal.grants) == ("plan", False, ())
    assert (goal.profile, goal.unattended) == ("networked", True)
    assert (goal.gates, goal.gates_made) == ((LINT, TEST), 2)


def test_a_fork_of_a_goal_that_plans_plans() -> None:
    life = Life(plan_first=True, forks="g", fork_seq=3, restore="tree").take(TurnStarted())

    life.take(WorkspaceRestored("tree")).call().take(TurnEnded("done", "plan"))

    assert (life.goal.state, life.goal.planning) == (State.DECIDING, True)


def test_a_fork_may_be_queued_and_its_files_wait_with_it() -> None:
    life = Life(queued="person:3", forks="g", fork_seq=3, restore="tree")

    life.take(WaitFired(life.goal.wait.id if life.goal.wait else "", "free"))

    assert (life.goal.state, life.goal.restore) == (State.READY, "tree")
