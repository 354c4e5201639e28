"""
Who is in a room, as the homeserver knows. Port Members.

Rule: an answer is remembered for five minutes, and forgotten as soon as somebody comes or goes.
"""

import math
from typing import Final
from urllib.parse import quote

import nio

from adapters.matrix import wire
from adapters.matrix.errors import translated, unwrap
from bot.errors import Refused, Wait
from bot.ports.chat import Place, Speaker
from bot.ports.clock import Clock
from bot.ports.people import Subject

KEPT_S: Final = 300.0
SPACE: Final = "m.space"
NOT_THERE: Final = frozenset({"M_FORBIDDEN", "M_NOT_FOUND"})


class RoomMembers:
    """The members of the rooms that one client is in."""

    def __init__(self, client: nio.AsyncClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        self._changes = 0

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Whether they are in the room. Raises Wait where that cannot be asked."""
        return who.id in await self.of(room.room)

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """Never: Matrix has no user groups."""
        return False

    async def is_direct(self, place: Place) -> bool:
        """Whether nobody but one person and the bot is in the room. Raises as `is_member`."""
        members = await self.of(place.room)
        return len(members) == 2 and self._client.user_id in members

    async def is_encrypted(self, place: Place) -> bool:
        """Whether what is said there is encrypted. Raises as `is_member`."""
        known = self._client.rooms.get(place.room)
        if known is not None:
            return bool(known.encrypted)
        path = f"/rooms/{quote(place.room, safe='')}/state/m.room.encryption"
        try:
            await wire.call(self._client, "GET", path, what="The room's encryption cannot be read")
        except Refused as error:
            if error.code == "M_NOT_FOUND":
                return False
            raise
        return True

    async def of(self, room: str) -> frozenset[str]:
        """Who has joined the room; nobody where we are not in it. Raises Wait."""
        at, members = self._known.get(room, (-math.inf, frozenset()))
        if self._clock.now() - at < KEPT_S:
            return members
        asked_at, changes = self._clock.now(), self._changes
        try:
            with translated("The room's members cannot be read"):
                answer = await self._client.joined_members(room)
            members = frozenset(one.user_id for one in unwrap(answer).members)
        except Refused as error:
            if error.code not in NOT_THERE:
                raise
            members = frozenset()
        except Wait:
            if room in self._known:
                # While the homeserver is away, who was there is.
                return self._known[room][1]
            raise
        if changes == self._changes:
            self._known[room] = asked_at, members
        return members

    def forget(self, room: str) -> None:
        """Somebody came, went or changed there."""
        # What is being asked at this moment may be from before it.
        self._changes += 1
        self._known.pop(room, None)


def is_space(client: nio.AsyncClient, room: str) -> bool:
    """Whether a room that we are in is a space: nobody talks there."""
    known = client.rooms.get(room)
    return known is not None and known.room_type == SPACE
