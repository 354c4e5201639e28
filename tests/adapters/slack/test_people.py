"""Who people of Slack are, from what Slack tells of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.ids import is_user, user_of
from adapters.slack.people import NAME_CHARS, Home, Person, belongs, home_of, person_of

HOME = Home("T01TEST", "", "U0BOT", "B0BOT")
GRID = Home("T01TEST", "E01ORG", "U0BOT", "B0BOT")
ANN = {
    "id": "U01ALICE",
    "team_id": "T01TEST",
    "name": "alice",
    "profile": {"display_name": "Ann", "real_name": "Alice Anderson"},
    "tz": "Europe/Berlin",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
FIELDS = [
    "id", "team_id", "name", "real_name", "profile", "deleted", "is_bot", "is_restricted",
    "is_ultra_restricted", "enterprise_user", "tz",
]  # fmt: skip


def person(**different: Any) -> Person:
    found = person_of({**ANN, **different})
    assert found is not None
    return found


def test_a_person_is_known_by_the_name_that_they_chose() -> None:
    chosen = person()
    real = person(profile={"display_name": "", "real_name": "Alice Anderson"})
    short = person(profile={})
    none = person(profile={}, name="")

    assert [one.name for one in (chosen, real, short, none)] == [
        "Ann", "Alice Anderson", "alice", "U01ALICE",
    ]  # fmt: skip


def test_a_person_is_known_by_their_enterprise_where_they_have_one() -> None:
    alone = person()
    in_grid = person(enterprise_user={"enterprise_id": "E01ORG", "id": "U01ALICE"})

    assert (alone.id, in_grid.id) == ("T01TEST:U01ALICE", "E01ORG:U01ALICE")


@pytest.mark.parametrize(
    ("different", "home", "is_own"),
    [
        ({}, HOME, True),
        ({"is_restricted": True}, HOME, False),
        ({"is_restricted": True, "is_ultra_restricted": True}, HOME, False),
        ({"is_bot": True}, HOME, False),
        ({"id": "USLACKBOT"}, HOME, False),
        ({"is_workflow_bot": True}, HOME, False),
        ({"deleted": True}, HOME, False),
        ({"team_id": "T09OTHER", "is_stranger": True}, HOME, False),
        ({"team_id": ""}, HOME, False),
        ({"team_id": "T09OTHER"}, GRID, False),
        ({"enterprise_user": {"enterprise_id": "E01ORG"}}, GRID, True),
        ({"team_id": "T02SAME", "enterprise_user": {"enterprise_id": "E01ORG"}}, GRID, True),
        ({"team_id": "E01ORG"}, GRID, True),
        ({"enterprise_user": {"enterprise_id": "E09OTHER"}}, GRID, False),
    ],
)
def test_a_workspace_is_its_full_members_own(
    different: dict[str, Any], home: Home, is_own: bool
) -> None:
    assert belongs(person(**different), home) is is_own


def test_a_home_without_names_is_nobodys() -> None:
    nowhere = home_of({"ok": True})

    assert not belongs(person(team_id=""), nowhere)
    assert nowhere.ids == frozenset()


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_whatever_slack_tells_of_somebody_is_read(told: dict[str, Any]) -> None:
    found = person_of(told)

    assert found is None or is_user(found.user)
    if found is not None:
        assert found.name == found.name.strip()
        assert found.name.isprintable()
        assert 0 < len(found.name) <= max(NAME_CHARS, len(found.user))


@given(JSON)
def test_whatever_stands_in_place_of_a_person_is_nobody_or_somebody(told: object) -> None:
    assert person_of(told) is None


@given(st.from_regex(r"[TE][A-Z0-9]{2,9}", fullmatch=True))
def test_an_id_is_taken_apart_into_what_it_was_made_of(team: str) -> None:
    assert user_of(person(team_id=team).id) == (team, "U01ALICE")
