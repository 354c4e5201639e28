"""A goal that waits for what it has started: it ends, is stopped, or goes with the process."""

import re
from pathlib import Path

import psutil

from tests.journeys.bot import Bot, Thread, assert_sound, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi as Api

MARK = "7351"


def test_a_goal_is_woken_when_what_it_has_started_ends(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script builds sleep_2;echo_built;exit_3")
    goal.until("waiting")

    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert look.events("WaitFired")[0].why == "ended"
    assert "ended with exit code 3" in goal.posts()[-1].text
    assert "built" in goal.posts()[-1].text


def test_a_parked_process_outlives_the_turn_and_a_probe_and_ends_by_stop(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal(f"!script builds sleep_{MARK}")
    goal.until("waiting")
    goal.until_true(lambda look: "wait_checked" in look.rules())
    [sleeper] = _sleepers(MARK)

    goal.say("stop")
    goal.until("paused")
    until(lambda: not sleeper.is_running(), 5, bot.told)

    assert goal.goal().wait is not None


def test_a_parked_process_ends_with_a_cancelled_goal(bot: Bot, api: Api) -> None:
    goal = bot.goal(f"!script builds sleep_{MARK}1")
    goal.until("waiting")
    [sleeper] = _sleepers(f"{MARK}1")

    goal.say("cancel")
    goal.until_posted("reply")
    goal.say("cancel")
    goal.until("cancelled")

    until(lambda: not sleeper.is_running(), 5, bot.told)


def test_a_process_that_went_with_the_bot_is_told_as_gone(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal(f"!script builds sleep_{MARK}2")
    goal.until("waiting")
    [sleeper] = _sleepers(f"{MARK}2")

    bot.end()
    until(lambda: not sleeper.is_running(), 5, bot.told)
    bot.start()
    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert look.events("WaitFired")[0].why == "gone"
    assert re.search(
        r"I was told of gone: .*Gone with the sandbox", goal.posts()[-1].text, re.DOTALL
    )
    assert not _marks(bot, goal)


def _marks(bot: Bot, goal: Thread) -> list[Path]:
    place = bot.state_dir / "workspaces" / goal.goal().session / "tmp" / ".background"
    return list(place.iterdir())


def _sleepers(seconds: str) -> list[psutil.Process]:
    every = psutil.process_iter(["cmdline"])
    return [one for one in every if one.info["cmdline"] == ["sleep", seconds]]
