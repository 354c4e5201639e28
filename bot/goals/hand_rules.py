"""Rules of permissions, gates and restorable points."""

from typing import Final

from bot.errors import IllegalMove, Refused
from bot.goals.copying import replace
from bot.goals.events import GatesSet, ProfileSet, ReviewSettled, Rewound, WorkspaceRestored
from bot.goals.goal import Goal, State
from bot.goals.instructions import DropPosts, ShowStatus, StopTurn
from bot.goals.limits import Limits
from bot.goals.rules import Moved, withdraw

_KEPT: Final = (
    "seq", "turn", "ledger", "budget", "owner", "messages", "decisions", "crossed",
    "profile", "unattended", "gates", "gates_made", "wrapping_up",
)  # fmt: skip
"""What a rewind leaves as it is: what was spent and said, and what people have set since."""


def profile_set(goal: Goal, event: ProfileSet, limits: Limits) -> Moved:
    """Counts from the next call of a tool on."""
    return Moved(replace(goal, profile=event.profile), "profile_set", (ShowStatus(),))


def gates_set(goal: Goal, event: GatesSet, limits: Limits) -> Moved:
    """Counts from the next audit on. One that was taken away has not been mended."""
    if event.over is not None and event.over != tuple(gate.number for gate in goal.gates):
        raise Refused("The checks have changed since.", code="gates_changed")
    made = max((goal.gates_made, *(gate.number for gate in event.gates)))
    taken = {gate.command for gate in goal.gates} - {gate.command for gate in event.gates}
    failing = tuple(name for name in goal.failing if name not in taken)
    changed = replace(goal, gates=event.gates, gates_made=made, failing=failing)
    return Moved(changed, "gates_set", (ShowStatus(),))


def rewound(goal: Goal, event: Rewound, limits: Limits) -> Moved:
    """Back to where it was, at rest; what it asks and waits for ends, and so does the running turn.

    Without a budget it stays without one: there is one wrap-up to a crossing, and it had it.
    """
    if goal.kind == "ask":
        raise Refused("An ordinary turn has nothing to go back to.", code="ordinary")
    if goal.wait is not None and goal.wait.kind == "slot":
        raise Refused(f"Goal G{goal.number} has not begun.", code="slot")
    point = event.point
    if point.id != goal.id or point.is_final or not 0 < event.to_seq <= goal.seq:
        raise IllegalMove(f"Goal {goal.id} was never where entry {event.to_seq} would put it.")
    if not event.tree:
        raise Refused("The files of that point are not kept.", code="no_checkpoint")
    _, gone = withdraw(goal)
    is_over = goal.state is State.OVER_BUDGET
    kept = {name: getattr(goal, name) for name in _KEPT}
    # What was allowed since then falls with it, and what was taken back stays taken back.
    grants = tuple(grant for grant in point.grants if grant in goal.grants)
    back = replace(
        point,
        **kept,
        grants=grants,
        turn_open=goal.turn_open and not _is_suspended(goal),
        state=State.OVER_BUDGET if is_over else State.PAUSED,
        revision=goal.revision + 1,
        seen_revision=goal.revision + 1,
        seen_messages=goal.messages,
        due_at=None,
        opening="resume",
        by=event.by,
        paused_at=None if is_over else event.at,
        reason="budget" if is_over else "rewound",
        questions=(),
        wait=None,
        decision=None,
        aside=None,
        review=None,
        restore=event.tree,
    )
    return Moved(back, "rewound", (*gone, StopTurn("stopped"), DropPosts(), ShowStatus()))


def _is_suspended(goal: Goal) -> bool:
    """Its turn rests, for an approval or a cap: no worker has it, who would end it."""
    by_approval = goal.decision is not None and goal.decision.kind == "approval"
    return by_approval or (goal.wait is not None and goal.wait.kind == "cap")


def review_settled(goal: Goal, event: ReviewSettled, limits: Limits) -> Moved:
    """The next turn may begin."""
    if goal.review is None or goal.review.id != event.decision:
        raise IllegalMove(f"Goal {goal.id} has no answer to review {event.decision} to carry out.")
    return Moved(replace(goal, review=None), "review_settled")


def workspace_restored(goal: Goal, event: WorkspaceRestored, limits: Limits) -> Moved:
    """The turn may begin its work."""
    if not goal.restore or goal.restore != event.tree:
        raise IllegalMove(f"Goal {goal.id} is to be put back to {goal.restore or 'nothing'}.")
    return Moved(replace(goal, restore=""), "workspace_restored")
