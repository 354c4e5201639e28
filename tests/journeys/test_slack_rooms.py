"""Channels and workspaces that the bot is not in, comes into, and loses; presses after a restart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.slack import (
    ALICE,
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
from tests.peers.slack_front import SlackFront, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

PUBLIC, PRIVATE = "C02RND", "C03PRV"


@pytest.fixture
def headway(tmp_path: Path, api: BlockingMessagesApi, sandbox: str) -> Iterator[SlackBot]:
    with a_slack("socket") as front, running(slack_bot(tmp_path, api, front), ALICE) as bot:
        yield bot
        for channel in (GENERAL, PUBLIC, PRIVATE):
            assert_once(front, channel)


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def test_a_command_in_a_public_channel_brings_the_bot_there(
    headway: SlackBot, front: SlackFront
) -> None:
    front.absent(PUBLIC)

    goal = headway.started(ALICE, "!script complete_after 1", PUBLIC)

    goal.until("complete")
    assert front.world.room(PUBLIC).has_bot
    goal.until_kinds("settle")


def test_where_the_bot_may_not_join_the_objective_is_kept_until_it_is_invited(
    headway: SlackBot, front: SlackFront
) -> None:
    front.absent(PRIVATE)
    front.command(ALICE, PRIVATE, "Keep this. !script complete_after 1").wait()
    told = front.until(lambda: front.unseen(ALICE), f"what to do\n{headway.told()}", GOAL_S)
    assert "/invite" in plain_text(told[0])

    front.invite(PRIVATE)
    front.press(ALICE, PRIVATE, told[0]["ts"], "Try again").wait()

    root = front.until(
        lambda: [post for post in front.posts(PRIVATE) if "Keep this" in plain_text(post)],
        f"a root\n{headway.told()}", GOAL_S,
    )[0]  # fmt: skip
    SlackGoal(headway, ALICE, PRIVATE, root["ts"]).until("complete")


def test_a_press_works_after_a_restart(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")
    headway.stop()
    headway.start()

    goal.press(card, "yes")
    goal.until("complete")

    assert "the answer was yes" in goal.text(goal.until_kinds("decision", "settle")[-1])


def test_what_was_said_while_the_bot_was_away_is_heard(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    goal.until_posted("decision")
    headway.stop()
    goal.say("yes")
    headway.start()

    goal.until("complete")

    goal.until_kinds("decision", "settle")


@pytest.mark.parametrize("how", ["archive", "kick", "delete_channel"])
def test_a_lost_channel_pauses_its_goals_with_a_reason(
    headway: SlackBot, front: SlackFront, how: str
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    goal.until_posted("decision")

    getattr(front, how)(GENERAL)

    paused = goal.until("paused")
    assert paused.reason


def test_a_goal_goes_on_in_a_channel_that_the_bot_is_back_in(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    goal.until_posted("decision")
    front.kick(GENERAL)
    goal.until("paused")

    front.invite(GENERAL)
    goal.say("resume")
    goal.until("deciding")
    goal.say("yes")

    goal.until("complete")


def test_an_uninstalled_workspace_pauses_its_goals(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    goal.until_posted("decision")

    front.uninstall()

    goal.until("paused")


def test_several_goals_at_once_keep_within_what_slack_allows(
    headway: SlackBot, front: SlackFront
) -> None:
    front.is_limited = True
    goals = [headway.started(ALICE, f"Number {n}. !script slow 2 4") for n in range(4)]

    for goal in goals:
        goal.until("complete", 90)
        [status] = goal.status()
        goal.until_reads(status, "Complete", 60)

    limited = [call.method for call in front.calls if call.status == 429]
    assert limited == []


def test_slacks_own_button_stops_a_turn(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script slow 2 6")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    front.stop_button(ALICE, GENERAL, goal.root)

    assert goal.until("paused").reason == "stopped"


def test_without_the_agent_view_all_else_works(headway: SlackBot, front: SlackFront) -> None:
    front.world.has_assistant = False

    goal = headway.asked(ALICE, f"<@{BOT}> !script slow 1 2")
    goal.until("complete")

    goal.until_kinds("settle")
    assert front.of("assistant.threads.setStatus")
