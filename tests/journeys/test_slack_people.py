"""Who is who in Slack: strangers, guests, other organisations, direct messages, two who press at once."""

from collections.abc import Iterator

import pytest

from tests.journeys.slack import (
    ALICE,
    BOB,
    ERIN,
    GENERAL,
    GOAL_S,
    SlackBot,
    SlackGoal,
    a_slack,
    assert_once,
    running,
    slack_bot,
)
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_elements import found
from tests.peers.slack_front import SlackFront, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

FOREIGN = "U07FORGN"


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str
) -> Iterator[SlackBot]:
    with a_slack("socket") as front:
        bot = slack_bot(tmp_path_factory.mktemp("slack"), api, front)
        with running(bot, ALICE):
            bot.allow(BOB, "approver")
            yield bot
            assert_once(front)


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def test_a_stranger_is_told_so_alone_and_starts_nothing(
    headway: SlackBot, front: SlackFront
) -> None:
    before = len(headway.goals())
    root = front.say(ERIN, GENERAL, f"<@{BOT}> !script complete_after 1")

    told = front.until(lambda: front.unseen(ERIN), "what only Erin is told", GOAL_S)

    assert "people on my list" in plain_text(told[0])
    assert front.thread(GENERAL, root) == []
    assert len(headway.goals()) == before


def test_a_stranger_who_asks_for_access_gets_it_from_an_admin(
    headway: SlackBot, front: SlackFront
) -> None:
    # Told once a day.
    front.say("U03CAROL", GENERAL, f"<@{BOT}> !script complete_after 1")
    front.enter(GENERAL, "U03CAROL")
    told = front.until(lambda: front.unseen("U03CAROL"), "what only Carol is told", GOAL_S)

    front.press("U03CAROL", GENERAL, told[0]["ts"], "Ask for access")

    asked = front.until(
        lambda: [each for each in front.mirror.all() if "Allow" in _labels(each)],
        f"a card with Allow\n{headway.told()[-2000:]}", GOAL_S,
    )  # fmt: skip
    front.press(ALICE, asked[-1]["channel"], asked[-1]["ts"], "Allow")
    front.until(lambda: any("carol" in str(row) for row in _list(headway)), "Carol on the list")


def test_somebody_of_another_organisation_is_a_stranger_until_listed(
    headway: SlackBot, front: SlackFront
) -> None:
    front.enter(GENERAL, FOREIGN)
    front.say(FOREIGN, GENERAL, f"<@{BOT}> !script complete_after 1")
    front.until(lambda: front.unseen(FOREIGN), "what only the stranger is told", GOAL_S)

    headway.allow(FOREIGN, team="T09OTHER")
    goal = headway.asked(FOREIGN, f"<@{BOT}> !script complete_after 1")

    assert goal.until("complete").owner


def test_a_direct_message_starts_a_goal_in_a_thread_of_its_own(
    headway: SlackBot, front: SlackFront
) -> None:
    channel = front.dm_of(ALICE)
    goal = headway.asked(ALICE, "Say something. !script complete_after 1", channel)

    goal.until("complete")

    [settled] = goal.until_kinds("settle")
    assert settled["thread_ts"] == goal.root


def test_a_target_under_a_message_makes_a_goal_of_it(headway: SlackBot, front: SlackFront) -> None:
    ts = front.say(BOB, GENERAL, "Somebody should look at this. !script complete_after 1")

    front.react(ALICE, GENERAL, ts, "dart")

    goal = SlackGoal(headway, ALICE, GENERAL, ts)
    goal.until("complete")
    goal.until_kinds("settle")


def test_a_target_taken_away_at_once_takes_the_goal_back(
    headway: SlackBot, front: SlackFront
) -> None:
    ts = front.say(BOB, GENERAL, "Or rather not. !script slow 5 3")
    front.react(ALICE, GENERAL, ts, "dart")
    goal = SlackGoal(headway, ALICE, GENERAL, ts)
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    front.react(ALICE, GENERAL, ts, "dart", present=False)

    goal.until_true(lambda look: look.goal.state == "cancelled")


def test_of_two_who_press_at_once_the_first_counts_and_the_other_is_told(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")
    heard = len(front.unseen(BOB)), len(front.unseen(ALICE))

    first = front.press_as(ALICE, dict(card), _button(card, "yes"))
    second = front.press_as(BOB, dict(card), _button(card, "no"))

    assert first.wait().is_acked
    assert second.wait().is_acked
    goal.until("complete")
    assert len(goal.look().events("DecisionAnswered")) == 1
    front.until(
        lambda: (len(front.unseen(BOB)), len(front.unseen(ALICE))) != heard,
        f"one is told that it was too late\n{goal.story()}", GOAL_S,
    )  # fmt: skip


def test_a_press_of_a_stranger_changes_nothing(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")

    assert front.press_as(ERIN, dict(card), _button(card, "yes")).wait().is_acked
    heard = len(front.unseen(ALICE))
    goal.say("tasks")
    front.until(lambda: len(front.unseen(ALICE)) > heard, "an answer to Alice", GOAL_S)

    assert goal.look().goal.state == "deciding"
    goal.say("cancel yes")


def test_another_bot_is_not_answered_twice(headway: SlackBot, front: SlackFront) -> None:
    ts = front.say(ALICE, GENERAL, "root")
    event = {
        "type": "message", "subtype": "bot_message", "bot_id": "B0OTHER", "text": f"<@{BOT}> hello",
        "ts": front.stamp(), "event_ts": front.stamp(), "channel": GENERAL, "thread_ts": ts,
        "channel_type": "channel",
    }  # fmt: skip
    front.inject(event)
    done = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    done.until("complete")

    assert front.thread(GENERAL, ts) == []


def _labels(message: dict[str, object]) -> list[str]:
    return [text for text in plain_text(message).splitlines() if text]


def _button(card: dict[str, object], label: str) -> dict[str, object]:
    return found(card, label)


def _list(headway: SlackBot) -> list[object]:
    return list(headway.ask(do="allow.list")["entries"])
