"""How far networks were read, and what came sealed, as rows."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Network
from bot.ports.positions import Position, Sealed

_N, _E = METADATA.tables["network_position"], METADATA.tables["sealed_event"]

_OF_ACCOUNT: Final = (
    _E.c.network == bindparam("of_network"),
    _E.c.workspace == bindparam("of_workspace"),
)
_TOKEN: Final = select(_N.c.token).where(
    _N.c.network == bindparam("of_network"), _N.c.workspace == bindparam("of_workspace")
)
_READ_AT: Final = select(_N.c.at).where(
    _N.c.network == bindparam("of_network"), _N.c.workspace == bindparam("of_workspace")
)
_MOVE: Final = queries.upsert(queries.into(_N), ("network", "workspace"), "token", "at")
_SEAL: Final = queries.into(_E).on_conflict_do_nothing()
_SEALED: Final = (
    select(_E.c.id, _E.c.room, _E.c.key, _E.c.body, _E.c.at, _E.c.is_told)
    .where(*_OF_ACCOUNT)
    .order_by(_E.c.at, _E.c.id)
)
_OPENED: Final = delete(_E).where(_E.c.id == bindparam("of_id"))
_TOLD: Final = queries.set_in(_E, "is_told").where(_E.c.id == bindparam("of_id"))


class StorePositions:
    """Port Positions."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def position(self, network: Network, workspace: str) -> str | None:
        """The token to go on from; None before the first look."""
        of = {"of_network": network, "of_workspace": workspace}
        row = await self._readers.do(lambda reader: reader.one(_TOKEN, **of))
        return None if row is None else str(row[0])

    async def read_at(self, network: Network, workspace: str) -> float | None:
        """When the position was last moved, seconds since 1970; None before the first look."""
        of = {"of_network": network, "of_workspace": workspace}
        row = await self._readers.do(lambda reader: reader.one(_READ_AT, **of))
        return None if row is None else float(row[0])

    async def sealed(self, network: Network, workspace: str) -> tuple[Sealed, ...]:
        """What cannot be read yet, oldest first."""
        of = {"of_network": network, "of_workspace": workspace}
        rows = await self._readers.do(lambda reader: reader.all(_SEALED, **of))
        return tuple(
            Sealed(id, room, key, body, at, bool(is_told))
            for id, room, key, body, at, is_told in rows
        )

    async def told(self, ids: Sequence[str]) -> None:
        """Note that their rooms have been told of these."""

        def job(tx: Transaction) -> None:
            for id in ids:
                tx.run(_TOLD, of_id=id, is_told=True)

        await self._writer.do(job)


def write_position(tx: Transaction, upto: Position) -> None:
    """Move an account's position, with what came sealed before it and what was opened since."""
    for one in upto.sealed:
        tx.run(
            _SEAL, id=one.id, network=upto.network, workspace=upto.workspace, room=one.room,
            key=one.key, body=one.body, at=one.at, is_told=one.is_told,
        )  # fmt: skip
    for id in upto.opened:
        tx.run(_OPENED, of_id=id)
    tx.run(
        _MOVE, network=upto.network, workspace=upto.workspace, token=upto.token, at=tx.now()
    )  # fmt: skip
