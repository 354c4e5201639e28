"""Calls and plans that people decide on, with the process killed between the card and the answer."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from adapters.store.reading import open_for_reading
from tests.journeys.bot import Bot, Thread, assert_sound
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

Api = BlockingMessagesApi
ASKS = json.dumps(["mktemp", "printf"])


@pytest.fixture
def bot(begin: Begin, api: Api) -> Bot:
    return begin(api, ask_commands=ASKS)


def killed(bot: Bot) -> None:
    """Dies as by a power cut, and is started again."""
    bot.stop(signal.SIGKILL)
    bot.start()


def ran(goal: Thread) -> list[Path]:
    """What each run of the command has left."""
    folder = goal.bot.folder / "workspaces" / goal.goal().session / "drafts"
    return sorted(folder.glob("ran.*"))


def card(goal: Thread) -> str:
    """The card of its last decision as it stands now."""
    goal.bot.ask(do="settle")
    shown = [
        post for post in goal.bot.posts(goal.id) if ":decision:" in post.key or ":card:" in post.key
    ]
    last = shown[-1].shape
    return "\n".join([last.get("word", ""), *last.get("facts", ()), last.get("now", "")])


@pytest.mark.parametrize(
    ("words", "times", "came"),
    [
        ("approve 1", 1, "→ Approved, this once."),
        ("deny 1: the folder is full", 0, "→ Denied: the folder is full"),
    ],
)
def test_killed_between_the_card_and_the_answer_the_call_runs_as_often_as_it_was_allowed(
    bot: Bot, api: Api, words: str, times: int, came: str
) -> None:
    goal = bot.goal("!script runs_approved 1")
    shown = goal.until_posted("decision")
    killed(bot)
    before = len(ran(goal))

    goal.say(words)
    goal.until("complete", 60)

    assert "```bash\nmktemp -p drafts ran.XXXXXX\n```" in shown.shape["body"]
    assert "> I want to note that it ran." in shown.shape["body"]
    assert (before, len(ran(goal))) == (0, times)
    assert came in card(goal)
    text = goal.posts()[-1].text
    assert ("the folder is full" in text) is (times == 0)
    assert_sound(api, goal, "decision", "complete")


def test_killed_right_after_a_yes_the_call_runs_once(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script runs_approved 1")
    goal.until_posted("decision")

    goal.say("approve 1")
    goal.until_true(lambda look: bool(look.events("DecisionAnswered")))
    killed(bot)
    goal.until("complete", 60)

    assert len(ran(goal)) <= 1
    look = goal.look()
    started = [one for one in look.events("ToolStarted") if one.name == "bash"]
    assert len(started) == 1
    assert len(ran(goal)) == 1 or "Outcome unknown" in goal.posts()[-1].text


def test_what_is_allowed_for_the_goal_is_asked_once(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script runs_approved 3")
    goal.until_posted("decision")
    killed(bot)

    goal.say("approve for goal")
    goal.until("complete", 60)

    assert len(ran(goal)) == 3
    assert "for the rest of this goal: commands that begin with `mktemp -p drafts" in card(goal)
    assert_sound(api, goal, "decision", "complete")


def test_an_approval_that_nobody_answers_is_a_no(begin: Begin, api: Api) -> None:
    bot = begin(
        api,
        ask_commands=ASKS,
        clock_rate=600,
        lease_s=6000,
        renew_s=2000,
        budget_hours=100,
        limits__approval_expires_s=7200,
    )
    goal = bot.goal("!script runs_approved 1")
    goal.until_posted("decision")
    killed(bot)

    goal.until("complete", 60)

    assert ran(goal) == []
    assert "it counted as no" in card(goal)
    assert "nobody answered" in goal.posts()[-1].text


def test_a_long_call_is_shown_whole_and_takes_its_number(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script long_call 6000")
    shown = goal.until_posted("decision")

    goal.say("approve")
    told = goal.until_posted("reply")
    goal.say("approve 1")
    goal.until("complete", 60)

    assert "tide-749" in shown.shape["body"]
    assert "say it with its number, `approve 1`" in told.text


def test_a_plan_is_approved_after_a_kill_and_worked_at(bot: Bot, api: Api) -> None:
    goal = Thread(bot, bot.say("/goal plan !script plans 2"))
    shown = goal.until_posted("decision")
    killed(bot)

    goal.say("approve")
    goal.until("complete", 60)

    assert "- step 1\n- step 2" in shown.shape["body"]
    assert "→ Approved." in card(goal)
    assert _tasks(goal) == ["step 1", "step 2"]
    assert goal.look().rules().count("plan_accepted") == 1
    assert_sound(api, goal, "decision", "complete")


def test_a_plan_is_changed_by_a_message_rejected_and_made_anew(bot: Bot, api: Api) -> None:
    goal = Thread(bot, bot.say("/goal plan !script plans 2"))
    goal.until_posted("decision")
    killed(bot)

    goal.say("let it grow")
    goal.until_true(lambda look: look.goal.decisions == 2 and look.goal.state == "deciding", 60)
    bot.ask(do="settle")
    grown = goal.until_posted("decision")
    goal.say("reject 2")
    goal.until("blocked", 60)
    blocked = goal.posts()[-1]
    goal.say("resume")
    goal.until_true(lambda look: look.goal.decisions == 3 and look.goal.state == "deciding", 60)
    goal.say("approve 3")
    goal.until("complete", 60)

    assert "the step that was asked for" in grown.shape["body"]
    assert "the plan was rejected" in blocked.text
    assert "To go on" in blocked.text
    assert _tasks(goal)[-1] == "the step that was asked for"


def _tasks(goal: Thread) -> list[str]:
    """The titles of its list of tasks."""
    bot, id = goal.bot, goal.goal().id

    async def read() -> list[str]:
        async with open_for_reading(bot.database, state_dir=bot.folder) as store:
            return [task.title for task in await store.journal.tasks(id)]

    return asyncio.run(read())
