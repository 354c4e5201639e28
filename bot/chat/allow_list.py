"""
The allow-list as it is now, in memory: whose roles are which, and what rooms are set to.

Rule 1: a change made by this process counts from its commit on; one made by another process within
        a few seconds, where there can be one (`follow`).
Rule 2: what the list does not say is no.
Rule 3: a person whom their network calls gone has no role, whatever the list says.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

from bot.chat.approvers import has_approver
from bot.chat.rights import Act, may
from bot.errors import HeadwayError
from bot.goals.goal import Goal
from bot.ports.chat import Incoming, Network, Place, Speaker
from bot.ports.doors import Notices
from bot.ports.mail import NEW, Rooms
from bot.ports.people import (
    NOTHING,
    Answer,
    Entry,
    Members,
    People,
    Register,
    Role,
    Subject,
)
from bot.ports.room_settings import DEFAULTS, Kept, RoomSettings, Setting, resolved

log = logging.getLogger(__name__)

FOLLOW_S: Final = 3.0
"""How often the changes of other processes are looked for: they count within 5 s."""
KEPT: Final = 20_000
Lost = Literal["removed", "gone"] | None


async def _nobody() -> None:
    return


class AllowList:
    """Rights and settings of one process."""

    def __init__(
        self,
        people: People,
        notices: Notices,
        rooms: Rooms,
        members: Members,
        defaults: RoomSettings = DEFAULTS,
    ) -> None:
        self._people = people
        self._notices = notices
        self._rooms = rooms
        self.members = members
        self._defaults = defaults
        self._register = Register()
        self._loading = asyncio.Lock()
        self._roles: dict[tuple[str, str, str, str], frozenset[Role]] = {}
        self._asks_nobody = True
        self._resolved: dict[tuple[str, str, str], RoomSettings] = {}
        self._homes: dict[str, Place] = {}
        self._ids: dict[str, str] = {}
        self.changed: Callable[[], Awaitable[None]] = _nobody
        """Told after each change, of whichever process."""

    @property
    def register(self) -> Register:
        """What is known now."""
        return self._register

    async def load(self) -> bool:
        """Read it anew; returns whether anything is different."""
        async with self._loading:
            # One after the other: what was read last is what was written last.
            return self.take(await self._people.register())

    def take(self, register: Register) -> bool:
        """Go by what was read; returns whether anything is different."""
        if register == self._register:
            return False
        self._register = register
        self._resolved.clear()
        self._roles.clear()
        # Who is in a room or a group is the network's to say, each time anew.
        kinds = {entry.subject.kind for entry in register.entries}
        self._asks_nobody = kinds <= {"person", "server"}
        return True

    async def reload(self) -> None:
        """Read it anew and tell that it has changed."""
        await self.load()
        await self.changed()

    async def room_moved(self) -> None:
        """What was known of a room is another's now: read it anew."""
        self._homes.clear()
        await self.reload()

    async def follow(self) -> None:
        """Take over what other processes change, until cancelled."""
        while True:
            await asyncio.sleep(FOLLOW_S)
            # A room may have moved, with its sessions and the entries that held there.
            self._homes.clear()
            try:
                if await self.load():
                    await self.changed()
            except HeadwayError as error:
                log.warning("The allow-list cannot be read: %s", error)

    async def of(self, message: Incoming) -> frozenset[Role]:
        """The roles that whoever said something has there, now."""
        return await self.roles(message.place, message.speaker)

    async def is_listed(self, message: Incoming) -> bool:
        """Whether whoever said something is on the list there, now."""
        return bool(await self.of(message))

    async def roles(self, place: Place, who: Speaker) -> frozenset[Role]:
        """The roles that somebody has in a place, now."""
        key = (place.network, place.workspace, place.room, who.id)
        known = self._roles.get(key)
        if known is None:
            by = self._register
            known = await self._found(place, who)
            if by is self._register and self._asks_nobody and len(self._roles) < KEPT:
                self._roles[key] = known
        return known

    def knows(self, network: Network, who: Speaker) -> bool:
        """Whether an entry lets somebody in anywhere, as a person or by their server."""
        return (network, who.id) not in self._register.gone and any(
            entry.subject.network == network and _names(entry.subject, who)
            for entry in self._register.entries
        )

    async def is_chief(self, place: Place, who: Speaker) -> bool:
        """Whether somebody is an admin in all rooms, and not in some alone."""
        everywhere = Place(place.network, place.workspace, "")
        return "admin" in await self.roles(everywhere, who)

    async def is_chief_by_id(self, place: Place, person: str) -> bool:
        """The same of a person whose id is known."""
        return await self.is_chief(place, await self._who(person))

    async def lost(self, goal: Goal) -> Lost:
        """Why a goal's owner may have no goals there any more, or None where they may."""
        place = await self.home(goal.session)
        who = await self._who(goal.owner)
        if (place.network, who.id) in self._register.gone:
            return "gone"
        return None if may(Act.START, await self.roles(place, who)) else "removed"

    async def has_approver(self, goal: Goal) -> bool:
        """Whether there is anybody who may approve a goal's calls, now."""
        place, who = await self.home(goal.session), await self._who(goal.owner)
        roles = await self.roles(place, who)
        return has_approver(self._register, place, self.settings(place), who.id, roles)

    async def home(self, session: str) -> Place:
        """Where a session lives."""
        place = self._homes.get(session)
        if place is None:
            if len(self._homes) >= KEPT:
                self._homes.clear()
            place = await self._notices.home(session)
            if not place.thread.startswith(NEW):
                self._homes[session] = place
        return place

    def admins(self, place: Place) -> tuple[str, ...]:
        """The names of the room's admins: its operators, and whom the list names as persons."""
        at = (place.network, place.workspace)
        names = sorted(id for *where, id in self._register.operators if tuple(where) == at)
        names += [
            entry.subject.name or entry.subject.id
            for entry in self._register.entries
            if entry.role == "admin"
            and entry.subject.kind == "person"
            and entry.subject.network == place.network
            and _holds_in(entry, place)
        ]
        return tuple(dict.fromkeys(names))

    def admin_ids(self, place: Place) -> tuple[str, ...]:
        """The ids of the room's admins whom the list names as persons."""
        return self._persons(place, "admin")

    def approver_ids(self, place: Place) -> tuple[str, ...]:
        """The ids of those whom the list names as persons and who may approve calls there."""
        return self._persons(place, "approver", "admin")

    def _persons(self, place: Place, *roles: Role) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(
                entry.subject.id
                for entry in self._register.entries
                if entry.role in roles
                and entry.subject.kind == "person"
                and entry.subject.network == place.network
                and _holds_in(entry, place)
            )
        )

    def settings(self, place: Place) -> RoomSettings:
        """The settings in force in a place's room."""
        name = (place.network, place.workspace, place.room)
        known = self._resolved.get(name)
        if known is None:
            above = self.kept(Place(place.network, place.workspace, ""))
            known = resolved(self.kept(place), above, defaults=self._defaults)
            self._resolved[name] = known
        return known

    async def approves_by_reaction(self, place: Place) -> bool:
        """Whether a reaction approves a call there; where messages are encrypted, if the room says so."""
        return self.settings(place).reactions or not await self.members.is_encrypted(place)

    def kept(self, place: Place) -> Mapping[str, Kept]:
        """What was set for the place's room itself; with an empty room, for its workspace."""
        return self._register.rooms.get((place.network, place.workspace, place.room), {})

    async def allow(self, entry: Entry, answer: Answer = NOTHING) -> bool:
        """Add an entry; False where it is there already."""
        is_new = await self._people.allow(entry, answer)
        await self.reload()
        return is_new

    async def remove(
        self,
        subject: Subject,
        *,
        role: Role | None = None,
        room: Place | None = None,
        answer: Answer = NOTHING,
    ) -> int:
        """Remove a subject's entries. Raises Refused, as `People.remove`."""
        removed = await self._people.remove(subject, role=role, room=room, answer=answer)
        await self.reload()
        return removed

    def keeps(self, subject: Subject, *, role: Role | None, room: Place | None) -> bool:
        """Whether a subject is still on the list once `remove` has done the same."""
        return any(
            (role is not None and entry.role != role)
            or (room is not None and not (entry.room and _holds_in(entry, room)))
            for entry in self._register.entries
            if entry.subject.is_same(subject)
        )

    async def note_operator(self, room: Place, who: Speaker) -> None:
        """Whoever runs a console's process is its admin by nature."""
        if await self._people.note_operator(room, who):
            await self.reload()

    async def gone(self, place: Place, who: Speaker, *, is_gone: bool = True) -> None:
        """A network says that somebody has left or was deactivated, or is back."""
        if await self._people.mark(place.network, who, is_gone=is_gone):
            await self.reload()

    async def set_for_room(
        self, place: Place, key: str, value: Setting | None, *, by: str, answer: Answer = NOTHING
    ) -> None:
        """Set one of a room's settings; None leaves it open again."""
        await self._people.set_for_room(place, key, value, by=by, answer=answer)
        await self.reload()

    async def _found(self, place: Place, who: Speaker) -> frozenset[Role]:
        if (place.network, who.id) in self._register.gone:
            return frozenset()
        if (place.network, place.workspace, who.id) in self._register.operators:
            return frozenset({"admin"})
        found: set[Role] = set()
        for entry in self._register.entries:
            if entry.role in found or not _holds_in(entry, place):
                continue
            if await self._is_one_of(entry.subject, place, who):
                found.add(entry.role)
        return frozenset(found)

    async def _who(self, person: str) -> Speaker:
        id = self._ids.get(person)
        if id is None:
            if len(self._ids) >= KEPT:
                self._ids.clear()
            found = await self._rooms.people((person,))
            id = self._ids[person] = found[person].id if person in found else ""
        return Speaker(id, id)

    async def _is_one_of(self, subject: Subject, place: Place, who: Speaker) -> bool:
        if subject.network != place.network:
            return False
        match subject.kind:
            case "person" | "server":
                return _names(subject, who)
            case "room":
                room = Place(subject.network, subject.workspace, subject.id)
                is_own = await self.members.is_own(room, who)
                return is_own and await self.members.is_member(room, who)
            case "group":
                return await self.members.is_in_group(subject, who)


def unmatched(register: Register, networks: frozenset[str]) -> tuple[Entry, ...]:
    """The entries that can match nobody, because their network is not connected."""
    return tuple(entry for entry in register.entries if entry.subject.network not in networks)


def _names(subject: Subject, who: Speaker) -> bool:
    if subject.kind == "person":
        return subject.id == who.id
    # `@ben:example.org:8448`: a server may name its port.
    is_server = subject.kind == "server" and bool(subject.id)
    return is_server and who.id.partition(":")[2] == subject.id


def _holds_in(entry: Entry, place: Place) -> bool:
    room = entry.room
    if room is None:
        return True
    return (room.network, room.workspace, room.room) == (
        place.network, place.workspace, place.room
    )  # fmt: skip
