"""What Slack's events say."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.parse import Heard, parse, room_of, users_of
from bot.ports.chat import Changed, Incoming, Reacted, Removed, RoomLost, RoomMoved, Unreacted
from tests.adapters.slack.events import HEARER, ROOM, TS, US, body, changed, message

LATER = "1700000009.000200"


def heard(event: dict[str, Any]) -> Heard:
    found = parse(body(event), HEARER)
    assert found is not None
    return found


def said(event: dict[str, Any]) -> Incoming:
    arrival = heard(event).arrival
    assert isinstance(arrival, Incoming)
    return arrival


def nothing(event: dict[str, Any]) -> bool:
    return parse(body(event), HEARER) is None


def test_a_message_is_known_by_its_channel_and_timestamp() -> None:
    one = said(message("hello there"))

    assert one.id == f"{ROOM}:{TS}"
    assert (one.place.network, one.place.workspace, one.place.room) == ("slack", "T01TEST", ROOM)
    assert one.place.thread == ""
    assert one.reply_to == ""
    assert one.via == "message"
    assert (one.speaker.id, one.speaker.name) == ("T01TEST:U01ALICE", "Alice")
    assert one.at == 1_700_000_000.0001


def test_a_mention_and_its_message_are_one() -> None:
    event = message(f"<@{US}> go")

    assert said(event) == said({**event, "type": "app_mention"})


def test_a_reply_stands_in_the_thread_of_its_root() -> None:
    reply = said(message("more", ts="1700000005.000300", thread_ts=TS))

    assert reply.place.thread == f"{ROOM}:{TS}"


def test_the_root_of_a_thread_stands_in_the_main_timeline() -> None:
    assert said(message("root", thread_ts=TS)).place.thread == ""


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", "me_message"])
def test_what_somebody_says_in_other_ways_is_said(subtype: str) -> None:
    one = said(message("hi", subtype=subtype, thread_ts="1699999999.000100", root={"text": "x"}))

    assert one.text == "hi"
    assert one.place.thread == f"{ROOM}:1699999999.000100"


def test_a_file_without_words_is_a_message() -> None:
    event = message("", subtype="file_share", files=[{"id": "F01"}])

    found = heard(event)

    assert [one["id"] for one in found.files] == ["F01"]


def test_a_message_without_words_and_files_says_nothing() -> None:
    assert nothing(message("  "))


def test_a_message_that_is_forwarded_is_quoted_beneath() -> None:
    share = {
        "is_share": True, "author_name": "Bob", "text": "it &gt; fails\nsince <@U0BOT> came",
    }  # fmt: skip

    one = said(
        message("look at this", attachments=[share, {"title": "a link", "text": "unfurled"}])
    )

    assert one.text == "look at this\n\n> Bob: it > fails\n> since @headway came"
    assert not one.is_aside


def test_a_message_that_is_forwarded_without_a_word_is_a_message() -> None:
    one = said(message("", attachments=[{"is_share": True, "text": "fix the tests"}]))

    assert one.text == "> fix the tests"


@pytest.mark.parametrize(
    "subtype",
    ["channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name",
     "channel_archive", "message_replied", "ekm_access_denied", "assistant_app_thread",
     "tombstone", "reminder_add", "huddle_thread"],
)  # fmt: skip
def test_what_is_no_speech_is_nothing(subtype: str) -> None:
    assert nothing(message("x", subtype=subtype))


def test_nothing_of_our_own_is_given_on() -> None:
    assert nothing(message("me", user=US))
    assert nothing(message("me", user="U9", bot_id="B9", app_id="A01APP"))
    assert nothing(message("me", user="U9", bot_id="B9", bot_profile={"app_id": "A01APP"}))


def test_nothing_of_another_headway_is_given_on() -> None:
    marked = {"event_type": "headway_post", "event_payload": {"key": "k"}}

    assert nothing(message("me too", user="U9", bot_id="B9", metadata=marked))


def test_what_another_bot_says_is_marked_as_such() -> None:
    assert heard(message("beep", bot_id="B7", user="U9")).is_bot
    assert heard(message("beep", user="U08ROBOT")).is_bot
    assert not heard(message("hello")).is_bot


def test_a_bot_without_a_user_has_the_name_that_it_gives_itself() -> None:
    event = message("beep", subtype="bot_message", bot_id="B7", username="deploys")
    del event["user"]

    one = said(event)

    assert (one.speaker.id, one.speaker.name) == ("T01TEST:B7", "deploys")


def test_an_edit_is_of_the_message_by_its_editor_at_its_time() -> None:
    after = message("new", edited={"user": "U01ALICE", "ts": LATER})

    edit = heard(changed(message("old"), after)).arrival

    assert isinstance(edit, Changed)
    assert (edit.id, edit.text, edit.at) == (f"{ROOM}:{TS}", "new", 1_700_000_009.0002)
    assert edit.speaker == said(message("old")).speaker


def test_an_edit_by_somebody_else_is_theirs() -> None:
    after = message("new", edited={"user": "U02BOB", "ts": LATER})

    edit = heard(changed(message("old"), after)).arrival

    assert edit.speaker.id == "T01TEST:U02BOB"


def test_an_unfurled_link_is_no_edit() -> None:
    after = message("see <https://example.org>", attachments=[{"title": "Example"}])

    assert nothing(changed(message("see <https://example.org>"), after))


def test_an_edit_of_ours_is_none() -> None:
    before = message("old", user=US, bot_id="B0BOT")

    assert nothing(changed(before, {**before, "text": "new"}))


def test_a_deleted_message_counts_as_deleted_by_its_author() -> None:
    event = {
        "type": "message", "subtype": "message_deleted", "channel": ROOM, "deleted_ts": TS,
        "ts": LATER, "event_ts": LATER, "previous_message": message("old"),
    }  # fmt: skip

    removed = heard(event).arrival

    assert isinstance(removed, Removed)
    assert (removed.id, removed.speaker.id) == (f"{ROOM}:{TS}", "T01TEST:U01ALICE")


def test_a_message_under_which_a_thread_hangs_leaves_a_stone_and_is_deleted() -> None:
    stone = message(
        "This message was deleted.", subtype="tombstone", user="USLACKBOT", thread_ts=TS
    )

    removed = heard(changed(message("old", thread_ts=TS), stone)).arrival

    assert isinstance(removed, Removed)
    assert (removed.id, removed.speaker.id) == (f"{ROOM}:{TS}", "T01TEST:U01ALICE")


def test_a_deleted_message_of_which_nothing_is_told_is_removed_all_the_same() -> None:
    event = {
        "type": "message", "subtype": "message_deleted", "channel": ROOM, "deleted_ts": TS,
        "ts": LATER, "event_ts": LATER,
    }  # fmt: skip

    assert isinstance(heard(event).arrival, Removed)


def reaction(**further: Any) -> dict[str, Any]:
    return {
        "type": "reaction_added", "user": "U01ALICE", "reaction": "dart", "item_user": US,
        "item": {"type": "message", "channel": ROOM, "ts": TS}, "event_ts": LATER, **further,
    }  # fmt: skip


def test_a_reaction_is_its_emoji_under_a_message() -> None:
    one = heard(reaction()).arrival

    assert isinstance(one, Reacted)
    assert (one.emoji, one.to, one.place.room) == ("🎯", f"{ROOM}:{TS}", ROOM)
    assert one.id
    assert one == heard(reaction()).arrival


@pytest.mark.parametrize(
    ("name", "emoji"),
    [("white_check_mark", "✅"), ("x", "❌"), ("two", "2️⃣"), ("eyes", "👀"),
     ("dart::skin-tone-3", "🎯"), ("party_parrot", "party_parrot"), ("+1::skin-tone-2", "+1")],
)  # fmt: skip
def test_an_emoji_that_means_something_is_a_sign_and_others_are_names(
    name: str, emoji: str
) -> None:
    one = heard(reaction(reaction=name)).arrival

    assert isinstance(one, Reacted)
    assert one.emoji == emoji


def test_a_reaction_taken_away_is_told_with_its_time() -> None:
    one = heard(reaction(type="reaction_removed")).arrival

    assert isinstance(one, Unreacted)
    assert (one.emoji, one.to, one.at) == ("🎯", f"{ROOM}:{TS}", 1_700_000_009.0002)


def test_reactions_of_ours_and_under_files_are_nothing() -> None:
    assert nothing(reaction(user=US))
    assert nothing(reaction(item={"type": "file", "file": "F01"}))


@pytest.mark.parametrize("kind", ["channel_archive", "group_archive", "channel_deleted"])
def test_a_channel_that_is_archived_or_deleted_is_gone(kind: str) -> None:
    lost = heard({"type": kind, "channel": ROOM, "user": "U02BOB", "event_ts": LATER}).arrival

    assert isinstance(lost, RoomLost)
    assert (lost.how, lost.place.room, lost.speaker.id) == ("gone", ROOM, "T01TEST:U02BOB")


@pytest.mark.parametrize("kind", ["channel_left", "group_left"])
def test_a_channel_from_which_somebody_removed_the_bot_is_lost(kind: str) -> None:
    lost = heard({"type": kind, "channel": ROOM, "actor_id": "U02BOB", "event_ts": LATER}).arrival

    assert isinstance(lost, RoomLost)
    assert (lost.how, lost.speaker.id) == ("kicked", "T01TEST:U02BOB")


def test_only_the_bots_own_leaving_loses_a_room() -> None:
    left = {"type": "member_left_channel", "channel": ROOM, "event_ts": LATER}

    assert nothing({**left, "user": "U02BOB"})
    assert isinstance(heard({**left, "user": US}).arrival, RoomLost)


def test_a_channel_that_gets_another_id_has_moved() -> None:
    event = {
        "type": "channel_id_changed", "old_channel_id": "G01OLD", "new_channel_id": "C01NEW",
        "event_ts": LATER,
    }  # fmt: skip

    moved = heard(event).arrival

    assert isinstance(moved, RoomMoved)
    assert (moved.place.room, moved.to) == ("G01OLD", "C01NEW")


def test_a_stop_sign_pressed_in_a_conversation_is_a_press_in_its_thread() -> None:
    event = {
        "type": "agent_session_stopped", "channel": "D01", "user": "U01ALICE", "thread_ts": TS,
        "streaming_message_ts": [], "event_ts": LATER,
    }  # fmt: skip

    press = said(event)

    assert (press.text, press.via, press.place.thread) == ("stop", "button", f"D01:{TS}")


@pytest.mark.parametrize("kind", ["channel_rename", "pin_added", "team_join", "unheard_of"])
def test_other_events_say_nothing(kind: str) -> None:
    assert nothing({"type": kind, "channel": {"id": ROOM, "name": "x"}, "event_ts": LATER})


def test_whoever_is_known_is_known_by_their_home() -> None:
    assert said(message("x", user="U07FORGN")).speaker.id == "E09FAR:U07FORGN"


def test_a_person_of_another_organisation_is_known_by_what_slack_says_beside_them() -> None:
    event = message("x", user="U77NEW", team="T09FAR", user_team="E09FAR", source_team="E09FAR")

    assert said(event).speaker.id == "E09FAR:U77NEW"


def test_somebody_of_whom_nothing_is_known_is_of_the_install() -> None:
    assert said(message("x", user="U77NEW", team="T01TEST")).speaker.id == "T01TEST:U77NEW"


def test_who_and_where_are_found_in_every_event() -> None:
    edit = changed(message("old"), message("new <@U02BOB>"))

    assert room_of(body(reaction())) == ROOM
    assert users_of(body(edit)) == ("U01ALICE", "new <@U02BOB>")


def test_of_a_deleted_message_its_author_is_looked_up_and_not_slack() -> None:
    before = {"user": "U01ALICE", "text": "make tea", "ts": TS}
    stone = {"user": "USLACKBOT", "subtype": "tombstone", "text": "This message was deleted."}
    changed = {"type": "message", "subtype": "message_changed", "previous_message": before}

    assert users_of(body({**changed, "message": stone})) == ("U01ALICE", "make tea")
    assert users_of(body({**changed, "subtype": "message_deleted"})) == ("U01ALICE", "make tea")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from([ROOM, TS, "U01ALICE", US, "T01TEST", "message", "tombstone", "dart"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
KINDS = [
    "message", "app_mention", "reaction_added", "reaction_removed", "channel_archive",
    "channel_left", "group_deleted", "member_left_channel", "channel_id_changed",
    "agent_session_stopped", "app_home_opened", "user_change",
]  # fmt: skip
NAMES = [
    "channel", "user", "ts", "thread_ts", "event_ts", "text", "subtype", "message",
    "previous_message", "item", "reaction", "files", "edited", "deleted_ts", "bot_id", "metadata",
    "bot_profile", "team", "user_team", "actor_id", "old_channel_id", "new_channel_id", "hidden",
]  # fmt: skip


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), JSON), JSON)
@settings(max_examples=300, deadline=None)
def test_whatever_an_event_holds_it_gives_something_sound_or_nothing(
    kind: str, event: dict[str, Any], odd: Any
) -> None:
    for given_body in (
        body({**event, "type": kind}),
        body(odd),
        {"event": odd},
        {**body({}), "event": odd},
    ):
        found = parse(given_body, HEARER)
        room_of(given_body), users_of(given_body)

        if found is None:
            continue
        one = found.arrival
        assert one.place.network == "slack"
        assert one.place.room
        assert ":" in one.speaker.id
        assert isinstance(one.at, float)
        assert 0 <= one.at <= 253_402_300_799.0
        assert isinstance(one, Unreacted) or one.id


@given(st.sampled_from(NAMES), JSON)
@settings(max_examples=300, deadline=None)
def test_one_field_that_is_wrong_stores_no_garbage(name: str, value: Any) -> None:
    found = parse(body({**message(), name: value}), HEARER)

    if found is not None and isinstance(found.arrival, Incoming):
        assert found.arrival.id.startswith(("C", "D", "G"))
        assert isinstance(found.arrival.text, str)
