"""What is set for rooms, in the rows of the rooms."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import bindparam, select

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.statements import Reader
from bot.ports.chat import Place
from bot.ports.room_settings import DEFAULTS, Kept, RoomSettings, read_kept, resolved

_R = queries.ROOM
_SETTINGS: Final = select(_R.c.settings).where(
    _R.c.network == bindparam("of_network"),
    _R.c.workspace == bindparam("of_workspace"),
    _R.c.name == bindparam("of_name"),
)
_ROOM: Final = select(_R.c.network, _R.c.workspace, _R.c.name, _R.c.settings).where(
    _R.c.id == bindparam("of_room")
)


class StoreRoomBook:
    """Port RoomBook."""

    def __init__(self, readers: Readers, defaults: RoomSettings = DEFAULTS) -> None:
        self._readers = readers
        self._defaults = defaults

    async def settings(self, place: Place) -> RoomSettings:
        """The settings in force in the place's room."""
        return await self._readers.glance(
            lambda reader: read_settings_at(reader, place, self._defaults)
        )

    async def kept(self, place: Place) -> Mapping[str, Kept]:
        """What was set for the place's room itself; with an empty room name, for its workspace."""
        return await self._readers.glance(lambda reader: read_kept_at(reader, place, place.room))


def read_settings(reader: Reader, room: str, defaults: RoomSettings = DEFAULTS) -> RoomSettings:
    """The settings in force in the room of that id, for whoever reads in a transaction already."""
    row = reader.one(_ROOM, of_room=room)
    if row is None:
        return defaults
    network, workspace, _, settings = row
    above = read_kept_at(reader, Place(network, workspace, ""), "")
    return resolved(read_kept(settings), above, defaults=defaults)


def read_settings_at(
    reader: Reader, place: Place, defaults: RoomSettings = DEFAULTS
) -> RoomSettings:
    """The settings in force in the place's room."""
    own, above = read_kept_at(reader, place, place.room), read_kept_at(reader, place, "")
    return resolved(own, above, defaults=defaults)


def read_kept_at(reader: Reader, place: Place, room: str) -> dict[str, Kept]:
    """What was set for the room of that name in the place's workspace."""
    row = reader.one(
        _SETTINGS, of_network=place.network, of_workspace=place.workspace, of_name=room
    )
    return {} if row is None else read_kept(row[0])
