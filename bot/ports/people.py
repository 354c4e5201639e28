"""
The allow-list: who may do what where, as it is kept.

Rule 1: an entry lets a subject (a person, the members of a room, a Matrix server, a Slack user group)
        have one role, in one room or in all; a subject may have several.
Rule 2: a person is known by network and id there; somebody who was never seen is made at first sight.
Rule 3: the last entry that makes an admin everywhere is not removed.
Rule 4: a change and what is said about it are one transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, get_args

from bot.ports.chat import Network, Place, Speaker
from bot.ports.room_settings import Kept, Setting

Role = Literal["user", "approver", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
SubjectKind = Literal["person", "room", "server", "group"]
RoomName = tuple[str, str, str]
"""Network, workspace, name."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom an entry is about. `id` is the network's: a person's, a room's name, a server, a group."""

    kind: SubjectKind
    network: Network
    id: str
    workspace: str = ""
    """Of a room."""
    name: str = ""
    """As they are shown; the id where it is not known."""

    def is_same(self, other: "Subject") -> bool:
        """True for one subject under whatever name."""
        mine = (self.kind, self.network, self.id, self.workspace)
        return mine == (other.kind, other.network, other.id, other.workspace)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list. `room` is None where it holds in all rooms."""

    subject: Subject
    role: Role
    room: Place | None = None
    given_by: str = ""
    """A person id; empty: the operator, by the command line."""
    given_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Register:
    """All that is kept about people and rooms, at one moment."""

    entries: tuple[Entry, ...] = ()
    gone: frozenset[tuple[str, str]] = frozenset()
    """(network, id) of people whom their network calls gone or deactivated."""
    operators: frozenset[RoomName] = frozenset()
    """Network, workspace and id of those who are admins by nature: whoever can open the state folder
    of a console."""
    rooms: Mapping[RoomName, Mapping[str, Kept]] = field(default_factory=dict)
    """What is set for rooms, and, under an empty name, for workspaces."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to say in a session's thread. `reason` names the buttons under it."""

    session: str
    key: str
    text: str
    reason: str = ""
    only_for: str = ""
    """Person id of whom alone it concerns; empty: whoever reads there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a change says, and the inbox messages that it answers."""

    notes: tuple[Note, ...] = ()
    handled: tuple[str, ...] = ()


NOTHING: Final = Answer()


class People(Protocol):
    """The list, and what is set for rooms."""

    async def register(self) -> Register:
        """Everything, as it is now."""

    async def allow(self, entry: Entry, answer: Answer = NOTHING) -> bool:
        """Add an entry; False where it is there already."""

    async def remove(
        self,
        subject: Subject,
        *,
        role: Role | None = None,
        room: Place | None = None,
        answer: Answer = NOTHING,
    ) -> int:
        """Remove a subject's entries: of one role or all, of one room or everywhere.

        Raises:
            Refused: code `not_listed`: there is none; code `last_admin`: nobody would be an admin.
        """

    async def mark(self, network: Network, who: Speaker, *, is_gone: bool) -> bool:
        """Note that a network calls somebody gone, or back; False where that is known already."""

    async def note_operator(self, room: Place, who: Speaker) -> bool:
        """Note whose console a room is, in place of who it was; False where that is known already."""

    async def set_for_room(
        self, place: Place, key: str, value: Setting | None, *, by: str, answer: Answer = NOTHING
    ) -> None:
        """Set one of a room's settings (None: leave it open again); an empty room: the workspace's."""


class Members(Protocol):
    """What a network knows of its people. An adapter may remember an answer for 5 minutes."""

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Whether they are in the room."""

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """Whether the room's workspace is theirs in full: no guest, bot or other organisation's.

        Anybody else is a stranger there, unless they are listed themselves.
        """

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """Whether they are in the user group."""

    async def is_direct(self, place: Place) -> bool:
        """Whether nobody but them and the bot reads there."""

    async def is_encrypted(self, place: Place) -> bool:
        """Whether what is said there is encrypted from end to end."""

    async def enter(self, room: Place) -> bool:
        """Whether the bot can speak in the room: it is in it, or has just joined, as it may."""
