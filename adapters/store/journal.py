"""The journal of goals in the database."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import bindparam, select

from adapters.store import codec, queries
from adapters.store.attachments import write_shared
from adapters.store.bounds import Bounds
from adapters.store.checkpoints import point_of, write_artifacts, write_copy, write_rewound
from adapters.store.inherited import inherited
from adapters.store.moves import (
    Move,
    bookings,
    decide,
    endings,
    write_answer,
    write_contents,
    write_goal,
    write_moves,
    write_opened,
    write_tasks,
)
from adapters.store.readers import Readers
from adapters.store.roots import write_root
from adapters.store.slots import LOCK, let_go, opening
from adapters.store.statements import Reader, Row, Writes
from adapters.store.tallies import NO_GUARD, Guard, Watch, here_of
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.errors import IllegalMove, Refused, StoreBusy, StoreUnusable
from bot.goals import machine
from bot.goals.events import GoalOpened
from bot.goals.goal import Goal, State
from bot.goals.limits import Limits
from bot.goals.machine import Entry
from bot.ports.journal import Applied, Content, Line, Reply, Task, Unit
from bot.ports.mail import NEW

_E, _C, _G, _T = queries.EVENT, queries.CONTENT, queries.GOAL, queries.TASK
LINE: Final = (
    _E.c.goal, _E.c.position, _E.c.seq, _E.c.kind, _E.c.data, _E.c.rule, _E.c.before, _E.c.after,
    _E.c.changes,
)  # fmt: skip
"""The columns that `line` makes a journal line of."""

_STATES: Final = {state.value: state for state in State}
"""Looked up in a tenth of the time that `State(value)` takes."""
GOAL_DATA: Final = select(_G.c.data).where(_G.c.id == bindparam("of_goal"))
_HISTORY: Final = (
    select(*LINE)
    .where(_E.c.session == bindparam("of_session"), _E.c.position > bindparam("of_after"))
    .order_by(_E.c.position)
)
_CONTENT: Final = select(_C.c.text).where(
    _C.c.session == bindparam("of_session"), _C.c.hash == bindparam("of_hash")
)
_TASKS: Final = (
    select(_T.c.title, _T.c.state, _T.c.evidence, _G.c.session)
    .join(_G, _G.c.id == _T.c.goal)
    .where(_T.c.goal == bindparam("of_goal"))
    .order_by(_T.c.position)
)
_SESSION: Final = (
    select(queries.SESSION.c.thread).where(queries.SESSION.c.id == bindparam("of_session"))
).with_for_update()
_PERSON: Final = select(queries.PERSON.c.id).where(queries.PERSON.c.id == bindparam("of_person"))


class StoreJournal:
    """Port Journal."""

    def __init__(
        self, writer: Writer, readers: Readers, limits: Limits, guard: Guard = NO_GUARD
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._limits = limits
        self._guard = guard
        self._bounds = Bounds() if readers.is_near else None
        self._limits_hash = codec.limits_hash(limits)

    async def open(
        self,
        opened: GoalOpened,
        contents: Sequence[Content],
        handled: tuple[str, ...] = (),
        reply: Reply | None = None,
        root: Callable[[Applied], str] | None = None,
    ) -> Applied:
        """Write a goal's first entry, with the next number (an `ask` has 0).

        Raises:
            Refused: code `one_goal`: the session has a live goal; `asks`: too many are under way.
            KeyError: the session, the owner or the goal that it reopens is not there.
            IllegalMove: a goal with this id is there; a message was handled already.
            StoreBusy, StoreUnusable.
        """

        def job(tx: Transaction) -> Applied:
            thread = _check_opening(tx, opened)
            check_waiting(tx, handled)
            at = tx.now()
            event = replace(opened, number=_next_number(tx, opened), at=at)
            event = opening(tx, self._guard, event)
            moved = machine.open_goal(event, self._limits)
            entry = machine.entry(None, event, moved)
            move = Move(None, moved.goal, entry, moved.instructions)
            writes = Writes()
            write_opened(writes, moved.goal, event.reopens)
            write_copy(writes, event)
            write_contents(writes, event.session, inherited(tx, event, contents), at)
            write_moves(writes, (move,), self._limits_hash)
            write_handled(writes, handled, at)
            applied = Applied(moved.goal, (entry,), moved.instructions)
            write_answer(writes, reply, applied, at)
            if root is not None and thread.startswith(NEW):
                write_root(writes, event.session, thread, root(applied), at, event.goal)
            tx.write(writes)
            return applied

        return await self._writer.do(job, lane=opened.goal)

    async def commit(self, unit: Unit) -> Applied:
        """Apply the unit's events in order to the goal as it is now.

        Raises:
            Refused, IllegalMove: one event does not fit; nothing of the unit is written.
            KeyError: there is no such goal.
            StoreBusy, StoreUnusable.
        """

        def job(tx: Transaction) -> Applied:
            return self.apply(tx, unit)

        try:
            return await self._writer.do(job, lane=unit.goal, urgent=unit.urgent)
        except (StoreBusy, StoreUnusable):
            if self._bounds is not None:
                self._bounds.forget()
            raise

    async def goal(self, goal: str) -> Goal:
        """The goal's row now. Raises KeyError when there is none."""
        return await self._readers.glance(lambda reader: read_goal(reader, goal))

    async def history(self, session: str, after: int = 0) -> tuple[Line, ...]:
        """The session's journal lines with a position above `after`, in order."""

        def query(reader: Reader) -> tuple[Line, ...]:
            return lines(reader.all(_HISTORY, of_session=session, of_after=after))

        # What came since is a turn's lines at most; from the beginning it may be thousands.
        return await (self._readers.glance(query) if after else self._readers.do(query))

    async def contents(self, session: str, hashes: Sequence[str]) -> Mapping[str, str]:
        """The texts of those hashes that are still there."""
        return await self._readers.glance(lambda reader: read_contents(reader, session, hashes))

    async def tasks(self, goal: str) -> tuple[Task, ...]:
        """The goal's task list, in its order."""
        return await self._readers.glance(lambda reader: _read_tasks(reader, goal))

    def forget_bounds(self) -> None:
        """What the caps' scopes have spent is read anew: sums were moved."""
        if self._bounds is not None:
            self._bounds.forget()

    def apply(self, tx: Transaction, unit: Unit) -> Applied:
        """`commit`, as a part of what else the transaction writes. Raises as `commit`."""
        row = tx.one(queries.LOAD_GOAL, of_goal=unit.goal)
        if row is None:
            raise KeyError(f"There is no goal {unit.goal}.")
        data, epoch, worker, *there = row
        goal = codec.load_goal(data)
        is_last = epoch == unit.epoch
        fenced = unit.epoch is not None and not (worker and is_last)
        if not fenced:
            check_waiting(tx, unit.handled)
        at = tx.now()
        events = unit.events if not fenced else endings(unit) if is_last else bookings(unit)
        watch = Watch(tx, goal, here_of(self._guard, tuple(there)), at, self._bounds)
        moves = tuple(decide(goal, events, at, self._limits, watch.start))
        after = moves[-1].after if moves else goal
        writes = Writes()
        if moves:
            write_goal(writes, goal, after)
        if not fenced or is_last:
            write_contents(writes, goal.session, unit.contents, at, unit.events)
        write_rewound(tx, writes, goal, events)
        point = point_of(tx, moves, unit)
        write_moves(writes, moves, self._limits_hash, watch.here.room, point)
        watch.write(writes, moves)
        if unit.files:
            shared = ((move.after, move.entry) for move in moves)
            write_shared(writes, shared, unit.files, at)
        if unit.artifacts and not fenced:
            write_artifacts(writes, after, unit.artifacts, at)
        if unit.tasks is not None and not fenced:
            write_tasks(writes, after, unit.tasks, at)
        if not fenced:
            write_handled(writes, unit.handled, at)
        entries = tuple(move.entry for move in moves)
        asked = tuple(one for move in moves for one in move.instructions)
        applied = Applied(after, entries, asked, fenced)
        write_answer(writes, unit.reply, applied, at)
        tx.write(writes)
        if after.is_final and not goal.is_final and goal.kind == "goal":
            let_go(tx, self._guard, self._limits, self._limits_hash)
        return applied


def line(row: Row) -> Line:
    """The journal line in a row of the columns `LINE`."""
    goal, position, seq, kind, data, rule, before, after, changes = row
    event = codec.load_event(kind, data)
    was = _STATES[before] if before else None
    entry = Entry(seq, event, rule, was, _STATES[after], codec.load_changes(changes))
    return Line(goal, position, entry)


def lines(rows: Iterable[Row]) -> tuple[Line, ...]:
    """The journal lines in rows of the columns `LINE`."""
    return tuple(line(row) for row in rows)


def read_goal(reader: Reader, goal: str) -> Goal:
    """The goal's row. Raises KeyError."""
    row = reader.one(GOAL_DATA, of_goal=goal)
    if row is None:
        raise KeyError(f"There is no goal {goal}.")
    return codec.load_goal(row[0])


def read_contents(reader: Reader, session: str, hashes: Iterable[str]) -> dict[str, str]:
    """The texts that are still there, by hash."""
    found = {}
    for hash in dict.fromkeys(hashes):
        row = reader.one(_CONTENT, of_session=session, of_hash=hash)
        if row is not None and row[0] is not None:
            found[hash] = row[0]
    return found


def check_waiting(tx: Transaction, messages: Iterable[str]) -> int:
    """Lock inbox messages that are about to be handled; return the attempts of the last one.

    Raises:
        IllegalMove: one does not wait any more: what it caused is there already.
    """
    attempts = 0
    for message in messages:
        row = tx.one(queries.INBOX_STATE, of_id=message)
        if row is None or row[0] != "waiting":
            raise IllegalMove(f"Message {message} does not wait to be handled: drop it.")
        attempts = row[1]
    return attempts


def write_handled(writes: Writes, messages: Iterable[str], at: float) -> None:
    """Messages whose consequence this transaction is."""
    for message in messages:
        writes.add(queries.HANDLE, of_id=message, state="handled", handled_at=at)


def _check_opening(tx: Transaction, opened: GoalOpened) -> str:
    """Raise where it cannot be opened; returns the session's thread."""
    session = tx.one(_SESSION, of_session=opened.session)
    if session is None:
        raise KeyError(f"There is no session {opened.session}: begin it first.")
    if tx.one(_PERSON, of_person=opened.owner) is None:
        raise KeyError(f"There is no person {opened.owner}: make them known first.")
    if opened.reopens and tx.one(GOAL_DATA, of_goal=opened.reopens) is None:
        raise KeyError(f"There is no goal {opened.reopens} to reopen.")
    if tx.one(GOAL_DATA, of_goal=opened.goal) is not None:
        raise IllegalMove(f"Goal {opened.goal} is there already.")
    if opened.kind == "goal" and tx.one(queries.LIVE_GOAL, of_session=opened.session) is not None:
        raise Refused("This thread has a live goal already: end it first.", code="one_goal")
    return str(session[0])


def _next_number(tx: Transaction, opened: GoalOpened) -> int:
    if opened.kind == "ask":
        return 0
    tx.alone(LOCK)
    row: Any = tx.one(queries.LAST_NUMBER)
    return int(row[0] or 0) + 1


def _read_tasks(reader: Reader, goal: str) -> tuple[Task, ...]:
    rows = reader.all(_TASKS, of_goal=goal)
    if not rows:
        return ()
    hashes = [hash for row in rows for hash in (row[0], row[2]) if hash]
    texts = read_contents(reader, rows[0][3], hashes)
    return tuple(Task(texts.get(row[0], ""), row[1], texts.get(row[2], "")) for row in rows)
