"""
The allow-list and the rooms' settings, as rows.

A grant's subject is a person by its id, or a word: `room:ID`, `server:NAME`, `group:NAME`.
"""

from collections.abc import Callable
from secrets import token_hex
from typing import Any, Final, cast

from sqlalchemy import bindparam, delete, select, text

from adapters.store import queries
from adapters.store.journal import check_waiting, write_handled
from adapters.store.moves import write_reply
from adapters.store.places import see_person, see_room
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row, Writes
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.errors import Refused
from bot.ports.chat import Network, Place, Speaker
from bot.ports.people import NOTHING, Answer, Entry, Register, Role, Subject
from bot.ports.room_settings import Kept, Setting, read_kept, write_kept

_GR, _P, _R = METADATA.tables["grant"], queries.PERSON, queries.ROOM
_ENTRIES: Final = (
    select(
        _GR.c.id, _GR.c.subject, _GR.c.role, _GR.c.given_by, _GR.c.given_at, _P.c.network,
        _P.c.external, _P.c.name, _R.c.network, _R.c.workspace, _R.c.name,
    )
    .outerjoin(_P, _P.c.id == _GR.c.person)
    .outerjoin(_R, _R.c.id == _GR.c.room)
    .where(text("\"grant\".kind = 'role'"))
    .order_by(_GR.c.given_at, _GR.c.id)
)  # fmt: skip
_SET_ROOMS: Final = select(_R.c.network, _R.c.workspace, _R.c.name, _R.c.settings).where(
    text("room.settings <> '{}'")
)
_OPERATORS: Final = (
    select(_R.c.network, _R.c.workspace, _P.c.external, _GR.c.id, _GR.c.room)
    .join(_P, _P.c.id == _GR.c.person)
    .join(_R, _R.c.id == _GR.c.room)
    .where(text("\"grant\".kind = 'operator'"))
)
_GONE: Final = select(_P.c.network, _P.c.external).where(text("person.gone_at IS NOT NULL"))
_ROOM: Final = select(_R.c.network, _R.c.workspace, _R.c.name).where(_R.c.id == bindparam("of_id"))
_SETTINGS: Final = select(_R.c.settings).where(_R.c.id == bindparam("of_id")).with_for_update()
_SET: Final = queries.set_in(_R, "settings").where(_R.c.id == bindparam("of_id"))
_FIND_PERSON: Final = select(_P.c.id, _P.c.gone_at).where(
    _P.c.network == bindparam("of_network"), _P.c.external == bindparam("of_external")
)
_MARK: Final = queries.set_in(_P, "gone_at").where(_P.c.id == bindparam("of_id"))
_ADD: Final = queries.into(_GR)
_REMOVE: Final = delete(_GR).where(_GR.c.id == bindparam("of_id"))
LIST: Final = "allow-list"
"""The lock of whoever changes the list."""


class StorePeople:
    """Port People."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def register(self) -> Register:
        """Everything, as it is now."""
        return await self._readers.do(_register)

    async def allow(self, entry: Entry, answer: Answer = NOTHING) -> bool:
        """Add an entry; False where it is there already."""

        def job(tx: Transaction) -> bool:
            tx.alone(LIST)
            check_waiting(tx, answer.handled)
            is_new = not any(_is_of(one, entry.subject, entry.role, entry.room, exactly=True)
                             for _, one in _entries(tx))  # fmt: skip
            if is_new:
                write_entry(tx, entry)
            write_notes(tx, answer)
            return is_new

        return await self._writer.do(job)

    async def remove(
        self,
        subject: Subject,
        *,
        role: Role | None = None,
        room: Place | None = None,
        answer: Answer = NOTHING,
    ) -> int:
        """Remove a subject's entries. Raises Refused with `not_listed` or `last_admin`."""

        def job(tx: Transaction) -> int:
            tx.alone(LIST)
            check_waiting(tx, answer.handled)
            entries = _entries(tx)
            gone = {id: one for id, one in entries if _is_of(one, subject, role, room)}
            refuse_removal(
                tuple(one for id, one in entries if id not in gone), tuple(gone.values())
            )
            for id in gone:
                tx.run(_REMOVE, of_id=id)
            write_notes(tx, answer)
            return len(gone)

        return await self._writer.do(job)

    async def mark(self, network: Network, who: Speaker, *, is_gone: bool) -> bool:
        """Note that a network calls somebody gone, or back; False where that is known already."""

        def job(tx: Transaction) -> bool:
            id = person_id(tx, network, who)
            row: Any = tx.one(_FIND_PERSON, of_network=network, of_external=who.id)
            if (row[1] is not None) == is_gone:
                return False
            tx.run(_MARK, of_id=id, gone_at=tx.now() if is_gone else None)
            return True

        return await self._writer.do(job)

    async def note_operator(self, room: Place, who: Speaker) -> bool:
        """Note whose console a room is, in place of who it was; False where that is known already."""

        def job(tx: Transaction) -> bool:
            tx.alone(LIST)
            id = see_room(tx, room)
            known = {row[2]: row[3] for row in tx.all(_OPERATORS) if row[4] == id}
            for grant in (grant for name, grant in known.items() if name != who.id):
                tx.run(_REMOVE, of_id=grant)
            if who.id in known:
                return False
            _write_grant(tx, "operator", id, person_id(tx, room.network, who), "", "admin", "")
            return True

        return await self._writer.do(job)

    async def set_for_room(
        self, place: Place, key: str, value: Setting | None, *, by: str, answer: Answer = NOTHING
    ) -> None:
        """Set one of a room's settings (None: leave it open again); an empty room: the workspace's."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, answer.handled)
            room = see_room(tx, place)
            row: Any = tx.one(_SETTINGS, of_id=room)
            kept = None if value is None else Kept(value, by, tx.now())
            tx.run(_SET, of_id=room, settings=write_kept(row[0], key, kept))
            write_notes(tx, answer)

        await self._writer.do(job)


def person_id(tx: Transaction, network: Network, who: Speaker) -> str:
    """The person's id; a name that somebody else calls them by changes nothing."""
    row = tx.one(_FIND_PERSON, of_network=network, of_external=who.id)
    return str(row[0]) if row is not None else see_person(tx, network, who)


def write_entry(tx: Transaction, entry: Entry) -> None:
    """A new line of the list."""
    subject, person, word = entry.subject, None, f"{entry.subject.kind}:{entry.subject.id}"
    if subject.kind == "person":
        name = subject.name or subject.id
        person, word = person_id(tx, subject.network, Speaker(subject.id, name)), ""
    elif subject.kind == "room":
        word = f"room:{see_room(tx, Place(subject.network, subject.workspace, subject.id))}"
    room = see_room(tx, entry.room) if entry.room else None
    _write_grant(tx, "role", room, person, word, entry.role, entry.given_by)


def write_notes(tx: Transaction, answer: Answer) -> None:
    """What is said, and that messages are handled."""
    at, writes = tx.now(), Writes()
    for note in answer.notes:
        write_reply(
            writes, note.session, note.key, note.text, at,
            reason=note.reason, only_for=note.only_for,
        )  # fmt: skip
    write_handled(writes, answer.handled, at)
    tx.write(writes)


def refuse_removal(kept: tuple[Entry, ...], gone: tuple[Entry, ...]) -> None:
    """Raise Refused where nothing is removed, or nobody would be an admin everywhere."""
    if not gone:
        raise Refused("They are not on the list. `headway allow` shows it.", code="not_listed")
    if any(map(_is_chief, gone)) and not any(map(_is_chief, kept)):
        raise Refused(
            "They are the last admin on the list. Make somebody else an admin first: "
            "`headway allow add @NAME admin`.",
            code="last_admin",
        )


def _write_grant(
    tx: Transaction,
    kind: str,
    room: str | None,
    person: str | None,
    word: str,
    role: Role,
    given_by: str,
) -> None:
    tx.run(
        _ADD, id=f"a{token_hex(8)}", room=room, person=person, subject=word, kind=kind, role=role,
        rule="", given_by=given_by or None, given_at=tx.now(), expires_at=None,
        uses=0,
    )  # fmt: skip


def _is_chief(entry: Entry) -> bool:
    return entry.role == "admin" and entry.room is None


def _register(reader: Reader) -> Register:
    rooms = {(row[0], row[1], row[2]): read_kept(row[3]) for row in reader.all(_SET_ROOMS)}
    gone = frozenset((row[0], row[1]) for row in reader.all(_GONE))
    operators = frozenset((row[0], row[1], row[2]) for row in reader.all(_OPERATORS))
    return Register(tuple(one for _, one in _entries(reader)), gone, operators, rooms)


def _entries(reader: Reader) -> list[tuple[str, Entry]]:
    found = []
    for row in reader.all(_ENTRIES):
        entry = _entry(row, lambda id: reader.one(_ROOM, of_id=id))
        if entry is not None:
            found.append((row[0], entry))
    return found


def _entry(row: Row, room_of: Callable[[str], Row | None]) -> Entry | None:
    _, word, role, given_by, given_at, network, external, name, *scope = row
    subject: Subject | None
    if external is not None:
        subject = Subject("person", network, external, name=name)
    else:
        subject = _subject(word, room_of)
    if subject is None:
        return None
    room = Place(*cast(Any, scope)) if scope[0] is not None else None
    return Entry(subject, role, room, given_by or "", given_at)


def _subject(word: str, room_of: Callable[[str], Row | None]) -> Subject | None:
    kind, _, id = word.partition(":")
    if kind == "server":
        return Subject("server", "matrix", id)
    if kind == "group":
        return Subject("group", "slack", id)
    row = room_of(id) if kind == "room" else None
    return None if row is None else Subject("room", cast(Network, row[0]), row[2], row[1])


def _is_of(
    entry: Entry, subject: Subject, role: Role | None, room: Place | None, *, exactly: bool = False
) -> bool:
    if not entry.subject.is_same(subject) or (role is not None and entry.role != role):
        return False
    if room is None:
        return entry.room is None or not exactly
    return entry.room is not None and _name(entry.room) == _name(room)


def _name(place: Place) -> tuple[str, str, str]:
    return place.network, place.workspace, place.room
