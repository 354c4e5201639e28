"""What is remembered of Slack from its events."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.slack.calling import Calls
from adapters.slack.history import History
from adapters.slack.members import SlackMembers
from adapters.slack.overhearing import Overhearing
from adapters.slack.people import Directory
from adapters.slack.room_names import KEPT_S, RoomNames
from bot.ports.chat import Speaker
from tests.adapters.slack.web_bed import (
    Watch,
    calls,
    clock,
    front,
    people,
    place,
    slack_of_module,
    watch,
)
from tests.doubles.clock import HandClock
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Limited
from tests.peers.slack_front import SlackFront

__all__ = ["calls", "clock", "front", "people", "slack_of_module", "watch"]
ANN = Speaker(f"{TEAM}:U01ALICE", "Ann")
CAROL = Speaker(f"{TEAM}:U03CAROL", "Carol")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
KINDS = [
    "message", "app_mention", "member_joined_channel", "member_left_channel", "user_change",
    "team_join", "channel_rename", "subteam_members_changed", "channel_left", "other",
]  # fmt: skip
FIELDS = [
    "subtype", "channel", "user", "ts", "deleted_ts", "message", "text", "subteam_id", "subteam",
]  # fmt: skip


@pytest.fixture
def heard(calls: Calls, people: Directory, clock: HandClock, watch: Watch) -> Overhearing:
    members, history = SlackMembers(calls, people, clock), History(calls, watch)
    return Overhearing(people, members, history, RoomNames(calls, clock))


async def test_who_comes_and_goes_is_in_the_channel_and_out_of_it(heard: Overhearing) -> None:
    await heard.members.is_member(place(), CAROL)
    event = {"channel": "C01GEN", "user": "U03CAROL"}

    heard.on_event(TEAM, {"type": "member_joined_channel", **event})
    there = await heard.members.is_member(place(), CAROL)
    heard.on_event(TEAM, {"type": "member_left_channel", **event})
    gone = await heard.members.is_member(place(), CAROL)

    assert (there, gone) == (True, False)


async def test_a_channel_that_was_lost_is_asked_about_anew(
    front: SlackFront, heard: Overhearing
) -> None:
    await heard.members.is_member(place(), ANN)

    heard.on_event(TEAM, {"type": "channel_left", "channel": "C01GEN"})
    await heard.members.is_member(place(), ANN)

    assert len(front.of("conversations.members")) == 2


async def test_what_is_said_edited_and_deleted_is_remembered(heard: Overhearing) -> None:
    said = {"type": "message", "channel": "C01GEN", "user": "U01ALICE", "ts": "1.000001"}
    edit = {"type": "message", "subtype": "message_changed", "channel": "C01GEN", "ts": "2.000001"}
    removal = {"type": "message", "subtype": "message_deleted", "channel": "C01GEN"}
    texts = []

    for event in (
        said | {"text": "Fix it"},
        said | {"type": "app_mention", "text": "Fix it"},
        edit | {"message": said | {"text": "Fix it soon"}},
        removal | {"deleted_ts": "1.000001"},
    ):
        heard.on_event(TEAM, event)
        known = heard.history.remembered(TEAM, "C01GEN:1.000001")
        texts.append(known["text"] if known else None)

    assert texts == ["Fix it", "Fix it", "Fix it soon", None]


async def test_a_stone_in_the_place_of_a_message_is_no_message(heard: Overhearing) -> None:
    said = {"type": "message", "channel": "C01GEN", "ts": "1.000001", "text": "Fix it"}
    stone = {"subtype": "tombstone", "ts": "1.000001", "text": "This message was deleted."}
    heard.on_event(TEAM, said)

    heard.on_event(
        TEAM,
        {"type": "message", "subtype": "message_changed", "channel": "C01GEN", "message": stone},
    )

    assert heard.history.remembered(TEAM, "C01GEN:1.000001") is None


async def test_names_are_those_told_last(heard: Overhearing) -> None:
    await heard.people.person(TEAM, "U01ALICE")
    renamed = {"id": "U01ALICE", "team_id": TEAM, "profile": {"display_name": "Alix"}}

    heard.on_event(TEAM, {"type": "user_change", "user": renamed})
    heard.on_event(TEAM, {"type": "channel_rename", "channel": {"id": "C01GEN", "name": "all"}})

    found = await heard.people_of(TEAM, frozenset({"U01ALICE", "U0NOBODY"}))
    assert {user: one.name for user, one in found.items()} == {"U01ALICE": "Alix"}
    assert heard.names.name(TEAM, "C01GEN") == "all"


async def test_a_channel_is_called_by_its_name_from_the_second_time_on(
    front: SlackFront, heard: Overhearing, clock: HandClock
) -> None:
    names = heard.names
    first = [names.name(TEAM, channel) for channel in ("C01GEN", "C01GEN", "C0NONE", "nothing")]
    await names.settle()

    second = [names.name(TEAM, channel) for channel in ("C01GEN", "C0NONE")]
    asked = len(front.of("conversations.info"))
    clock.move(KEPT_S)
    names.name(TEAM, "C01GEN")
    await names.settle()

    assert first == [""] * 4
    assert second == ["general", ""]
    assert (asked, len(front.of("conversations.info"))) == (2, 3)


async def test_a_name_that_cannot_be_asked_now_is_asked_the_next_time(
    front: SlackFront, heard: Overhearing
) -> None:
    front.faults.next_times("conversations.info", Limited(60))
    found = []

    for _ in range(3):
        found.append(heard.names.name(TEAM, "C01GEN"))
        await heard.names.settle()

    assert found == ["", "", "general"]


async def test_nothing_is_remembered_of_a_workspace_that_was_left(
    front: SlackFront, heard: Overhearing
) -> None:
    heard.on_event(TEAM, {"type": "message", "channel": "C01GEN", "ts": "1.000001", "text": "x"})
    heard.on_event(TEAM, {"type": "channel_rename", "channel": {"id": "C01GEN", "name": "all"}})
    await heard.people.person(TEAM, "U01ALICE")
    await heard.members.is_member(place(), ANN)

    heard.forget(TEAM)

    assert heard.history.remembered(TEAM, "C01GEN:1.000001") is None
    assert heard.names.name(TEAM, "C01GEN") == ""
    assert heard.people.seen(TEAM, "U01ALICE") is None
    await heard.members.is_member(place(), ANN)
    assert len(front.of("conversations.members")) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(KINDS), st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_whatever_an_event_is_nothing_goes_wrong(kind: str, event: dict[str, Any]) -> None:
    async def token_for(workspace: str) -> str:
        return ""

    calls, clock = Calls(token_for, api_url="http://127.0.0.1:9/api/"), HandClock()
    people = Directory(calls, clock)
    members, history = SlackMembers(calls, people, clock), History(calls, clock.now)
    heard = Overhearing(people, members, history, RoomNames(calls, clock))

    heard.on_event(TEAM, {"type": kind, "channel": "C01GEN", "user": "U01ALICE", **event})

    assert people.seen(TEAM, "U01ALICE") is None
