"""What people do in a Slack comes in, over sockets, against a Slack."""

import asyncio
from collections.abc import Iterator

import pytest

from bot.ports.chat import Changed, Reacted, Removed, RoomLost, Unreacted
from tests.adapters.slack.hearing_bed import hearing
from tests.peers.slack_front import SlackFront, slack


@pytest.fixture
def front() -> Iterator[SlackFront]:
    with slack() as front:
        yield front
        assert not front.violations, front.violations


async def test_a_mention_comes_as_two_events_and_counts_once(front: SlackFront) -> None:
    async with hearing(front) as bed:
        ts = await bed.does(lambda: front.say("U01ALICE", "C01GEN", "<@U0BOT> fix the tests"))

        await bed.inbox.until(lambda: len(bed.inbox.tried) == 2, "two events")

    (said,) = bed.inbox.messages
    assert said.id == f"C01GEN:{ts}"
    assert said.text == "@headway fix the tests"
    assert said.place.workspace == "T01TEST" and said.place.thread == ""
    assert said.speaker.id == "T01TEST:U01ALICE"
    assert said.speaker.name
