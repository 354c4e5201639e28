"""Rules of decisions: an answer, an expiry, a reminder; what an answer allows."""

from typing import Literal

from bot.errors import IllegalMove, Refused
from bot.goals.copying import replace
from bot.goals.events import (
    DecisionAnswered,
    DecisionExpired,
    DecisionReminded,
    HoldEnded,
    MessageReceived,
)
from bot.goals.goal import Decision, Goal, State
from bot.goals.hands import Scope
from bot.goals.instructions import (
    Allow,
    CloseDecision,
    Instruction,
    Post,
    ShowStatus,
)
from bot.goals.limits import Limits
from bot.goals.people_rules import counted, message_held, something_new
from bot.goals.rules import Moved, block, decision_due, plan_answered, ready, same_turn, withdraw


def message_to_deciding(goal: Goal, event: MessageReceived, limits: Limits) -> Moved:
    """It says what a plan should be instead; for any other decision it is kept for the next call."""
    decision = goal.decision
    if decision is None or decision.kind != "plan":
        return message_held(goal, event, limits)
    undecided, gone = withdraw(counted(goal, event))
    heard = ready(something_new(undecided), event.at, "message")
    return Moved(heard, "plan_edited", (*gone, ShowStatus()))


def decision_answered(goal: Goal, event: DecisionAnswered, limits: Limits) -> Moved:
    """The first answer wins; an approval's turn goes on, a sign-off goes to the audit."""
    decision = _open_decision(goal, event)
    closed = _closing(goal, decision, event, limits)
    told = something_new(replace(goal, last_message_at=event.at))
    if decision.kind == "approval":
        told = _granted(told, decision, event)
        return Moved(same_turn(told, event.at), "approval_answered", (*closed, ShowStatus()))
    told = replace(told, decision=None, review=_reviewed(goal, decision, event))
    if decision.kind == "sign_off" and event.accepted and not goal.has_unread:
        signed = replace(told, state=State.AUDITING, due_at=event.at, reason="signed_off")
        return Moved(signed, "signed_off", (*closed, ShowStatus()))
    if decision.kind == "plan":
        moved = plan_answered(
            told, replace(decision, accepted=event.accepted, edits=event.edits), event.at
        )
        return replace(moved, instructions=(*closed, *moved.instructions))
    return Moved(ready(told, event.at, "answer"), "answered", (*closed, ShowStatus()))


def decision_answered_while_paused(goal: Goal, event: DecisionAnswered, limits: Limits) -> Moved:
    """Stored; it counts at resume."""
    decision = _open_decision(goal, event)
    answered = replace(decision, answered=True, accepted=event.accepted, edits=event.edits)
    stored = _granted(replace(goal, decision=answered), decision, event)
    stored = replace(stored, review=_reviewed(goal, decision, event))
    return Moved(stored, "answer_stored", _closing(goal, decision, event, limits))


def decision_expired(goal: Goal, event: DecisionExpired, limits: Limits) -> Moved:
    """An approval expires as no; nothing else is ever answered for a person."""
    decision = goal.decision
    if decision is None or decision.id != event.decision:
        raise IllegalMove(f"Goal {goal.id} has no open decision {event.decision}.")
    closed = CloseDecision(decision.id, "expired")
    if decision.kind == "approval":
        return Moved(same_turn(goal, event.at), "approval_expired", (closed, ShowStatus()))
    blocked = block(replace(goal, decision=None), "no_answer")
    return replace(blocked, instructions=(closed, *blocked.instructions))


def decision_reminded(goal: Goal, event: DecisionReminded, limits: Limits) -> Moved:
    """One reminder, at half time."""
    decision = goal.decision
    if decision is None or decision.id != event.decision or decision.reminded:
        raise IllegalMove(f"Goal {goal.id} has no decision {event.decision} to be reminded of.")
    reminded = replace(decision, reminded=True)
    post = Post("reminder", f"reminder:{decision.number}", decision.kind, decision.text)
    told = replace(goal, decision=reminded, due_at=decision_due(reminded, event.at))
    return Moved(told, "reminded", (post,))


def hold_ended(goal: Goal, event: HoldEnded, limits: Limits) -> Moved:
    """The clock of the open decision stood for as long."""
    decision = goal.decision
    if decision is None:
        raise IllegalMove(f"Goal {goal.id} has no open decision whose clock could have stood.")
    later = replace(decision, expires_at=decision.expires_at + event.held_s)
    due = event.at if goal.due_at is None else goal.due_at + event.held_s
    return Moved(replace(goal, decision=later, due_at=due), "hold_ended")


def _closing(
    goal: Goal, decision: Decision, event: DecisionAnswered, limits: Limits
) -> tuple[Instruction, ...]:
    """The decision's row ends, and a permission of the room begins where that was said."""
    scope = _scope(goal, decision, event)
    closed = CloseDecision(decision.id, "answered", event.by, event.answer, scope)
    if decision.grant is None or scope != "always":
        return (closed,)
    until = event.at + limits.permission_lasts_s
    return (closed, Allow(decision.grant, event.by, decision.id, until))


def _reviewed(goal: Goal, decision: Decision, event: DecisionAnswered) -> Decision | None:
    """What is to be carried out before the next turn."""
    if decision.kind != "review":
        return goal.review
    return replace(decision, answered=True, accepted=event.accepted)


def _scope(goal: Goal, decision: Decision, event: DecisionAnswered) -> Scope | Literal[""]:
    """How far a yes to an approval goes.

    A goal that may do everything by now gives its room nothing.
    """
    if decision.kind != "approval" or not event.accepted:
        return ""
    if decision.grant is None:
        # There is nothing that could be allowed further than this call.
        return "once"
    return "goal" if event.scope == "always" and goal.profile == "full" else event.scope


def _granted(goal: Goal, decision: Decision, event: DecisionAnswered) -> Goal:
    """The goal with what was allowed for all of it.

    What is allowed in the room is no grant of the goal's: it ends when it is taken back, or in time.
    """
    grant = decision.grant
    if _scope(goal, decision, event) != "goal" or grant is None or grant in goal.grants:
        return goal
    return replace(goal, grants=(*goal.grants, grant))


def _open_decision(goal: Goal, event: DecisionAnswered) -> Decision:
    decision = goal.decision
    if decision is None or decision.id != event.decision or decision.answered:
        raise Refused("That decision is no longer open.", code="too_late")
    return decision
