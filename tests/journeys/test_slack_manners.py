"""How Headway behaves towards people in Slack: who is told what, and who alone."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.journeys.slack import (
    ALICE,
    BOB,
    ERIN,
    GENERAL,
    Json,
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

PRIVATE: Final = "C03PRV"
RANDOM: Final = "C02RND"


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str
) -> Iterator[SlackBot]:
    with a_slack("socket") as front:
        bot = slack_bot(tmp_path_factory.mktemp("slack"), api, front)
        with running(bot, ALICE):
            bot.allow(BOB)
            yield bot
            assert_once(front)


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def shown(front: SlackFront, user: str, words: str) -> Json:
    """The last that a person alone was shown with these words in it."""

    def last() -> Json | None:
        told = [each for each in front.unseen(user) if words in plain_text(each)]
        return told[-1] if told else None

    found_one = front.until(last, f"{user} is shown {words!r}")
    assert isinstance(found_one, dict)
    return found_one


def press(front: SlackFront, user: str, message: Json, label: str) -> None:
    """Press a button of what a person alone was shown."""
    front.press_as(user, message, found(message, label))


def test_what_only_looks_is_shown_to_whoever_asks(front: SlackFront) -> None:
    before = len(front.posts(GENERAL))

    front.command(BOB, GENERAL, "help")
    told = shown(front, BOB, "What I take")

    assert "/goal in the room" in plain_text(told).replace("*", "")
    assert len(front.posts(GENERAL)) == before


def test_a_stranger_is_told_once_and_may_ask_to_be_let_in(
    headway: SlackBot, front: SlackFront
) -> None:
    front.command(ERIN, GENERAL, "write a haiku")
    line = shown(front, ERIN, "on my list")

    press(front, ERIN, line, "Ask for access")
    shown(front, ERIN, "Asked.")
    card = front.until(
        lambda: [each for each in front.posts(GENERAL) if "asks for access" in plain_text(each)],
        "a card for the admins",
    )[-1]
    front.press(ALICE, GENERAL, card["ts"], "Allow")
    front.until(
        lambda: any("is user in all rooms now" in plain_text(one) for one in front.posts(GENERAL)),
        "it is told that she is let in",
    )

    goal = headway.started(ERIN, "!script complete_after 1")
    goal.until("complete")


@pytest.mark.parametrize("channel", [PRIVATE])
def test_where_the_bot_is_not_what_was_asked_is_kept_until_it_is(
    headway: SlackBot, front: SlackFront, channel: str
) -> None:
    front.absent(channel)

    front.command(ALICE, channel, "!script complete_after 1")
    told = shown(front, ALICE, "/invite")
    press(front, ALICE, told, "Try again")
    front.until(
        lambda: len([1 for each in front.unseen(ALICE) if "/invite" in plain_text(each)]) == 2,
        "it is said again",
    )
    front.invite(channel)
    press(front, ALICE, told, "Try again")
    press(front, ALICE, told, "Try again")

    root = front.until(
        lambda: [each for each in front.posts(channel) if "🎯" in plain_text(each)], "the root"
    )
    shown(front, ALICE, "came of that already")
    assert len(root) == 1
    SlackGoal(headway, ALICE, channel, root[0]["ts"]).until("complete")


def test_a_public_channel_is_entered_to_start_there(headway: SlackBot, front: SlackFront) -> None:
    front.absent(RANDOM)

    goal = headway.started(ALICE, "!script complete_after 1", RANDOM)

    goal.until("complete")
    assert front.of("conversations.join")


def test_of_two_who_decide_at_once_one_counts_and_the_other_is_told_by_whom(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")

    as_shown = dict(front.mirror.get(GENERAL, card["ts"]) or {})
    press(front, BOB, as_shown, "no")
    press(front, ALICE, as_shown, "yes")
    goal.until("complete")

    assert "@bob answered decision 1" in plain_text(shown(front, ALICE, "Too late"))
    assert "the answer was no" in goal.text(goal.posts()[-1])


def test_who_may_not_is_told_and_nobody_else(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.started(ALICE, "!script slow 2 4")

    front.press(BOB, GENERAL, goal.root, "Undo")

    shown(front, BOB, "You may not do that")
    assert goal.kinds() == []
    goal.say("cancel yes")


def test_a_verb_that_fits_two_goals_offers_both(headway: SlackBot, front: SlackFront) -> None:
    one, two = (headway.started(BOB, "!script slow 2 8") for _ in range(2))
    names = [f"G{goal.look().goal.number}" for goal in (one, two)]

    front.command(BOB, GENERAL, "pause")
    told = shown(front, BOB, "Which one?")
    press(front, BOB, told, names[0])

    one.until("paused")
    assert two.look().goal.state != "paused"
    for goal in (one, two):
        goal.say("cancel yes")


def test_in_private_each_message_is_an_objective_and_is_answered_under_it(
    headway: SlackBot, front: SlackFront
) -> None:
    direct = front.dm_of(ALICE)

    hello = front.say(ALICE, direct, "hello")
    first = headway.asked(ALICE, "!script complete_after 1", direct)
    second = headway.asked(ALICE, "!script complete_after 1", direct)
    first.until("complete")
    second.until("complete")

    told = front.until(lambda: front.thread(direct, hello), "an answer under it")
    assert "To start a goal" in plain_text(told[-1])
    assert first.kinds() == ["settle"]


def test_an_app_that_is_removed_lets_its_goals_rest(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.started(ALICE, "!script slow 2 8")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    front.inject({"type": "app_uninstalled"})

    assert goal.until("paused").reason.startswith("room_lost:uninstalled")
