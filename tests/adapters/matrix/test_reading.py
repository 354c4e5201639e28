"""What a homeserver may answer, and what nio cannot take of it."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import nio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.matrix.reading import Reader, position_of, rooms_of
from bot.errors import Wait

US = "@headway:example.org"


@pytest.fixture
async def client() -> AsyncIterator[nio.AsyncClient]:
    config = nio.AsyncClientConfig(encryption_enabled=False)
    client = nio.AsyncClient("http://127.0.0.1:9", US, config=config)
    client.user_id = US
    yield client
    await client.close()


def event(type: str, content: object, **more: Any) -> dict[str, Any]:
    return {
        "type": type, "event_id": "$1", "sender": "@ann:x", "origin_server_ts": 1,
        "content": content, **more,
    }  # fmt: skip


def member(user: str, **more: Any) -> dict[str, Any]:
    return event("m.room.member", {"membership": "join", **more}, state_key=user)


async def test_a_part_that_the_library_cannot_take_costs_that_part(client: nio.AsyncClient) -> None:
    broken = event("m.room.member", {"membership": "join"}, state_key="@eve:x")
    broken["unsigned"] = {"prev_content": 3}
    create = event("m.room.create", {"type": "m.space", "room_version": "11"}, state_key="")
    events = [create, member("@ann:x"), broken, member("@bob:x", displayname={"a": 1}), member(US)]
    answer = {
        "next_batch": "s1",
        "rooms": {
            "join": {
                "!one": {"state": {"events": events}},
                "!two": {"timeline": {"events": [member("@ann:x"), member(US)]}},
            }
        },
    }

    await Reader(client).take(answer)

    assert client.next_batch == "s1"
    assert {"@ann:x", US} <= set(client.rooms["!one"].users)
    assert client.rooms["!one"].room_type == "m.space"
    assert set(client.rooms["!two"].users) == {"@ann:x", US}


async def test_an_answer_taken_again_changes_nothing(client: nio.AsyncClient) -> None:
    answer = {
        "next_batch": "s1",
        "rooms": {"join": {"!one": {"timeline": {"events": [member("@ann:x"), member(US)]}}}},
    }
    reader = Reader(client)
    await reader.take(answer)

    await reader.take(answer)

    assert set(client.rooms["!one"].users) == {"@ann:x", US}


def test_an_answer_without_a_position_is_none() -> None:
    for answer in ({}, {"next_batch": 3}, {"next_batch": ""}):
        with pytest.raises(Wait):
            position_of(answer)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
_TYPES = [
    "m.room.member", "m.room.create", "m.room.power_levels", "m.room.name", "m.room.encrypted",
    "m.room.encryption", "m.room.message", "m.room.tombstone", "m.reaction", "m.space.child",
]  # fmt: skip
_CONTENT = st.fixed_dictionaries(
    {},
    optional={
        "membership": st.sampled_from(["join", "leave"]) | _JSON,
        "displayname": _JSON,
        "users": _JSON,
        "name": _JSON,
        "algorithm": st.just("m.megolm.v1.aes-sha2") | _JSON,
        "session_id": _JSON,
        "sender_key": _JSON,
        "ciphertext": _JSON,
        "msgtype": st.sampled_from(["m.text", "m.image"]) | _JSON,
        "body": _JSON,
    },
)
_EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(_TYPES),
        "event_id": st.just("$1") | _JSON,
        "sender": st.just("@ann:x") | _JSON,
        "origin_server_ts": st.integers(0, 9),
        "content": _CONTENT | _JSON,
    },
    optional={
        "state_key": st.sampled_from(["", "@ann:x", US]) | _JSON,
        "unsigned": st.fixed_dictionaries({"prev_content": _JSON}) | _JSON,
    },
)
_EVENTS = st.fixed_dictionaries({"events": st.lists(_EVENT | _JSON, max_size=3) | _JSON}) | _JSON
_ROOM = st.fixed_dictionaries(
    {},
    optional={
        "state": _EVENTS, "timeline": _EVENTS, "invite_state": _EVENTS, "ephemeral": _EVENTS,
        "account_data": _EVENTS, "summary": _JSON,
    },
)  # fmt: skip
_ROOMS = st.dictionaries(st.sampled_from(["!one", "!two"]), _ROOM | _JSON, max_size=2) | _JSON
_ANSWER = st.fixed_dictionaries(
    {"next_batch": st.just("s1")},
    optional={
        "rooms": st.fixed_dictionaries({}, optional={"join": _ROOMS, "invite": _ROOMS}) | _JSON,
        "to_device": _EVENTS,
        "device_lists": _JSON,
        "device_one_time_keys_count": _JSON,
    },
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_ANSWER)
async def test_whatever_json_an_answer_is_it_is_taken(
    client: nio.AsyncClient, answer: dict[str, Any]
) -> None:
    logging.disable(logging.CRITICAL)
    reader = Reader(client)

    try:
        await reader.take(answer)
        for kind in ("join", "invite", "leave"):
            for room, _ in rooms_of(answer, kind):
                assert room
    finally:
        logging.disable(logging.NOTSET)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_EVENT | _JSON)
async def test_whatever_json_an_event_is_it_is_read_or_passed_over(
    client: nio.AsyncClient, given_: object
) -> None:
    read = Reader(client).read(given_, "!one")

    assert read is None or read.source is not None
