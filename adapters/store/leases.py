"""
Who works at which goal, as rows.

A lease is held while it names a worker; one whose time is over may be taken by anybody, and until
then its worker may go on. Taking one bumps the epoch, which every write of a worker brings along.

Where several processes work, each names the folder of its workspaces, its *home*. A session's first
claim puts its workspace there, and from then on only processes of that home claim its goals: the
files are nowhere else.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Select, bindparam, func, or_, select, text, update

from adapters.store import codec, queries
from adapters.store.holds import LOCK
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row, Statement
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.journal import EndpointRow, Lease

LEASE_S: Final = 30.0
"""How long a lease lasts unless told otherwise; its worker renews it every 10 s."""

_UNHELD: Final = text(
    "NOT EXISTS (SELECT 1 FROM hold WHERE hold.scope IN ('all', 'restore')"
    " OR hold.scope = 'person:' || goal.owner OR hold.scope = 'room:' ||"
    " (SELECT held.room FROM session AS held WHERE held.id = goal.session))"
)
"""Read while `beside` the holds: see `adapters.store.holds`."""

_G, _L, _E, _S = queries.GOAL, queries.LEASE, queries.ENDPOINT, queries.SESSION
_FREE: Final = or_(_L.c.worker == "", _L.c.until <= bindparam("of_now"))
_TAKEN: Final = (_G.c.id, _G.c.data, _L.c.epoch, _L.c.worker)


def _at_home(query: Select[Any]) -> Select[Any]:
    at_home = or_(_S.c.home == "", _S.c.home == bindparam("of_home"))
    return query.join(_S, _S.c.id == _G.c.session).add_columns(_S.c.id, _S.c.home).where(at_home)


def _due(*columns: Any) -> Any:
    joined = select(*columns).join(_L, _L.c.goal == _G.c.id)
    return joined.where(text("goal.due_at IS NOT NULL"), _UNHELD)


_CLAIM: Final = (
    _due(*_TAKEN)
    .where(_G.c.due_at <= bindparam("of_now"), _FREE)
    .order_by(_G.c.due_at, _G.c.id)
    .limit(bindparam("of_limit"))
    .with_for_update(of=(_G, _L), skip_locked=True)
)
_CLAIM_ONE: Final = (
    _due(*_TAKEN)
    .where(
        _G.c.id == bindparam("of_goal"),
        _G.c.due_at <= bindparam("of_now"),
        or_(_FREE, _L.c.worker == bindparam("of_worker")),
    )
    .with_for_update(of=(_G, _L))
)
_TAKE: Final = queries.set_in(_L, "epoch", "worker", "until").where(
    _L.c.goal == bindparam("of_goal")
)
_HELD: Final = (
    _L.c.goal == bindparam("of_goal"),
    _L.c.worker == bindparam("of_worker"),
    _L.c.epoch == bindparam("of_epoch"),
)
_CLAIM_AT_HOME: Final = _at_home(_CLAIM)
_CLAIM_ONE_AT_HOME: Final = _at_home(_CLAIM_ONE)
_SETTLE: Final = queries.set_in(_S, "home").where(
    _S.c.id == bindparam("of_session"), text("home = ''")
)
_RENEW: Final = queries.set_in(_L, "until").where(*_HELD)
_RELEASE: Final = update(_L).values(worker=text("''")).where(*_HELD)
_VOID: Final = update(_L).values(worker=text("''")).where(text("worker <> ''"))
_VOID_OF: Final = _VOID.where(_L.c.worker.like(bindparam("of_workers")))
_NEXT_DUE: Final = _due(func.min(_G.c.due_at)).where(_FREE)
_NEXT_DUE_AT_HOME: Final = _NEXT_DUE.join(_S, _S.c.id == _G.c.session).where(
    or_(_S.c.home == "", _S.c.home == bindparam("of_home"))
)
_STOPPED: Final = select(_G.c.data).where(
    queries.among(_G.c.id),
    text("state IN ('paused', 'cancelled')"),
)

_KEPT: Final = select(_L.c.goal, _L.c.epoch).where(
    queries.among(_L.c.goal),
    _L.c.worker == bindparam("of_worker"),
)

_C: Final = queries.RESERVATION
_ABANDONED: Final = (
    select(_C.c.goal, _C.c.call)
    .join(_G, _G.c.id == _C.c.goal)
    .join(_L, _L.c.goal == _C.c.goal)
    .where(text("goal.due_at IS NULL"), _FREE)
    .order_by(_C.c.goal, _C.c.at, _C.c.call)
)

_SAVE: Final = queries.upsert(
    queries.into(_E), ("name",), "kind", "since", "attempts", "closed_until", "last_success"
)
_FORGET: Final = _E.delete().where(_E.c.name == bindparam("of_name"))
_ENDPOINTS: Final = select(*_E.c).order_by(_E.c.name)


class StoreLeases:
    """Port Leases."""

    def __init__(
        self, writer: Writer, readers: Readers, lease_s: float = LEASE_S, home: str = ""
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._lease_s = lease_s
        self._home = home
        self.takeovers = 0
        """Leases taken since the start that had lapsed in another worker's hands."""

    async def claim(self, worker: str, *, limit: int) -> tuple[Lease, ...]:
        """Take due goals that nobody holds, oldest due first, bumping each one's epoch."""

        def job(tx: Transaction) -> tuple[tuple[Lease, bool], ...]:
            tx.beside(LOCK)
            now = tx.now()
            query, of = self._at_home(_CLAIM, _CLAIM_AT_HOME)
            rows = tx.all(query, of_now=now, of_limit=limit, **of)
            ours = [row for row in rows if self._is_at_home(tx, row)]
            until = now + self._lease_s
            return tuple(
                (_take(tx, worker, row, until), row[3] not in ("", worker)) for row in ours
            )

        taken = await self._writer.do(job)
        self.takeovers += sum(was_others for _, was_others in taken)
        return tuple(lease for lease, _ in taken)

    async def claim_one(self, worker: str, goal: str) -> Lease | None:
        """Take this goal if it is due and nobody else holds it."""

        def job(tx: Transaction) -> Lease | None:
            tx.beside(LOCK)
            now = tx.now()
            query, of = self._at_home(_CLAIM_ONE, _CLAIM_ONE_AT_HOME)
            row = tx.one(query, of_now=now, of_goal=goal, of_worker=worker, **of)
            if row is None or not self._is_at_home(tx, row):
                return None
            return _take(tx, worker, row, now + self._lease_s)

        return await self._writer.do(job)

    async def renew(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Extend the leases (goal -> epoch); returns the goals whose lease is still held."""

        def job(tx: Transaction) -> frozenset[str]:
            until = tx.now() + self._lease_s
            return frozenset(
                goal
                for goal, epoch in sorted(held.items())
                if tx.run(_RENEW, of_goal=goal, of_worker=worker, of_epoch=epoch, until=until)
            )

        return await self._writer.do(job)

    async def release(self, worker: str, held: Mapping[str, int]) -> None:
        """Give leases back at once."""

        def job(tx: Transaction) -> None:
            for goal, epoch in sorted(held.items()):
                tx.run(_RELEASE, of_goal=goal, of_worker=worker, of_epoch=epoch)

        await self._writer.do(job)

    async def next_due(self) -> float | None:
        """The earliest due time of a goal that nobody holds."""

        def job(tx: Transaction) -> float | None:
            query, of = self._at_home(_NEXT_DUE, _NEXT_DUE_AT_HOME)
            row = tx.one(query, of_now=tx.now(), **of)
            return None if row is None else row[0]

        return await self._writer.do(job)

    async def lost(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Those of the leases (goal -> epoch) that a hold or another worker has ended."""

        def query(reader: Reader) -> frozenset[str]:
            kept: set[tuple[str, int]] = set()
            for of in queries.groups(tuple(held)):
                kept.update((row[0], row[1]) for row in reader.all(_KEPT, **of, of_worker=worker))
            return frozenset(goal for goal, epoch in held.items() if (goal, epoch) not in kept)

        return await self._readers.glance(query)

    async def stopped(self, goals: Sequence[str]) -> frozenset[str]:
        """Those of the goals that a person has stopped or cancelled."""

        def query(reader: Reader) -> frozenset[str]:
            rows: list[Row] = []
            for of in queries.groups(goals):
                rows += reader.all(_STOPPED, **of)
            found = (codec.load_goal(row[0]) for row in rows)
            return frozenset(one.id for one in found if one.is_final or one.reason == "stopped")

        return await self._readers.do(query)

    async def abandoned(self) -> Mapping[str, tuple[str, ...]]:
        """Calls in flight that nobody will settle, by goal."""

        def job(tx: Transaction) -> Mapping[str, tuple[str, ...]]:
            found: dict[str, tuple[str, ...]] = {}
            for goal, call in tx.all(_ABANDONED, of_now=tx.now()):
                found[goal] = (*found.get(goal, ()), call)
            return found

        return await self._writer.do(job)

    async def void(self, workers: str) -> int:
        """End the leases of workers whose name begins so: they are gone. Returns how many."""

        def job(tx: Transaction) -> int:
            return tx.run(_VOID_OF, of_workers=f"{workers}%")

        return await self._writer.do(job)

    async def save_endpoint(self, row: EndpointRow | None, *, name: str) -> None:
        """Remember (or, with None, forget) an endpoint's trouble."""

        def job(tx: Transaction) -> None:
            if row is None:
                tx.run(_FORGET, of_name=name)
                return
            tx.run(
                _SAVE,
                name=name,
                kind=row.kind,
                since=row.since,
                attempts=row.attempts,
                closed_until=row.closed_until,
                last_success=row.last_success,
            )

        await self._writer.do(job)

    async def endpoints(self) -> tuple[EndpointRow, ...]:
        """Every endpoint in trouble."""
        rows = await self._readers.do(lambda reader: reader.all(_ENDPOINTS))
        return tuple(EndpointRow(*row) for row in rows)

    def _at_home(self, anywhere: Statement, at_home: Statement) -> tuple[Statement, dict[str, str]]:
        return (at_home, {"of_home": self._home}) if self._home else (anywhere, {})

    def _is_at_home(self, tx: Transaction, row: Row) -> bool:
        """True once the goal's workspace is ours to use; another process may be quicker."""
        if not self._home or row[5] == self._home:
            return True
        return tx.run(_SETTLE, of_session=row[4], home=self._home) == 1


def void_leases(tx: Transaction) -> int:
    """End every lease: their owner is gone. Returns how many there were."""
    return tx.run(_VOID)


def _take(tx: Transaction, worker: str, row: Row, until: float) -> Lease:
    goal, data, epoch, *_ = row
    tx.run(_TAKE, of_goal=goal, epoch=epoch + 1, worker=worker, until=until)
    return Lease(codec.load_goal(data), epoch + 1)
