"""Claims, offers and what was said once, as rows."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.arrivals import load_form
from adapters.store.attachments import read_files
from adapters.store.journal import check_waiting, write_handled
from adapters.store.people import write_entry, write_notes
from adapters.store.places import place_of
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row, Writes
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.ways_back import WAY_BACK
from adapters.store.writer import Writer
from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.doors import TRIES_MOST, Claimed, Heeded, Offered
from bot.ports.people import Answer, Entry, Subject

_T = METADATA.tables
_CL, _OF = _T["claim"], _T["offer"]
_I, _P, _R, _S, _C = (
    queries.INBOX, queries.PERSON, queries.ROOM, queries.SESSION, queries.CONTENT,
)  # fmt: skip

_ADD_CLAIM: Final = queries.into(_CL)
_CLAIM: Final = select(_CL.c.expires_at, _CL.c.used_at).where(
    _CL.c.code_hash == bindparam("of_hash")
)
_CLAIMS: Final = select(_CL.c.expires_at, _CL.c.tries)
_OPEN_CLAIM: Final = select(_CL.c.code_hash).where(
    _CL.c.expires_at > bindparam("of_now"), _CL.c.used_at.is_(None)
)
_USE: Final = queries.set_in(_CL, "used_at", "used_by").where(
    _CL.c.code_hash == bindparam("of_hash")
)
_VOID: Final = queries.set_in(_CL, "expires_at").where(_CL.c.expires_at > bindparam("of_now"))
_VOID_ONE: Final = _VOID.where(_CL.c.code_hash == bindparam("of_hash"))
_TRY: Final = (
    _CL.update().values(tries=_CL.c.tries + 1).where(_CL.c.expires_at > bindparam("of_now"))
)
_OLD: Final = delete(_CL).where(_CL.c.expires_at < bindparam("of_before"))
_DAY_S: Final = 86_400.0

_PUT_OFFER: Final = queries.upsert(queries.into(_OF), ("goal",), "to_person", "by", "at")
_OFFER: Final = select(_OF.c.to_person, _OF.c.by, _OF.c.at).where(
    _OF.c.goal == bindparam("of_goal")
)

_HOME: Final = (
    select(_R.c.network, _R.c.workspace, _R.c.name, _S.c.thread)
    .join(_R, _R.c.id == _S.c.room)
    .where(_S.c.id == bindparam("of_session"))
)
_HEEDED: Final = (
    select(
        _I.c.id, _R.c.network, _R.c.workspace, _R.c.name, _I.c.thread, _P.c.external, _P.c.name,
        _C.c.text, _I.c.at, _I.c.reply_to, _I.c.is_aside, _I.c.via, _I.c.form,
        WAY_BACK.c.url, _I.c.state, _I.c.why,
    )
    .join(_R, _R.c.id == _I.c.room)
    .join(_P, _P.c.id == _I.c.person)
    .outerjoin(_C, (_C.c.session == _I.c.session) & (_C.c.hash == _I.c.content))
    .outerjoin(WAY_BACK, WAY_BACK.c.message == _I.c.id)
)  # fmt: skip
_BY_ID: Final = _HEEDED.where(_I.c.id == bindparam("of_id"))
_before: Final = _I.alias("later")
_LAST: Final = (
    _HEEDED.where(
        _I.c.person == bindparam("of_person"),
        _I.c.thread == bindparam("of_thread"),
        _R.c.network == bindparam("of_network"),
        _R.c.workspace == bindparam("of_workspace"),
        _R.c.name == bindparam("of_name"),
        _I.c.sequence
        < select(_before.c.sequence)
        .where(_before.c.id == bindparam("of_before"))
        .scalar_subquery(),
    )
    .order_by(_I.c.sequence.desc())
    .limit(1)
)


class StoreDoors:
    """Ports Claims, Offers and Notices."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def open_claim(self, code_hash: str, *, lasts_s: float) -> None:
        """Keep a new code's hash; older codes end."""

        def job(tx: Transaction) -> None:
            tx.alone("claim")
            now = tx.now()
            tx.run(_OLD, of_before=now - _DAY_S)
            tx.run(_VOID, of_now=now, expires_at=now)
            tx.run(
                _ADD_CLAIM, code_hash=code_hash, made_at=now, expires_at=now + lasts_s, tries=0,
                used_at=None, used_by=None,
            )  # fmt: skip

        await self._writer.do(job)

    async def is_claim_open(self) -> bool:
        """Whether there is a code that somebody could use now."""
        return await self._writer.do(lambda tx: tx.one(_OPEN_CLAIM, of_now=tx.now()) is not None)

    async def claim(
        self, code_hash: str, person: str, answer: Callable[[Claimed], Answer]
    ) -> Claimed:
        """Use a code: `taken` makes the person an admin everywhere. A wrong one is counted."""

        def job(tx: Transaction) -> Claimed:
            tx.alone("claim")
            outcome = _outcome(tx, code_hash)
            said = answer(outcome)
            check_waiting(tx, said.handled)
            if outcome == "wrong":
                _count_try(tx)
            if outcome == "taken":
                tx.run(_USE, of_hash=code_hash, used_at=tx.now(), used_by=person)
                row: Any = tx.one(_WHO, of_id=person)
                subject = Subject("person", row[0], row[1], name=row[2])
                write_entry(tx, Entry(subject, "admin", given_by=person))
            write_notes(tx, said)
            return outcome

        return await self._writer.do(job)

    async def void_claim(self, code_hash: str) -> None:
        """End a code that others have seen; one that is none ends nothing."""

        def job(tx: Transaction) -> None:
            now = tx.now()
            tx.run(_VOID_ONE, of_hash=code_hash, of_now=now, expires_at=now)

        await self._writer.do(job)

    async def offer(self, goal: str, *, to: str, by: str, answer: Answer) -> None:
        """Offer a goal, in place of an older offer of it."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, answer.handled)
            tx.run(_PUT_OFFER, goal=goal, to_person=to, by=by, at=tx.now())
            write_notes(tx, answer)

        await self._writer.do(job, lane=goal)

    async def offered(self, goal: str) -> Offered | None:
        """The goal's open offer."""
        row = await self._readers.glance(lambda reader: reader.one(_OFFER, of_goal=goal))
        return None if row is None else Offered(goal, row[0], row[1], row[2])

    async def withdraw(self, goal: str, answer: Answer) -> None:
        """End the goal's offer."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, answer.handled)
            tx.run(queries.DELETE_OFFER, of_goal=goal)
            write_notes(tx, answer)

        await self._writer.do(job, lane=goal)

    async def say_once(self, key: str, *, every_s: float, answer: Answer) -> bool:
        """Say it unless it was said under that key in the last `every_s`."""

        def job(tx: Transaction) -> bool:
            tx.alone(f"told.{key}")
            check_waiting(tx, answer.handled)
            row, now = tx.one(queries.TOLD_AT, of_key=key), tx.now()
            is_due = row is None or now - row[0] >= every_s
            if is_due:
                tx.run(queries.TELL, key=key, at=now)
                write_notes(tx, answer)
            else:
                writes = Writes()
                write_handled(writes, answer.handled, now)
                tx.write(writes)
            return is_due

        return await self._writer.do(job)

    async def forget_said(self, key: str) -> None:
        """Say it again at the next occasion."""
        if (
            await self._readers.glance(lambda reader: reader.one(queries.TOLD_AT, of_key=key))
            is not None
        ):
            await self._writer.do(lambda tx: tx.run(queries.UNTELL, of_key=key))

    async def home(self, session: str) -> Place:
        """Where a session lives. Raises KeyError."""
        row = await self._readers.glance(lambda reader: reader.one(_HOME, of_session=session))
        if row is None:
            raise KeyError(f"There is no session {session}.")
        return place_of(*row)

    async def heeded(self, message: str) -> Heeded | None:
        """A message that was taken in, by its identity."""
        return await self._readers.glance(
            lambda reader: _heeded(reader, reader.one(_BY_ID, of_id=message))
        )

    async def last_heeded(self, place: Place, person: str, before: str) -> Heeded | None:
        """The last message of a person in a place that came before another one."""

        def query(reader: Reader) -> Heeded | None:
            row = reader.one(
                _LAST, of_person=person, of_thread=place.thread, of_network=place.network,
                of_workspace=place.workspace, of_name=place.room, of_before=before,
            )  # fmt: skip
            return _heeded(reader, row)

        return await self._readers.do(query)


_WHO: Final = select(_P.c.network, _P.c.external, _P.c.name).where(_P.c.id == bindparam("of_id"))


def _outcome(tx: Transaction, code_hash: str) -> Claimed:
    now, row = tx.now(), tx.one(_CLAIM, of_hash=code_hash)
    if row is not None:
        expires_at, used_at = row
        return "used" if used_at is not None else "taken" if expires_at > now else "expired"
    claims = tx.all(_CLAIMS)
    if any(expires_at > now for expires_at, _ in claims):
        return "wrong"
    return "closed" if any(tries >= TRIES_MOST for _, tries in claims) else "none"


def _count_try(tx: Transaction) -> None:
    now = tx.now()
    tx.run(_TRY, of_now=now)
    if any(tries >= TRIES_MOST for expires_at, tries in tx.all(_CLAIMS) if expires_at > now):
        tx.run(_VOID, of_now=now, expires_at=now)


def _heeded(reader: Reader, row: Row | None) -> Heeded | None:
    if row is None:
        return None
    id, network, workspace, room, thread, external, name, said, at, reply_to, *rest = row
    is_aside, via, form, url, state, why = rest
    place, files = place_of(network, workspace, room, thread), read_files(reader, (id,))
    who = Speaker(external, name)
    message = Incoming(
        id, place, who, said or "", at, reply_to, bool(is_aside), files.get(id, ()), via,
        load_form(form), url or "",
    )  # fmt: skip
    return Heeded(message, state, why)
