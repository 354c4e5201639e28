"""What is a message of a verification, whatever somebody sends."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.matrix.verification_channel import ANY_DEVICE, is_verification, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)
FIELDS = ("type", "sender", "content", "event_id", "origin_server_ts")


@dataclass
class Event:
    source: Any


def _event(type: str, content: dict[str, Any]) -> Event:
    return Event(
        {
            "type": type,
            "sender": "@ann:x",
            "event_id": "$e",
            "content": content,
            "origin_server_ts": 5,
        }
    )


def test_a_request_in_a_room_is_a_message_and_is_known_by_its_event() -> None:
    event = _event("m.room.message", {"msgtype": "m.key.verification.request", "from_device": "D"})

    heard = read(event, "!room")

    assert heard
    assert (heard.kind, heard.channel.id, heard.channel.device_id) == ("request", "$e", "D")
    assert heard.sent_ms == 5
    assert is_verification(event)
    assert not is_verification(_event("m.room.message", {"msgtype": "m.text"}))


def test_what_follows_in_a_room_refers_to_the_request() -> None:
    relation = {"rel_type": "m.reference", "event_id": "$request"}

    heard = read(_event("m.key.verification.key", {"m.relates_to": relation}), "!room")

    assert heard
    assert (heard.channel.id, heard.channel.device_id) == ("$request", ANY_DEVICE)


@pytest.mark.parametrize(
    "relation", [None, {}, {"rel_type": "m.thread", "event_id": "$e"}, {"rel_type": "m.reference"}]
)
def test_what_refers_to_nothing_is_passed_over(relation: object) -> None:
    content = {"m.relates_to": relation, "transaction_id": "t"}

    assert read(_event("m.key.verification.key", content), "!room") is None


@pytest.mark.parametrize("id", [None, 3, "", "t" * 256, ["t"]])
def test_a_message_to_a_device_without_a_readable_transaction_is_passed_over(id: object) -> None:
    assert read(_event("m.key.verification.start", {"transaction_id": id})) is None


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), st.sampled_from(["", "!room"]))
def test_whatever_is_sent_is_read_or_passed_over(source: dict[str, Any], room: str) -> None:
    read(Event(source), room)
    read(Event({**source, "type": "m.key.verification.start"}), room)
    is_verification(Event(source))
    assert read(Event(None), room) is None
