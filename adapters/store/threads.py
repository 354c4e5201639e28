"""In which thread a message of a room stands, and what one of ours is."""

from typing import Final

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.places import find_room, place_of
from adapters.store.statements import Reader
from bot.ports.chat import Place
from bot.ports.mail import Posted

_I, _O, _S = queries.INBOX, queries.OUTBOX, queries.SESSION

_CAME: Final = select(_I.c.thread, _I.c.state).where(
    _I.c.id == bindparam("of_id"), _I.c.room == bindparam("of_room")
)
_ROOT: Final = select(_S.c.id).where(
    _S.c.room == bindparam("of_room"),
    _S.c.thread == bindparam("of_id"),
    text("session.kind = 'thread'"),
)
_POSTED: Final = (
    select(_O.c.key, _O.c.kind, _O.c.goal, _O.c.session, _O.c.reason, _O.c.content, _S.c.thread)
    .join(_S, _S.c.id == _O.c.session)
    .where(
        _O.c.remote == bindparam("of_id"),
        text("outbox.remote <> ''"),
        _S.c.room == bindparam("of_room"),
    )
    # The edit of a message has its remote id, and comes after it.
    .order_by(_O.c.sequence)
    .limit(1)
)


def thread_of_message(reader: Reader, room: str, message: str) -> str | None:
    """The thread in which a message stands or that hangs under it; None: nobody knows it."""
    came = reader.one(_CAME, of_id=message, of_room=room)
    if came is not None and came[1] == "waiting":
        return str(came[0])
    if reader.one(_ROOT, of_id=message, of_room=room) is not None:
        return message
    ours = reader.one(_POSTED, of_id=message, of_room=room)
    if ours is not None:
        return str(ours[6])
    return None if came is None else str(came[0])


def read_posted(reader: Reader, place: Place, remote: str) -> Posted | None:
    """What a message of ours is, by the id that its network gave it."""
    room = find_room(reader, place)
    row = None if room is None else reader.one(_POSTED, of_id=remote, of_room=room)
    if row is None:
        return None
    key, kind, goal, session, reason, content, thread = row
    where = place_of(place.network, place.workspace, place.room, thread)
    return Posted(key, kind, goal or "", session, where, reason, content)
