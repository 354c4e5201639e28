"""What was spent, as rows; and the look at goals that a cap or a queue holds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import bindparam, case, exists, func, select, text

from adapters.store import codec, queries
from adapters.store.journal import check_waiting
from adapters.store.people import write_notes
from adapters.store.readers import Readers
from adapters.store.slots import fire, let_go
from adapters.store.statements import Reader, Writes
from adapters.store.tallies import (
    Guard,
    Here,
    day_of,
    here_of,
    is_lifted,
    jitter_s,
    lift_key,
    read_sums,
    say_reached,
)
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.goals.caps import NOTHING, SCOPES, Amount, Reached, Scope, reached
from bot.goals.events import CapReached, WaitFired
from bot.goals.goal import Goal, State, Wait
from bot.goals.limits import Limits
from bot.ports.chat import Place
from bot.ports.people import Answer
from bot.ports.spending import Bill, Share, Spent, Swept

BUCKET_S: Final = 900
"""Every zone's day begins on a quarter of an hour."""

_G, _S, _R, _P = queries.GOAL, queries.SESSION, queries.ROOM, queries.PERSON
_T, _W, _H = queries.STEP, queries.WAIT, queries.HOLD
_above: Final = _R.alias("above")

_IS_HELD: Final = (
    select(_W.c.id, exists().where(text("hold.scope IN ('all', 'restore')")).select_from(_H))
    .where(text("state = 'open' AND kind IN ('cap', 'slot')"))
    .limit(1)
)
_CAPPED: Final = (
    queries.there(select(_G.c.data).join(_S, _S.c.id == _G.c.session))
    .join(_W, _W.c.goal == _G.c.id)
    .where(text("wait.state = 'open' AND wait.kind = 'cap' AND goal.state = 'waiting'"))
    .order_by(_G.c.number)
    .with_for_update(of=_G, skip_locked=True)
)
_HERE: Final = queries.there(
    select(_G.c.id).join(_S, _S.c.id == _G.c.session).where(_G.c.id == bindparam("of_goal"))
)
_ROOM_AT: Final = (
    select(_R.c.id, _R.c.id, _R.c.settings, _above.c.settings)
    .outerjoin(_above, queries.is_workspace_of(_above, _R))
    .where(
        _R.c.network == bindparam("of_network"),
        _R.c.workspace == bindparam("of_workspace"),
        _R.c.name == bindparam("of_name"),
    )
)
_PERSON: Final = select(_P.c.name).where(_P.c.id == bindparam("of_id"))
_ROOM: Final = select(_R.c.network, _R.c.name).where(_R.c.id == bindparam("of_id"))
_tokens: Final = (
    _T.c.input + _T.c.cache_write_5m + _T.c.cache_write_1h + _T.c.cache_read + _T.c.output
    + _T.c.estimated_tokens
)  # fmt: skip
_WHAT: Final = (
    _G.c.id, _G.c.number, _G.c.owner, _P.c.name.label("owner_name"), _S.c.room, _R.c.network,
    _R.c.workspace, _R.c.name.label("room_name"), _T.c.name.label("role"), _T.c.model,
)  # fmt: skip
_BILLS: Final = (
    select(
        *_WHAT,
        text(f"CAST(step.ended_at AS BIGINT) / {BUCKET_S} AS bucket"),
        func.count(),
        func.sum(_tokens),
        func.sum(func.coalesce(_T.c.nano_usd, text("0")) + _T.c.estimated_nano_usd),
        func.sum(_T.c.estimated_nano_usd),
        func.sum(case((_T.c.nano_usd.is_(None), _tokens), else_=text("0"))),
    )
    .select_from(_T)
    .join(_G, _G.c.id == _T.c.goal)
    .join(_S, _S.c.id == _G.c.session)
    .join(_R, _R.c.id == _S.c.room)
    .join(_P, _P.c.id == _G.c.owner)
    .where(
        text("step.kind = 'call' AND step.state IN ('settled', 'lost')"),
        _T.c.ended_at >= bindparam("of_since"),
    )
    .group_by(*_WHAT, text("bucket"))
    .order_by(text("bucket"), _G.c.number, _T.c.name)
)


class StoreSpending:
    """Port Spending."""

    def __init__(
        self,
        writer: Writer,
        readers: Readers,
        limits: Limits,
        guard: Guard,
        now: Callable[[], float],
    ) -> None:
        self._writer, self._readers = writer, readers
        self._limits, self._guard, self._now = limits, guard, now
        self._limits_hash = codec.limits_hash(limits)
        self._said: set[tuple[str, ...]] = set()
        """Caps whose post was queued by a look here, so that it is not queued again."""

    async def bills(self, since: float | None = None) -> tuple[Bill, ...]:
        """What every call cost that ended since then, ordinary turns included."""
        rows = await self._readers.do(lambda reader: reader.all(_BILLS, of_since=since or 0.0))
        return tuple(_bill(row) for row in rows)

    async def shares(self, goal: Goal) -> tuple[Share, ...]:
        """Today's share of each cap that the goal is charged to."""
        return await self._readers.glance(lambda reader: self._shares(reader, goal))

    async def shares_of(self, person: str, place: Place) -> tuple[Share, ...]:
        """Today's share of each cap of a person and of a room."""
        of = {"of_network": place.network, "of_workspace": place.workspace, "of_name": place.room}

        def query(reader: Reader) -> tuple[Share, ...]:
            row = reader.one(_ROOM_AT, **of)
            return () if row is None else self._at(reader, here_of(self._guard, row[1:]), person)

        return await self._readers.glance(query)

    async def lift(self, goal: str, answer: Answer) -> bool:
        """Let a goal that a cap holds pass the caps of today, and queue the answer; False: none does."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            row = tx.one(queries.LOAD_GOAL, of_goal=goal)
            if row is None:
                return False
            held, here, at = codec.load_goal(row[0]), here_of(self._guard, row[3:]), tx.now()
            wait = held.wait
            if held.state is not State.WAITING or wait is None or wait.kind != "cap":
                return False
            tx.run(queries.TELL, key=lift_key(held.id, day_of(at, here.zone)), at=at)
            self._free(tx, held, wait, here, why="lifted")
            write_notes(tx, answer)
            return True

        return await self._writer.do(job)

    async def sweep(self) -> Swept:
        """Let go what a cap or a full house holds and need not hold any more."""
        held = await self._readers.glance(lambda reader: reader.one(_IS_HELD))
        if held is None:
            return Swept()
        if held[1]:
            return Swept(is_on_hold=True)

        def job(tx: Transaction) -> Swept:
            freed = let_go(tx, self._guard, self._limits, self._limits_hash)
            uncapped = self._uncapped(tx)
            return replace(uncapped, freed=freed + uncapped.freed)

        return await self._writer.do(job)

    def _shares(self, reader: Reader, goal: Goal) -> tuple[Share, ...]:
        row = reader.one(_HERE, of_goal=goal.id)
        return () if row is None else self._at(reader, here_of(self._guard, row[1:]), goal.owner)

    def _at(self, reader: Reader, here: Here, person: str) -> tuple[Share, ...]:
        if not here.caps.nano_usd:
            return ()
        spent, _ = read_sums(reader, day_of(self._now(), here.zone), person, here.room)
        return tuple(
            Share(scope, spent[scope].nano_usd, here.caps.nano_usd[scope])
            for scope in SCOPES
            if scope in here.caps.nano_usd
        )

    def _uncapped(self, tx: Transaction) -> Swept:
        """Goals whose call fits again: a cap was raised, or other calls cost less than they might."""
        at, freed = tx.now(), []
        spent: dict[Spent, None] = {}
        taken: list[tuple[str, str, Amount]] = []
        for data, *there in tx.all(_CAPPED):
            goal, here = codec.load_goal(data), here_of(self._guard, tuple(there))
            wait = goal.wait
            if wait is None or _parked_on(wait, goal, here) != day_of(at, here.zone):
                # Its own time lets it go, so that not all of a room begin at midnight.
                continue
            need = Amount(wait.nano_usd, wait.tokens)
            found = self._passed(tx, goal, here, need, taken, at)
            if found is None:
                taken.append((goal.owner, here.room, need))
                self._free(tx, goal, wait, here)
                freed.append(goal.id)
            elif found.is_spent:
                spent[_spent(tx, goal, here, found)] = None
        return Swept(tuple(freed), tuple(spent))

    def _passed(
        self,
        tx: Transaction,
        goal: Goal,
        here: Here,
        need: Amount,
        taken: list[tuple[str, str, Amount]],
        at: float,
    ) -> Reached | None:
        spent, held = read_sums(tx, day_of(at, here.zone), goal.owner, here.room)
        beside = {
            scope: held[scope] + _taken(taken, scope, goal.owner, here.room) for scope in held
        }
        found = reached(here.caps, spent, beside, need)
        if found is not None and is_lifted(tx, goal.id, day_of(at, here.zone)):
            return None
        if found is not None and found.is_spent:
            self._say(tx, goal, here, found.scope, found.limit, in_tokens=found.in_tokens, at=at)
        return found

    def _free(
        self, tx: Transaction, goal: Goal, wait: Wait, here: Here, why: str = "raised"
    ) -> None:
        fired = WaitFired(wait.id, why)
        fire(tx, goal, fired, self._limits, self._limits_hash, here.room)

    def _say(
        self, tx: Transaction, goal: Goal, here: Here, scope: Scope, limit: int, *,
        in_tokens: bool, at: float,
    ) -> None:  # fmt: skip
        """A cap that was near, for what others held back, is spent by now."""
        person = goal.owner if scope == "person" else ""
        known = (here.room, day_of(at, here.zone), scope, person, str(limit))
        if known in self._said:
            return
        self._said.add(known)
        writes = Writes()
        cap = CapReached(scope, limit, 0.0, tokens=int(in_tokens), at=at)
        say_reached(tx, writes, here, goal.owner, cap, at)
        tx.write(writes)


def _spent(reader: Reader, goal: Goal, here: Here, found: Reached) -> Spent:
    name = ""
    if found.scope == "person":
        row = reader.one(_PERSON, of_id=goal.owner)
        name = row[0] if row else ""
    elif found.scope == "room":
        row = reader.one(_ROOM, of_id=here.room)
        name = f"{row[0]}:{row[1]}" if row else ""
    return Spent(found.scope, name, found.limit, found.in_tokens)


def _parked_on(wait: Wait, goal: Goal, here: Here) -> str:
    return day_of(wait.until - jitter_s(goal.id) - 1, here.zone)


def _taken(taken: list[tuple[str, str, Amount]], scope: Scope, person: str, room: str) -> Amount:
    counts = (
        need
        for whose, where, need in taken
        if scope == "all" or (whose == person if scope == "person" else where == room)
    )
    return sum(counts, NOTHING)


def _bill(row: Any) -> Bill:
    *what, bucket = row[:11]
    goal, number, owner, owner_name, room_id, network, workspace, room, role, model = what
    sums = row[11:]
    calls, tokens, nano, estimated, unpriced = (int(value or 0) for value in sums)
    return Bill(
        goal, number, owner, owner_name, room_id, network, workspace, room, role, model,
        float(int(bucket) * BUCKET_S), calls, tokens, nano, estimated, unpriced,
    )  # fmt: skip
