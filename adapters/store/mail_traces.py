"""
What messages leave beside their texts: names of their files, and events that came sealed.

Rule: rows go whole. Of files the bytes follow, once no row names them.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.attachments import drop_files
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Statement
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.forgetting import Step, Trail

BITES: Final = 100
_A, _E = METADATA.tables["attachment"], METADATA.tables["sealed_event"]
_I, _O, _R = queries.INBOX, queries.OUTBOX, queries.ROOM

_OWNERS: Final = select(_A.c.owner).distinct()
_CAME: Final = _OWNERS.join(_I, _I.c.id == _A.c.owner).where(
    _I.c.room == bindparam("of_room"), _I.c.received_at <= bindparam("of_until")
)
_WENT: Final = _OWNERS.join(_O, _O.c.key == _A.c.owner)
_WENT_OF: Final = _WENT.where(_O.c.goal == bindparam("of_goal"))
_WENT_IN: Final = _WENT.where(_O.c.session == bindparam("of_session"))
_BODIES: Final = select(_E.c.id, _E.c.body)
_OLD_BODIES: Final = (
    select(_E.c.id)
    .join(_R, (_R.c.name == _E.c.room) & (_R.c.workspace == _E.c.workspace))
    .where(_R.c.id == bindparam("of_room"), _E.c.at <= bindparam("of_until"))
)
_DROP: Final = delete(_E).where(_E.c.id == bindparam("of_id"))


async def forget_mail(
    trail: Trail, writer: Writer, readers: Readers, *, is_dry: bool = False
) -> list[Step]:
    """A person's files, those that their goals gave, and sealed events that name them."""

    def query(reader: Reader) -> tuple[list[str], list[str]]:
        came = [one for [one] in reader.all(_OWNERS) if one in trail.messages]
        went = list(_all(reader, _WENT_OF, "of_goal", trail.goals))
        sealed = [id for id, body in reader.all(_BODIES) if trail.words.names_in(body)]
        return came + went, sealed

    return await _drop(*await readers.do(query), writer, is_dry=is_dry)


async def end_mail(
    room: str,
    until: float,
    ended: Sequence[str],
    writer: Writer,
    readers: Readers,
    *,
    is_dry: bool = False,
) -> list[Step]:
    """A room's files that came by `until`, those that its ended sessions gave, and old sealed events."""

    def query(reader: Reader) -> tuple[list[str], list[str]]:
        of = {"of_room": room, "of_until": until}
        came = [one for [one] in reader.all(_CAME, **of)]
        went = list(_all(reader, _WENT_IN, "of_session", ended))
        return came + went, [id for [id] in reader.all(_OLD_BODIES, **of)]

    return await _drop(*await readers.do(query), writer, is_dry=is_dry)


async def _drop(
    owners: Sequence[str], sealed: Sequence[str], writer: Writer, *, is_dry: bool
) -> list[Step]:
    steps = []
    for kind, ids, job in (("attached", owners, _drop_files), ("sealed", sealed, _drop_sealed)):
        for first in range(0, len(ids), BITES):
            bite = ids[first : first + BITES]
            if not is_dry:
                await writer.do(partial(job, bite), lane="forgetting")
            steps.append(Step(kind, len(bite)))
    return steps


def _drop_files(ids: Sequence[str], tx: Transaction) -> int:
    return drop_files(tx, ids)


def _drop_sealed(ids: Sequence[str], tx: Transaction) -> int:
    return sum(tx.run(_DROP, of_id=id) for id in ids)


def _all(reader: Reader, query: Statement, name: str, of: Iterable[str]) -> Iterator[str]:
    for one in of:
        yield from (owner for [owner] in reader.all(query, **{name: one}))
