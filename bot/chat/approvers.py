"""
Whether there is anybody in a room who may approve a goal's calls. Pure.

Rule 1: who is a member of a room, a server or a group is the network's to say when they answer: such an
        entry counts as somebody.
Rule 2: a goal's owner counts as the table of rights has it, and never where the room asks for four eyes.
"""

from bot.chat.rights import Act, may
from bot.ports.chat import Place
from bot.ports.people import Entry, Register, Role
from bot.ports.room_settings import RoomSettings


def has_approver(
    register: Register, place: Place, room: RoomSettings, owner: str, roles: frozenset[Role]
) -> bool:
    """Whether somebody may say yes.

    Args:
        owner: of the goal, as the network names them; `roles`: those that they have there now.
    """
    if may(Act.APPROVE, roles, is_owner=True, room=room):
        return True
    operators = {id for *where, id in register.operators if tuple(where) == place_of(place)}
    if operators - {owner}:
        return True
    return any(_counts(entry, register, place, owner) for entry in register.entries)


def place_of(place: Place) -> tuple[str, str]:
    """The network and the workspace of a place."""
    return place.network, place.workspace


def _counts(entry: Entry, register: Register, place: Place, owner: str) -> bool:
    subject, room = entry.subject, entry.room
    if not may(Act.APPROVE, frozenset({entry.role})) or subject.network != place.network:
        return False
    if room is not None and (*place_of(room), room.room) != (*place_of(place), place.room):
        return False
    if subject.kind != "person":
        return True
    return subject.id != owner and (subject.network, subject.id) not in register.gone
