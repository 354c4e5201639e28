"""
What each event does to a goal, cell by cell of the table in `machine`.

Rule 1: a rule is a pure function of goal, event and limits; it never performs anything.
Rule 2: a rule names itself in its outcome, so that the journal says which one fired.
Rule 3: a person's event that does not fit is `Refused` with a code; a worker's or a timer's is
        an `IllegalMove`. Either way nothing has changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bot.errors import IllegalMove, Refused
from bot.goals.copying import replace
from bot.goals.goal import Decision, Goal, Opening, State, Wait
from bot.goals.instructions import (
    Checkpoint,
    CloseDecision,
    CloseWait,
    Instruction,
    OpenDecision,
    OpenWait,
    Post,
    ShowStatus,
)
from bot.goals.limits import Limits


@dataclass(frozen=True, slots=True)
class Moved:
    """The outcome of one event: the goal after it, the rule that fired, what it asks for."""

    goal: Goal
    rule: str
    instructions: tuple[Instruction, ...] = ()


REPEATED: Final = frozenset({"approval", "plan", "review"})
"""Kinds of decisions that may be asked with the same text again."""
Rule = Callable[[Goal, Any, Limits], Moved]


def refuse(code: str) -> Rule:
    """A rule that tells a person, by `code`, why this does not fit."""

    def refused(goal: Goal, event: Any, limits: Limits) -> Moved:
        raise Refused(
            f"Goal G{goal.number} is {goal.state.value}: {code.replace('_', ' ')}.", code=code
        )

    return refused


def illegal(goal: Goal, event: Any, limits: Limits) -> Moved:
    """The rule of cells that a worker or a timer must not reach."""
    raise IllegalMove(
        f"Goal {goal.id} is {goal.state.value} at entry {goal.seq} and does not take "
        f"{type(event).__name__}. Load it again: another writer has moved it on."
    )


def noted(goal: Goal, event: Any, limits: Limits) -> Moved:
    """Written down; changes nothing but the sequence."""
    return Moved(goal, "noted")


def fresh(goal: Goal, limits: Limits) -> Goal:
    """The goal with every streak and allowance begun anew."""
    return replace(
        goal,
        continuations=0,
        allowance=limits.continuations,
        blocked_streak=0,
        audit_failures=0,
        compactions=0,
        gate_breaks=0,
        idle_turns=0,
        same_replies=0,
        parkings=0,
        parked_ref="",
    )


def progressed(goal: Goal, limits: Limits) -> Goal:
    """The goal with one continuation more, once a turn, up to the most there are."""
    if goal.progress_turn == goal.turn:
        return goal
    most = max(limits.continuations_most, goal.allowance)
    return replace(goal, allowance=min(goal.allowance + 1, most), progress_turn=goal.turn)


def ready(goal: Goal, at: float, opening: Opening) -> Goal:
    """The goal due at once for a turn opened by `opening`.

    Over a crossed budget nothing but the wrap-up opens: any other turn could make no call.
    """
    wraps_up = goal.crossed and goal.kind == "goal"
    return replace(
        goal,
        state=State.READY,
        due_at=at,
        opening="wrap_up" if wraps_up else opening,
        reason="",
        paused_at=None,
        aside=None,
    )


def same_turn(goal: Goal, at: float) -> Goal:
    """The goal going on with the turn that was suspended, and with what that had asked for."""
    return replace(
        goal,
        state=State.WORKING,
        wait=goal.aside if isinstance(goal.aside, Wait) else None,
        decision=goal.aside if isinstance(goal.aside, Decision) else None,
        aside=None,
        due_at=at,
        reason="",
        paused_at=None,
    )


def settled(goal: Goal, state: State, reason: str = "") -> Goal:
    """The goal in a state that no clock moves."""
    return replace(goal, state=state, due_at=None, reason=reason)


def withdraw(goal: Goal) -> tuple[Goal, tuple[Instruction, ...]]:
    """The goal without its open wait and decision, and the rows that end with them.

    What a running turn has asked for has no row yet, and ends without one.
    """
    gone: list[Instruction] = []
    if goal.wait is not None and not goal.wait.fired and has_row(goal):
        gone.append(CloseWait(goal.wait.id, "withdrawn"))
    if goal.decision is not None and not goal.decision.answered and has_row(goal):
        gone.append(CloseDecision(goal.decision.id, "withdrawn"))
    return replace(goal, wait=None, decision=None, aside=None), tuple(gone)


def has_row(goal: Goal) -> bool:
    """True where the goal's wait and decision have been opened: they park it."""
    return goal.state in (State.WAITING, State.DECIDING) or goal.paused_at is not None


def park(goal: Goal, wait: Wait, at: float, limits: Limits, rule: str) -> Moved:
    """Wait, unless the same thing has been waited for too often with nothing new."""
    parkings = goal.parkings + 1 if wait.ref == goal.parked_ref else 1
    if parkings >= limits.parkings_on_one_ref:
        asked = replace(goal, wait=None, parkings=0, parked_ref="")
        return ask(
            asked, new_decision(asked, "question", "", "", at, limits), at, "parked_too_often"
        )
    until = min(wait.until, at + limits.wait_most_s)
    kept = replace(wait, until=until)
    due = min(until, at + limits.probe_first_s) if wait.kind in ("probe", "process") else until
    parked = replace(
        goal,
        state=State.WAITING,
        wait=kept,
        parkings=parkings,
        parked_ref=wait.ref,
        due_at=due,
        reason=f"wait:{wait.kind}",
    )
    return Moved(parked, rule, (OpenWait(kept), ShowStatus()))


def new_decision(
    goal: Goal,
    kind: Any,
    text: str,
    tool_use: str,
    at: float,
    limits: Limits,
    id: str = "",
    **of: Any,
) -> Decision:
    """The goal's next decision, numbered, with the expiry of its kind; `of`: of an approval."""
    number = goal.decisions + 1
    lasts = limits.approval_expires_s if kind == "approval" else limits.question_expires_s
    return Decision(
        id=id or f"{goal.id}.d{number}",
        number=number,
        kind=kind,
        text=text,
        expires_at=at + lasts,
        tool_use=tool_use,
        **of,
    )


def ask(goal: Goal, decision: Decision, at: float, rule: str) -> Moved:
    """Park the goal on a person."""
    asked = replace(
        goal,
        state=State.DECIDING,
        decision=decision,
        decisions=decision.number,
        questions=goal.questions if decision.kind in REPEATED else (*goal.questions, decision.text),
        due_at=_decision_due(decision, at),
        reason=rule,
    )
    card = Post("decision", f"decision:{decision.number}", rule, decision.text)
    return Moved(asked, rule, (OpenDecision(decision), card, ShowStatus()))


def _decision_due(decision: Decision, at: float) -> float:
    if decision.kind == "approval" or decision.reminded:
        return decision.expires_at
    return at + (decision.expires_at - at) / 2


def decision_due(decision: Decision, at: float) -> float:
    """When an open decision next wants attention: its reminder at half time, then its expiry."""
    return _decision_due(decision, at)


def block(goal: Goal, reason: str, content: str = "") -> Moved:
    """Stop until a person helps; said once, in the thread."""
    post = Post("blocked", f"blocked:{goal.seq + 1}", reason, content)
    return Moved(settled(goal, State.BLOCKED, reason), reason, (post, ShowStatus()))


def plan_answered(goal: Goal, decision: Decision, at: float) -> Moved:
    """An approved plan is worked at, after a checkpoint; one that is to be changed is made anew."""
    if decision.accepted:
        planned = replace(goal, planning=False, plan=decision.text)
        moved = Moved(ready(planned, at, "answer"), "plan_accepted")
        return replace(moved, instructions=(Checkpoint(goal.turn), ShowStatus()))
    if goal.planning and not decision.edits:
        # Nobody has said what else it should do: that takes a person.
        return block(goal, "plan_rejected")
    return Moved(ready(goal, at, "answer"), "answered", (ShowStatus(),))
