"""
The rows that follow from a goal's moves: its journal, its steps, what parks it, what is said.

Rule 1: nothing is read here and nothing runs here: moves in, writes out.
Rule 2: the match over events names every one, so that a new one is not forgotten.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adapters.store import codec, queries
from adapters.store.posts import NO_POINT, Point, queue, say
from adapters.store.statements import Writes
from adapters.store.steps import charge, follow
from bot.goals import machine
from bot.goals.events import (
    BOOKINGS,
    CallSettled,
    CallStarted,
    CapReached,
    Event,
    MessageReceived,
    ToolEnded,
    ToolStarted,
)
from bot.goals.goal import Goal
from bot.goals.instructions import Instruction
from bot.goals.limits import Limits
from bot.goals.machine import Entry
from bot.ports.journal import Applied, Content, Reply, Task, Unit

Start = Callable[[Goal, CallStarted], CapReached | None]
"""Whether a call that its goal's budget covers starts; else what happens in its place."""


@dataclass(frozen=True, slots=True)
class Move:
    """One event's doing: the goal before and after, its entry, what it asks for."""

    before: Goal | None
    after: Goal
    entry: Entry
    instructions: tuple[Instruction, ...]


def decide(
    goal: Goal, events: Iterable[Event], at: float, limits: Limits, start: Start | None = None
) -> Iterator[Move]:
    """Each event's move, stamped with `at`; `start` looks at calls. Raises as `machine.decide`."""
    for event in events:
        stamped: Event = replace(event, at=at)
        moved = machine.decide(goal, stamped, limits)
        if start is not None and isinstance(stamped, CallStarted) and moved.rule == "call_started":
            capped = start(goal, stamped)
            if capped is not None:
                stamped = capped
                moved = machine.decide(goal, capped, limits)
        entry = machine.entry(goal, stamped, moved)
        yield Move(goal, moved.goal, entry, moved.instructions)
        goal = moved.goal


def bookings(unit: Unit) -> tuple[Event, ...]:
    """What of a unit is written by a worker whose lease is gone.

    A reply that comes after its turn was taken over is paid for and stays out of the transcript.
    """
    return tuple(
        replace(event, content="") if isinstance(event, CallSettled) else event
        for event in unit.events
        if isinstance(event, BOOKINGS)
    )


def endings(unit: Unit) -> tuple[Event, ...]:
    """What of a unit is written by a worker whose lease has ended while nobody else took it.

    Replies and the ends of tools that ran before stay true. What the unit itself starts does not
    run, and what it would end is done again by whoever goes on.
    """
    begun = {event.tool_use for event in unit.events if isinstance(event, ToolStarted)}
    return tuple(
        event
        for event in unit.events
        if isinstance(event, BOOKINGS)
        or (isinstance(event, ToolEnded) and event.tool_use not in begun)
    )


def write_opened(writes: Writes, goal: Goal, reopens: str) -> None:
    """The goal's first row, and the lease that nobody holds."""
    writes.add(
        queries.INSERT_GOAL,
        id=goal.id,
        session=goal.session,
        number=goal.number,
        owner=goal.owner,
        kind=goal.kind,
        opened_at=goal.opened_at,
        reopens=reopens or None,
        **_mirrored(goal),
    )
    writes.add(queries.INSERT_LEASE, goal=goal.id, epoch=0, worker="", until=0.0)


def write_goal(writes: Writes, before: Goal, goal: Goal) -> None:
    """The goal's row as it is now; `before` is the row as it is there."""
    if _asked(before) == _asked(goal):
        writes.add(queries.GO_ON_GOAL, of_goal=goal.id, seq=goal.seq, data=codec.dump_goal(goal))
    else:
        writes.add(queries.UPDATE_GOAL, of_goal=goal.id, **_mirrored(goal))


def write_moves(
    writes: Writes, moves: Sequence[Move], limits: str, room: str = "", point: Point = NO_POINT
) -> None:
    """The journal's entries and the rows that move with them.

    Args:
        room: where calls are charged.
        point: what a checkpoint among them holds.
    """
    if not moves:
        return
    rows = [_entry_row(move, limits) for move in moves]
    numbered = {f"{name}_{n}": value for n, row in enumerate(rows) for name, value in row.items()}
    writes.add(queries.insert_events(len(rows)), **numbered)
    for move in moves:
        _write_rows(writes, move, room, point)


def _write_rows(writes: Writes, move: Move, room: str, point: Point) -> None:
    goal, entry = move.after, move.entry
    follow(writes, goal, entry)
    if move.before is not None and "ledger" in entry.changes:
        charge(writes, move.before, goal, entry, room)
    say(writes, move.before, goal, entry, move.instructions, point)


def write_contents(
    writes: Writes,
    session: str,
    contents: Iterable[Content],
    at: float,
    events: Iterable[Event] = (),
) -> None:
    """Texts under their hashes; those of people's messages know which message they were."""
    messages = {e.content: e.message for e in events if isinstance(e, MessageReceived)}
    for content in contents:
        hash = content.hash
        message = content.message or messages.get(hash)
        write_content(writes, session, content, hash, at, message=message)


def write_content(
    writes: Writes,
    session: str,
    content: Content,
    hash: str,
    at: float,
    *,
    message: str | None = None,
    expires_at: float | None = None,
) -> None:
    """One text under its hash."""
    writes.add(
        queries.INSERT_CONTENT,
        session=session,
        hash=hash,
        text=content.text,
        author=content.author,
        message=message,
        size=len(content.text),
        at=at,
        expires_at=expires_at,
    )


def write_reply(
    writes: Writes,
    session: str,
    key: str,
    text: str,
    at: float,
    *,
    reason: str = "",
    only_for: str = "",
) -> None:
    """An answer in the session's thread; `reason` names the buttons under it, `only_for` who sees it."""
    content = Content(text)
    write_content(writes, session, content, content.hash, at)
    queue(
        writes, key, "reply", session, at, content=content.hash, reason=reason, only_for=only_for
    )  # fmt: skip


def write_answer(writes: Writes, reply: Reply | None, applied: Applied, at: float) -> None:
    """What a unit answers whoever asked for it."""
    if reply is not None and not applied.fenced:
        write_reply(writes, reply.session, reply.key, reply.text(applied), at)


def write_tasks(writes: Writes, goal: Goal, tasks: Iterable[Task], at: float) -> None:
    """The goal's whole list anew; titles and evidence are content."""
    writes.add(queries.DELETE_TASKS, of_goal=goal.id)
    for position, task in enumerate(tasks):
        hashes = []
        for text in (task.title, task.evidence):
            content = Content(text, _PLANNER)
            hashes.append(content.hash if text else "")
            if text:
                write_content(writes, goal.session, content, content.hash, at)
        title, evidence = hashes
        writes.add(
            queries.INSERT_TASK,
            goal=goal.id,
            position=position,
            title=title,
            state=task.state,
            evidence=evidence,
        )


_PLANNER: Final = "agent"


def _entry_row(move: Move, limits: str) -> dict[str, object]:
    goal, entry = move.after, move.entry
    return {
        "goal": goal.id,
        "seq": entry.seq,
        "session": goal.session,
        "kind": codec.kind_of(entry.event),
        "at": entry.event.at,
        "turn": goal.turn,
        "revision": goal.revision,
        "before": entry.before.value if entry.before else None,
        "after": entry.after.value,
        "rule": entry.rule,
        "data": codec.dump_event(entry.event),
        "changes": codec.dump_changes(entry.changes),
        "limits": limits,
        "version": codec.SCHEMA,
    }


def _asked(goal: Goal) -> dict[str, object]:
    """What of the goal queries ask for, in columns of its own."""
    return {
        "state": goal.state.value,
        "revision": goal.revision,
        "turn": goal.turn,
        "objective": goal.objective,
        "closed_at": goal.closed_at,
        "due_at": goal.due_at,
    }


def _mirrored(goal: Goal) -> dict[str, object]:
    return {**_asked(goal), "seq": goal.seq, "data": codec.dump_goal(goal)}
