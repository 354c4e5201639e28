"""Rows for lists, traces and bills."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import bindparam, func, select, text

from adapters.store import codec, queries
from adapters.store.journal import LINE, lines, read_goal
from adapters.store.places import place_of
from adapters.store.readers import Readers
from adapters.store.rooms import THREADS, thread_of
from adapters.store.statements import Reader, Row, Statement
from bot.goals.goal import Decision
from bot.goals.machine import Entry
from bot.goals.money import Usage
from bot.ports.mail import Thread
from bot.ports.records import AuditRow, DecisionRow, GoalRow, Parked, Spent, Step, Trace

_A, _D, _E, _G = queries.AUDIT, queries.DECISION, queries.EVENT, queries.GOAL
_O, _P, _R, _S, _T = queries.OUTBOX, queries.PERSON, queries.ROOM, queries.SESSION, queries.STEP

_ROWS: Final = (
    select(_G.c.data, _R.c.network, _R.c.workspace, _R.c.name, _S.c.thread, _P.c.name)
    .join(_S, _S.c.id == _G.c.session)
    .join(_R, _R.c.id == _S.c.room)
    .join(_P, _P.c.id == _G.c.owner)
    .order_by(_G.c.opened_at.desc(), _G.c.number.desc())
)
_GOALS: Final = _ROWS.where(text("goal.number > 0"))
_JOURNAL: Final = select(*LINE).where(_E.c.goal == bindparam("of_goal")).order_by(_E.c.seq)
_USAGE: Final = (
    _T.c.input, _T.c.cache_write_5m, _T.c.cache_write_1h, _T.c.cache_read, _T.c.output,
    _T.c.server_tools,
)  # fmt: skip
_STEPS: Final = (
    select(
        _T.c.ref, _T.c.kind, _T.c.name, _T.c.turn, _T.c.state, _T.c.model, _T.c.effects, *_USAGE,
        _T.c.nano_usd, _T.c.estimated_tokens, _T.c.estimated_nano_usd, _T.c.content,
        _T.c.started_at, _T.c.ended_at, _T.c.runs,
    )
    .where(_T.c.goal == bindparam("of_goal"))
    .order_by(_T.c.seq)
)  # fmt: skip
_AUDITS: Final = (
    select(
        _A.c.seq, _A.c.turn, _A.c.revision, _A.c.verdict, _A.c.failure, _A.c.rule, _A.c.note,
        _A.c.evidence, _A.c.at,
    )
    .where(_A.c.goal == bindparam("of_goal"))
    .order_by(_A.c.seq)
)  # fmt: skip
_DECISIONS: Final = (
    select(
        _D.c.id, _D.c.number, _D.c.kind, _D.c.text, _D.c.expires_at, _D.c.tool_use, _D.c.reminded,
        _D.c.answered, _D.c.call, _D.c.state, _D.c.by, _D.c.answer, _D.c.opened_at, _D.c.closed_at,
        _D.c.scope,
    )
    .where(_D.c.goal == bindparam("of_goal"))
    .order_by(_D.c.opened_at, _D.c.number)
)  # fmt: skip
_SPEND: Final = (
    select(
        _T.c.name,
        func.sum(text("CASE WHEN step.state IN ('settled', 'lost') THEN 1 ELSE 0 END")),
        *(func.sum(column) for column in _USAGE),
        func.sum(func.coalesce(_T.c.nano_usd, text("0"))),
        func.sum(_T.c.estimated_tokens),
        func.sum(_T.c.estimated_nano_usd),
        func.max(text("CASE WHEN step.nano_usd IS NULL THEN 1 ELSE 0 END")),
    )
    .where(_T.c.goal == bindparam("of_goal"), text("step.kind = 'call'"))
    .group_by(_T.c.name)
    .order_by(_T.c.name)
)
_SESSIONS: Final = THREADS.order_by(_S.c.opened_at, _S.c.id)
_DEPTH: Final = (
    select(_O.c.state, func.count())
    .where(text("outbox.state NOT IN ('sent', 'superseded')"))
    .group_by(_O.c.state)
)
_WAITS: Final = (
    select(_G.c.data)
    .where(
        text("goal.due_at IS NOT NULL AND goal.state = 'waiting'"),
        _G.c.due_at <= bindparam("of_by"),
    )
    .order_by(_G.c.due_at, _G.c.id)
)


class StoreRecords:
    """Port Records."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def goals(self, *, with_asks: bool = False) -> tuple[GoalRow, ...]:
        """Every goal, newest first."""
        rows = await self._all(_ROWS if with_asks else _GOALS)
        return tuple(
            GoalRow(codec.load_goal(data), place_of(network, workspace, room, thread), owner)
            for data, network, workspace, room, thread, owner in rows
        )

    async def journal(self, goal: str) -> tuple[Entry, ...]:
        """The goal's entries in order. Raises KeyError when there is no such goal."""
        rows = await self._all(_JOURNAL, of_goal=goal)
        if not rows:
            raise KeyError(f"There is no goal {goal}.")
        return tuple(line.entry for line in lines(rows))

    async def trace(self, goal: str) -> Trace:
        """The goal's journal with its steps, audits and decisions. Raises KeyError."""

        def query(reader: Reader) -> Trace:
            return Trace(
                goal=read_goal(reader, goal),
                lines=lines(reader.all(_JOURNAL, of_goal=goal)),
                steps=tuple(_step(row) for row in reader.all(_STEPS, of_goal=goal)),
                audits=tuple(AuditRow(*row) for row in reader.all(_AUDITS, of_goal=goal)),
                decisions=tuple(_decision(row) for row in reader.all(_DECISIONS, of_goal=goal)),
            )

        return await self._readers.do(query)

    async def spend(self, goal: str) -> tuple[Spent, ...]:
        """What the goal's calls cost, by role."""
        return tuple(_spent(row) for row in await self._all(_SPEND, of_goal=goal))

    async def sessions(self) -> tuple[Thread, ...]:
        """Every session, oldest first."""
        return tuple(thread_of(row) for row in await self._all(_SESSIONS))

    async def outbox_depth(self) -> Mapping[str, int]:
        """How many rows of the outbox are in each state that is not `sent` or `superseded`."""
        return dict(await self._all(_DEPTH))

    async def wait_due(self, by: float) -> tuple[Parked, ...]:
        """The open waits that want a look by then, earliest first."""
        goals = [codec.load_goal(row[0]) for row in await self._all(_WAITS, of_by=by)]
        return tuple(
            Parked(goal.id, goal.wait, goal.due_at)
            for goal in goals
            if goal.wait is not None and goal.due_at is not None
        )

    async def _all(self, statement: Statement, **parameters: object) -> list[Row]:
        return await self._readers.do(lambda reader: reader.all(statement, **parameters))


def _step(row: Row) -> Step:
    ref, kind, name, turn, state, model, effects, *rest = row
    usage, (nano_usd, tokens, nano, content, started_at, ended_at, runs) = rest[:6], rest[6:]
    return Step(
        ref=ref,
        kind=kind,
        name=name,
        turn=turn,
        state=state,
        model=model,
        effects=effects,
        usage=Usage(*usage),
        nano_usd=nano_usd,
        estimated_tokens=tokens,
        estimated_nano_usd=nano,
        content=content,
        started_at=started_at,
        ended_at=ended_at,
        runs=runs,
    )


def _decision(row: Row) -> DecisionRow:
    id, number, kind, asked, expires_at, tool_use, reminded, answered, call, *rest = row
    decision = Decision(
        id, number, kind, asked, expires_at, tool_use, bool(reminded), bool(answered), call=call
    )
    return DecisionRow(decision, *rest)


def _spent(row: Row) -> Spent:
    role, calls, *rest = row
    usage, (nano_usd, tokens, nano, unknown) = [int(n) for n in rest[:6]], rest[6:]
    return Spent(
        role, int(calls), Usage(*usage), int(nano_usd), int(tokens), int(nano), bool(unknown)
    )
