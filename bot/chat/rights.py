"""
Who may do what: the one table that decides it.

Rule 1: rights are those that a person has now: whoever acts asks each time.
Rule 2: a stranger may nothing, not even to a goal that was theirs.
Rule 3: a room may only tighten the table, but for one thing: `self_approve` lets owners approve.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Final

from bot.ports.chat import Incoming
from bot.ports.people import Role
from bot.ports.room_settings import DEFAULTS, RoomSettings

Roles = Callable[[Incoming], Awaitable[frozenset[Role]]]
"""The roles that whoever said something has there, now."""


class Act(StrEnum):
    """What a person may want to do."""

    SEE = "see"
    START = "start"
    STEER = "steer"
    ANSWER = "answer"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    EDIT = "edit"
    BUDGET = "budget"
    HAND_OVER = "hand_over"
    PROFILE = "profile"
    """Of a goal; beyond its room's it takes an admin."""
    APPROVE = "approve"
    ACCEPT = "accept"
    """A plan or a sign-off."""
    SETTINGS = "settings"
    """Of a room."""
    ALLOW = "allow"
    HOLD = "hold"
    SECRETS = "secrets"
    MEMORY = "memory"
    """Of a room, and standing permissions."""
    FORGET = "forget"
    """What is kept of oneself."""


_ANYBODY: Final[frozenset[Role]] = frozenset({"user", "approver", "admin"})
_USERS: Final[frozenset[Role]] = frozenset({"user", "admin"})
_APPROVERS: Final[frozenset[Role]] = frozenset({"approver", "admin"})
_ADMINS: Final[frozenset[Role]] = frozenset({"admin"})

_ROLES: Final[Mapping[Act, frozenset[Role]]] = {
    Act.SEE: _ANYBODY,
    Act.START: _USERS,
    Act.STEER: _USERS,
    Act.ANSWER: _USERS,
    Act.PAUSE: _USERS,
    Act.RESUME: _ADMINS,
    Act.CANCEL: _ADMINS,
    Act.EDIT: _ADMINS,
    Act.BUDGET: _ADMINS,
    Act.HAND_OVER: _ADMINS,
    Act.PROFILE: _ADMINS,
    Act.APPROVE: _APPROVERS,
    Act.ACCEPT: _APPROVERS,
    Act.SETTINGS: _ADMINS,
    Act.ALLOW: _ADMINS,
    Act.HOLD: _ADMINS,
    Act.SECRETS: _ADMINS,
    Act.MEMORY: _ADMINS,
    Act.FORGET: _ANYBODY,
}

_OWNER: Final = frozenset(
    {Act.RESUME, Act.CANCEL, Act.EDIT, Act.BUDGET, Act.HAND_OVER, Act.PROFILE, Act.ACCEPT}
)
"""What the goal's owner may as well, while on the list at all."""
_SECOND_PERSONS: Final = frozenset({Act.APPROVE, Act.ACCEPT})
"""What a room with `four_eyes` never lets the owner do, whatever their roles."""


def may(
    act: Act,
    roles: frozenset[Role],
    *,
    is_owner: bool = False,
    room: RoomSettings = DEFAULTS,
) -> bool:
    """True where somebody with these roles may do this in a room with these settings."""
    if not roles or (is_owner and room.four_eyes and act in _SECOND_PERSONS):
        return False
    if roles & _ROLES[act]:
        return True
    return is_owner and (act in _OWNER or (act is Act.APPROVE and room.self_approve))
