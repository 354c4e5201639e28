"""A goal's life in a Slack channel, over sockets and by HTTP, as people live it."""

from collections.abc import Iterator

import pytest

from tests.journeys.slack import (
    ALICE,
    BOB,
    GENERAL,
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


@pytest.fixture(scope="module", params=["socket", "http"])
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    request: pytest.FixtureRequest,
) -> Iterator[SlackBot]:  # fmt: skip
    with a_slack(request.param) as front:
        bot = slack_bot(tmp_path_factory.mktemp("slack"), api, front)
        with running(bot, ALICE):
            bot.allow(BOB)
            yield bot
            assert_once(front)


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def test_a_goal_is_worked_at_shown_in_its_thread_and_completed(
    headway: SlackBot, front: SlackFront
) -> None:
    # A goal that is done within five seconds has no status message.
    goal = headway.started(ALICE, "!script slow 1 4")

    goal.until("complete")
    [settled] = goal.until_kinds("settle")
    [status] = goal.status()
    goal.until_reads(status, "Complete")

    root = plain_text(front.mirror.get(GENERAL, goal.root) or {})
    assert "🎯 G" in root
    assert "for @alice" in root
    assert "Turn 4 of 4" in goal.text(settled)


def test_a_mention_begins_a_goal_and_says_so_with_a_mark(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> Say it twice. !script echo")

    goal.until("complete")

    [settled] = goal.until_kinds("settle")
    assert "you said: " in goal.text(settled)
    assert f"<@{BOT}>" not in goal.text(settled)
    front.until(lambda: _marks(front, goal) == {"white_check_mark"}, "the mark that it was taken")


def test_slack_says_that_it_works_for_as_long_as_it_does(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script slow 3 1")

    front.until(lambda: front.world.statuses.get((GENERAL, goal.root)), "a status that it works")
    goal.until("complete")

    front.until(lambda: not front.world.statuses[GENERAL, goal.root], "none any more")


def test_a_blocked_goal_says_so_to_whom_it_concerns(headway: SlackBot) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script blocked")

    blocked = goal.until_posted("blocked")

    text = goal.text(blocked)
    assert "⛔ Blocked" in text
    assert f"<@{ALICE}>" in text
    assert "The access that it needs is missing" in text


def test_a_decision_is_answered_by_a_button_and_its_card_says_so(headway: SlackBot) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")

    goal.press(card, "yes")
    goal.until("complete")

    _, settled = goal.until_kinds("decision", "settle")
    assert "the answer was yes" in goal.text(settled)
    goal.until_reads(card, "answered by")


def test_a_decision_is_answered_in_words_in_a_window(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")

    goal.press(card, "In words")
    front.until(lambda: _has_input(front, ALICE), "a window with an input")
    answer = front.submit(ALICE, **{"Your answer": "only on Sunday"}).wait().answer

    assert not answer
    assert "→ only on Sunday" in goal.until_reads(card, "answered by")
    goal.say("cancel yes")


def test_a_decision_is_answered_by_its_exact_word(headway: SlackBot) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    goal.until_posted("decision")

    goal.say("yes")
    goal.until("complete")

    assert "the answer was yes" in goal.text(goal.posts()[-1])


def test_a_goal_is_paused_resumed_and_stopped_in_words(headway: SlackBot) -> None:
    goal = headway.started(ALICE, "!script slow 0.5 20")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    goal.say("pause")
    goal.until("paused")
    goal.until_true(lambda look: not look.goal.turn_open)
    goal.say("resume")
    goal.until_true(lambda look: look.goal.state in ("working", "auditing"))
    goal.say("stop")
    stopped = goal.until("paused")

    assert stopped.reason == "stopped"


def test_a_goal_is_paused_and_resumed_by_its_buttons(headway: SlackBot) -> None:
    goal = headway.started(ALICE, "!script slow 2 6")
    headway.front.until(goal.status, "a status message")

    goal.press(goal.status()[0], "Pause")
    goal.until("paused")
    goal.until_reads(goal.status()[0], "Paused")
    goal.press(goal.status()[0], "Resume")
    goal.until_true(lambda look: look.goal.state in ("working", "auditing"))
    goal.until_reads(goal.status()[0], "Working")
    goal.press(goal.status()[0], "Stop")

    goal.until("paused")


def test_an_edit_of_the_message_edits_the_goal(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script reports 1")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    front.edit(ALICE, GENERAL, goal.root, f"<@{BOT}> !script reports 1 and mention steer-1")
    done = goal.until("complete")

    assert done.revision == 2
    assert "heard steer-1" in goal.text(goal.posts()[-1])


def test_a_goal_is_edited_in_a_window_from_its_first_message(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.started(ALICE, "!script reports 1")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    front.press(ALICE, GENERAL, goal.root, "Edit")
    front.until(lambda: _has_input(front, ALICE), "a window with an input")
    front.submit(ALICE, Objective="!script reports 1 and mention steer-2").wait()
    done = goal.until("complete")

    assert done.revision == 2
    assert "heard steer-2" in goal.text(goal.posts()[-1])


def test_a_start_is_taken_back_by_its_button(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.started(ALICE, "!script slow 2 5")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    front.press(ALICE, GENERAL, goal.root, "Undo")

    goal.until_true(lambda look: look.goal.state == "cancelled", what="be cancelled")
    front.until(lambda: front.mirror.get(GENERAL, goal.root) is None, "the root gone")


def test_a_file_comes_in_and_goes_out(headway: SlackBot, front: SlackFront) -> None:
    boats = b"boat,length\nann,7\n"

    root = front.upload(
        ALICE, GENERAL, "harbour.csv", boats, f"<@{BOT}> !script returns", kind="text/csv"
    )
    goal = SlackGoal(headway, ALICE, GENERAL, root)
    goal.until("complete")

    _, uploaded, _ = goal.until_kinds("file", "upload", "settle")
    [shared] = uploaded["files"]
    assert shared["size"] == len(boats)


def test_what_people_say_among_themselves_wakes_nothing(
    headway: SlackBot, front: SlackFront
) -> None:
    before = len(headway.goals())
    front.say(ALICE, GENERAL, "Good morning!")
    front.say(ALICE, GENERAL, f"<@{BOB}> did you see it?")

    done = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    done.until("complete")

    assert len(headway.goals()) == before + 1


def _marks(front: SlackFront, goal: SlackGoal) -> set[str]:
    message = front.mirror.get(GENERAL, goal.root) or {}
    return {each["name"] for each in message.get("reactions", ()) if BOT in each["users"]}


def _has_input(front: SlackFront, user: str) -> bool:
    return any(block["type"] == "input" for block in front.window(user)["blocks"])
