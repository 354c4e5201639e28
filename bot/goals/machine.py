"""
The life of a goal: everything about its moves is decided here.

Rule 1: TABLE is total: every state has a cell for every event. Nothing else assigns a state.
Rule 2: nothing here performs anything. No clock, no ids, no IO, no await: whoever calls brings
        the facts and carries out the instructions.
Rule 3: an event that is refused or illegal changes nothing.
Rule 4: the journal keeps each outcome, so that folding it needs no rule of today.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bot.errors import IllegalMove
from bot.goals import audit_rules as audit
from bot.goals import cap_rules as cap
from bot.goals import decision_rules as decision
from bot.goals import hand_rules as hands
from bot.goals import people_rules as people
from bot.goals import room_rules as room
from bot.goals import turn_rules as turn
from bot.goals.copying import replace
from bot.goals.events import (
    EVENTS,
    Audited,
    AuditFailed,
    BudgetSet,
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Cancelled,
    CapReached,
    Compacted,
    DecisionAnswered,
    DecisionAsked,
    DecisionExpired,
    DecisionReminded,
    Event,
    FileShared,
    GatesRan,
    GatesSet,
    GoalOpened,
    HoldEnded,
    MessageReceived,
    NoteLeft,
    ObjectiveEdited,
    OwnerChanged,
    OwnerLost,
    Paused,
    ProfileSet,
    Resumed,
    ReviewSettled,
    Rewound,
    RoomWasLost,
    Stopped,
    TasksPlanned,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    Undone,
    WaitAsked,
    WaitChecked,
    WaitFired,
    WorkspaceRestored,
)
from bot.goals.goal import Goal, State
from bot.goals.instructions import Instruction, ShowStatus
from bot.goals.limits import LIMITS, Limits
from bot.goals.rules import Moved, Rule, illegal, noted, refuse

_FINAL: Final[dict[type[Event], Rule]] = {
    Paused: refuse("final"),
    Stopped: refuse("final"),
    Resumed: refuse("final"),
    Cancelled: refuse("final"),
    Undone: refuse("final"),
    ObjectiveEdited: refuse("final"),
    BudgetSet: refuse("final"),
    OwnerChanged: refuse("final"),
    ProfileSet: refuse("final"),
    GatesSet: refuse("final"),
    Rewound: refuse("final"),
    MessageReceived: refuse("ordinary"),
    DecisionAnswered: refuse("too_late"),
    TurnEnded: turn.turn_ended_elsewhere,
    ToolEnded: noted,
}

_CELLS: Final[dict[State, dict[type[Event], Rule]]] = {
    State.READY: {
        TurnStarted: turn.turn_started,
        ReviewSettled: hands.review_settled,
        TurnEnded: turn.turn_ended_elsewhere,
        ToolEnded: noted,
        MessageReceived: people.message_to_ready,
        OwnerLost: people.owner_lost,
        RoomWasLost: room.room_lost,
        Paused: people.paused,
        Stopped: people.stopped,
        Resumed: people.resumed_active,
        ObjectiveEdited: people.edited_running,
    },
    State.WORKING: {
        TurnResumed: turn.turn_resumed,
        CallStarted: turn.call_started,
        CapReached: cap.cap_reached,
        ToolStarted: noted,
        ToolEnded: turn.tool_ended,
        WaitAsked: turn.wait_asked,
        DecisionAsked: turn.decision_asked,
        TasksPlanned: turn.tasks_planned,
        NoteLeft: turn.note_left,
        FileShared: turn.file_shared,
        Compacted: turn.kept,
        WorkspaceRestored: hands.workspace_restored,
        TurnEnded: turn.turn_ended,
        MessageReceived: people.message_held,
        OwnerLost: people.owner_lost,
        RoomWasLost: room.room_lost,
        Paused: people.paused,
        Stopped: people.stopped,
        Resumed: people.resumed_active,
        ObjectiveEdited: people.edited_running,
    },
    State.AUDITING: {
        TurnResumed: turn.audit_resumed,
        CallStarted: turn.call_started,
        CapReached: cap.cap_reached,
        ToolEnded: noted,
        GatesRan: audit.gates_ran,
        Audited: audit.audited,
        AuditFailed: audit.audit_failed,
        MessageReceived: people.message_to_audit,
        OwnerLost: people.owner_lost,
        RoomWasLost: room.room_lost,
        Paused: people.paused,
        Stopped: people.stopped,
        Resumed: people.resumed_active,
        ObjectiveEdited: people.edited_parked,
    },
    State.WAITING: {
        WaitFired: people.wait_fired,
        WaitChecked: people.wait_checked,
        ToolEnded: noted,
        MessageReceived: people.message_to_parked,
        OwnerLost: people.owner_lost,
        RoomWasLost: room.room_lost,
        Paused: people.paused,
        Stopped: people.stopped,
        Resumed: people.resumed_waiting,
        ObjectiveEdited: people.edited_parked,
    },
    State.DECIDING: {
        DecisionAnswered: decision.decision_answered,
        DecisionExpired: decision.decision_expired,
        DecisionReminded: decision.decision_reminded,
        HoldEnded: decision.hold_ended,
        ToolStarted: noted,
        ToolEnded: turn.tool_ended,
        MessageReceived: decision.message_to_deciding,
        OwnerLost: people.owner_lost,
        RoomWasLost: room.room_lost,
        Paused: people.paused,
        Stopped: people.stopped,
        Resumed: refuse("open_decision"),
        ObjectiveEdited: people.edited_parked,
    },
    State.PAUSED: {
        WaitFired: people.wait_fired_while_paused,
        DecisionAnswered: decision.decision_answered_while_paused,
        TurnEnded: turn.turn_ended_elsewhere,
        ToolEnded: turn.tool_ended,
        MessageReceived: refuse("ordinary"),
        RoomWasLost: room.room_lost_paused,
        Paused: refuse("already_paused"),
        Stopped: people.stopped,
        Resumed: people.resumed_paused,
        ObjectiveEdited: people.edited_resting,
    },
    State.BLOCKED: {
        TurnEnded: turn.turn_ended_elsewhere,
        ToolEnded: noted,
        MessageReceived: people.message_to_blocked,
        Paused: refuse("stays"),
        Stopped: refuse("stays"),
        Resumed: people.resumed_blocked,
        ObjectiveEdited: people.edited_blocked,
    },
    State.OVER_BUDGET: {
        TurnEnded: turn.turn_ended_elsewhere,
        ToolEnded: noted,
        MessageReceived: refuse("over_budget"),
        Paused: refuse("stays"),
        Stopped: refuse("stays"),
        Resumed: people.resumed_over_budget,
        ObjectiveEdited: people.edited_resting,
    },
    State.COMPLETE: _FINAL,
    State.CANCELLED: _FINAL,
}

_EVERYWHERE: Final[dict[type[Event], Rule]] = {
    CallSettled: turn.call_settled,
    CallReleased: turn.call_released,
    CallLost: turn.call_lost,
    Cancelled: people.cancelled,
    Undone: room.undone,
    BudgetSet: people.budget_set,
    OwnerChanged: people.owner_changed,
    ProfileSet: hands.profile_set,
    GatesSet: hands.gates_set,
    Rewound: hands.rewound,
    DecisionAnswered: refuse("too_late"),
}
"""Cells that are the same in every state that does not say otherwise."""

TABLE: Final[Mapping[State, Mapping[type[Event], Rule]]] = MappingProxyType(
    {
        state: MappingProxyType(
            {event: cells.get(event, _EVERYWHERE.get(event, illegal)) for event in EVENTS}
        )
        for state, cells in _CELLS.items()
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal: an event, the rule that fired, and what it changed."""

    seq: int
    event: Event
    rule: str
    before: State | None
    after: State
    changes: Mapping[str, Any]


def open_goal(event: GoalOpened, limits: Limits = LIMITS) -> Moved:
    """The goal that `event` opens: due at once, or queued."""
    goal = Goal(
        id=event.goal,
        session=event.session,
        number=event.number,
        owner=event.owner,
        objective=event.objective,
        kind=event.kind,
        budget=event.budget,
        seq=1,
        opened_at=event.at,
        due_at=event.at,
        allowance=limits.continuations,
        profile=event.profile,
        unattended=event.unattended,
        planning=event.plan_first and event.kind == "goal",
        plan=event.plan,
        gates=event.gates,
        gates_made=max((gate.number for gate in event.gates), default=0),
        forks=event.forks,
        fork_seq=event.fork_seq,
        restore=event.restore,
    )
    if event.queued:
        return cap.queued(goal, event)
    return Moved(goal, "opened", (ShowStatus(),) if event.kind == "goal" else ())


def decide(goal: Goal, event: Event, limits: Limits = LIMITS) -> Moved:
    """What `event` does to `goal`, with the rule that fired.

    Raises:
        Refused: a person's event that does not fit the state; nothing has changed.
        IllegalMove: a worker's or timer's event that does not fit; nothing has changed.
    """
    moved = TABLE[goal.state][type(event)](goal, event, limits)
    return Moved(replace(moved.goal, seq=goal.seq + 1), moved.rule, moved.instructions)


def step(goal: Goal, event: Event, limits: Limits = LIMITS) -> tuple[Goal, tuple[Instruction, ...]]:
    """Take one move, or raise and change nothing. Raises as `decide`."""
    moved = decide(goal, event, limits)
    return moved.goal, moved.instructions


def entry(before: Goal | None, event: Event, moved: Moved) -> Entry:
    """The journal's line for a move: what the row holds now and did not before."""
    after = moved.goal
    if before is None:
        return Entry(after.seq, event, moved.rule, None, after.state, dict(vars(after)))
    was = vars(before)
    changes = {name: value for name, value in vars(after).items() if value is not was[name]}
    return Entry(after.seq, event, moved.rule, before.state, after.state, changes)


def replay(journal: Iterable[Entry]) -> Goal:
    """The goal that a whole journal, in order, folds to: its recorded outcomes, not today's rules.

    Raises:
        IllegalMove: the journal is empty, or an entry is missing.
    """
    goal: Goal | None = None
    for line in journal:
        if line.seq != (goal.seq if goal else 0) + 1:
            raise IllegalMove(f"Entry {line.seq} of the journal does not follow its predecessor.")
        goal = Goal(**line.changes) if goal is None else replace(goal, **line.changes)
    if goal is None:
        raise IllegalMove("An empty journal holds no goal.")
    return goal
