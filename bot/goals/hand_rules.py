"""Rules of permissions, gates and restorable points."""

from typing import Final

from bot.errors import IllegalMove
from bot.goals.copying import replace
from bot.goals.events import GatesSet, ProfileSet, Rewound, WorkspaceRestored
from bot.goals.goal import Goal, State
from bot.goals.instructions import DropPosts, ShowStatus, StopTurn
from bot.goals.limits import Limits
from bot.goals.rules import Moved, withdraw

_KEPT: Final = (
    "seq", "turn", "ledger", "budget", "owner", "messages", "decisions", "crossed",
    "profile", "unattended", "gates", "gates_made",
)  # fmt: skip
"""What a rewind leaves as it is: what was spent and said, and what people have set since."""


def profile_set(goal: Goal, event: ProfileSet, limits: Limits) -> Moved:
    """Counts from the next call of a tool on."""
    return Moved(replace(goal, profile=event.profile), "profile_set", (ShowStatus(),))


def gates_set(goal: Goal, event: GatesSet, limits: Limits) -> Moved:
    """Counts from the next audit on."""
    made = max((goal.gates_made, *(gate.number for gate in event.gates)))
    return Moved(replace(goal, gates=event.gates, gates_made=made), "gates_set", (ShowStatus(),))


def rewound(goal: Goal, event: Rewound, limits: Limits) -> Moved:
    """Back to where it was, at rest; what it asks and waits for ends, and so does the running turn."""
    _, gone = withdraw(goal)
    kept = {name: getattr(goal, name) for name in _KEPT}
    # What was allowed since then falls with it, and what was taken back stays taken back.
    grants = tuple(grant for grant in event.point.grants if grant in goal.grants)
    back = replace(
        event.point,
        **kept,
        grants=grants,
        state=State.PAUSED,
        revision=goal.revision + 1,
        seen_revision=goal.revision + 1,
        seen_messages=goal.messages,
        due_at=None,
        opening="resume",
        turn_open=goal.turn_open,
        by=event.by,
        paused_at=event.at,
        reason="rewound",
        wait=None,
        decision=None,
        aside=None,
        wrapping_up=False,
        restore=event.tree or "empty",
    )
    return Moved(back, "rewound", (*gone, StopTurn("stopped"), DropPosts(), ShowStatus()))


def workspace_restored(goal: Goal, event: WorkspaceRestored, limits: Limits) -> Moved:
    """The turn may begin its work."""
    if goal.restore != event.tree:
        raise IllegalMove(f"Goal {goal.id} is to be put back to {goal.restore or 'nothing'}.")
    return Moved(replace(goal, restore=""), "workspace_restored")
