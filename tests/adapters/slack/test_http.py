"""What people do in a Slack comes in by HTTP."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from adapters.slack.ear import Ear
from bot.errors import StoreUnusable
from tests.adapters.slack.hearing_bed import door, hearing
from tests.adapters.slack.test_opening import Shown, opened
from tests.peers.localslack import free_port
from tests.peers.slack_front import SlackFront, slack

PORT = free_port()


@pytest.fixture
def front() -> Iterator[SlackFront]:
    url = f"http://127.0.0.1:{PORT}/slack/events"
    with slack(mode="http", request_url=url, retry_factor=1 / 600) as front:
        yield front
        assert front.violations == [], front.violations


def log(front: SlackFront) -> list[Any]:
    return list(front.delivery.log)


async def test_a_message_a_command_and_an_edit_come_by_http(front: SlackFront) -> None:
    async with hearing(front, mode="http") as bed, door(bed.listening, PORT):
        ts = str(await bed.does(lambda: front.say("U01ALICE", "C01GEN", "<@U0BOT> go")))
        await bed.inbox.until(lambda: bed.inbox.messages, "a message")
        envelope = await front.command("U01ALICE", "C01GEN", "list")
        await bed.does(lambda: front.edit("U01ALICE", "C01GEN", ts, "<@U0BOT> stop"))
        await bed.inbox.until(lambda: len(bed.inbox.arrivals) == 3, "an edit")

    assert bed.inbox.texts() == ["@headway go", "/goal list"]
    assert envelope.is_acked
    assert not envelope.answer
    assert bed.heard


async def test_what_is_not_stored_is_answered_500_and_comes_again(front: SlackFront) -> None:
    async with hearing(front, mode="http") as bed, door(bed.listening, PORT):
        bed.inbox.fails = [StoreUnusable("The disk is full.")]
        await bed.does(lambda: front.say("U01ALICE", "C01GEN", "keep this"))
        await bed.inbox.until(lambda: bed.inbox.messages, "a message")
        await bed.inbox.until(lambda: log(front)[-1].is_acked, "an acknowledgement")

    (envelope,) = log(front)
    assert (envelope.sends, envelope.reason) == (2, "http_error")


async def test_what_comes_while_nobody_listens_comes_again(front: SlackFront) -> None:
    async with hearing(front, mode="http") as bed:
        await bed.does(lambda: front.say("U01ALICE", "C01GEN", "early"))
        await asyncio.sleep(0.05)
        async with door(bed.listening, PORT):
            await bed.inbox.until(lambda: bed.inbox.messages, "a message")

    assert bed.inbox.texts() == ["early"]


async def test_a_form_that_is_wrong_is_told_by_http(front: SlackFront) -> None:
    shown = Shown()
    async with hearing(front, Ear(windows=shown), mode="http") as bed, door(bed.listening, PORT):
        await front.shortcut("U01ALICE", "headway:new")
        await opened(bed)
        shown.wrong = {"words": "Say when it is done."}
        envelope = await front.submit("U01ALICE", Objective="it")

    assert envelope.answer["response_action"] == "errors"
    assert bed.inbox.arrivals == []


async def test_slack_is_answered_that_the_address_is_right(front: SlackFront) -> None:
    async with hearing(front, mode="http") as bed, door(bed.listening, PORT):
        assert front.http is not None
        answer = await asyncio.to_thread(front.run, front.http.challenge())

    assert answer == "the challenge"


async def test_what_is_no_payload_of_slacks_is_answered_and_left(front: SlackFront) -> None:
    async with hearing(front, mode="http") as bed, door(bed.listening, PORT):
        envelopes = [
            await front.inject_payload(payload, "events_api")
            for payload in ({}, {"type": "new"}, {"type": "event_callback", "event": {"type": 5}})
        ]

    assert all(one.is_acked and one.sends == 1 for one in envelopes)
    assert bed.inbox.arrivals == []
