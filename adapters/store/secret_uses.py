"""
The secrets that rooms' goals have, and forms to type them in, as rows.

Rule: a value, how a room has it, the form that it came by and what is said of it are one transaction.
"""

import json
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import bindparam, delete, func, select

from adapters.store import queries
from adapters.store.journal import check_waiting
from adapters.store.people import write_notes
from adapters.store.places import find_room, place_of, see_room
from adapters.store.readers import Readers
from adapters.store.secrets import LOCK, NoKeys, drop_sealed, open_sealed, put_sealed
from adapters.store.statements import Reader, Row
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.errors import Refused
from bot.ports.chat import Place
from bot.ports.gateway import InUse
from bot.ports.people import NOTHING, Answer
from bot.ports.secret_uses import FormLink, Use, Value
from bot.ports.secrets import Named, Sealing

PURPOSE: Final = "secret"
ROOMS_MOST: Final = 30
_DAY_S: Final = 86_400.0
_U, _L = METADATA.tables["secret_use"], METADATA.tables["form_link"]
_SE: Final = METADATA.tables["secret"]
_R, _I, _P = queries.ROOM, queries.INBOX, queries.PERSON

_OF: Final = (
    select(_U.c.name, _SE.c.hosts, _U.c.variable, _U.c.mode, _U.c.set_by, _U.c.set_at)
    .join(_SE, (_SE.c.kind == "secret") & (_SE.c.name == _U.c.name))
    .where(_U.c.room == bindparam("of_room"))
    .order_by(_U.c.name)
)
_ROOMS_WITH: Final = select(_U.c.room).where(_U.c.name == bindparam("of_name"))
_KEPT: Final = (
    select(_SE.c.hosts, _SE.c.set_by, _P.c.id)
    .outerjoin(_P, _P.c.id == _SE.c.set_by)
    .where(_SE.c.kind == "secret", _SE.c.name == bindparam("of_name"))
)
"""The operator, by the command line, is no person of a network."""
_PUT: Final = queries.upsert(
    queries.into(_U), ("room", "name"), "mode", "variable", "set_by", "set_at"
)
_REMOVE: Final = delete(_U).where(
    _U.c.room == bindparam("of_room"), _U.c.name == bindparam("of_name")
)
_OPEN_LINK: Final = queries.into(_L)
_LINK: Final = (
    select(
        _R.c.network, _R.c.workspace, _R.c.name, _L.c.person, _L.c.how, _L.c.expires_at
    )
    .join(_R, _R.c.id == _L.c.room)
    .where(
        _L.c.link_hash == bindparam("of_hash"), _L.c.used_at.is_(None),
        _L.c.expires_at > bindparam("of_now"), _L.c.purpose == PURPOSE,
    )
)  # fmt: skip
_USE_LINK: Final = queries.set_in(_L, "used_at").where(
    _L.c.link_hash == bindparam("of_hash"), _L.c.used_at.is_(None),
    _L.c.expires_at > bindparam("of_now"),
)  # fmt: skip
_OLD_LINKS: Final = delete(_L).where(_L.c.expires_at < bindparam("of_before"))
_SPOKEN: Final = (
    select(_R.c.network, _R.c.workspace, _R.c.name)
    .join(_I, _I.c.room == _R.c.id)
    .where(_I.c.person == bindparam("of_person"))
    .group_by(_R.c.id, _R.c.network, _R.c.workspace, _R.c.name)
    .order_by(func.max(_I.c.sequence).desc())
    .limit(ROOMS_MOST)
)


class StoreSecretUses:
    """Port SecretUses."""

    def __init__(self, writer: Writer, readers: Readers, sealing: Sealing | None = None) -> None:
        self._writer, self._readers = writer, readers
        self._sealing = sealing or NoKeys()

    async def of(self, room: Place) -> tuple[Use, ...]:
        """As in the port."""

        def query(reader: Reader) -> tuple[Use, ...]:
            id = find_room(reader, room)
            return () if id is None else tuple(map(_use, reader.all(_OF, of_room=id)))

        return await self._readers.do(query)

    async def elsewhere(self, room: Place, name: str) -> tuple[str, ...] | None:
        """As in the port."""

        return await self._readers.do(lambda reader: _elsewhere(reader, room, name))

    async def keep(
        self,
        room: Place,
        secret: InUse,
        value: Value,
        *,
        by: str,
        is_chief: bool = False,
        answer: Answer = NOTHING,
    ) -> bool:
        """As in the port."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            tx.alone(LOCK)
            if value.link and not tx.run(
                _USE_LINK, of_hash=value.link, of_now=tx.now(), used_at=tx.now()
            ):
                return False
            if not is_chief and _elsewhere(tx, room, secret.name) is not None:
                raise Refused("A secret of that name is kept for others.", code="secret_elsewhere")
            text, kept = self._value(tx, secret.name, value), tx.one(_KEPT, of_name=secret.name)
            whose = by if kept is None or value.text or value.entered else kept[1]
            of = Named("secret", secret.name, secret.hosts, set_by=whose)
            put_sealed(tx, self._sealing, of, text)
            tx.run(
                _PUT, room=see_room(tx, room), name=secret.name, mode=secret.mode,
                variable=secret.variable, set_by=by, set_at=tx.now(),
            )  # fmt: skip
            if value.entered:
                drop_sealed(tx, "secret", value.entered)
            write_notes(tx, answer)
            return True

        return await self._writer.do(job)

    async def stop(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """As in the port."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            tx.alone(LOCK)
            id = find_room(tx, room)
            if id is None or not tx.run(_REMOVE, of_room=id, of_name=name):
                return False
            kept = tx.one(_KEPT, of_name=name)
            if kept is not None and kept[2] and not tx.all(_ROOMS_WITH, of_name=name):
                drop_sealed(tx, "secret", name)
            write_notes(tx, answer)
            return True

        return await self._writer.do(job)

    async def open_link(self, link_hash: str, link: FormLink, answer: Answer = NOTHING) -> None:
        """As in the port."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, answer.handled)
            tx.run(_OLD_LINKS, of_before=tx.now() - _DAY_S)
            tx.run(
                _OPEN_LINK, link_hash=link_hash, purpose=PURPOSE, name=link.secret.name,
                room=see_room(tx, link.room), person=link.person, how=_how(link.secret),
                expires_at=link.expires_at, used_at=None,
            )  # fmt: skip
            write_notes(tx, answer)

        await self._writer.do(job)

    async def link(self, link_hash: str) -> FormLink | None:
        """As in the port."""

        def job(tx: Transaction) -> FormLink | None:
            row = tx.one(_LINK, of_hash=link_hash, of_now=tx.now())
            return None if row is None else _link(row)

        # By the writer's clock, which is the store's.
        return await self._writer.do(job)

    async def rooms_of(self, person: str) -> tuple[Place, ...]:
        """As in the port."""
        rows = await self._readers.do(lambda reader: reader.all(_SPOKEN, of_person=person))
        return tuple(place_of(row[0], row[1], row[2], "") for row in rows)

    def _value(self, tx: Transaction, name: str, value: Value) -> str:
        if value.text:
            return value.text
        kept = open_sealed(tx, self._sealing, "secret", value.entered or name)
        if kept is None:
            raise KeyError(f"There is no value of the secret {name}.")
        return kept


def _elsewhere(reader: Reader, room: Place, name: str) -> tuple[str, ...] | None:
    kept = reader.one(_KEPT, of_name=name)
    rooms = {row[0] for row in reader.all(_ROOMS_WITH, of_name=name)}
    if kept is None or (kept[2] and rooms == {find_room(reader, room)}):
        return None
    return tuple(json.loads(kept[0]))


def _use(row: Row) -> Use:
    name, hosts, variable, mode, by, at = row
    return Use(InUse(name, tuple(json.loads(hosts)), variable, mode), by, at)


def _link(row: Row) -> FormLink:
    network, workspace, room, person, how, expires_at = row
    kept: dict[str, Any] = json.loads(how)
    secret = InUse(**{**kept, "hosts": tuple(kept["hosts"])})
    return FormLink(place_of(network, workspace, room, ""), person, secret, expires_at)


def _how(secret: InUse) -> str:
    return json.dumps(asdict(secret))
