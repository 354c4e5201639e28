"""Rows of people, rooms and threads, found or made at first sight."""

from secrets import token_hex
from typing import Any, Final

from sqlalchemy import String, bindparam, select

from adapters.store import queries
from adapters.store.statements import Reader
from adapters.store.transaction import Transaction
from bot.ports.chat import Network, Place, Speaker

_S, _R, _P = queries.SESSION, queries.ROOM, queries.PERSON

_FIND_ROOM: Final = select(_R.c.id).where(
    _R.c.network == bindparam("of_network"),
    _R.c.workspace == bindparam("of_workspace"),
    _R.c.name == bindparam("of_name"),
)
_ADD_ROOM: Final = queries.into(_R).on_conflict_do_nothing()
_FIND_PERSON: Final = select(_P.c.id, _P.c.name).where(
    _P.c.network == bindparam("of_network"), _P.c.external == bindparam("of_external")
)
_ADD_PERSON: Final = queries.into(_P).on_conflict_do_nothing()
_RENAME: Final = queries.set_in(_P, "name").where(_P.c.id == bindparam("of_id"))
_FIND_SESSION: Final = select(_S.c.id).where(
    _S.c.room == bindparam("of_room"),
    _S.c.thread == bindparam("of_thread"),
    _S.c.kind == bindparam("of_kind"),
)
_ADD_SESSION: Final = queries.into(_S).on_conflict_do_nothing()


def see_person(tx: Transaction, network: Network, speaker: Speaker) -> str:
    """The person's id, with a row made at first sight."""
    of = {"of_network": network, "of_external": speaker.id}
    row = tx.one(_FIND_PERSON, **of)
    if row is None:
        tx.run(
            _ADD_PERSON,
            id=f"p{token_hex(8)}",
            network=network,
            external=speaker.id,
            name=speaker.name,
            gone_at=None,
        )
        row = tx.one(_FIND_PERSON, **of)
    assert row is not None
    if row[1] != speaker.name and _is_name(speaker):
        tx.run(_RENAME, of_id=row[0], name=speaker.name)
    return str(row[0])


def _is_name(speaker: Speaker) -> bool:
    """Whether it is more than their id, which stands there where the name is not known for the moment."""
    return speaker.name not in ("", speaker.id, speaker.id.rpartition(":")[2])


def see_room(tx: Transaction, place: Place) -> str:
    """The room's id, with a row made at first sight."""
    found = find_room(tx, place)
    if found is None:
        tx.run(
            _ADD_ROOM,
            id=f"r{token_hex(8)}",
            network=place.network,
            workspace=place.workspace,
            name=place.room,
            settings="{}",
        )
        found = find_room(tx, place)
    assert found is not None
    return found


def find_room(reader: Reader, place: Place) -> str | None:
    """The room's id, where it was seen already."""
    of = {"of_network": place.network, "of_workspace": place.workspace, "of_name": place.room}
    row = reader.one(_FIND_ROOM, **of)
    return None if row is None else str(row[0])


def see_session(tx: Transaction, room: str, thread: str, kind: str, at: float) -> str:
    """The id of the room's session of that thread and kind, with a row made at first sight."""
    of = {"of_room": room, "of_thread": thread, "of_kind": kind}
    row = tx.one(_FIND_SESSION, **of)
    if row is None:
        tx.run(
            _ADD_SESSION,
            id=f"s{token_hex(8)}",
            room=room,
            thread=thread,
            kind=kind,
            opened_at=at,
            home="",
        )
        row = tx.one(_FIND_SESSION, **of)
    assert row is not None
    return str(row[0])


def is_room_or_all(room: Any) -> Any:
    """The row is of the room that the parameter `of_room` names; where that is empty, of any."""
    name = bindparam("of_room", type_=String())
    return (name == "") | (room.c.name == name)


def place_of(network: Any, workspace: str, room: str, thread: str) -> Place:
    """A place from its columns."""
    return Place(network, workspace, room, thread)
