"""
What messages leave beside their texts: names of their files, events that came sealed, what was filled
into forms, and where they could be answered.

Rule: rows go whole. Of files the bytes follow, once no row names them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from sqlalchemy import bindparam, delete, select, text

from adapters.store import queries
from adapters.store.arrivals import dump_form, load_form
from adapters.store.attachments import drop_files
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Statement
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.ways_back import WAY_BACK, drop_way_back
from adapters.store.writer import Writer
from bot.ports.forgetting import Step, Trail
from bot.ports.words import Words

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
_FORMS: Final = select(_I.c.id, _I.c.form).where(text("inbox.form <> ''"))
_FORMS_OF: Final = _FORMS.where(
    _I.c.room == bindparam("of_room"), _I.c.received_at <= bindparam("of_until")
)
_SET_FORM: Final = queries.set_in(_I, "form").where(_I.c.id == bindparam("of_id"))
_WAYS: Final = select(WAY_BACK.c.message)
_DROP: Final = delete(_E).where(_E.c.id == bindparam("of_id"))


async def forget_mail(
    trail: Trail, writer: Writer, readers: Readers, *, is_dry: bool = False
) -> list[Step]:
    """A person's files, those that their goals gave, sealed events that name them, and their forms."""

    def query(reader: Reader) -> _Found:
        came = [one for [one] in reader.all(_OWNERS) if one in trail.messages]
        went = list(_all(reader, _WENT_OF, "of_goal", trail.goals))
        sealed = [id for id, body in reader.all(_BODIES) if trail.words.names_in(body)]
        forms = {id: "" for [id] in reader.all(_WAYS) if id in trail.messages}
        for id, form in reader.all(_FORMS):
            told = "" if id in trail.messages else _without(trail.words, form)
            if told != form:
                forms[id] = told
        return _Found(came + went, sealed, forms)

    return await _drop(await readers.do(query), writer, is_dry=is_dry)


async def end_mail(
    room: str,
    until: float,
    ended: Sequence[str],
    writer: Writer,
    readers: Readers,
    *,
    is_dry: bool = False,
) -> list[Step]:
    """A room's files and forms that came by `until`, files that its ended sessions gave, and old sealed
    events."""

    def query(reader: Reader) -> _Found:
        of = {"of_room": room, "of_until": until}
        came = [one for [one] in reader.all(_CAME, **of)]
        went = list(_all(reader, _WENT_IN, "of_session", ended))
        sealed = [id for [id] in reader.all(_OLD_BODIES, **of)]
        forms = dict.fromkeys((id for id, _ in reader.all(_FORMS_OF, **of)), "")
        return _Found(came + went, sealed, forms)

    return await _drop(await readers.do(query), writer, is_dry=is_dry)


class _Found(NamedTuple):
    """Owners of files, ids of sealed events, and what becomes of the forms of messages."""

    owners: Sequence[str]
    sealed: Sequence[str]
    forms: Mapping[str, str]


async def _drop(found: _Found, writer: Writer, *, is_dry: bool) -> list[Step]:
    steps = []
    for kind, ids, job in (
        ("attached", found.owners, _drop_files),
        ("sealed", found.sealed, _drop_sealed),
        ("form", tuple(found.forms), partial(_set_forms, found.forms)),
    ):
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


def _set_forms(forms: Mapping[str, str], ids: Sequence[str], tx: Transaction) -> int:
    for id in ids:
        tx.run(_SET_FORM, of_id=id, form=forms[id])
        if not forms[id]:
            drop_way_back(tx, id)
    return len(ids)


def _without(words: Words, form: str) -> str:
    """A form without what tells of somebody, field by field: it stays one that can be read."""
    fields = load_form(form)
    if not any(words.are_in(value) for _, value in fields):
        return form
    return dump_form(tuple((name, words.without(value)) for name, value in fields))


def _all(reader: Reader, query: Statement, name: str, of: Iterable[str]) -> Iterator[str]:
    for one in of:
        yield from (owner for [owner] in reader.all(query, **{name: one}))
