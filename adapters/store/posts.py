"""
Rows of waits, decisions, checkpoints and of what is to be said, as instructions ask for them.

Keys in the outbox: `GOAL:KEY` for a post, `GOAL:status:SEQ` for an edit of the status message,
`GOAL:card:NUMBER` for the edit of a decision's card, `GOAL:removal:status` and
`GOAL:removal:decision:NUMBER` for taking those away. Each is sent once, so each is made once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from adapters.store import codec, queries
from adapters.store.standing import give
from adapters.store.statements import Statement, Writes
from bot.goals.events import ObjectiveEdited
from bot.goals.goal import ACTIVE, Decision, Goal
from bot.goals.instructions import (
    Allow,
    Checkpoint,
    CloseDecision,
    CloseWait,
    DropPosts,
    Instruction,
    OpenDecision,
    OpenWait,
    Post,
    RemovePosts,
    ShowStatus,
    StopTurn,
)
from bot.goals.machine import Entry

STATUS_AFTER_S: Final = 5.0
"""A goal that is done sooner shows no status message at all (manners, "What is posted")."""

STATUS_PAUSE_S: Final = 3.0
"""An edit that only tells how the work goes on waits so long, and tells what is true by then; one that
tells where it has come to rest waits for nothing."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a checkpoint holds beside the goal: its workspace's tree, and the list of tasks as JSON."""

    tree: str = ""
    tasks: str = "[]"


NO_POINT: Final = Point()


def say(
    writes: Writes,
    before: Goal | None,
    goal: Goal,
    entry: Entry,
    instructions: Iterable[Instruction],
    point: Point = NO_POINT,
) -> None:
    """The rows of a move's instructions."""
    at = entry.event.at
    for one in instructions:
        match one:
            case Post():
                queue(writes, f"{goal.id}:{one.key}", one.kind, goal.session, at,
                      goal=goal.id, reason=one.reason, content=one.content)  # fmt: skip
            case ShowStatus():
                queue(writes, f"{goal.id}:status:{entry.seq}", "status", goal.session, at,
                      goal=goal.id, not_before=_shown_at(before, goal, at),
                      statement=queries.INSERT_STATUS)  # fmt: skip
            case RemovePosts():
                _remove(writes, goal, at)
            case OpenWait(wait):
                writes.add(
                    queries.OPEN_WAIT, goal=goal.id, id=wait.id, kind=wait.kind, ref=wait.ref,
                    until=wait.until, reason=wait.reason, state="open", opened_at=at, closed_at=None,
                )  # fmt: skip
            case CloseWait():
                of = {"of_goal": goal.id, "of_id": one.wait}
                writes.add(queries.CLOSE_WAIT, **of, state=one.how, closed_at=at)
            case OpenDecision(decision):
                _open_decision(writes, goal, decision, at)
            case CloseDecision():
                _close_decision(writes, before, goal, one, at)
            case Checkpoint(turn):
                writes.add(
                    queries.INSERT_CHECKPOINT, goal=goal.id, seq=entry.seq, turn=turn, at=at,
                    tree=point.tree, data=codec.dump_goal(goal), tasks=point.tasks,
                )  # fmt: skip
            case DropPosts():
                writes.add(queries.DROP_POSTS, of_goal=goal.id, state="superseded")
                writes.add(queries.DROP_CARDS, of_goal=goal.id, state="superseded")
            case Allow():
                give(writes, goal, one, at)
            case StopTurn():
                pass
    has_ended = goal.is_final and before is not None and not before.is_final
    if isinstance(entry.event, ObjectiveEdited):
        _edit_root(writes, goal, str(goal.revision), at)
    elif has_ended and goal.kind == "goal" and goal.reason != "undone":
        _edit_root(writes, goal, "end", at)
    _follow_decision(writes, before, goal)
    if has_ended:
        writes.add(queries.SUPERSEDE_STATUS, of_goal=goal.id, state="superseded")


def queue(
    writes: Writes,
    key: str,
    kind: str,
    session: str,
    at: float,
    *,
    goal: str | None = None,
    reason: str = "",
    only_for: str = "",
    content: str = "",
    not_before: float = 0.0,
    statement: Statement = queries.INSERT_POST,
    **of: Any,
) -> None:
    """One message out, due at `not_before` or at once."""
    writes.add(
        statement,
        key=key,
        goal=goal,
        session=session,
        kind=kind,
        reason=reason,
        only_for=only_for,
        content=content,
        state="pending",
        remote="",
        not_before=max(not_before, at),
        created_at=at,
        claimed_at=0.0,
        looked_up=False,
        why="",
        **of,
    )


def _edit_root(writes: Writes, goal: Goal, why: str, at: float) -> None:
    """The first message of the goal's thread, where it is ours, tells how it is now."""
    queue(
        writes, f"{goal.id}:card:root:{why}", "card", goal.session, at, goal=goal.id,
        statement=queries.INSERT_ROOT_EDIT,
    )  # fmt: skip


def _shown_at(before: Goal | None, goal: Goal, at: float) -> float:
    """When the status message is to tell of the move."""
    if before is None and goal.wait is not None:
        # It is opened in the queue: there will be no quick end, and nothing else says so.
        return at
    goes_on = before is not None and before.state in ACTIVE and goal.state in ACTIVE
    return max(goal.opened_at + STATUS_AFTER_S, at + STATUS_PAUSE_S if goes_on else at)


def _remove(writes: Writes, goal: Goal, at: float) -> None:
    """What shows the goal goes: what is on its way comes before, in the order of the thread."""
    shown = ("status", *(f"decision:{number}" for number in range(1, goal.decisions + 1)), "root")
    for what in shown:
        queue(writes, f"{goal.id}:removal:{what}", "removal", goal.session, at, goal=goal.id)


def _open_decision(writes: Writes, goal: Goal, decision: Decision, at: float) -> None:
    writes.add(
        queries.OPEN_DECISION,
        goal=goal.id,
        id=decision.id,
        number=decision.number,
        kind=decision.kind,
        text=decision.text,
        tool_use=decision.tool_use,
        state="open",
        expires_at=decision.expires_at,
        reminded=decision.reminded,
        answered=decision.answered,
        opened_at=at,
        closed_at=None,
        by="",
        answer="",
        call=decision.call,
        scope="",
    )


def _close_decision(
    writes: Writes, before: Goal | None, goal: Goal, closed: CloseDecision, at: float
) -> None:
    of = {"of_goal": goal.id, "of_id": closed.decision}
    writes.add(
        queries.CLOSE_DECISION, **of, state=closed.how, closed_at=at, by=closed.by,
        answer=closed.answer, scope=closed.scope,
    )  # fmt: skip
    decision = before.decision if before is not None else None
    if decision is not None and decision.id == closed.decision:
        queue(
            writes, f"{goal.id}:card:{decision.number}", "card", goal.session, at, goal=goal.id,
            reason=closed.how, content=closed.answer, statement=queries.INSERT_CARD,
            of_key=f"{goal.id}:decision:{decision.number}",
        )  # fmt: skip


def _follow_decision(writes: Writes, before: Goal | None, goal: Goal) -> None:
    """A reminder, a rest or a stored answer moves the open decision's row."""
    was, now = before.decision if before else None, goal.decision
    if was is None or now is None or was is now or was.id != now.id:
        return
    writes.add(
        queries.MOVE_DECISION, of_goal=goal.id, of_id=now.id, expires_at=now.expires_at,
        reminded=now.reminded, answered=now.answered,
    )  # fmt: skip
