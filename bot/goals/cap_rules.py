"""
Rules of what holds a goal back that did not ask for it: a day's cap, and too many live goals.

Rule 1: a cap suspends a turn or an audit where it is; let go, the same one goes on.
Rule 2: a message to a held goal is kept and spends nothing; nobody but the store lets it go.
Rule 3: an ordinary turn is not held: it is answered that the cap is reached.
Rule 4: a wrap-up is not held either: its notice is written from the journal.
"""

from bot.goals.copying import replace
from bot.goals.events import CapReached, GoalOpened
from bot.goals.goal import Goal, State, Wait
from bot.goals.instructions import CloseWait, Instruction, OpenWait, Post, ShowStatus
from bot.goals.limits import SLOT_LOOK_S, SLOT_WAIT_S, Limits
from bot.goals.money import worked
from bot.goals.rules import Moved, ready, same_turn, settled
from bot.goals.turn_rules import wrap_up_died


def cap_reached(goal: Goal, event: CapReached, limits: Limits) -> Moved:
    """Suspend what runs until the day is over, or the cap is raised."""
    if goal.kind == "ask":
        return _answered(goal, event)
    so_far = replace(goal, ledger=worked(goal.ledger, event.active_s))
    if goal.wrapping_up:
        return wrap_up_died(so_far)
    wait = Wait(
        f"{goal.id}.cap{goal.seq + 1}",
        "cap",
        f"{event.cap}:{event.limit}",
        event.until,
        nano_usd=event.nano_usd,
        tokens=event.tokens,
    )
    held = replace(
        so_far,
        state=State.WAITING,
        wait=wait,
        decision=None,
        aside=goal.wait or goal.decision,
        due_at=event.until,
        reason=f"cap:{event.cap}",
    )
    return Moved(held, "cap_reached", (OpenWait(wait), ShowStatus()))


def let_go(goal: Goal, wait: Wait, at: float, rule: str) -> Moved:
    """The goal where it was before it was held; what was said meanwhile comes first."""
    closed: tuple[Instruction, ...] = () if wait.fired else (CloseWait(wait.id, "fired"),)
    if wait.kind == "slot":
        # It has not begun: its objective is what it begins with.
        free = ready(replace(goal, wait=None), at, goal.opening)
    elif goal.turn_open:
        free = same_turn(goal, at)
    elif goal.has_unread:
        free = ready(replace(goal, wait=None), at, "message")
    elif goal.seen_revision < goal.revision:
        free = ready(replace(goal, wait=None), at, "edit")
    else:
        free = replace(
            goal, state=State.AUDITING, wait=None, aside=None, due_at=at, reason="", paused_at=None
        )
    return Moved(free, rule, (*closed, ShowStatus()))


def edited_held(revised: Goal) -> Moved:
    """The objective is another one, and the goal is held as before."""
    return Moved(revised, "edited", (ShowStatus(),))


def queued(goal: Goal, event: GoalOpened) -> Moved:
    """A goal that is opened where too many are live: it begins when one of them ends."""
    wait = Wait(f"{goal.id}.slot", "slot", event.queued, event.at + SLOT_WAIT_S)
    held = replace(
        goal,
        state=State.WAITING,
        wait=wait,
        due_at=event.at + SLOT_LOOK_S,
        reason=f"slot:{event.queued}",
    )
    return Moved(held, "queued", (OpenWait(wait), ShowStatus()))


def _answered(goal: Goal, event: CapReached) -> Moved:
    reason = f"cap:{event.cap}"
    done = replace(
        settled(goal, State.COMPLETE, reason), closed_at=event.at, wait=None, decision=None
    )
    return Moved(done, "answered", (Post("answer", "settle", reason),))
