"""
What comes from the networks, on its way into the inbox.

Rule 1: an identity is taken in once, whatever comes again and however often.
Rule 2: what answers a message and names no thread is said in that message's thread. While the message
        itself waits, that is the thread in which it waits: the two stay in their order.
Rule 3: an edit counts only if it was made by whoever wrote the message; servers do not all check.
"""

import json
import logging
from collections.abc import Iterable
from typing import Final

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.attachments import read_files, write_files
from adapters.store.moves import write_content
from adapters.store.places import place_of, see_person, see_room, see_session
from adapters.store.removals import sign_of, take_back
from adapters.store.statements import Reader, Row, Writes
from adapters.store.threads import thread_of_message
from adapters.store.transaction import Transaction
from adapters.store.ways_back import WAY_BACK, keep_way_back
from bot.ports.chat import (
    Arrival,
    Attachment,
    Incoming,
    Place,
    Removed,
    Speaker,
    Unreacted,
    edit_of,
)
from bot.ports.journal import Content
from bot.ports.mail import Received

log = logging.getLogger(__name__)

KEPT_S: Final = 90 * 24 * 3600.0
"""How long the text of a message in is kept beside its consequence."""

_I, _R, _P, _C = queries.INBOX, queries.ROOM, queries.PERSON, queries.CONTENT

_RECEIVE: Final = queries.into(_I, without=("sequence",)).on_conflict_do_nothing()
_AUTHOR: Final = select(_I.c.person).where(
    _I.c.id == bindparam("of_id"), _I.c.room == bindparam("of_room")
)
_WAITING: Final = (
    select(
        _I.c.sequence, _I.c.attempts, _I.c.id, _R.c.network, _R.c.workspace, _R.c.name, _I.c.thread,
        _P.c.external, _P.c.name, _C.c.text, _I.c.at, _I.c.reply_to, _I.c.is_aside,
        _I.c.via, _I.c.form, WAY_BACK.c.url,
    )
    .join(_R, _R.c.id == _I.c.room)
    .join(_P, _P.c.id == _I.c.person)
    .join(_C, (_C.c.session == _I.c.session) & (_C.c.hash == _I.c.content))
    .outerjoin(WAY_BACK, WAY_BACK.c.message == _I.c.id)
    .where(text("inbox.state = 'waiting'"))
    .order_by(_I.c.sequence)
)  # fmt: skip


def take_in(tx: Transaction, arrivals: Iterable[Arrival]) -> int:
    """Store what came, in its order; returns how many were new."""
    taken, new = _Taken(tx), 0
    for one in arrivals:
        if isinstance(one, Removed):
            new += take_back(tx, one)
        elif isinstance(one, Unreacted):
            sign = sign_of(tx, one)
            new += sign is not None and take_back(tx, sign)
        else:
            new += taken.receive(one if isinstance(one, Incoming) else one.as_message)
    return new


def read_waiting(reader: Reader) -> tuple[Received, ...]:
    """Everything not handled yet, in order of arrival."""
    rows = reader.all(_WAITING)
    files = read_files(reader, [row[2] for row in rows])
    return tuple(_received(row, files.get(row[2], ())) for row in rows)


class _Taken:
    """One batch: rooms and people that it names are looked up once."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._rooms: dict[Place, tuple[str, str]] = {}
        self._people: dict[tuple[str, Speaker], str] = {}

    def receive(self, message: Incoming) -> bool:
        """Store one; False when it was there, or counts for nothing."""
        tx = self._tx
        if tx.one(queries.INBOX_STATE, of_id=message.id) is not None:
            return False
        room, session = self._room(message.place)
        person = self._person(message)
        edited = edit_of(message)
        if edited:
            author = tx.one(_AUTHOR, of_id=edited, of_room=room)
            if author is not None and author[0] != person:
                log.warning("An edit of message %s is by somebody else: dropped", edited)
                return False
        thread, at = message.place.thread, tx.now()
        if not thread and message.reply_to:
            thread = thread_of_message(tx, room, message.reply_to) or ""
        content, writes = Content(message.text, person), Writes()
        write_content(
            writes, session, content, content.hash, at, message=message.id, expires_at=at + KEPT_S
        )
        tx.write(writes)
        rows = tx.run(
            _RECEIVE, id=message.id, session=session, room=room, thread=thread, person=person,
            content=content.hash, reply_to=message.reply_to, is_aside=message.is_aside,
            via=message.via, form=dump_form(message.form),
            at=message.at, received_at=at, state="waiting", attempts=0, why="", handled_at=None,
        )  # fmt: skip
        if rows == 1:
            write_files(tx, message.id, message.files, at)
            keep_way_back(tx, message, at)
        return rows == 1

    def _room(self, place: Place) -> tuple[str, str]:
        """The room, and the session that holds its mail."""
        where = Place(place.network, place.workspace, place.room)
        known = self._rooms.get(where)
        if known is None:
            room = see_room(self._tx, where)
            session = see_session(self._tx, room, "", "mail", self._tx.now())
            known = self._rooms[where] = (room, session)
        return known

    def _person(self, message: Incoming) -> str:
        who = (message.place.network, message.speaker)
        known = self._people.get(who)
        if known is None:
            known = self._people[who] = see_person(self._tx, *who)
        return known


def _received(row: Row, files: tuple[Attachment, ...]) -> Received:
    sequence, attempts, id, network, workspace, room, thread, external, name, said, *rest = row
    at, to, is_aside, via, form, url = rest
    place = place_of(network, workspace, room, thread)
    who = Speaker(external, name)
    message = Incoming(
        id, place, who, said or "", at, to, bool(is_aside), files, via, load_form(form), url or ""
    )  # fmt: skip
    return Received(sequence, message, attempts)


def dump_form(form: tuple[tuple[str, str], ...]) -> str:
    """A form's fields as they are kept."""
    return json.dumps(form) if form else ""


def load_form(kept: str) -> tuple[tuple[str, str], ...]:
    """A form's fields, from what is kept."""
    return tuple((name, value) for name, value in json.loads(kept)) if kept else ()
