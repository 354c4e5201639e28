"""Rules of what people do to a goal, and of what parks it: waits and decisions."""

from typing import Literal

from bot.errors import IllegalMove, Refused
from bot.goals.cap_rules import edited_held, let_go
from bot.goals.copying import replace
from bot.goals.events import (
    BudgetSet,
    Cancelled,
    MessageReceived,
    ObjectiveEdited,
    OwnerChanged,
    OwnerLost,
    Paused,
    Resumed,
    Stopped,
    WaitChecked,
    WaitFired,
)
from bot.goals.goal import Goal, Opening, State, Wait
from bot.goals.instructions import (
    CloseWait,
    Instruction,
    ShowStatus,
    StopTurn,
)
from bot.goals.limits import Limits
from bot.goals.money import left_nano_usd, left_tokens
from bot.goals.rules import (
    Moved,
    decision_due,
    fresh,
    plan_answered,
    ready,
    same_turn,
    settled,
    withdraw,
)
from bot.goals.turn_rules import wrap_up_died


def message_held(goal: Goal, event: MessageReceived, limits: Limits) -> Moved:
    """It enters before the next model call; should the turn end first, it opens the next one."""
    return Moved(counted(goal, event), "steering")


def message_to_ready(goal: Goal, event: MessageReceived, limits: Limits) -> Moved:
    """It opens the turn that is due; a first turn keeps its objective, a wrap-up its purpose."""
    heard = counted(goal, event)
    if goal.opening in ("objective", "wrap_up"):
        return Moved(heard, "steering")
    return Moved(replace(heard, opening="message"), "message_opens")


def message_to_audit(goal: Goal, event: MessageReceived, limits: Limits) -> Moved:
    """The verdict under way is dropped."""
    return Moved(ready(counted(goal, event), event.at, "message"), "verdict_dropped")


def message_to_parked(goal: Goal, event: MessageReceived, limits: Limits) -> Moved:
    """It ends the wait; one that waited for a message has got it. A cap or a slot goes on."""
    wait = goal.wait
    if wait is not None and wait.is_held:
        return Moved(counted(goal, event), "steering")
    how: Literal["fired", "withdrawn"] = (
        "fired" if wait is not None and wait.kind == "message" else "withdrawn"
    )
    gone = () if wait is None else (CloseWait(wait.id, how),)
    heard = ready(replace(counted(goal, event), wait=None), event.at, "message")
    return Moved(something_new(heard), f"wait_{how}", (*gone, ShowStatus()))


def message_to_blocked(goal: Goal, event: MessageReceived, limits: Limits) -> Moved:
    """It resumes the goal, with a fresh allowance."""
    heard = ready(fresh(counted(attended(goal), event), limits), event.at, "message")
    return Moved(heard, "message_resumes", (ShowStatus(),))


def wait_fired(goal: Goal, event: WaitFired, limits: Limits) -> Moved:
    """What it waited for came."""
    wait = goal.wait
    if wait is None or wait.id != event.wait:
        raise IllegalMove(f"Goal {goal.id} does not wait for {event.wait}.")
    if wait.is_held:
        return let_go(goal, wait, event.at, "wait_fired")
    woken = ready(replace(goal, wait=None), event.at, "wait")
    return Moved(woken, "wait_fired", (CloseWait(wait.id, "fired"), ShowStatus()))


def wait_fired_while_paused(goal: Goal, event: WaitFired, limits: Limits) -> Moved:
    """Stored; it counts at resume."""
    if goal.wait is None or goal.wait.id != event.wait or goal.wait.fired:
        raise IllegalMove(f"Goal {goal.id} does not wait for {event.wait}.")
    fired = replace(goal, wait=replace(goal.wait, fired=True))
    return Moved(fired, "wait_stored", (CloseWait(event.wait, "fired"),))


def wait_checked(goal: Goal, event: WaitChecked, limits: Limits) -> Moved:
    """A quiet probe: look again later."""
    if goal.wait is None or goal.wait.id != event.wait:
        raise IllegalMove(f"Goal {goal.id} does not wait for {event.wait}.")
    return Moved(replace(goal, due_at=min(event.next_at, goal.wait.until)), "wait_checked")


def paused(goal: Goal, event: Paused, limits: Limits) -> Moved:
    """Nothing more starts; the running step ends. Waits and decisions are kept."""
    reason = f"room_lost:refused:{event.note}" if event.note else "paused"
    return Moved(rest(goal, event.by, event.at, reason), "paused", (ShowStatus(),))


def stopped(goal: Goal, event: Stopped, limits: Limits) -> Moved:
    """Nothing more starts, and what runs is aborted."""
    if goal.kind == "ask":
        return cancelled(goal, Cancelled(event.by, event.at), limits)
    rests = rest(goal, event.by, event.at, "stopped")
    return Moved(rests, "stopped", (StopTurn("stopped"), ShowStatus()))


def resumed_active(goal: Goal, event: Resumed, limits: Limits) -> Moved:
    """It is active already: a worker looks at it at once."""
    return Moved(replace(goal, due_at=event.at), "reattach")


def resumed_waiting(goal: Goal, event: Resumed, limits: Limits) -> Moved:
    """The wait is withdrawn. Nobody resumes what a cap or a slot holds."""
    if goal.wait is not None and goal.wait.is_held:
        raise Refused(f"Goal G{goal.number} is held by its {goal.wait.kind}.", code=goal.wait.kind)
    awake, gone = withdraw(goal)
    return Moved(ready(awake, event.at, "resume"), "wait_withdrawn", (*gone, ShowStatus()))


def resumed_paused(goal: Goal, event: Resumed, limits: Limits) -> Moved:
    """Back to what it waited for if that is still open, else to work."""
    if goal.wrapping_up:
        return wrap_up_died(goal)
    if goal.decision is not None and not goal.decision.answered:
        rested = event.at - (event.at if goal.paused_at is None else goal.paused_at)
        decision = replace(goal.decision, expires_at=goal.decision.expires_at + rested)
        asks = replace(
            goal,
            state=State.DECIDING,
            decision=decision,
            due_at=decision_due(decision, event.at),
            paused_at=None,
            reason="",
        )
        return Moved(asks, "decision_open", (ShowStatus(),))
    if goal.decision is not None and goal.decision.kind == "approval":
        return Moved(same_turn(goal, event.at), "approval_counts", (ShowStatus(),))
    if goal.decision is not None:
        told = replace(goal, decision=None, paused_at=None)
        if goal.decision.kind == "plan":
            return plan_answered(told, goal.decision, event.at)
        return Moved(ready(told, event.at, "answer"), "answer_counts", (ShowStatus(),))
    if goal.wait is not None:
        return _resumed_wait(goal, event)
    # A first turn that never reached the model still has its objective to say.
    opening: Opening = "objective" if goal.seen_revision == 0 else "resume"
    return Moved(ready(goal, event.at, opening), "resumed", (ShowStatus(),))


def resumed_blocked(goal: Goal, event: Resumed, limits: Limits) -> Moved:
    """A fresh allowance."""
    again = ready(fresh(attended(goal), limits), event.at, "resume")
    return Moved(again, "resumed", (ShowStatus(),))


def resumed_over_budget(goal: Goal, event: Resumed, limits: Limits) -> Moved:
    """Only once money is there."""
    tokens = left_tokens(goal.budget, goal.ledger)
    money = left_nano_usd(goal.budget, goal.ledger)
    time = goal.budget.active_s
    spent_time = time is not None and goal.ledger.active_s >= time
    least = limits.audit_held_back_tokens
    if (tokens is not None and tokens <= least) or (money is not None and money <= 0) or spent_time:
        raise Refused(f"Goal G{goal.number} has no budget left: raise it first.", code="no_money")
    again = ready(fresh(replace(goal, crossed=False), limits), event.at, "resume")
    return Moved(again, "resumed", (ShowStatus(),))


def cancelled(goal: Goal, event: Cancelled, limits: Limits) -> Moved:
    """Final, in every state but the final ones."""
    ended, gone = withdraw(goal)
    ended = replace(
        settled(ended, State.CANCELLED, "cancelled"),
        by=event.by,
        closed_at=event.at,
        paused_at=None,
    )
    return Moved(ended, "cancelled", (*gone, StopTurn("cancelled"), ShowStatus()))


def edited_running(goal: Goal, event: ObjectiveEdited, limits: Limits) -> Moved:
    """A running turn goes on with the new objective; a ready one begins with it."""
    revised = _revised(goal, event)
    if goal.state is State.READY and goal.opening not in ("objective", "wrap_up"):
        revised = replace(revised, opening="edit")
    return Moved(revised, "edited", (ShowStatus(),))


def edited_parked(goal: Goal, event: ObjectiveEdited, limits: Limits) -> Moved:
    """What it waited for, or the verdict under way, is no longer about this objective."""
    if goal.wait is not None and goal.wait.is_held:
        return edited_held(_revised(goal, event))
    awake, gone = withdraw(goal)
    return Moved(
        ready(_revised(awake, event), event.at, "edit"), "edit_opens", (*gone, ShowStatus())
    )


def edited_blocked(goal: Goal, event: ObjectiveEdited, limits: Limits) -> Moved:
    """Another way may do: a fresh allowance."""
    again = ready(_revised(fresh(attended(goal), limits), event), event.at, "edit")
    return Moved(again, "edit_opens", (ShowStatus(),))


def edited_resting(goal: Goal, event: ObjectiveEdited, limits: Limits) -> Moved:
    """It stays where it is, without its wait and decision; a cap or a slot holds it still."""
    if goal.wait is not None and goal.wait.is_held:
        return edited_held(_revised(goal, event))
    still, gone = withdraw(goal)
    return Moved(_revised(still, event), "edited", (*gone, ShowStatus()))


def budget_set(goal: Goal, event: BudgetSet, limits: Limits) -> Moved:
    """Counts from the next call on; a crossing that has not been wrapped up is forgotten."""
    wraps_up = goal.wrapping_up and goal.state is not State.PAUSED
    crossed = goal.crossed and (wraps_up or goal.state is State.OVER_BUDGET)
    raised = replace(goal, budget=event.budget, crossed=crossed, wrapping_up=wraps_up)
    if goal.state is State.READY and goal.opening == "wrap_up":
        raised = replace(raised, opening="resume")
    return Moved(raised, "budget_set", (ShowStatus(),))


def owner_changed(goal: Goal, event: OwnerChanged, limits: Limits) -> Moved:
    """It is somebody else's from now on; where it is stays."""
    if event.owner == goal.owner:
        raise Refused(f"Goal G{goal.number} is theirs already.", code="own_already")
    return Moved(replace(goal, owner=event.owner), "owner_changed", (ShowStatus(),))


def owner_lost(goal: Goal, event: OwnerLost, limits: Limits) -> Moved:
    """Nobody stands for it: it rests after the running step, until somebody takes it over."""
    if goal.kind == "ask":
        return cancelled(goal, Cancelled("", event.at), limits)
    rests = rest(goal, "", event.at, f"owner_lost:{event.why}")
    return Moved(rests, "owner_lost", (ShowStatus(),))


def rest(goal: Goal, by: str, at: float, reason: str) -> Goal:
    """The goal paused by somebody, with what it waits for."""
    kept = goal
    if goal.state in (State.READY, State.WORKING, State.AUDITING):
        # A running turn's own asks have no row; they end with it.
        kept = replace(goal, wait=None, decision=None)
    since = at if goal.paused_at is None else goal.paused_at
    return replace(settled(kept, State.PAUSED, reason), by=by, paused_at=since)


def counted(goal: Goal, event: MessageReceived) -> Goal:
    """The goal with one message more."""
    return replace(goal, messages=goal.messages + 1, last_message_at=event.at)


def attended(goal: Goal) -> Goal:
    """The goal that rested as nobody was expected to approve a call: somebody is there now."""
    return replace(goal, unattended=False) if goal.reason == "needs_approval" else goal


def something_new(goal: Goal) -> Goal:
    """The goal free to wait again for what it has waited for."""
    return replace(goal, parkings=0, parked_ref="")


def _revised(goal: Goal, event: ObjectiveEdited) -> Goal:
    return replace(
        something_new(goal),
        revision=goal.revision + 1,
        objective=event.objective,
        questions=(),
        failing=(),
        last_message_at=event.at,
    )


def _resumed_wait(goal: Goal, event: Resumed) -> Moved:
    wait = goal.wait
    assert wait is not None
    if wait.is_held:
        return _resumed_held(goal, wait, event)
    if wait.fired or wait.until <= event.at:
        gone: tuple[Instruction, ...] = () if wait.fired else (CloseWait(wait.id, "fired"),)
        woken = ready(replace(goal, wait=None), event.at, "wait")
        return Moved(woken, "wait_counts", (*gone, ShowStatus()))
    due = event.at if wait.kind in ("probe", "process") else wait.until
    waits = replace(goal, state=State.WAITING, due_at=due, paused_at=None, reason="")
    return Moved(waits, "wait_open", (ShowStatus(),))


def _resumed_held(goal: Goal, wait: Wait, event: Resumed) -> Moved:
    if wait.fired or (wait.kind == "cap" and wait.until <= event.at):
        return let_go(goal, wait, event.at, "wait_counts")
    # Of a slot: whoever looks at it now sees whether one is free.
    due = wait.until if wait.kind == "cap" else event.at
    reason = f"{wait.kind}:{wait.ref}"
    waits = replace(goal, state=State.WAITING, due_at=due, paused_at=None, reason=reason)
    return Moved(waits, "wait_open", (ShowStatus(),))
