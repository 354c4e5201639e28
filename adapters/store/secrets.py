"""
Sealed values as rows.

Rule: keys are read and rows are sealed inside the transaction, one such transaction at a time, so that
no row is sealed under a key that another process is about to drop.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.errors import SecretsUnusable
from bot.ports.secrets import Kind, Named, Sealed, Sealing

T = TypeVar("T")
LOCK: Final = "secret"
_S: Final = METADATA.tables["secret"]
_HERE: Final = (_S.c.kind == bindparam("of_kind"), _S.c.name == bindparam("of_name"))
_COLUMNS: Final = (
    _S.c.kind, _S.c.name, _S.c.hosts, _S.c.key_id, _S.c.set_by, _S.c.set_at, _S.c.sealed,
)  # fmt: skip
_ALL: Final = select(*_COLUMNS).order_by(_S.c.kind, _S.c.name)
_ONE: Final = select(*_COLUMNS).where(*_HERE)
_PUT: Final = queries.upsert(
    queries.into(_S), ("kind", "name"), "hosts", "key_id", "sealed", "set_by", "set_at"
)
_RESEAL: Final = queries.set_in(_S, "key_id", "sealed").where(*_HERE)
_REMOVE: Final = delete(_S).where(*_HERE)


class NoKeys:
    """A store that was opened without keys: nothing is sealed or opened here."""

    def seal(self, of: Named, value: str, *, is_first: bool = True) -> Sealed:
        """Refused."""
        raise self._refused()

    def unseal(self, of: Named, text: str) -> str:
        """Refused."""
        raise self._refused()

    def add_key(self) -> str:
        """Refused."""
        raise self._refused()

    def drop_keys(self, keep: frozenset[str]) -> None:
        """Refused."""
        raise self._refused()

    def _refused(self) -> SecretsUnusable:
        return SecretsUnusable("The store was opened without the secret key. Open it with one.")


class StoreSecrets:
    """Port Secrets."""

    def __init__(self, writer: Writer, readers: Readers, sealing: Sealing | None = None) -> None:
        self._writer = writer
        self._readers = readers
        self._sealing = sealing or NoKeys()

    async def put(
        self, kind: Kind, name: str, value: str, *, hosts: tuple[str, ...] = (), by: str = ""
    ) -> Named:
        """Keep a value, in place of the one that is there.

        Raises:
            SecretsUnusable, StoreBusy, StoreUnusable.
        """

        named = Named(kind, name, hosts, set_by=by)
        return await self._writer.do(lambda tx: put_sealed(tx, self._sealing, named, value))

    async def get(self, kind: Kind, name: str) -> str:
        """The value. Raises KeyError where there is none, SecretsUnusable."""

        def query(reader: Reader) -> str:
            value = open_sealed(reader, self._sealing, kind, name)
            if value is None:
                raise KeyError(f"There is no {kind} {name}.")
            return value

        return await read_opened(self._readers, query)

    async def names(self) -> tuple[Named, ...]:
        """All of them by kind and name, without their values."""
        rows = await self._readers.do(lambda reader: reader.all(_ALL))
        return tuple(_named(row) for row in rows)

    async def values(self) -> Mapping[Named, str]:
        """All of them. Raises SecretsUnusable for the first one that does not open."""
        return await read_opened(self._readers, lambda reader: self._opened(reader.all(_ALL)))

    async def remove(self, kind: Kind, name: str) -> bool:
        """Forget one; false where there was none."""
        return await self._writer.do(lambda tx: drop_sealed(tx, kind, name))

    async def rotate(self, *, is_made: bool = True, keeps_old: bool = False) -> int:
        """Seal every value again under a new key, and drop the old ones; returns how many values.

        Raises:
            SecretsUnusable: one does not open, or no key can be made; every one is as it was.
        """
        await self.values()
        if is_made:
            await asyncio.to_thread(self._sealing.add_key)
        count = await self._writer.do(self._reseal)
        if is_made and not keeps_old:
            await self._writer.do(self._drop)
        return count

    def _reseal(self, tx: Transaction) -> int:
        tx.alone(LOCK)
        values = self._opened(tx.all(_ALL))
        for named, value in values.items():
            sealed = self._sealing.seal(named, value)
            tx.run(_RESEAL, of_kind=named.kind, of_name=named.name,
                   key_id=sealed.key_id, sealed=sealed.text)  # fmt: skip
        return len(values)

    def _drop(self, tx: Transaction) -> None:
        tx.alone(LOCK)
        self._sealing.drop_keys(frozenset(_named(row).key_id for row in tx.all(_ALL)))

    def _opened(self, rows: Iterable[Row]) -> dict[Named, str]:
        return {_named(row): self._sealing.unseal(_named(row), row[-1]) for row in rows}


def put_sealed(tx: Transaction, sealing: Sealing, of: Named, value: str) -> Named:
    """Keep a value with what else is written. Raises SecretsUnusable."""
    tx.alone(LOCK)
    named = replace(of, set_at=tx.now())
    is_first = all(tuple(row[:2]) == (of.kind, of.name) for row in tx.all(_ALL))
    sealed = sealing.seal(named, value, is_first=is_first)
    named = replace(named, key_id=sealed.key_id)
    tx.run(_PUT, **_row(named, sealed))
    return named


def open_sealed(reader: Reader, sealing: Sealing, kind: Kind, name: str) -> str | None:
    """A value, or None where there is none. Raises SecretsUnusable."""
    row = reader.one(_ONE, of_kind=kind, of_name=name)
    return None if row is None else sealing.unseal(_named(row), row[-1])


def drop_sealed(tx: Transaction, kind: Kind, name: str) -> bool:
    """Forget a value; False where there was none."""
    return tx.run(_REMOVE, of_kind=kind, of_name=name) > 0


async def read_opened(readers: Readers, query: Callable[[Reader], T]) -> T:
    """Read, and once more where keys may have been changed between the rows and the key file."""
    try:
        return await readers.do(query)
    except SecretsUnusable:
        return await readers.do(query)


def _named(row: Row) -> Named:
    kind, name, hosts, key_id, set_by, set_at, _ = row
    return Named(kind, name, tuple(json.loads(hosts)), key_id, set_by, set_at)


def _row(named: Named, sealed: Sealed) -> dict[str, Any]:
    return {
        "kind": named.kind,
        "name": named.name,
        "hosts": json.dumps(named.hosts),
        "key_id": sealed.key_id,
        "sealed": sealed.text,
        "set_by": named.set_by,
        "set_at": named.set_at,
    }
