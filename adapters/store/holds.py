"""
Holds, as rows, with the fence that each is.

A claim asks for the holds inside its own statement, and is `beside` them: on PostgreSQL no lease is
taken between a hold's look at the leases and its COMMIT. SQLite has one writer.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, get_args

from sqlalchemy import bindparam, delete, select, text

from adapters.store import queries
from adapters.store.journal import check_waiting
from adapters.store.people import write_notes
from adapters.store.places import find_room
from adapters.store.posts import STATUS_AFTER_S, queue
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row, Statement, Writes
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.goals.events import HoldEnded
from bot.ports.chat import Network, Place
from bot.ports.holds import ALL, RESTORE, Hold, of_person, of_room
from bot.ports.journal import Applied, Unit
from bot.ports.people import NOTHING, Answer

LOCK: Final = "hold"

_H, _G, _S, _L = queries.HOLD, queries.GOAL, queries.SESSION, queries.LEASE
_P, _R = queries.PERSON, queries.ROOM
_RR: Final = METADATA.tables["restored"]
Apply = Callable[[Transaction, Unit], Applied]

_ADD: Final = queries.into(_H).on_conflict_do_nothing()
_DELETE: Final = delete(_H).where(_H.c.scope == bindparam("of_scope"))
_OF_ALL: Final = select(_H.c.scope, _H.c.by, _H.c.at, _H.c.why, _P.c.name).outerjoin(
    _P, _P.c.id == _H.c.by
)
_STANDING: Final = _OF_ALL.order_by(_H.c.at, _H.c.scope)
_ONE: Final = _OF_ALL.where(_H.c.scope == bindparam("of_scope"))
_WIDEST: Final = text("CASE hold.scope WHEN 'restore' THEN 0 WHEN 'all' THEN 1 ELSE 2 END")
_OVER: Final = (
    _OF_ALL.where(
        text(
            "hold.scope IN ('restore', 'all') OR hold.scope = :of_owner OR hold.scope = 'room:' ||"
            " (SELECT session.room FROM session WHERE session.id = :of_session)"
        )
    )
    # A room before a person.
    .order_by(_WIDEST, _H.c.scope.desc())
)
_ROOM: Final = select(_R.c.network, _R.c.name).where(_R.c.id == bindparam("of_id"))
_PERSON: Final = select(_P.c.network, _P.c.name).where(_P.c.id == bindparam("of_id"))
_ROOMS: Final = select(_R.c.id, _R.c.network, _R.c.name).order_by(_R.c.network, _R.c.id)
_PEOPLE: Final = select(_P.c.id, _P.c.network, _P.c.name, _P.c.external).order_by(
    _P.c.network, _P.c.id
)

_COVERED: Final[dict[str, Any]] = {
    "all": text("1 = 1"),
    "room": _S.c.room == bindparam("of_covered"),
    "person": _G.c.owner == bindparam("of_covered"),
}
_LIVE: Final = (
    select(_G.c.id, _G.c.session, _G.c.seq, _G.c.opened_at)
    .join(_S, _S.c.id == _G.c.session)
    .where(text("goal.kind = 'goal' AND goal.state NOT IN ('complete', 'cancelled')"))
    .order_by(_G.c.number)
)
_DECIDING: Final = {
    kind: select(_G.c.id, _S.c.room, _G.c.owner)
    .join(_S, _S.c.id == _G.c.session)
    .where(text("goal.state = 'deciding'"), covers)
    for kind, covers in _COVERED.items()
}
_RESTORED: Final = select(_RR.c.made_at).order_by(_RR.c.at.desc()).limit(1)
_SHOWN: Final = {kind: _LIVE.where(covers) for kind, covers in _COVERED.items()}
_FENCE: Final = {
    kind: queries.set_in(_L, "worker").where(
        text("lease.worker <> ''"),
        _L.c.goal.in_(select(_G.c.id).join(_S, _S.c.id == _G.c.session).where(covers)),
    )
    for kind, covers in _COVERED.items()
}


class StoreHolds:
    """Port Holds."""

    def __init__(self, writer: Writer, readers: Readers, apply: Apply) -> None:
        """`apply`: `StoreJournal.apply`."""
        self._writer = writer
        self._readers = readers
        self._apply = apply

    async def hold(
        self, scope: str, by: str, why: str = "", answer: Answer = NOTHING
    ) -> tuple[Hold, bool]:
        """Stop the scope, and queue the answer; returns what stands, and whether it is new."""

        def job(tx: Transaction) -> tuple[Hold, bool]:
            tx.alone(LOCK)
            check_waiting(tx, answer.handled)
            is_new = set_hold(tx, scope, by, why)
            write_notes(tx, answer)
            row = tx.one(_ONE, of_scope=scope)
            assert row is not None
            return _named(tx, row), is_new

        return await self._writer.do(job, urgent=True)

    async def release(self, scope: str, answer: Answer = NOTHING) -> Hold | None:
        """Let the scope go on, and queue the answer; returns what stood."""

        def job(tx: Transaction) -> Hold | None:
            tx.alone(LOCK)
            check_waiting(tx, answer.handled)
            row = tx.one(_ONE, of_scope=scope)
            if row is not None:
                tx.run(_DELETE, of_scope=scope)
                for goal, held_s in _stood(tx, scope, row[2]):
                    self._apply(tx, Unit(goal, (HoldEnded(held_s),)))
                _show(tx, scope)
            write_notes(tx, answer)
            return None if row is None else _named(tx, row)

        return await self._writer.do(job)

    async def standing(self) -> tuple[Hold, ...]:
        """Every hold, oldest first."""
        return await self._readers.glance(read_holds)

    async def over(self, session: str, owner: str) -> Hold | None:
        """The hold, widest first, that stops the goals of this owner in this session."""

        def query(reader: Reader) -> Hold | None:
            row = reader.one(_OVER, of_session=session, of_owner=of_person(owner))
            return None if row is None else _named(reader, row)

        return await self._readers.glance(query)

    async def room_at(self, place: Place) -> str | None:
        """The scope of the room of that place, where it is known."""
        room = await self._readers.glance(lambda reader: find_room(reader, place))
        return None if room is None else of_room(room)

    async def named(self, kind: Literal["room", "person"], name: str) -> tuple[Hold, ...]:
        """Every room or person of that name, as the hold that it would be."""
        network, colon, rest = name.partition(":")
        if not colon or network not in get_args(Network):
            network, rest = "", name
        wanted = rest.lstrip("@#").casefold()
        query = _ROOMS if kind == "room" else _PEOPLE
        scope = of_room if kind == "room" else of_person
        rows = await self._readers.do(lambda reader: reader.all(query))
        return tuple(
            Hold(scope(id), name=_shown(at, names[0]))
            for id, at, *names in rows
            if network in ("", at) and wanted in [one.lstrip("@#").casefold() for one in names]
        )


def set_hold(tx: Transaction, scope: str, by: str, why: str = "") -> bool:
    """Write the hold and its fence, and let every goal that it covers show it; False: it stood."""
    if tx.run(_ADD, scope=scope, by=by, at=tx.now(), why=why) != 1:
        return False
    kind, of = _kind(scope)
    tx.run(_FENCE[kind], worker="", **of)
    _show(tx, scope)
    return True


def read_holds(reader: Reader) -> tuple[Hold, ...]:
    """Every hold, oldest first."""
    return tuple(_named(reader, row) for row in reader.all(_STANDING))


def _stood(tx: Transaction, scope: str, since: float) -> Iterator[tuple[str, float]]:
    """The goals with an open decision whose clock goes on now, and how long it stood.

    Where another hold stands still, it is that one's from when it was set. After a restore the clock
    stood from the moment of the backup.
    """
    kind, of = _kind(scope)
    if scope == RESTORE:
        made = tx.one(_RESTORED)
        since = since if made is None else min(since, made[0])
    standing = {row[0]: row[2] for row in tx.all(_STANDING)}
    for goal, room, owner in tx.all(_DECIDING[kind], **of):
        others = [standing.get(one) for one in (RESTORE, ALL, of_room(room), of_person(owner))]
        until = min([tx.now(), *(at for at in others if at is not None)])
        if until > since:
            yield goal, until - since


def _kind(scope: str) -> tuple[str, dict[str, str]]:
    kind, _, id = scope.partition(":")
    return (kind, {"of_covered": id}) if id else ("all", {})


def _show(tx: Transaction, scope: str) -> None:
    """An edit of the status message of every live goal that the scope covers."""
    kind, of = _kind(scope)
    at, writes = tx.now(), Writes()
    for goal, session, seq, opened_at in tx.all(_SHOWN[kind], **of):
        key = f"{goal}:status:{seq}.{round(at * 1000)}"
        queue(
            writes, key, "status", session, at, goal=goal, not_before=opened_at + STATUS_AFTER_S,
            statement=queries.INSERT_STATUS,
        )  # fmt: skip
    tx.write(writes)


def _named(reader: Reader, row: Row) -> Hold:
    scope, by, at, why, by_name = row
    kind, of = _kind(scope)
    found = None
    if of:
        query: Statement = _ROOM if kind == "room" else _PERSON
        found = reader.one(query, of_id=of["of_covered"])
    return Hold(scope, by, at, why, by_name or "", _shown(*found) if found else "")


def _shown(network: str, name: str) -> str:
    return f"{network}:{name}"
