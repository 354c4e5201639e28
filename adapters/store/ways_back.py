"""
Where what was said can be answered unseen by others, for a while.

Rule: an address opens by itself. It is written with its message and read until it has lapsed; then it
goes.
"""

from typing import Final

from sqlalchemy import bindparam, delete, select, text

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Incoming, Network

LASTS_S: Final = 30 * 60.0
"""An address of Slack's takes answers for so long (Slack, "Handling user interaction")."""

WAY_BACK: Final = METADATA.tables["way_back"]
_R, _S = queries.ROOM, queries.SESSION
_N: Final = METADATA.tables["install"]

_KEEP: Final = queries.upsert(queries.into(WAY_BACK), ("message",), "url", "expires_at")
_READ: Final = select(WAY_BACK.c.url).where(
    WAY_BACK.c.message == bindparam("of_message"), WAY_BACK.c.expires_at > bindparam("of_now")
)
_DROP: Final = delete(WAY_BACK).where(WAY_BACK.c.message == bindparam("of_message"))
_LAPSED: Final = delete(WAY_BACK).where(WAY_BACK.c.expires_at <= bindparam("of_now"))
_WORKSPACES: Final = (
    select(_R.c.workspace)
    .outerjoin(_S, (_S.c.room == _R.c.id) & text("session.thread = '' AND session.kind = 'mail'"))
    .outerjoin(_N, (_N.c.network == _R.c.network) & (_N.c.workspace == _R.c.workspace))
    .where(_R.c.network == bindparam("of_network"), _R.c.name == bindparam("of_name"))
    .order_by(
        text("CASE WHEN install.workspace IS NULL THEN 1 ELSE 0 END"),
        text("CASE WHEN session.opened_at IS NULL THEN 1 ELSE 0 END"),
        _S.c.opened_at,
        _R.c.id,
    )
    .limit(1)
)


class StoreWaysBack:
    """Port WaysBack."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def way_back(self, message: str) -> str:
        """The address of a message; empty where it has none, or it has lapsed."""

        def job(tx: Transaction) -> str:
            row = tx.one(_READ, of_message=message, of_now=tx.now())
            return "" if row is None else str(row[0])

        return await self._writer.do(job)

    async def workspace_of(self, network: Network, room: str) -> str | None:
        """The workspace under which a room is known: one that is installed still, then the first."""
        row = await self._readers.glance(
            lambda reader: reader.one(_WORKSPACES, of_network=network, of_name=room)
        )
        return None if row is None else str(row[0])


def keep_way_back(tx: Transaction, message: Incoming, at: float) -> None:
    """Write down where a message can be answered; what has lapsed goes at the occasion."""
    if message.way_back:
        tx.run(_LAPSED, of_now=at)
        tx.run(_KEEP, message=message.id, url=message.way_back, expires_at=at + LASTS_S)


def drop_way_back(tx: Transaction, message: str) -> int:
    """A message is not to be answered any more."""
    return tx.run(_DROP, of_message=message)


def drop_lapsed(tx: Transaction, now: float) -> int:
    """Forget the addresses that take no answer any more."""
    return tx.run(_LAPSED, of_now=now)
