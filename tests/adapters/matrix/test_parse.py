"""Events of rooms as arrivals: what people's clients send, and whatever else may come."""

import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.matrix.mentions import Names
from adapters.matrix.parse import LATEST_S, MARK, Hearer, file_of, is_id, parse, said_at
from bot.ports.chat import (
    Arrival,
    Changed,
    Incoming,
    Place,
    Reacted,
    Removed,
    RoomLost,
    RoomMoved,
    Speaker,
    Unreacted,
)

US = "@headway:example.org"
ANN = "@ann:example.org"
PLACE = Place("matrix", US, "!room")
HEARER = Hearer(PLACE, Names(US, ("The Headway",)), name_of=lambda user: user[1:4].title(), now=2e9)


def event(content: Any, type: str = "m.room.message", **more: Any) -> dict[str, Any]:
    return {
        "type": type,
        "event_id": "$said",
        "sender": ANN,
        "origin_server_ts": 1_700_000_000_000,
        "content": content,
        **more,
    }


def text(body: str, **content: Any) -> dict[str, Any]:
    return event({"msgtype": "m.text", "body": body, **content})


def heard(given_: object, **more: Any) -> Incoming:
    arrival = parse(given_, HEARER, **more)
    assert isinstance(arrival, Incoming)
    return arrival


def test_a_message_is_what_somebody_says_in_the_rooms_main_timeline() -> None:
    said = heard(text("hello"))

    assert said == Incoming("$said", PLACE, Speaker(ANN, "Ann"), "hello", 1_700_000_000.0)


@pytest.mark.parametrize("msgtype", ["m.notice", "m.key.verification.request", "m.x", None, 3, {}])
def test_what_no_person_says_is_not_heard(msgtype: object) -> None:
    assert parse(event({"msgtype": msgtype, "body": "hello"}), HEARER) is None


def test_nothing_that_headway_sent_is_heard_whoever_sends_it() -> None:
    mark: dict[str, Any] = {MARK: {"key": "k"}}
    edit = {"rel_type": "m.replace", "event_id": "$1"}
    marked = text("hello", **mark)
    new = {"msgtype": "m.text", "body": "y", **mark}

    assert parse(marked, HEARER) is None
    assert parse(text("* x", **{"m.new_content": new, "m.relates_to": edit}), HEARER) is None
    assert parse({**text("hello"), "sender": US}, HEARER) is None


def test_a_message_in_a_thread_stands_there_and_answers_nothing() -> None:
    relation = {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$last"},
    }

    said = heard(text("hello", **{"m.relates_to": relation}))
    answer = heard(text("hello", **{"m.relates_to": {**relation, "is_falling_back": False}}))

    assert (said.place.thread, said.reply_to) == ("$root", "")
    assert (answer.place.thread, answer.reply_to) == ("$root", "$last")


def test_a_plain_reply_is_told_from_what_it_quotes() -> None:
    body = "> <@bob:example.org> Shall I?\n> really?\n\nyes\n> and this is mine"

    said = heard(text(body, **{"m.relates_to": {"m.in_reply_to": {"event_id": "$card"}}}))

    assert (said.reply_to, said.text) == ("$card", "yes\n> and this is mine")


def test_a_quote_of_ones_own_is_kept() -> None:
    said = heard(
        text("> a quote\n\nyes", **{"m.relates_to": {"m.in_reply_to": {"event_id": "$1"}}})
    )
    alone = heard(text("> <@bob:example.org> a quote\n\nyes"))

    assert said.text == "> a quote\n\nyes"
    assert alone.text == "> <@bob:example.org> a quote\n\nyes"


@pytest.mark.parametrize(
    "relation",
    [
        "a text", 3, [], {}, {"rel_type": 3}, {"rel_type": "m.thread"},
        {"rel_type": "m.thread", "event_id": ["$root"]}, {"m.in_reply_to": "$1"},
        {"m.in_reply_to": {"event_id": 7}}, {"rel_type": "m.thread", "event_id": "$" + "x" * 300},
        {"rel_type": "m.thread", "event_id": "$ro\0ot"}, {"rel_type": "m.unknown", "event_id": "$1"},
    ],
)  # fmt: skip
def test_a_malformed_relation_is_none(relation: object) -> None:
    said = heard(text("hello", **{"m.relates_to": relation}))

    assert (said.place.thread, said.reply_to, said.text) == ("", "", "hello")


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        ("headway: fix it", "@headway fix it"),
        ("Headway, fix it", "@headway fix it"),
        ("The Headway: fix it", "@headway fix it"),
        ("@headway:example.org: fix it", "@headway fix it"),
        ("@headway:example.org fix it", "@headway fix it"),
        ("headway fix it", "headway fix it"),
        ("headway:other.org: fix it", "headway:other.org: fix it"),
        ("headways: fix it", "headways: fix it"),
        ("fix headway: now", "fix headway: now"),
        ("headway:", "@headway"),
        ("!goal fix it", "!goal fix it"),
        ("// headway: no", "// headway: no"),
    ],
)
def test_our_name_in_front_addresses_us(body: str, becomes: str) -> None:
    assert heard(text(body)).text == becomes


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        ("headway: fix it", "@headway fix it"),
        ("The Headway fix it", "@headway fix it"),
        ("@headway:example.org fix it", "@headway fix it"),
        ("please fix it, headway", "@headway please fix it, headway"),
        ("!goal fix headway", "!goal fix headway"),
        ("The Headway", "@headway"),
    ],
)
def test_a_mention_addresses_us_and_our_name_goes_only_in_front(body: str, becomes: str) -> None:
    said = heard(text(body, **{"m.mentions": {"user_ids": [US]}}))

    assert (said.text, said.is_aside) == (becomes, False)


@pytest.mark.parametrize(
    ("body", "text_"),
    [
        ("!goal allow Ben approver", "!goal allow @bob:example.org approver"),
        ("!goal allow @Ben", "!goal allow @bob:example.org"),
        ("!goal allow Benny", "!goal allow Benny"),
        ("Headway: owner Ben", "@headway owner @bob:example.org"),
        ("owner Ben", "owner @bob:example.org"),
    ],
)
def test_in_a_command_a_pill_is_the_person_it_leads_to(body: str, text_: str) -> None:
    html = 'x <a href="https://matrix.to/#/@bob:example.org">Ben</a> y'
    mentions = {"user_ids": ["@bob:example.org"]}

    said = heard(text(body, formatted_body=html, **{"m.mentions": mentions}))

    assert said.text == text_


def test_a_pill_addresses_us_and_its_label_is_taken_out() -> None:
    html = '<a href="https://matrix.to/#/%40headway%3Aexample.org">My Bot</a>: fix it'

    said = heard(text("My Bot: fix it", formatted_body=html))

    assert said.text == "@headway fix it"


def test_what_is_for_others_and_not_for_us_is_an_aside() -> None:
    pill = '<a href="https://matrix.to/#/@bob:example.org">Bob</a>: fix it'

    assert heard(text("Bob: fix", **{"m.mentions": {"user_ids": ["@bob:example.org"]}})).is_aside
    assert heard(text("Bob: fix it", formatted_body=pill)).is_aside
    assert heard(text("@headway:other.org fix it")).is_aside
    assert not heard(text("all: fix", **{"m.mentions": {"room": True}})).is_aside
    both = {"user_ids": ["@bob:example.org", US]}
    assert not heard(text("both: fix", **{"m.mentions": both})).is_aside


def test_an_answer_to_our_message_stays_as_it_was_said() -> None:
    content = {
        "m.relates_to": {"m.in_reply_to": {"event_id": "$card"}},
        "m.mentions": {"user_ids": [US]},
    }

    assert heard(text("yes", **content)).text == "yes"
    assert heard(text("headway: yes", **content)).text == "@headway yes"


@pytest.mark.parametrize(
    "mentions", [None, 3, "x", [], {"user_ids": 3}, {"user_ids": [3, None, {}]}, {"user_ids": US}]
)
def test_malformed_mentions_mention_nobody(mentions: object) -> None:
    said = heard(text("hello", **{"m.mentions": mentions}))

    assert (said.text, said.is_aside) == ("hello", False)


def test_an_edit_is_a_change_of_what_was_said() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$first"}
    new = {"msgtype": "m.text", "body": "headway: fix that"}

    changed = parse(text("* x", **{"m.new_content": new, "m.relates_to": relation}), HEARER)

    assert isinstance(changed, Changed)
    assert (changed.id, changed.text) == ("$first", "@headway fix that")


@pytest.mark.parametrize(
    "new", [None, "x", {}, {"body": "x"}, {"msgtype": "m.notice", "body": "x"}]
)
def test_an_edit_without_a_new_text_is_none(new: object) -> None:
    relation = {"rel_type": "m.replace", "event_id": "$first"}

    assert parse(text("* x", **{"m.new_content": new, "m.relates_to": relation}), HEARER) is None


def test_an_edit_has_one_identity_however_often_it_is_read() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$first"}
    new = {"msgtype": "m.text", "body": "x"}
    ahead = text("* x", **{"m.new_content": new, "m.relates_to": relation})
    ahead["origin_server_ts"] = 9_000_000_000_000

    ids = {
        edit.as_message.id
        for now in (1e9, 2e9)
        if isinstance(edit := parse(ahead, Hearer(PLACE, Names(US), now=now)), Changed)
    }

    assert len(ids) == 1


@pytest.mark.parametrize("where", ["content", "event"])
def test_a_removal_names_what_it_removes_in_old_and_new_rooms(where: str) -> None:
    redaction = event({"redacts": "$1"} if where == "content" else {}, "m.room.redaction")
    if where == "event":
        redaction["redacts"] = "$1"

    removed = parse(redaction, HEARER)

    assert isinstance(removed, Removed)
    assert (removed.id, removed.speaker.id) == ("$1", ANN)


def test_a_reaction_names_its_sign_and_its_message() -> None:
    relation = {"rel_type": "m.annotation", "event_id": "$1", "key": "✅"}

    reacted = parse(event({"m.relates_to": relation}, "m.reaction"), HEARER)

    assert isinstance(reacted, Reacted)
    assert (reacted.emoji, reacted.to) == ("✅", "$1")


@pytest.mark.parametrize("key", ["", "a\nb", "x" * 200, None, ["✅"], "\ud800", "\0"])
def test_a_sign_that_is_none_is_no_reaction(key: object) -> None:
    relation = {"rel_type": "m.annotation", "event_id": "$1", "key": key}

    assert parse(event({"m.relates_to": relation}, "m.reaction"), HEARER) is None


def membership(before: str, after: str, sender: str = ANN, user: str = US) -> dict[str, Any]:
    unsigned = {"prev_content": {"membership": before}} if before else {}
    content = {"membership": after, "reason": "why"}
    return event(content, "m.room.member", state_key=user, unsigned=unsigned, sender=sender)


@pytest.mark.parametrize(
    ("given_", "how"),
    [
        (membership("join", "leave"), "kicked"),
        (membership("join", "leave", sender=US), "left"),
        (membership("join", "ban"), "banned"),
        (membership("", "leave"), "kicked"),
    ],
)
def test_a_room_is_lost_by_leaving_a_kick_or_a_ban(given_: dict[str, Any], how: str) -> None:
    lost = parse(given_, HEARER)

    assert isinstance(lost, RoomLost)
    assert (lost.how, lost.reason) == (how, "why")


@pytest.mark.parametrize(
    "given_",
    [
        membership("invite", "leave"), membership("ban", "leave"), membership("invite", "join"),
        membership("join", "join"), membership("join", "leave", user=ANN),
    ],
)  # fmt: skip
def test_other_memberships_lose_no_room(given_: dict[str, Any]) -> None:
    assert parse(given_, HEARER) is None


def test_a_tombstone_moves_the_room() -> None:
    end = event({"body": "x", "replacement_room": "!next"}, "m.room.tombstone", state_key="")

    moved = parse(end, HEARER)

    assert isinstance(moved, RoomMoved)
    assert (moved.place.room, moved.to) == ("!room", "!next")
    assert parse({**end, "state_key": "x"}, HEARER) is None


@pytest.mark.parametrize(
    "given_",
    [
        membership("join", "leave"),
        event({"replacement_room": "!next"}, "m.room.tombstone", state_key=""),
        event({"redacts": "$1"}, "m.room.redaction"),
    ],
)
def test_what_came_encrypted_changes_no_room(given_: dict[str, Any]) -> None:
    assert parse(given_, HEARER) is not None
    assert parse(given_, HEARER, is_sealed=True) is None


@pytest.mark.parametrize("msgtype", ["m.file", "m.image", "m.audio", "m.video"])
def test_a_file_comes_without_a_text_or_with_its_caption(msgtype: str) -> None:
    bare = event({"msgtype": msgtype, "body": "a.txt", "url": "mxc://x/y"})
    captioned = event({**bare["content"], "body": "headway: read it", "filename": "a.txt"})

    assert heard(bare).text == ""
    assert heard(captioned).text == "@headway read it"
    assert file_of(bare) == bare["content"]


def test_a_file_without_an_address_is_no_file() -> None:
    bare = event({"msgtype": "m.file", "body": "a.txt"})

    assert file_of(bare) is None
    assert parse(bare, HEARER) is None


@pytest.mark.parametrize("body", [None, 3, "", "  ", {}, ["x"]])
def test_a_body_without_a_text_says_nothing(body: object) -> None:
    assert parse(event({"msgtype": "m.text", "body": body}), HEARER) is None


@pytest.mark.parametrize(
    "unsigned", [{"redacted_because": {}}, {"redacted_by": "$2"}, {"redacted_because": None}]
)
def test_what_was_taken_back_says_nothing(unsigned: dict[str, Any]) -> None:
    assert parse({**text("hello"), "unsigned": unsigned}, HEARER) is None


def test_nothing_is_said_after_now() -> None:
    ahead = {**text("hello"), "origin_server_ts": 99_000_000_000_000}

    assert heard(ahead).at == HEARER.now


@pytest.mark.parametrize("stamp", [-1, None, "x", True, math.nan, -math.inf, {}])
def test_a_time_that_is_none_is_the_beginning(stamp: object) -> None:
    assert said_at({"origin_server_ts": stamp}) == 0.0


def test_a_time_is_never_beyond_what_a_clock_can_tell() -> None:
    assert said_at({"origin_server_ts": 10**40}) == LATEST_S
    assert said_at({"origin_server_ts": math.inf}) == LATEST_S


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://matrix.to/#/@' * 2000,
        "<" * 60_000,
        "matrix.to/#/" * 5_000,
        '<a href="https://matrix.to/#/@bob:example.org">' * 1_200,
        "&lt;" * 15_000,
        "<b>" * 20_000,
        "matrix.to/#/@" + "%" * 60_000,
    ],
)
def test_html_is_looked_through_in_no_time(html: str) -> None:
    began = time.process_time()

    heard(text("x" * 60_000, formatted_body=html))

    assert time.process_time() - began < 0.2


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_ID = st.sampled_from(["$1", "$root", "!room", US, ANN, ""]) | _JSON
_RELATION = st.fixed_dictionaries(
    {},
    optional={
        "rel_type": st.sampled_from(["m.thread", "m.replace", "m.annotation", "m.reference"])
        | _JSON,
        "event_id": _ID,
        "key": st.sampled_from(["✅", "🎯"]) | _JSON,
        "is_falling_back": st.booleans() | _JSON,
        "m.in_reply_to": st.fixed_dictionaries({"event_id": _ID}) | _JSON,
    },
)
_SAID = st.fixed_dictionaries(
    {},
    optional={
        "msgtype": st.sampled_from(["m.text", "m.emote", "m.notice", "m.file", "m.image"]) | _JSON,
        "body": st.sampled_from(["headway: x", "> <@a:b> x\n\ny", "!goal x"]) | _JSON,
        "formatted_body": st.sampled_from(['<a href="https://matrix.to/#/@headway:example.org">x'])
        | _JSON,
        "filename": _JSON,
        "url": _JSON,
        "file": _JSON,
        "m.mentions": st.fixed_dictionaries({"user_ids": st.lists(_ID, max_size=3)}) | _JSON,
        "m.relates_to": _RELATION | _JSON,
        "membership": st.sampled_from(["join", "leave", "ban", "invite"]) | _JSON,
        "replacement_room": _ID,
        "redacts": _ID,
        "reason": _JSON,
    },
)
_TYPES = ["message", "member", "redaction", "tombstone", "encrypted", "create"]
_EVENT = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from([f"m.room.{one}" for one in _TYPES] + ["m.reaction"]) | _JSON,
        "event_id": _ID,
        "sender": _ID,
        "state_key": _ID,
        "redacts": _ID,
        "origin_server_ts": st.integers() | _JSON,
        "unsigned": st.fixed_dictionaries({"prev_content": _SAID}) | _JSON,
        "content": st.builds(lambda new, all_: {**all_, "m.new_content": new}, _SAID | _JSON, _SAID)
        | _SAID
        | _JSON,
    },
)


@settings(max_examples=600, deadline=None)
@given(_EVENT | _JSON, st.booleans())
def test_whatever_json_an_event_is_it_gives_an_arrival_or_nothing(
    given_: object, is_sealed: bool
) -> None:
    arrival = parse(given_, HEARER, is_sealed=is_sealed)

    assert arrival is None or isinstance(arrival, Arrival)
    if arrival is not None:
        assert not isinstance(arrival, Unreacted)
        message = arrival if isinstance(arrival, Incoming) else arrival.as_message
        assert message.id
        assert 0.0 <= message.at <= LATEST_S
        assert is_id(message.speaker.id)
        assert isinstance(message.text, str)
        assert not message.reply_to or is_id(message.reply_to)
    if isinstance(given_, dict):
        file_of(given_)
