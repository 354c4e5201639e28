"""What people do in a Slack comes in over sockets."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from adapters.slack.ear import Ear, Prompts
from adapters.slack.presses import Press, button
from bot.errors import StoreUnusable, Wait
from bot.ports.chat import (
    Changed,
    Incoming,
    Place,
    Reacted,
    Receive,
    Removed,
    RoomLost,
    Speaker,
    Unreacted,
)
from tests.adapters.slack.hearing_bed import Hearing, hearing
from tests.peers.slack_faults import Failed
from tests.peers.slack_front import SlackFront, slack

Json = Any


@pytest.fixture(scope="module")
def slack_of_module() -> Iterator[SlackFront]:
    with slack() as front:
        yield front


@pytest.fixture
def front(slack_of_module: SlackFront) -> Iterator[SlackFront]:
    slack_of_module.faults.calm()
    slack_of_module.calls.clear()
    slack_of_module.violations.clear()
    yield slack_of_module
    assert slack_of_module.violations == [], slack_of_module.violations


async def says(bed: Hearing, text: str, channel: str = "C01GEN", thread: str = "") -> str:
    """Alice says something, and it has come."""
    ts = str(await bed.does(lambda: bed.front.say("U01ALICE", channel, text, thread)))
    id = f"{channel}:{ts}"
    await bed.inbox.until(lambda: id in bed.inbox.ids, f"{text} as {id}")
    return ts


async def test_a_mention_comes_as_two_events_and_counts_once(front: SlackFront) -> None:
    async with hearing(front) as bed:
        ts = await says(bed, "<@U0BOT> fix the tests")
        await bed.inbox.until(lambda: len(bed.inbox.tried) == 2, "two events")

    (said,) = bed.inbox.messages
    assert said.id == f"C01GEN:{ts}"
    assert said.text == "@headway fix the tests"
    assert said.place == Place("slack", "T01TEST", "C01GEN")
    assert said.speaker.id == "T01TEST:U01ALICE"
    assert said.speaker.name not in ("", "U01ALICE")


async def test_an_edit_a_reaction_and_a_deletion_come_after_what_they_are_about(
    front: SlackFront,
) -> None:
    async with hearing(front) as bed:
        ts = await says(bed, "fix the tests")
        await bed.does(lambda: front.edit("U01ALICE", "C01GEN", ts, "fix all tests"))
        await bed.does(lambda: front.react("U02BOB", "C01GEN", ts, "eyes"))
        await bed.does(lambda: front.react("U02BOB", "C01GEN", ts, "eyes", present=False))
        await bed.does(lambda: front.remove("U01ALICE", "C01GEN", ts))
        await bed.inbox.until(lambda: len(bed.inbox.arrivals) == 5, "five arrivals")

    said, edit, put, taken, removed = bed.inbox.arrivals
    assert isinstance(said, Incoming)
    assert isinstance(edit, Changed)
    assert (edit.id, edit.text, edit.speaker) == (said.id, "fix all tests", said.speaker)
    assert isinstance(put, Reacted)
    assert (put.emoji, put.to, put.speaker.id) == ("👀", said.id, "T01TEST:U02BOB")
    assert isinstance(taken, Unreacted)
    assert taken.at >= put.at
    assert isinstance(removed, Removed)
    assert removed.id == said.id


async def test_what_ended_before_it_came_is_not_heard(front: SlackFront) -> None:
    item = {"type": "message", "channel": "C01GEN", "ts": "1700000000.000100"}
    sign = {"user": "U01ALICE", "reaction": "dart", "item": item, "item_user": "U02BOB"}
    gone = {"type": "message", "subtype": "message_deleted", "channel": "C01GEN", "hidden": True,
            "deleted_ts": item["ts"], "ts": "1700000002.000100", "event_ts": "1700000002.000100",
            "channel_type": "channel",
            "previous_message": {"type": "message", "user": "U02BOB", "text": "x", "ts": item["ts"]}}  # fmt: skip
    said = {"type": "message", "channel": "C01GEN", "user": "U02BOB", "text": "x", "ts": item["ts"],
            "event_ts": item["ts"], "channel_type": "channel"}  # fmt: skip
    taken = {"type": "reaction_removed", "event_ts": "1700000002.000200"}
    put = {"type": "reaction_added", "event_ts": "1700000001.000200"}

    async with hearing(front) as bed:
        for event in (gone, said, {**taken, **sign}, {**put, **sign}):
            await bed.does(partial(front.inject, event))
            await asyncio.sleep(0.2)
        await says(bed, "and this is")

    kinds = [type(one).__name__ for one in bed.inbox.arrivals]
    assert kinds == ["Removed", "Unreacted", "Incoming"]


async def test_a_reply_stands_in_its_thread(front: SlackFront) -> None:
    async with hearing(front) as bed:
        root = await says(bed, "root")
        await says(bed, "reply", thread=root)

    assert bed.inbox.messages[1].place.thread == f"C01GEN:{root}"


async def test_what_comes_twice_counts_once(front: SlackFront) -> None:
    async with hearing(front) as bed:
        front.sockets.doubles = 1
        await says(bed, "once")
        await bed.inbox.until(lambda: len(bed.inbox.tried) == 2, "a double")

    assert len(bed.inbox.messages) == 1


async def test_what_is_not_stored_is_not_acknowledged_and_comes_again() -> None:
    with slack(ack_s=0.5) as front:
        async with hearing(front) as bed:
            bed.inbox.fails = [StoreUnusable("The disk is full."), Wait("It is locked.")]
            ts = await says(bed, "keep this")
            (envelope,) = front.sockets.log
            await bed.inbox.until(lambda: envelope.is_acked, "the acknowledgement")

        assert bed.inbox.tried[:3] == [f"C01GEN:{ts}"] * 3
        assert bed.inbox.texts() == ["keep this"]
        # A machine that is busy may acknowledge the third one late, and is sent a fourth.
        assert envelope.sends >= 3


async def test_a_message_that_cannot_be_stored_keeps_no_other_from_it() -> None:
    with slack(ack_s=0.5) as front:
        async with hearing(front) as bed:
            store, odd = bed.inbox.__call__, "odd"

            async def receive(*arrivals: Any, upto: Any = None) -> None:
                if any(isinstance(one, Incoming) and one.text == odd for one in arrivals):
                    bed.inbox.calls += 1
                    raise ValueError("no such row")
                await store(*arrivals)

            bed.task.cancel()  # type: ignore[union-attr]
            task = asyncio.create_task(bed.listening.run(receive))
            await asyncio.sleep(0.1)
            await bed.is_connected()
            await bed.does(lambda: front.say("U01ALICE", "C01GEN", odd))
            await says(bed, "even")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    assert bed.inbox.texts() == ["even"]


async def test_a_command_is_acknowledged_empty_when_it_is_stored(front: SlackFront) -> None:
    async with hearing(front) as bed:
        envelope = await front.command("U01ALICE", "C01GEN", "fix the tests")

    (said,) = bed.inbox.messages
    assert (said.text, said.via) == ("/goal fix the tests", "command")
    assert said.way_back.startswith(front.url)
    assert envelope.is_acked
    assert not envelope.answer


async def pressed(bed: Hearing, press: Press) -> Incoming:
    """Alice presses a button of ours that says this."""
    front = bed.front
    block = {"type": "actions", "block_id": "headway:b", "elements": [button(press, "Do it", 1)]}
    posted = await bed.listening._calls.call(
        "T01TEST", "chat.postMessage", channel="C01GEN", text="card", blocks=[block]
    )
    await front.press("U01ALICE", "C01GEN", str(posted["ts"]), "Do it")
    await bed.inbox.until(lambda: bed.inbox.messages, "a press")
    return bed.inbox.messages[-1]


async def test_a_press_says_its_word_under_our_message(front: SlackFront) -> None:
    async with hearing(front) as bed:
        said = await pressed(bed, Press("pause"))

    assert (said.text, said.via, said.place.room) == ("pause", "button", "C01GEN")
    assert said.reply_to.startswith("C01GEN:")
    assert said.way_back


async def test_what_we_post_ourselves_is_not_heard(front: SlackFront) -> None:
    async with hearing(front) as bed:
        await bed.listening._calls.call(
            "T01TEST", "chat.postMessage", channel="C01GEN", text="I said this"
        )
        await says(bed, "you said this")

    assert bed.inbox.texts() == ["you said this"]


async def test_a_bot_is_heard_where_it_is_listed(front: SlackFront) -> None:
    async def listed(place: Place, speaker: Speaker) -> bool:
        return speaker.id == "T01TEST:U05ERIN"

    def event(user: str, ts: str) -> Json:
        return {
            "type": "message", "channel": "C01GEN", "channel_type": "channel", "user": user,
            "bot_id": "B77", "text": "beep", "ts": ts, "event_ts": ts, "team": "T01TEST",
        }  # fmt: skip

    async with hearing(front, Ear(is_listed=listed)) as bed:
        await bed.does(lambda: front.inject(event("U04DAVE", "1700000001.000100")))
        await bed.does(lambda: front.inject(event("U05ERIN", "1700000002.000100")))
        await bed.inbox.until(lambda: bed.inbox.messages, "the listed one")

    (said,) = bed.inbox.messages
    assert said.speaker.id == "T01TEST:U05ERIN"


async def test_a_room_that_is_lost_says_how(front: SlackFront) -> None:
    async with hearing(front) as bed:
        await bed.does(lambda: front.kick("C02RND", by="U02BOB"))
        await bed.inbox.until(lambda: bed.inbox.arrivals, "a loss")
        await bed.does(lambda: front.invite("C02RND"))

    (lost,) = bed.inbox.arrivals
    assert isinstance(lost, RoomLost)
    assert (lost.how, lost.place.room, lost.speaker.id) == ("kicked", "C02RND", "T01TEST:U02BOB")


async def test_an_app_that_is_removed_is_told_to_whoever_erases_its_tokens(
    front: SlackFront,
) -> None:
    told: list[str] = []

    async def left(body: Json, receive: Receive) -> None:
        told.append(body["event"]["type"])

    async with hearing(front, Ear(on_left=left)) as bed:
        await bed.does(lambda: front.inject({"type": "app_uninstalled"}))
        await bed.inbox.until(lambda: told, "the end")

    assert told == ["app_uninstalled"]


async def test_files_come_with_their_message(front: SlackFront) -> None:
    async def with_files(message: Incoming, files: Sequence[Json]) -> Incoming:
        return replace(message, text=f"{message.text} + {files[0]['name']}")

    async with hearing(front, Ear(with_files=with_files)) as bed:
        await bed.does(lambda: front.upload("U01ALICE", "C01GEN", "a.txt", b"a", "look"))
        await bed.inbox.until(lambda: bed.inbox.messages, "a file")

    assert bed.inbox.texts() == ["look + a.txt"]


async def test_a_message_with_slow_files_is_acknowledged_when_it_is_whole() -> None:
    gate = asyncio.Event()

    async def with_files(message: Incoming, files: Sequence[Json]) -> Incoming:
        await gate.wait()
        return message

    with slack(ack_s=1.5) as front:
        async with hearing(front, Ear(with_files=with_files)) as bed:
            await bed.does(lambda: front.upload("U01ALICE", "C01GEN", "a.txt", b"a", "slow"))
            await says(bed, "meanwhile")
            (slow,) = [one for one in front.sockets.log if "files" in one.payload["event"]]
            was_acked = slow.is_acked
            gate.set()
            await bed.inbox.until(lambda: "slow" in bed.inbox.texts(), "the slow one")
            await bed.inbox.until(lambda: slow.is_acked, "its acknowledgement")

    assert not was_acked
    assert sorted(bed.inbox.texts()) == ["meanwhile", "slow"]


async def test_a_message_that_is_aimed_at_is_read(front: SlackFront) -> None:
    async def message(workspace: str, id: str) -> Json:
        return {"user": "U02BOB", "text": "the &lt;b&gt; is broken", "ts": id.split(":")[1]}

    async with hearing(front, Ear(message=message)) as bed:
        ts = await says(bed, "x")
        await bed.does(lambda: front.react("U01ALICE", "C01GEN", ts, "dart"))
        await bed.inbox.until(lambda: len(bed.inbox.arrivals) == 2, "an aim")

    aim = bed.inbox.arrivals[1]
    assert isinstance(aim, Reacted)
    assert (aim.emoji, aim.text) == ("🎯", "the <b> is broken")


async def test_for_a_stranger_who_aims_nothing_is_asked_of_slack(front: SlackFront) -> None:
    asked: list[str] = []

    async def message(workspace: str, id: str) -> Json:
        asked.append(id)
        return {}

    async def nobody(place: Place, speaker: Speaker) -> bool:
        return False

    async with hearing(front, Ear(message=message, is_heard=nobody)) as bed:
        ts = await says(bed, "x")
        await bed.does(lambda: front.react("U01ALICE", "C01GEN", ts, "dart"))
        await bed.inbox.until(lambda: len(bed.inbox.arrivals) == 2, "an aim")

    assert asked == []


async def test_a_home_that_is_opened_is_told_and_stores_nothing(front: SlackFront) -> None:
    told: list[tuple[str, str, int]] = []

    async def home(workspace: str, who: Speaker, page: int) -> None:
        told.append((workspace, who.id, page))

    async with hearing(front, Ear(on_home=home)) as bed:
        await bed.does(lambda: front.open_home("U01ALICE"))
        await bed.inbox.until(lambda: told, "a home")

    assert told == [("T01TEST", "T01TEST:U01ALICE", 1)]
    assert bed.inbox.arrivals == []


PROMPTS = Prompts("Try", (("Fix tests", "fix the failing tests"), ("Report", "write a report")))


async def test_whoever_opens_the_conversation_is_given_suggestions_without_a_thread(
    front: SlackFront,
) -> None:
    async with hearing(front, Ear(prompts=lambda: PROMPTS)) as bed:
        await bed.does(lambda: front.open_home("U01ALICE", "messages"))
        await bed.inbox.until(
            lambda: front.of("assistant.threads.setSuggestedPrompts"), "suggestions"
        )

    (call,) = front.of("assistant.threads.setSuggestedPrompts")
    assert call.arguments["prompts"][0] == {
        "title": "Fix tests",
        "message": "fix the failing tests",
    }
    assert "thread_ts" not in call.arguments
    assert call.is_done


async def test_where_suggestions_are_not_had_they_are_asked_for_once(front: SlackFront) -> None:
    method = "assistant.threads.setSuggestedPrompts"
    front.faults.next_times(method, Failed("unknown_method"), Failed("unknown_method"))

    async with hearing(front, Ear(prompts=lambda: PROMPTS)) as bed:
        await bed.does(lambda: front.open_home("U01ALICE", "messages"))
        await bed.inbox.until(lambda: front.of(method), "suggestions")
        await bed.does(lambda: front.open_home("U01ALICE", "messages"))
        await says(bed, "later")

    assert len(front.of(method)) == 1


async def test_what_somebody_looks_at_goes_along_with_what_they_say_in_private(
    front: SlackFront,
) -> None:
    names = {"C02RND": "random"}
    async with hearing(front, Ear(room_name=lambda workspace, id: names.get(id, ""))) as bed:
        room = str(await bed.does(lambda: front.dm_of("U01ALICE")))
        await bed.does(lambda: front.look_at("U01ALICE", "C02RND"))
        await says(bed, "summarise it", room)
        await says(bed, "in the open")

    private, public = bed.inbox.messages
    assert private.text == "summarise it"
    assert private.form == (("looked_at", "C02RND #random"),)
    assert public.form == ()


async def test_a_person_who_is_deactivated_is_told_before_it_is_acknowledged(
    front: SlackFront,
) -> None:
    told: list[Json] = []

    async def profile(workspace: str, user: Json) -> None:
        told.append(user)

    user = {"id": "U02BOB", "team_id": "T01TEST", "name": "bob", "deleted": True, "profile": {}}
    body = {
        "type": "event_callback", "team_id": "T01TEST", "api_app_id": "A01APP", "event_id": "Ev9",
        "event": {"type": "user_change", "user": user, "event_ts": "1700000000.000100"},
    }  # fmt: skip
    async with hearing(front, Ear(on_profile=profile)):
        envelope = await front.inject_payload(body, "events_api")

    assert told == [user]
    assert envelope.is_acked


@pytest.mark.parametrize(
    "payload",
    [
        {}, {"type": "event_callback"}, {"type": "event_callback", "event": 7},
        {"type": "event_callback", "event": {"type": 5}}, {"type": "new_thing", "team": 3},
        {"type": "event_callback", "event": {"type": "message", "channel": 7}},
        {"type": "block_actions", "actions": "x"}, {"type": "view_submission", "view": []},
        {"type": "event_callback", "authorizations": 5, "event": {"type": "message"}},
        {"type": "shortcut", "user": 7}, {"enterprise": 5, "type": "block_actions"},
    ],
)  # fmt: skip
async def test_what_is_no_payload_of_slacks_is_acknowledged_and_stores_nothing(
    front: SlackFront, payload: Json
) -> None:
    async with hearing(front) as bed:
        envelope = await front.inject_payload(payload, "events_api")
        await says(bed, "still here")

    assert envelope.is_acked
    assert envelope.sends == 1
    assert bed.inbox.texts() == ["still here"]


async def test_what_cannot_be_read_is_logged_once(
    front: SlackFront, caplog: pytest.LogCaptureFixture
) -> None:
    async with hearing(front):
        for _ in range(3):
            await front.inject_payload({"type": "of a new kind", "team": 3}, "events_api")

    assert caplog.text.count("cannot be read, of type 'of a new kind'") == 1


async def test_at_fifty_a_second_every_acknowledgement_leaves_well_in_time(
    front: SlackFront,
) -> None:
    def event(number: int) -> Json:
        ts = f"1700001000.{number:06d}"
        return {
            "type": "message", "channel": "C01GEN", "channel_type": "channel",
            "user": "U01ALICE", "text": "talk", "ts": ts, "event_ts": ts, "team": "T01TEST",
        }  # fmt: skip

    front.sockets.log.clear()
    async with hearing(front, sockets=2) as bed:
        for number in range(75):
            await bed.does(partial(front.inject, event(number)))
            await asyncio.sleep(0.02)
        await bed.inbox.until(lambda: len(bed.inbox.messages) == 75, "all of them")
        await bed.inbox.until(lambda: all(one.is_acked for one in front.sockets.log), "acks")

    assert max(one.ack_s for one in front.sockets.log) < 1.5
    assert [one.id for one in bed.inbox.messages] == [
        f"C01GEN:1700001000.{number:06d}" for number in range(75)
    ]
