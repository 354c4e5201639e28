"""Rules of the turn and its calls: begin, spend, ask, end (design, section 2, "When a turn ends")."""

from bot.errors import IllegalMove
from bot.goals.copying import replace
from bot.goals.events import (
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Compacted,
    DecisionAsked,
    FileShared,
    NoteLeft,
    TasksPlanned,
    ToolEnded,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    WaitAsked,
)
from bot.goals.goal import Decision, Goal, Opening, State
from bot.goals.instructions import Checkpoint, Post, ShowStatus
from bot.goals.limits import Limits
from bot.goals.money import (
    Budget,
    Ledger,
    Reservation,
    charge_all_lost,
    charge_lost,
    covers,
    release,
    reserve,
    settle,
    worked,
)
from bot.goals.rules import (
    REPEATED,
    Moved,
    ask,
    block,
    new_decision,
    park,
    progressed,
    ready,
    settled,
    withdraw,
)


def turn_started(goal: Goal, event: TurnStarted, limits: Limits) -> Moved:
    """A ready goal begins its next turn. Calls still in flight belong to a worker that has gone."""
    begun = replace(
        goal,
        state=State.WORKING,
        due_at=event.at,
        turn=goal.turn + 1,
        turn_open=True,
        turn_started_at=event.at,
        touched=False,
        finish_note="",
        wait=None,
        decision=None,
        wrapping_up=goal.opening == "wrap_up",
        ledger=charge_all_lost(goal.ledger),
    )
    return Moved(begun, "turn_started", (ShowStatus(),))


def turn_resumed(goal: Goal, event: TurnResumed, limits: Limits) -> Moved:
    """Another worker takes the turn up. A wrap-up is not begun again: it ends here."""
    goal = replace(goal, due_at=event.at, ledger=charge_all_lost(goal.ledger))
    if goal.wrapping_up:
        return wrap_up_died(goal)
    return Moved(goal, "turn_resumed")


def audit_resumed(goal: Goal, event: TurnResumed, limits: Limits) -> Moved:
    """Another worker takes the audit up: its lost call is charged, and it is made again."""
    return Moved(replace(goal, ledger=charge_all_lost(goal.ledger)), "audit_resumed")


def call_started(goal: Goal, event: CallStarted, limits: Limits) -> Moved:
    """Reserve, or mark the budget as crossed and let the call not start."""
    if (event.role == "audit") is not (goal.state is State.AUDITING):
        raise IllegalMove(f"Goal {goal.id} is {goal.state.value}: no {event.role} call fits there.")
    call = Reservation(event.call, event.role, event.tokens, event.nano_usd)
    so_far = replace(goal, ledger=worked(goal.ledger, event.active_s))
    if not _is_covered(so_far, call, limits):
        return _crossed(goal, event, limits)
    started = replace(goal, ledger=reserve(goal.ledger, call))
    if event.role in ("agent", "wrap_up"):
        started = replace(
            started,
            seen_messages=max(goal.seen_messages, event.messages),
            seen_revision=max(goal.seen_revision, event.revision),
        )
    return Moved(started, "call_started")


def call_settled(goal: Goal, event: CallSettled, limits: Limits) -> Moved:
    """Book what the reply cost, in any state."""
    ledger = settle(goal.ledger, event.call, event.usage, event.nano_usd)
    return Moved(replace(goal, ledger=ledger), "call_settled")


def call_released(goal: Goal, event: CallReleased, limits: Limits) -> Moved:
    """Nothing was served, nothing is owed."""
    return Moved(replace(goal, ledger=release(goal.ledger, event.call)), "call_released")


def call_lost(goal: Goal, event: CallLost, limits: Limits) -> Moved:
    """Charge the reservation in full, marked estimated."""
    return Moved(replace(goal, ledger=charge_lost(goal.ledger, event.call)), "call_lost")


def tool_ended(goal: Goal, event: ToolEnded, limits: Limits) -> Moved:
    """Remember that the turn has touched the world."""
    return Moved(replace(goal, touched=goal.touched or event.touched), "tool_ended")


def wait_asked(goal: Goal, event: WaitAsked, limits: Limits) -> Moved:
    """Kept until the turn ends; the last one asked for counts."""
    return Moved(replace(goal, wait=event.wait, decision=None), "wait_asked")


def decision_asked(goal: Goal, event: DecisionAsked, limits: Limits) -> Moved:
    """An approval suspends the turn at once; any other question is kept until it ends."""
    if event.kind == "approval" and (goal.kind == "ask" or goal.wrapping_up):
        raise IllegalMove(f"Goal {goal.id} only looks in this turn: nobody is asked to allow more.")
    if event.text in goal.questions and event.kind not in REPEATED:
        raise IllegalMove(f"Goal {goal.id} has asked this already in revision {goal.revision}.")
    bound = event.kind in ("approval", "review")
    of = {"call": event.call, "grant": event.grant} if bound else {}
    asked = new_decision(
        goal, event.kind, event.text, event.tool_use, event.at, limits, event.decision, **of
    )
    if event.kind == "approval":
        held = replace(goal, aside=goal.wait or goal.decision, wait=None)
        return ask(held, asked, event.at, "approval_asked")
    return Moved(replace(goal, decision=asked, wait=None), "decision_asked")


def tasks_planned(goal: Goal, event: TasksPlanned, limits: Limits) -> Moved:
    """The status message shows the tasks."""
    planned = replace(goal, tasks_open=event.open, tasks_done=event.done)
    return Moved(planned, "tasks_planned", (ShowStatus(),))


def note_left(goal: Goal, event: NoteLeft, limits: Limits) -> Moved:
    """It heads what the person gets if this turn completes the goal; the last one counts."""
    return Moved(replace(goal, finish_note=event.content), "kept")


def file_shared(goal: Goal, event: FileShared, limits: Limits) -> Moved:
    """It is posted; the goal's row does not change."""
    post = Post("file", f"file:{goal.seq + 1}", content=event.caption)
    return Moved(goal, "file_shared", (post,))


def kept(goal: Goal, event: Compacted, limits: Limits) -> Moved:
    """A record of the transcript; the goal's row does not change."""
    return Moved(goal, "kept")


def turn_ended(goal: Goal, event: TurnEnded, limits: Limits) -> Moved:
    """The first rule that applies, in the order of design section 2."""
    ended = _closed(goal, event, limits)
    if goal.wrapping_up:
        return _over_budget(ended, event.reply, "wrap_up_ended")
    if goal.kind == "ask":
        return _answered(ended, event)
    if event.how == "stopped":
        # What the turn asked for has no row yet: it ends with the turn.
        rests = replace(ended, wait=None, decision=None, paused_at=event.at)
        moved = Moved(settled(rests, State.PAUSED, "stopped"), "stopped", (ShowStatus(),))
        return _checkpointed(moved)
    if event.how in ("failed", "died"):
        return block(replace(ended, wait=None, decision=None), f"failed:{event.failed}")
    if goal.has_unread or goal.seen_revision < goal.revision:
        return _heard(ended, event)
    if event.how == "needs_approval":
        rests = replace(ended, wait=None, decision=None)
        return _checkpointed(block(rests, "needs_approval", event.call))
    if ended.crossed:
        return _to_audit(replace(ended, wait=None, decision=None), event, limits)
    if ended.wait is not None:
        return _checkpointed(park(ended, ended.wait, event.at, limits, "agent_waits"))
    if ended.decision is not None:
        return _checkpointed(_asked(ended, ended.decision, event.at, limits))
    if event.compacted and goal.compactions < limits.compactions_in_a_row:
        again = ready(replace(ended, compactions=goal.compactions + 1), event.at, "continuation")
        return Moved(again, "compacted", (Checkpoint(goal.turn),))
    if goal.planning and event.reply:
        # A turn that was to end in a plan: what it said last is one.
        proposed = new_decision(ended, "plan", event.reply, "", event.at, limits)
        return _checkpointed(ask(ended, proposed, event.at, "plan_proposed"))
    return _to_audit(replace(ended, compactions=0), event, limits)


def turn_ended_elsewhere(goal: Goal, event: TurnEnded, limits: Limits) -> Moved:
    """The goal has moved on (paused, final, ready again): only the time is booked."""
    ledger = worked(goal.ledger, event.active_s)
    return Moved(replace(goal, turn_open=False, ledger=ledger), "ended_elsewhere")


def wrap_up(goal: Goal, at: float) -> Moved:
    """The budget is crossed: one short turn to say what is done and what is left."""
    return Moved(ready(goal, at, "wrap_up"), "wrap_up", (ShowStatus(),))


def wrap_up_died(goal: Goal) -> Moved:
    """A wrap-up that was cut off is not begun again: the notice is written from the journal."""
    return _over_budget(goal, "", "wrap_up_died")


def _is_covered(goal: Goal, call: Reservation, limits: Limits) -> bool:
    if call.role == "wrap_up":
        return goal.wrapping_up
    if call.role == "audit":
        return covers(goal.budget, goal.ledger, call)
    if goal.crossed:
        return False
    return covers(goal.budget, goal.ledger, call, held_back=limits.audit_held_back_tokens)


def _crossed(goal: Goal, event: CallStarted, limits: Limits) -> Moved:
    crossed = replace(goal, crossed=True)
    if event.role == "audit" and goal.state is State.AUDITING:
        return wrap_up(crossed, event.at)
    return Moved(crossed, "budget_crossed")


def _closed(goal: Goal, event: TurnEnded, limits: Limits) -> Goal:
    counts = goal.opening == "continuation"
    again = goal.same_replies if event.reply == goal.reply else 0
    ledger = worked(goal.ledger, event.active_s)
    return replace(
        progressed(goal, limits) if event.progress else goal,
        turn_open=False,
        ledger=ledger,
        crossed=goal.crossed or (event.how == "budget" and _is_spent(goal.budget, ledger, limits)),
        reply=event.reply or goal.reply,
        idle_turns=goal.idle_turns + 1 if counts and not goal.touched else 0,
        same_replies=again + 1 if counts and event.reply else 0,
        parkings=0 if event.progress else goal.parkings,
    )


def _is_spent(budget: Budget, ledger: Ledger, limits: Limits) -> bool:
    # Whoever has raised the budget since the call that it did not cover is not crossed any more.
    nothing = Reservation("", "agent", 0, 0)
    return not covers(budget, ledger, nothing, held_back=limits.audit_held_back_tokens)


def _asked(goal: Goal, kept: Decision, at: float, limits: Limits) -> Moved:
    # Numbered and timed now: an approval may have come between the question and the turn's end.
    asked = new_decision(
        goal, kept.kind, kept.text, kept.tool_use, at, limits, kept.id, call=kept.call
    )
    return ask(goal, asked, at, "agent_asks")


def _heard(goal: Goal, event: TurnEnded) -> Moved:
    # What the turn asked for has no row yet: a message or an edit takes its place.
    opening: Opening = "message" if goal.has_unread else "edit"
    heard = ready(replace(goal, wait=None, decision=None), event.at, opening)
    if event.how == "needs_approval":
        # Whoever has written meanwhile is there, and may be asked.
        heard = replace(heard, unattended=False)
    return Moved(heard, f"unread_{opening}", (Checkpoint(goal.turn),))


def _to_audit(goal: Goal, event: TurnEnded, limits: Limits) -> Moved:
    spoke = event.at - goal.last_message_at < limits.quiet_after_message_s
    quiet = limits.quiet_s if spoke and goal.messages and not goal.crossed else 0.0
    auditing = replace(goal, state=State.AUDITING, due_at=event.at + quiet)
    return Moved(auditing, "turn_done", (Checkpoint(goal.turn), ShowStatus()))


def _over_budget(goal: Goal, reply: str, rule: str) -> Moved:
    over, gone = withdraw(goal)
    over = replace(
        settled(over, State.OVER_BUDGET, "budget"),
        turn_open=False,
        wrapping_up=False,
        crossed=True,
        paused_at=None,
    )
    post = Post("over_budget", f"over_budget:{goal.seq + 1}", rule, reply)
    return Moved(over, rule, (*gone, post, ShowStatus()))


def _answered(goal: Goal, event: TurnEnded) -> Moved:
    done = replace(
        settled(goal, State.COMPLETE, event.failed or event.how), closed_at=event.at, wait=None
    )
    post = Post("answer", "settle", event.failed or event.how, event.reply)
    return Moved(replace(done, decision=None), "answered", (post,))


def _checkpointed(moved: Moved) -> Moved:
    return replace(moved, instructions=(*moved.instructions, Checkpoint(moved.goal.turn)))
