"""
Who works at which goal, as rows.

A lease is held while it names a worker; one whose time is over may be taken by anybody, and until
then its worker may go on. Taking one bumps the epoch, which every write of a worker brings along.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import bindparam, func, or_, select, text, update

from adapters.store import codec, queries
from adapters.store.readers import Readers
from adapters.store.statements import Row
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.journal import EndpointRow, Lease

LEASE_S: Final = 30.0
"""How long a lease lasts unless told otherwise; its worker renews it every 10 s."""

_G, _L, _E = queries.GOAL, queries.LEASE, queries.ENDPOINT
_FREE: Final = or_(_L.c.worker == "", _L.c.until <= bindparam("of_now"))
_TAKEN: Final = (_G.c.id, _G.c.data, _L.c.epoch)


def _due(*columns: Any) -> Any:
    joined = select(*columns).join(_L, _L.c.goal == _G.c.id)
    return joined.where(text("goal.due_at IS NOT NULL"))


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
_RENEW: Final = queries.set_in(_L, "until").where(*_HELD)
_RELEASE: Final = update(_L).values(worker=text("''")).where(*_HELD)
_VOID: Final = update(_L).values(worker=text("''")).where(text("worker <> ''"))
_NEXT_DUE: Final = _due(func.min(_G.c.due_at)).where(_FREE)

_SAVE: Final = queries.upsert(
    queries.into(_E), ("name",), "kind", "since", "attempts", "closed_until", "last_success"
)
_FORGET: Final = _E.delete().where(_E.c.name == bindparam("of_name"))
_ENDPOINTS: Final = select(*_E.c).order_by(_E.c.name)


class StoreLeases:
    """Port Leases."""

    def __init__(self, writer: Writer, readers: Readers, lease_s: float = LEASE_S) -> None:
        self._writer = writer
        self._readers = readers
        self._lease_s = lease_s

    async def claim(self, worker: str, *, limit: int) -> tuple[Lease, ...]:
        """Take due goals that nobody holds, oldest due first, bumping each one's epoch."""

        def job(tx: Transaction) -> tuple[Lease, ...]:
            now = tx.now()
            rows = tx.all(_CLAIM, of_now=now, of_limit=limit)
            return tuple(_take(tx, worker, row, now + self._lease_s) for row in rows)

        return await self._writer.do(job)

    async def claim_one(self, worker: str, goal: str) -> Lease | None:
        """Take this goal if it is due and nobody else holds it."""

        def job(tx: Transaction) -> Lease | None:
            now = tx.now()
            row = tx.one(_CLAIM_ONE, of_now=now, of_goal=goal, of_worker=worker)
            return None if row is None else _take(tx, worker, row, now + self._lease_s)

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
            row = tx.one(_NEXT_DUE, of_now=tx.now())
            return None if row is None else row[0]

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


def void_leases(tx: Transaction) -> int:
    """End every lease: their owner is gone. Returns how many there were."""
    return tx.run(_VOID)


def _take(tx: Transaction, worker: str, row: Row, until: float) -> Lease:
    goal, data, epoch = row
    tx.run(_TAKE, of_goal=goal, epoch=epoch + 1, worker=worker, until=until)
    return Lease(codec.load_goal(data), epoch + 1)
