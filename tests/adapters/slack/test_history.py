"""Messages that are asked for: from what came, and else from a Slack that lets few be read."""

from typing import Any

import pytest

from adapters.slack import history as history_of_slack
from adapters.slack.calling import Calls
from adapters.slack.history import MINUTE_S, READS_A_MINUTE, History
from bot.errors import Refused, Wait
from tests.adapters.slack.web_bed import Watch, calls, front, slack_of_module, watch
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Limited
from tests.peers.slack_front import SlackFront

__all__ = ["calls", "front", "slack_of_module", "watch"]
REPLIES = "conversations.replies"


@pytest.fixture
def history(calls: Calls, watch: Watch) -> History:
    return History(calls, watch)


async def said(calls: Calls, text: str, thread: str = "") -> str:
    """A message; its timestamp."""
    answer = await calls.call(
        TEAM, "chat.postMessage", channel="C01GEN", text=text, thread_ts=thread or None
    )
    return str(answer["ts"])


async def test_what_came_is_not_asked_for(front: SlackFront, history: History) -> None:
    message = {"type": "message", "user": "U01ALICE", "text": "Fix it", "ts": "1.000001"}
    history.saw(TEAM, "C01GEN", message | {"blocks": [1] * 1_000})

    found = await history.message(TEAM, "C01GEN:1.000001")

    assert found == message
    assert front.of(REPLIES) == []


async def test_what_was_edited_or_deleted_is_remembered_so(
    front: SlackFront, history: History
) -> None:
    history.saw(TEAM, "C01GEN", {"text": "Fix it", "ts": "1.000001"})
    history.saw(TEAM, "C01GEN", {"text": "Fix it soon", "ts": "1.000001"})
    edited = history.remembered(TEAM, "C01GEN:1.000001")

    history.gone(TEAM, "C01GEN:1.000001")

    assert edited == {"text": "Fix it soon", "ts": "1.000001"}
    assert history.remembered(TEAM, "C01GEN:1.000001") is None
    assert await history.message(TEAM, "C01GEN:1.000001") is None


async def test_a_message_is_read_once_wherever_it_stands(
    front: SlackFront, calls: Calls, history: History
) -> None:
    root = await said(calls, "the root")
    await said(calls, "another", root)
    reply = await said(calls, "the reply", root)
    await said(calls, "later", root)

    texts = []
    for ts in (root, reply, root, reply):
        found = await history.message(TEAM, f"C01GEN:{ts}")
        texts.append(found["text"] if found else "")

    assert texts == ["the root", "the reply"] * 2
    assert len(front.of(REPLIES)) == 2


async def test_a_message_that_the_bot_may_not_read_is_none(
    front: SlackFront, history: History
) -> None:
    front.world.room("C03PRV").has_bot = False

    closed = await history.message(TEAM, "C03PRV:1.000001")
    none = await history.message(TEAM, "C01GEN:1.000001")

    front.world.room("C03PRV").has_bot = True
    assert (closed, none) == (None, None)
    with pytest.raises(Refused):
        await history.message(TEAM, "$event:example.org")


async def test_reading_leaves_slacks_limit_to_others(
    front: SlackFront, history: History, watch: Watch
) -> None:
    for number in range(READS_A_MINUTE):
        await history.message(TEAM, f"C01GEN:1.{number:06d}")

    with pytest.raises(Wait) as caught:
        await history.message(TEAM, "C01GEN:2.000001")
    watch.now_s += MINUTE_S
    later = await history.message(TEAM, "C01GEN:2.000001")

    assert caught.value.retry_after_s == MINUTE_S
    assert later is None
    assert len(front.of(REPLIES)) == READS_A_MINUTE + 1


async def test_an_app_that_may_read_one_message_a_minute_asks_no_sooner(
    front: SlackFront, history: History, watch: Watch
) -> None:
    front.faults.next_times(REPLIES, Limited(60))
    with pytest.raises(Wait):
        await history.message(TEAM, "C01GEN:1.000001")

    with pytest.raises(Wait):
        await history.message(TEAM, "C01GEN:1.000001")
    asked = len(front.of(REPLIES))
    watch.now_s += 60
    await history.message(TEAM, "C01GEN:1.000001")

    assert asked == 1


@pytest.mark.parametrize(
    "message",
    [{}, {"ts": "none"}, {"ts": 1.5}, {"ts": "1.000001", "text": "x" * 50_000}, {"text": "?"}],
)
def test_what_cannot_be_remembered_is_not(history: History, message: dict[str, Any]) -> None:
    history.saw(TEAM, "C01GEN", message)

    assert history.remembered(TEAM, "C01GEN:1.000001") is None


def test_of_many_messages_the_oldest_are_forgotten(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_of_slack, "REMEMBERED", 10)
    for number in range(1, 13):
        history.saw(TEAM, "C01GEN", {"ts": f"{number}.000001", "text": "x"})

    known = [history.remembered(TEAM, f"C01GEN:{number}.000001") for number in range(1, 13)]

    assert [one is None for one in known] == [True, True] + [False] * 10
