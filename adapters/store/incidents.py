"""Incidents, as rows, each with its post in the operations room."""

from secrets import token_hex
from typing import Final

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.moves import write_reply
from adapters.store.places import see_room, see_session
from adapters.store.readers import Readers
from adapters.store.statements import Writes
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.incidents import Alert, Incident

_I: Final = queries.INCIDENT
_OPEN: Final = queries.into(_I).on_conflict_do_nothing()
_FOUND: Final = (
    select(_I.c.id)
    .where(
        _I.c.kind == bindparam("of_kind"),
        _I.c.subject == bindparam("of_subject"),
        text("recovered_at IS NULL"),
    )
    .with_for_update()
)
_CLOSE: Final = queries.set_in(_I, "recovered_at").where(
    _I.c.id == bindparam("of_id"), text("recovered_at IS NULL")
)
_LISTED: Final = (
    select(_I.c.id, _I.c.kind, _I.c.subject, _I.c.detail, _I.c.at, _I.c.recovered_at)
    .order_by(text("CASE WHEN recovered_at IS NULL THEN 0 ELSE 1 END"), _I.c.at.desc(), _I.c.id)
    .limit(bindparam("of_limit"))
)


class StoreIncidents:
    """Port Incidents."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def open(self, alert: Alert) -> bool:
        """Open it and queue its text; False where one is open, and nothing is said."""
        return await self._writer.do(lambda tx: open_incident(tx, alert))

    async def recovered(self, alert: Alert) -> bool:
        """Close the one that is open and queue the text; False where none is."""
        return await self._writer.do(lambda tx: _recovered(tx, alert))

    async def listed(self, *, limit: int = 50) -> tuple[Incident, ...]:
        """Those that are open, newest first, then those that are over."""
        rows = await self._readers.do(lambda reader: reader.all(_LISTED, of_limit=limit))
        return tuple(Incident(*row) for row in rows)


def open_incident(tx: Transaction, alert: Alert) -> bool:
    """Open it and queue its text, as a part of what else the transaction writes."""
    id = f"i{token_hex(8)}"
    row = {"id": id, "kind": alert.kind, "subject": alert.subject, "detail": alert.detail}
    if tx.run(_OPEN, **row, at=tx.now(), recovered_at=None) != 1:
        return False
    _say(tx, alert, f"incident:{id}")
    return True


def _recovered(tx: Transaction, alert: Alert) -> bool:
    row = tx.one(_FOUND, of_kind=alert.kind, of_subject=alert.subject)
    if row is None or tx.run(_CLOSE, of_id=row[0], recovered_at=tx.now()) != 1:
        return False
    _say(tx, alert, f"recovered:{row[0]}")
    return True


def _say(tx: Transaction, alert: Alert, key: str) -> None:
    if alert.place is None or not alert.text:
        return
    at, writes = tx.now(), Writes()
    session = see_session(tx, see_room(tx, alert.place), alert.place.thread, "thread", at)
    write_reply(writes, session, key, alert.text, at)
    tx.write(writes)
