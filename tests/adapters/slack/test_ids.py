"""Ids of Slack, put together and taken apart; which install a payload is for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.ids import message_id, parted, person_id, ts_of, user_of
from adapters.slack.payloads import installs_of
from bot.errors import Refused
from bot.ports.chat import Place
from tests.adapters.slack.test_parse import JSON


def test_a_message_is_its_channel_and_timestamp() -> None:
    assert message_id("C01GEN", "1700000000.000100") == "C01GEN:1700000000.000100"
    assert parted("C01GEN:1700000000.000100") == ("C01GEN", "1700000000.000100")


@pytest.mark.parametrize(
    "id", ["", "$event:server", "C01GEN", "C01GEN:", "C01GEN:now", "U01:1.2", "c01:1.2", "C1:1.2:3"]
)
def test_an_id_of_another_network_is_refused(id: str) -> None:
    with pytest.raises(Refused) as refused:
        parted(id)

    assert refused.value.code == "wrong_network"


def test_a_thread_of_another_channel_or_network_is_refused() -> None:
    place = Place("slack", "T01", "C01GEN", "C01GEN:1.2")

    assert ts_of(place) == "1.2"
    assert ts_of(Place("slack", "T01", "C01GEN")) == ""
    with pytest.raises(Refused):
        ts_of(Place("slack", "T01", "C02RND", "C01GEN:1.2"))
    with pytest.raises(Refused):
        ts_of(Place("matrix", "@bot:x", "!room", "$event"))


def test_a_person_is_where_they_belong_and_who_they_are() -> None:
    assert user_of(person_id("E01ORG", "U01ALICE")) == ("E01ORG", "U01ALICE")
    with pytest.raises(Refused):
        user_of("@ann:example.org")


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_is_refused(text: str) -> None:
    try:
        channel, ts = parted(text)
    except Refused:
        return

    assert message_id(channel, ts) == text


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        ({"team_id": "T1"}, ("T1",)),
        ({"team_id": "T1", "enterprise_id": "E1"}, ("T1", "E1")),
        ({"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": "true"}, ("E1", "T1")),
        (
            {"team_id": "T9", "authorizations": [{"team_id": "T1", "is_enterprise_install": False}]},
            ("T1",),
        ),
        (
            {"authorizations": [
                {"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": True}
            ]},
            ("E1", "T1"),
        ),
        ({"team": None, "enterprise": {"id": "E1"}, "is_enterprise_install": True,
          "user": {"id": "U1", "team_id": "T1"}}, ("E1", "T1")),
        ({"team": {"id": "T1"}, "view": {"app_installed_team_id": "T2"}}, ("T2",)),
        ({}, ()),
    ],
)  # fmt: skip
def test_an_install_is_found_by_what_a_payload_names(
    body: dict[str, Any], keys: tuple[str, ...]
) -> None:
    assert installs_of(body) == keys


@given(JSON)
def test_whatever_a_payload_names_nothing_raises(value: Any) -> None:
    names = ("team_id", "team", "enterprise", "authorizations", "view", "user")
    for name in names:
        assert isinstance(installs_of({name: value}), tuple)
