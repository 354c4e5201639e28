"""Who may do what: every cell of the table."""

from typing import get_args

import pytest

from adapters.console.parse import room
from bot.chat.rights import Act, Role, console_only, may
from bot.ports.chat import Incoming, Place, Speaker

ROLES: tuple[Role, ...] = get_args(Role)
ALLOWED: dict[Act, set[str]] = {
    Act.SEE: {"user", "approver", "admin"},
    Act.START: {"user", "admin"},
    Act.STEER: {"user", "admin"},
    Act.ANSWER: {"user", "admin"},
    Act.PAUSE: {"user", "admin"},
    Act.RESUME: {"owner", "admin"},
    Act.CANCEL: {"owner", "admin"},
    Act.EDIT: {"owner", "admin"},
    Act.BUDGET: {"owner", "admin"},
    Act.APPROVE: {"approver", "admin"},
    Act.ACCEPT: {"owner", "approver", "admin"},
}


@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_what_the_table_says(act: Act, role: Role) -> None:
    assert may(act, frozenset({role})) == (role in ALLOWED[act])


@pytest.mark.parametrize("act", Act)
def test_an_owner_on_the_list_may_what_owners_may(act: Act) -> None:
    allowed = ALLOWED[act] & {"owner", "user"}

    assert may(act, frozenset({"user"}), is_owner=True) == bool(allowed)


@pytest.mark.parametrize("act", Act)
def test_a_stranger_may_nothing_even_as_an_owner(act: Act) -> None:
    assert not may(act, frozenset(), is_owner=True)


def test_the_console_knows_the_systems_user_alone() -> None:
    roles = console_only("ann")

    def of(place: Place, who: str) -> frozenset[Role]:
        return roles(Incoming("m", place, Speaker(who, who), "hello", 0.0))

    assert of(room(), "ann") == {"admin"}
    assert of(room(), "eve") == frozenset()
    assert of(Place("slack", "T", "C"), "ann") == frozenset()
