"""Windows and the home: shortcuts with forms, details, goals of one person, what comes too late."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.journeys.bot import until
from tests.journeys.slack import (
    ALICE,
    BOB,
    ERIN,
    GENERAL,
    GOAL_S,
    SlackBot,
    SlackGoal,
    a_slack,
    running,
    slack_bot,
)
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import SlackFront, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

RUN_AS_GOAL, NEW_GOAL = "headway_run_as_goal", "headway_new_goal"


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


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def test_a_message_becomes_a_goal_by_its_shortcut(headway: SlackBot, front: SlackFront) -> None:
    ts = front.say(BOB, GENERAL, "Look at the harbour. !script complete_after 1")

    front.message_shortcut(ALICE, GENERAL, ts, RUN_AS_GOAL).wait()
    window = _window(front)
    assert "Look at the harbour" in _initial(window, "Objective")
    front.submit(ALICE, Budget="$3").wait()

    goal = SlackGoal(headway, ALICE, GENERAL, ts)
    done = goal.until("complete")
    assert done.budget.nano_usd == 3_000_000_000
    goal.until_kinds("settle")


def test_the_bots_own_answer_becomes_a_goal_by_its_shortcut(
    headway: SlackBot, front: SlackFront
) -> None:
    before = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    before.until("complete")
    [settled] = before.until_kinds("settle")

    front.message_shortcut(ALICE, GENERAL, settled["ts"], RUN_AS_GOAL).wait()
    _window(front)
    front.submit(ALICE, Objective="Do that once more. !script complete_after 1").wait()

    until(lambda: len(headway.look(before.thread)) == 2, GOAL_S, before.story)
    before.until_kinds("settle", "settle")


def test_a_goal_is_begun_in_a_window_from_anywhere(headway: SlackBot, front: SlackFront) -> None:
    front.shortcut(ALICE, NEW_GOAL).wait()
    window = _window(front)
    place = next(
        block for block in window["blocks"]
        if (block.get("element") or {}).get("type", "").endswith(("conversations_select", "channels_select"))
    )  # fmt: skip

    front.submit(
        ALICE, **{"Objective": "A new one. !script complete_after 1", place["block_id"]: GENERAL}
    ).wait()

    root = front.until(
        lambda: [post for post in front.posts(GENERAL) if "A new one" in plain_text(post)
                 and "🎯" in plain_text(post)],
        f"a root\n{headway.told()[-2000:]}", GOAL_S,
    )[-1]  # fmt: skip
    SlackGoal(headway, ALICE, GENERAL, root["ts"]).until("complete")


def test_an_empty_objective_and_a_wrong_amount_are_said_in_the_window(
    headway: SlackBot, front: SlackFront
) -> None:
    front.shortcut(ALICE, NEW_GOAL).wait()
    window = _window(front)

    wish = {"Objective": " ", "Budget": "a lot", "headway:input:room": GENERAL}
    answer = front.submit(ALICE, **wish).wait().answer

    assert answer["response_action"] == "errors"
    assert len(answer["errors"]) == 2
    assert set(answer["errors"]) <= {block.get("block_id") for block in window["blocks"]}
    front.close(ALICE).wait()


def test_the_home_shows_ones_goals_and_acts_on_them(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> Watch the tide. !script asks")
    goal.until_posted("decision")

    front.open_home(ALICE)
    front.until(lambda: "Watch the tide" in plain_text(front.home(ALICE)), "the goal", GOAL_S)
    shown = plain_text(front.home(ALICE))
    assert "Waiting for you" in shown
    front.press_home(ALICE, "yes").wait()
    goal.until("complete")

    front.until(
        lambda: "May I go on?" not in plain_text(front.home(ALICE)), "the home without it", GOAL_S
    )


def test_a_strangers_home_says_who_may_start_goals(headway: SlackBot, front: SlackFront) -> None:
    front.open_home(ERIN)

    front.until(lambda: "people on my list" in plain_text(front.home(ERIN)), "a home", GOAL_S)


def test_details_are_shown_in_a_window(headway: SlackBot, front: SlackFront) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script complete_after 2")
    goal.until("complete")
    [settled] = goal.until_kinds("settle")

    goal.press(settled, "Details")

    front.until(lambda: "Cost" in plain_text(front.window(ALICE)), "details", GOAL_S)
    front.close(ALICE).wait()


def test_a_window_that_is_filled_in_after_its_goal_has_ended_is_told_so(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    card = goal.until_posted("decision")
    goal.press(card, "In words")
    _window(front)
    goal.say("cancel yes")
    goal.until("cancelled")

    answer = front.submit(ALICE, **{"Your answer": "yes"}).wait().answer

    assert answer is not None
    assert answer["response_action"] == "errors"
    assert "Too late" in str(answer["errors"])
    assert not goal.look().events("DecisionAnswered")


def test_prompts_are_offered_where_somebody_opens_the_messages(
    headway: SlackBot, front: SlackFront
) -> None:
    front.open_home(ALICE, "messages")

    [call] = front.until(
        lambda: [call for call in front.of("assistant.threads.setSuggestedPrompts") if call.is_done][:1],
        "prompts", GOAL_S,
    )  # fmt: skip
    assert "thread_ts" not in call.arguments
    assert call.arguments["prompts"]


def test_a_press_on_a_message_that_is_gone_has_a_clear_outcome(
    headway: SlackBot, front: SlackFront
) -> None:
    goal = headway.started(ALICE, "!script slow 1 6")
    [status] = front.until(goal.status, "a status message", GOAL_S)
    element = {"action_id": "headway:0", "block_id": "gone", "type": "button",
               "value": '{"v": "pause"}', "text": {"type": "plain_text", "text": "Pause"}}  # fmt: skip
    gone = {**status, "ts": "1500000000.000100", "thread_ts": "1500000000.000001"}
    heard = len(front.unseen(ALICE))

    assert front.press_as(ALICE, gone, element).wait().is_acked

    told = front.until(lambda: front.unseen(ALICE)[heard:], "a sentence", GOAL_S)
    assert "gone" in plain_text(told[0])
    goal.until("complete")


def _window(front: SlackFront) -> dict[str, Any]:
    """Alice's window, once it is more than a moment's."""
    front.until(
        lambda: any(block["type"] == "input" for block in front.window(ALICE)["blocks"]),
        "a window to fill in", GOAL_S,
    )  # fmt: skip
    return front.window(ALICE)


def _initial(window: dict[str, Any], label: str) -> str:
    for block in window["blocks"]:
        if (block.get("label") or {}).get("text") == label:
            return str(block["element"].get("initial_value", ""))
    return plain_text(window)
