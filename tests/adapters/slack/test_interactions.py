"""What commands, presses and shortcuts say."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.interactions import (
    command,
    page_of,
    presses,
    room_in,
    shortcut,
    users_in,
    way_back,
)
from adapters.slack.kinds import kind_of
from adapters.slack.presses import Press, value_of
from bot.ports.chat import Incoming, Place
from tests.adapters.slack.events import HEARER, ROOM, TS
from tests.adapters.slack.test_parse import JSON

NOW = 1_700_000_100.0
WAY = "https://hooks.example.org/T01/1"
WHO = {
    "user": {"id": "U01ALICE", "team_id": "T01TEST", "name": "alice"},
    "team": {"id": "T01TEST", "domain": "test"}, "enterprise": None,
    "is_enterprise_install": False, "api_app_id": "A01APP", "trigger_id": "1.2.abc",
}  # fmt: skip


def typed(**further: Any) -> dict[str, Any]:
    return {
        "command": "/goal", "text": "fix the tests", "channel_id": ROOM, "user_id": "U01ALICE",
        "user_name": "alice", "team_id": "T01TEST", "trigger_id": "1.2.abc", "response_url": WAY,
        **further,
    }  # fmt: skip


def pressed(value: str, **further: Any) -> dict[str, Any]:
    return {
        "type": "block_actions", **WHO, "response_url": WAY,
        "container": {"type": "message", "message_ts": "1700000001.000200", "channel_id": ROOM,
                      "thread_ts": TS, "is_ephemeral": False},
        "channel": {"id": ROOM, "name": "general"},
        "message": {"ts": "1700000001.000200", "thread_ts": TS, "text": "card"},
        "actions": [{"type": "button", "action_id": "headway:1", "block_id": "headway:b",
                     "value": value, "action_ts": "1700000099.000300"}],
        **further,
    }  # fmt: skip


def one(body: dict[str, Any]) -> Incoming:
    (found,) = presses(body, HEARER, NOW)
    return found


def test_a_command_is_known_by_its_trigger_and_has_a_way_back() -> None:
    said = command(typed(), HEARER, NOW)

    assert said is not None
    assert (said.id, said.text, said.via) == ("command:1.2.abc", "/goal fix the tests", "command")
    assert (said.place, said.way_back, said.at) == (Place("slack", "T01TEST", ROOM), WAY, NOW)
    assert (said.speaker.id, said.speaker.name) == ("T01TEST:U01ALICE", "Alice")


def test_a_command_is_goal_whatever_its_name_is_there() -> None:
    said = command(typed(command="/work", text=""), HEARER, NOW)

    assert said is not None
    assert said.text == "/goal"


def test_people_in_a_command_are_known_by_their_ids() -> None:
    said = command(typed(text="allow <@U02BOB|bob> approver"), HEARER, NOW)

    assert said is not None
    assert said.text == "/goal allow <@T01TEST:U02BOB|Bob bc> approver"


def test_a_press_says_its_word_in_the_thread_of_its_message() -> None:
    said = one(pressed(value_of(Press("budget 4 and resume"))))

    assert (said.id, said.text, said.via) == ("button:1.2.abc", "budget 4 and resume", "button")
    assert said.place == Place("slack", "T01TEST", ROOM, f"{ROOM}:{TS}")
    assert said.reply_to == f"{ROOM}:1700000001.000200"
    assert (said.way_back, said.at) == (WAY, 1_700_000_099.0003)


def test_what_only_one_person_sees_is_pressed_where_it_stands() -> None:
    body = pressed(value_of(Press("list")))
    del body["message"]

    said = one(body)

    assert said.place.thread == f"{ROOM}:{TS}"


def test_a_press_in_a_home_acts_where_its_button_says() -> None:
    place, of = Place("slack", "T01TEST", ROOM, f"{ROOM}:{TS}"), f"{ROOM}:1700000001.000200"
    body = pressed(value_of(Press("2", place, of)), container={"type": "view", "view_id": "V1"})
    del body["message"], body["channel"]

    said = one(body)

    assert (said.place, said.reply_to, said.text) == (place, of, "2")


def test_a_choice_in_a_select_is_a_press() -> None:
    body = pressed("")
    body["actions"][0] = {
        "type": "static_select", "action_id": "headway:1",
        "selected_option": {"value": value_of(Press("3"))}, "action_ts": "1700000099.000300",
    }  # fmt: skip

    assert one(body).text == "3"


def test_a_value_that_is_none_of_ours_is_a_press_that_says_nothing_known() -> None:
    assert one(pressed("garbage")).text == "?"


def test_a_page_that_is_turned_is_nobodys_word() -> None:
    body = pressed(value_of(Press("", page=2)))

    assert (page_of(body), presses(body, HEARER, NOW)) == (2, ())


def test_a_shortcut_on_a_message_aims_at_it() -> None:
    body = {
        "type": "message_action", **WHO, "callback_id": "headway:aim", "message_ts": TS,
        "channel": {"id": ROOM, "name": "general"}, "response_url": WAY,
        "message": {"ts": TS, "user": "U02BOB", "text": "the &lt;b&gt; is broken"},
    }  # fmt: skip

    said = shortcut(body, HEARER, NOW)

    assert said is not None
    assert (said.text, said.reply_to) == ("aim\nthe <b> is broken", f"{ROOM}:{TS}")
    assert (said.place.room, said.place.thread, said.via) == (ROOM, "", "button")


def test_a_shortcut_from_anywhere_is_about_a_new_goal() -> None:
    said = shortcut({"type": "shortcut", **WHO, "callback_id": "headway:new"}, HEARER, NOW)

    assert said is not None
    assert (said.text, said.place) == ("new", Place("slack", "T01TEST", ""))


@given(
    st.sampled_from(["block_actions", "message_action", "shortcut", "view_submission", "x"]),
    st.dictionaries(
        st.sampled_from([
            "user", "team", "enterprise", "trigger_id", "response_url", "container", "channel",
            "message", "actions", "view", "callback_id", "message_ts", "command", "text",
            "channel_id", "user_id", "response_urls", "event", "authorizations",
        ]),
        JSON,
    ),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_whatever_a_payload_holds_nothing_raises(kind: str, body: dict[str, Any]) -> None:
    whole = {**body, "type": kind}

    kind_of(whole)
    page_of(whole), room_in(whole), users_in(whole), way_back(whole)
    found = [
        command(whole, HEARER, NOW),
        shortcut(whole, HEARER, NOW),
        *presses(whole, HEARER, NOW),
    ]

    for one_found in found:
        assert one_found is None or (one_found.id and one_found.speaker.id.count(":") == 1)


@given(JSON)
def test_a_value_of_any_kind_is_a_press(value: Any) -> None:
    found = presses(pressed(json.dumps(value)), HEARER, NOW)

    assert len(found) <= 1
