"""What people, Slack and the model should not send, and how it arrives: each a clear outcome, once."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.journeys.bot import until
from tests.journeys.slack import (
    ALICE,
    GENERAL,
    GOAL_S,
    SlackBot,
    a_slack,
    assert_once,
    running,
    slack_bot,
)
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import SlackFront, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

STORM = 150
"""Messages at once that are for nobody."""


@pytest.fixture(scope="module", params=["socket", "http"])
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    request: pytest.FixtureRequest,
) -> Iterator[SlackBot]:  # fmt: skip
    with a_slack(request.param) as front:
        bot = slack_bot(tmp_path_factory.mktemp("odd"), api, front)
        with running(bot, ALICE):
            yield bot
            assert_once(front)


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


WORDS = {
    "right to left": "قل ذلك مرة أخرى",
    "emoji": "Say 👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿🤷🏽‍♀️ again",
    "broadcasts": "Say &lt;!channel&gt; and <!here> and <@U02BOB> again",
    "markup": "Say `&lt;b&gt;` &amp; *bold* _it_ ~no~ <https://example.org/a?b=1&amp;c=2|a link> again",
    "many lines": "Say it again\n" + "\n".join(f"line {number}" for number in range(400)),
    "a long word": "Say " + "x" * 9_000,
}


@pytest.mark.parametrize("kind", WORDS)
def test_what_was_said_comes_back_whole_and_calls_nobody(
    headway: SlackBot, front: SlackFront, kind: str
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> {WORDS[kind]}\n!script echo")

    goal.until("complete")

    settled = goal.until_posted("settle")
    for post in front.thread(GENERAL, goal.root):
        said = plain_text(post)
        assert "<!channel>" not in said
        assert "<!here>" not in said
        assert "<@U02BOB>" not in said
    assert "Complete" in goal.text(settled)


MALFORMED: dict[str, Any] = {
    "an event without a channel": ("events_api", {
        "type": "event_callback", "team_id": "T01TEST", "event_id": "Ev1", "api_app_id": "A01APP",
        "event": {"type": "message", "text": "x"}, "authorizations": [],
    }),
    "an event of numbers": ("events_api", {
        "type": "event_callback", "team_id": 7, "event_id": 7, "api_app_id": "A01APP",
        "event": {"type": "message", "text": 7, "user": 7, "channel": 7, "ts": 7},
        "authorizations": 7,
    }),
    "an unknown event": ("events_api", {
        "type": "event_callback", "team_id": "T01TEST", "event_id": "Ev2", "api_app_id": "A01APP",
        "event": {"type": "llama_groomed", "event_ts": "1.2"}, "authorizations": [],
    }),
    "a press without actions": ("interactive", {
        "type": "block_actions", "team": {"id": "T01TEST"}, "user": {"id": ALICE}, "actions": [],
    }),
    "a press whose value is no press": ("interactive", {
        "type": "block_actions", "team": {"id": "T01TEST"},
        "user": {"id": ALICE, "team_id": "T01TEST"}, "trigger_id": "1.2.3", "api_app_id": "A01APP",
        "channel": {"id": GENERAL}, "container": {"type": "message", "message_ts": "1.2"},
        "actions": [{"action_id": "headway:0", "block_id": "b", "type": "button", "value": "{{{"}],
    }),
    "a window with no state": ("interactive", {
        "type": "view_submission", "team": {"id": "T01TEST"}, "user": {"id": ALICE},
        "view": {"id": "V1", "callback_id": "headway:form", "private_metadata": "not json"},
    }),
    "a command without a text": ("slash_commands", {
        "command": "/goal", "team_id": "T01TEST", "user_id": ALICE, "channel_id": GENERAL,
        "trigger_id": "9.9.9", "api_app_id": "A01APP",
    }),
}  # fmt: skip


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_payload_that_slack_would_not_send_harms_nobody(
    headway: SlackBot, front: SlackFront, kind: str
) -> None:
    sort, payload = MALFORMED[kind]

    front.inject_payload(payload, sort)

    goal = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    goal.until("complete")
    assert "Traceback" not in headway.told()


def test_a_storm_of_talk_delays_no_goal_for_long(headway: SlackBot, front: SlackFront) -> None:
    with ThreadPoolExecutor(4) as talking:
        list(talking.map(lambda n: front.say(ALICE, GENERAL, f"talk {n}"), range(STORM)))
    began = time.monotonic()

    goal = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    goal.until("complete", 60)

    acks = [each for each in front.delivery.log if each.kind == "events_api"][-STORM:]
    until(lambda: all(each.is_acked for each in acks), GOAL_S, headway.told)
    assert all(each.attempt == 0 for each in acks)
    assert time.monotonic() - began < 45


def test_what_slack_sends_twice_is_heard_once(headway: SlackBot, front: SlackFront) -> None:
    before = len(headway.goals())
    front.delivery.doubles = 4

    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")
    front.delivery.doubles = 2
    goal.say("yes")
    goal.until("complete")

    goal.until_kinds("decision", "settle")
    assert card
    assert len(headway.goals()) == before + 1


def test_a_code_block_of_ten_thousand_lines_is_an_objective_or_says_why_not(
    headway: SlackBot, front: SlackFront
) -> None:
    code = "\n".join(f"{number} = x" for number in range(10_000))
    root = front.say(
        ALICE, GENERAL, f"<@{BOT}> Mend this:\n```\n{code}\n```\n!script complete_after 1"
    )

    until(
        lambda: bool(front.thread(GENERAL, root)) or bool(front.unseen(ALICE)), GOAL_S, headway.told
    )
