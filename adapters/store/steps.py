"""Rows of turns, steps, audits and reservations, as the journal's entries move them."""

from typing import Any, Final

from adapters.store import queries
from adapters.store.standing import count_uses
from adapters.store.statements import Writes
from bot.goals.events import (
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
from bot.goals.goal import Goal
from bot.goals.machine import Entry

_BLANK: Final[dict[str, Any]] = {
    "name": "", "model": "", "effects": "", "input": 0, "cache_write_5m": 0, "cache_write_1h": 0,
    "cache_read": 0, "output": 0, "server_tools": 0, "nano_usd": 0, "estimated_tokens": 0,
    "estimated_nano_usd": 0, "content": "", "stop_reason": "", "started_at": None,
    "ended_at": None, "runs": 1,
}  # fmt: skip


def follow(writes: Writes, goal: Goal, entry: Entry) -> None:
    """The rows that an entry's event means by itself."""
    match entry.event:
        case CallStarted() as e:
            if entry.rule == "call_started":
                _start(writes, goal, entry, "call", e.call, name=e.role, model=e.model)
        case ToolStarted() as e:
            _start(writes, goal, entry, "tool", e.tool_use, name=e.name, effects=e.effects)
            count_uses(writes, e)
        case CallSettled() as e:
            _settle(writes, goal, entry, e)
        case CallReleased() as e:
            of = {"of_goal": goal.id, "of_ref": e.call}
            writes.add(queries.RELEASE_STEP, **of, state="released", ended_at=e.at)
        case ToolEnded() as e:
            more = {"state": e.outcome, "content": e.content, "ended_at": e.at}
            _step(writes, queries.END_STEP, goal, entry, "tool", e.tool_use, more)
        case TurnStarted() as e:
            _start_turn(writes, goal, e)
        case TurnEnded() as e:
            _end_turn(writes, goal, e)
        case Audited() as e:
            _audit(writes, goal, entry, e, verdict=e.verdict, note=e.note, evidence=e.evidence)
        case AuditFailed() as e:
            _audit(writes, goal, entry, e, failure=e.failure)
        case OwnerChanged() as e:
            writes.add(queries.OWN_GOAL, of_goal=goal.id, owner=e.owner)
            writes.add(queries.DELETE_OFFER, of_goal=goal.id)
        case (
            GoalOpened() | TurnResumed() | CallLost() | WaitAsked() | DecisionAsked() | TasksPlanned()
            | NoteLeft() | Compacted() | MessageReceived() | GatesRan() | WaitFired() | WaitChecked()
            | DecisionAnswered() | DecisionExpired() | DecisionReminded() | Paused() | Stopped()
            | Resumed() | Cancelled() | ObjectiveEdited() | BudgetSet() | OwnerLost() | HoldEnded()
            | CapReached() | Undone() | RoomWasLost() | FileShared() | ProfileSet() | GatesSet()
            | Rewound() | WorkspaceRestored() | ReviewSettled()
        ):  # fmt: skip
            pass


def charge(writes: Writes, before: Goal, after: Goal, entry: Entry, room: str = "") -> None:
    """Reservations as the ledger holds them now; a call that left it unanswered is lost."""
    event = entry.event
    answered = event.call if isinstance(event, CallSettled | CallReleased) else None
    still, was = after.ledger.open, before.ledger.open
    for call in was:
        if call in still:
            continue
        writes.add(queries.DELETE_RESERVATION, of_goal=after.id, of_call=call.call)
        if call.call != answered:
            writes.add(
                queries.LOSE_STEP,
                of_goal=after.id,
                of_ref=call.call,
                state="lost",
                nano_usd=None if call.nano_usd is None else 0,
                estimated_tokens=call.tokens,
                estimated_nano_usd=call.nano_usd or 0,
                ended_at=event.at,
            )
    for call in still:
        if call not in was:
            writes.add(
                queries.INSERT_RESERVATION,
                goal=after.id,
                call=call.call,
                role=call.role,
                tokens=call.tokens,
                nano_usd=call.nano_usd,
                at=event.at,
                person=after.owner,
                room=room or None,
            )
    if answered and any(call.call == answered for call in before.ledger.lost):
        of = {"of_goal": after.id, "of_ref": answered}
        writes.add(queries.REFUND_STEP, **of, estimated_tokens=0, estimated_nano_usd=0)


def _start(writes: Writes, goal: Goal, entry: Entry, kind: str, ref: str, **more: str) -> None:
    started = {**more, "state": "started", "started_at": entry.event.at}
    _step(writes, queries.START_STEP, goal, entry, kind, ref, started)


def _settle(writes: Writes, goal: Goal, entry: Entry, event: CallSettled) -> None:
    usage = event.usage
    more = {
        "state": "settled",
        "input": usage.input,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "cache_read": usage.cache_read,
        "output": usage.output,
        "server_tools": usage.server_tools,
        "nano_usd": event.nano_usd,
        "content": event.content,
        "stop_reason": event.stop_reason,
        "ended_at": event.at,
    }
    _step(writes, queries.SETTLE_STEP, goal, entry, "call", event.call, more)


def _step(
    writes: Writes,
    statement: Any,
    goal: Goal,
    entry: Entry,
    kind: str,
    ref: str,
    more: dict[str, Any],
) -> None:
    of = {"goal": goal.id, "ref": ref, "kind": kind, "turn": goal.turn, "seq": entry.seq}
    writes.add(statement, **{**_BLANK, **of, **more})


def _start_turn(writes: Writes, goal: Goal, event: TurnStarted) -> None:
    writes.add(
        queries.START_TURN,
        goal=goal.id,
        number=goal.turn,
        opening=goal.opening,
        revision=goal.revision,
        started_at=event.at,
        ended_at=None,
        how="",
        failed="",
        reply="",
        active_s=0.0,
        progress=False,
    )


def _end_turn(writes: Writes, goal: Goal, event: TurnEnded) -> None:
    writes.add(
        queries.END_TURN,
        of_goal=goal.id,
        of_number=goal.turn,
        ended_at=event.at,
        how=event.how,
        failed=event.failed,
        reply=event.reply,
        active_s=event.active_s,
        progress=event.progress,
    )


def _audit(
    writes: Writes,
    goal: Goal,
    entry: Entry,
    event: Audited | AuditFailed,
    *,
    verdict: str = "",
    failure: str = "",
    note: str = "",
    evidence: str = "",
) -> None:
    writes.add(
        queries.INSERT_AUDIT,
        goal=goal.id,
        seq=entry.seq,
        turn=event.turn,
        revision=event.revision,
        messages=event.messages,
        verdict=verdict,
        failure=failure,
        rule=entry.rule,
        note=note,
        evidence=evidence,
        at=event.at,
    )
