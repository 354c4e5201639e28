"""
Who may do what: the one place that decides it.

Rights are those that a person has now: whoever acts asks here each time. In this version the
console's person is the system's user and an admin; nobody else may do anything.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Literal

from bot.ports.chat import Incoming

Role = Literal["user", "approver", "admin"]
Roles = Callable[[Incoming], frozenset[Role]]
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
    APPROVE = "approve"
    ACCEPT = "accept"
    """A plan or a sign-off."""


_ROLES: Final[Mapping[Act, frozenset[Role]]] = {
    Act.SEE: frozenset({"user", "approver", "admin"}),
    Act.START: frozenset({"user", "admin"}),
    Act.STEER: frozenset({"user", "admin"}),
    Act.ANSWER: frozenset({"user", "admin"}),
    Act.PAUSE: frozenset({"user", "admin"}),
    Act.RESUME: frozenset({"admin"}),
    Act.CANCEL: frozenset({"admin"}),
    Act.EDIT: frozenset({"admin"}),
    Act.BUDGET: frozenset({"admin"}),
    Act.APPROVE: frozenset({"approver", "admin"}),
    Act.ACCEPT: frozenset({"approver", "admin"}),
}

_OWNER: Final = frozenset({Act.RESUME, Act.CANCEL, Act.EDIT, Act.BUDGET, Act.ACCEPT})
"""What the goal's owner may as well, while on the list at all."""


def may(act: Act, roles: frozenset[Role], *, is_owner: bool = False) -> bool:
    """True where somebody with these roles may do this; a stranger (no roles) may nothing."""
    if not roles:
        return False
    return bool(roles & _ROLES[act]) or (is_owner and act in _OWNER)


def console_only(user: str) -> Roles:
    """The system's user at the console is an admin; anybody else is a stranger."""

    def roles(message: Incoming) -> frozenset[Role]:
        if message.place.network == "console" and message.speaker.id == user:
            return frozenset({"admin"})
        return frozenset()

    return roles
