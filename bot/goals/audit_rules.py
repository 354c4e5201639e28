"""Rules of the audit: the only authority that ends a goal, within the hard stops."""

from bot.goals.copying import replace
from bot.goals.events import Audited, AuditFailed, GatesRan
from bot.goals.goal import Goal, State
from bot.goals.instructions import Post, ShowStatus
from bot.goals.limits import Limits
from bot.goals.rules import Moved, ask, block, new_decision, park, progressed, ready, settled
from bot.goals.turn_rules import wrap_up


def gates_ran(goal: Goal, event: GatesRan, limits: Limits) -> Moved:
    """Checks that cannot run have failed; three times in a row they block."""
    breaks = goal.gate_breaks + 1 if event.broken else 0
    counted = replace(goal, gate_breaks=breaks, failing=event.failing)
    if any(name not in event.failing for name in goal.failing):
        # A gate that passes now and failed before is progress.
        counted = progressed(counted, limits)
    if breaks >= limits.gate_breaks:
        return block(counted, f"gate:{event.broken[0]}")
    return Moved(counted, "gates_ran")


def audited(goal: Goal, event: Audited, limits: Limits) -> Moved:
    """Follow the verdict, if the goal is still what the auditor saw.

    Nothing that was to be planned first is complete before somebody approves a plan.
    """
    if (event.revision, event.turn, event.messages) != (goal.revision, goal.turn, goal.messages):
        return Moved(replace(goal, due_at=event.at), "verdict_fenced")
    streak = goal.blocked_streak + 1 if event.verdict == "blocked" else 0
    heard = replace(goal, audit_failures=0, blocked_streak=streak, note=event.note)
    if event.verdict == "complete" and event.gates_pass and not goal.planning:
        return _complete(heard, event)
    if goal.crossed:
        return wrap_up(heard, event.at)
    if streak >= limits.blocked_audits:
        return block(heard, "audits", event.note)
    if event.verdict == "wait" and event.wait is not None and event.ref_is_known:
        return park(heard, event.wait, event.at, limits, "audit_waits")
    if event.verdict == "needs_person" and event.text not in goal.questions:
        kind = event.person or "question"
        asked = new_decision(heard, kind, event.text, "", event.at, limits, event.decision)
        return ask(heard, asked, event.at, "audit_asks")
    return _go_on(heard, event.at, limits, "continue")


def audit_failed(goal: Goal, event: AuditFailed, limits: Limits) -> Moved:
    """One failure is tolerated with an unaudited continuation; the second in a row blocks."""
    if (event.revision, event.turn, event.messages) != (goal.revision, goal.turn, goal.messages):
        return Moved(replace(goal, due_at=event.at), "verdict_fenced")
    failures = goal.audit_failures + 1
    counted = replace(goal, audit_failures=failures)
    if goal.crossed:
        return wrap_up(counted, event.at)
    if failures >= limits.audit_failures:
        return block(counted, f"audit:{event.failure}")
    return _go_on(counted, event.at, limits, "unaudited")


def _complete(goal: Goal, event: Audited) -> Moved:
    done = replace(
        settled(goal, State.COMPLETE), closed_at=event.at, crossed=False, wait=None, decision=None
    )
    post = Post("complete", "settle", "complete", goal.reply)
    return Moved(done, "complete", (post, ShowStatus()))


def _go_on(goal: Goal, at: float, limits: Limits, rule: str) -> Moved:
    if goal.continuations >= goal.allowance:
        return block(goal, "continuations")
    if goal.same_replies >= limits.stall_turns:
        return block(goal, "stall:same_reply")
    if goal.idle_turns >= limits.stall_turns:
        return block(goal, "stall:no_tool")
    counted = replace(goal, continuations=goal.continuations + 1)
    return Moved(ready(counted, at, "continuation"), rule, (ShowStatus(),))
