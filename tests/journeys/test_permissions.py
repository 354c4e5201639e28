"""What goals may do unasked, at the console, in the real process: profiles, rules, what a room has allowed."""

import json
import signal
from pathlib import Path

import pytest

from bot.agent import prompts
from tests.journeys.bot import Bot, Thread, assert_sound, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.scripts_reach import as_word, bash

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

Api = BlockingMessagesApi
ASKS = json.dumps(["touch", "sh -c"])
TOUCH = "touch drafts/there"


@pytest.fixture
def bot(begin: Begin, api: Api) -> Bot:
    return begin(api, ask_commands=ASKS, deny_commands=json.dumps(["dd"]))


def does(bot: Bot, *commands: str) -> Thread:
    """A goal whose agent runs these, one after the other, and says what they gave."""
    return bot.goal(f"!script does {as_word(*map(bash, commands))}")


def there(goal: Thread, name: str = "drafts/there") -> Path:
    return goal.bot.folder / "workspaces" / goal.goal().session / name


def said(goal: Thread) -> str:
    return goal.posts()[-1].text


def why(goal: Thread) -> list[str]:
    return [event.allowed for event in goal.look().events("ToolStarted")]


def told(bot: Bot, text: str, thread: str = "") -> str:
    """What is answered to a command."""
    before = len([post for post in bot.posts(thread) if post.kind == "reply"])
    bot.say(text, thread)
    until(
        lambda: len([post for post in bot.posts(thread) if post.kind == "reply"]) > before,
        20,
        bot.told,
    )
    return [post.text for post in bot.posts(thread) if post.kind == "reply"][-1]


def test_always_here_holds_for_every_goal_of_the_room_until_it_is_taken_back(
    bot: Bot, api: Api
) -> None:
    first = does(bot, TOUCH)
    first.until_posted("decision")
    first.say("approve always")
    first.until("complete")

    second = does(bot, f"{TOUCH} drafts/also", "touch drafts/other")
    second.until("deciding")
    listed = told(bot, "/goal permissions")
    second.say("deny")
    second.until("complete")
    taken = told(bot, "/goal permissions revoke 1")
    third = does(bot, TOUCH)
    third.until("deciding")

    [given] = first.look().events("DecisionAsked")
    assert why(first) == [f"once:{given.decision}"]
    assert why(second) == [f"always:{given.decision}"]
    assert there(second, "drafts/also").exists()
    assert "1. commands that begin with `touch drafts/there` · by " in listed
    assert "used once" in listed
    assert "Taken back: commands that begin with `touch drafts/there`." in taken
    assert not there(third).exists()
    assert_sound(api, second, "decision", "complete")


def test_it_outlives_the_process_that_was_told_of_it(bot: Bot) -> None:
    first = does(bot, TOUCH)
    first.until_posted("decision")
    first.say("approve always")
    first.until_true(lambda look: bool(look.events("DecisionAnswered")))
    bot.stop(signal.SIGKILL)
    bot.start()
    first.until("complete", 60)

    second = does(bot, TOUCH)
    second.until("complete")

    assert there(second).exists()
    assert why(second)[0].startswith("always:")


def test_killed_while_an_approved_call_runs_it_is_never_run_again(bot: Bot, api: Api) -> None:
    goal = does(bot, "sh -c 'echo ran >> drafts/log; sleep 60'")
    goal.until_posted("decision")
    goal.say("approve 1")
    goal.until_true(lambda look: bool(look.events("ToolStarted")))
    until(there(goal, "drafts/log").exists, 20, bot.told)

    bot.stop(signal.SIGKILL)
    bot.start()
    goal.until("complete", 60)

    assert there(goal, "drafts/log").read_text() == "ran\n"
    assert len(goal.look().events("ToolStarted")) == 1
    assert [event.outcome for event in goal.look().events("ToolEnded")] == ["unknown"]
    assert prompts.UNKNOWN in said(goal)


def test_a_goal_that_only_looks_looks_unasked_and_asks_for_the_rest(bot: Bot) -> None:
    told(bot, "/goal room profile read_only")
    goal = does(bot, "ls && pwd | wc -l", "ls > drafts/list", "echo x | tee drafts/there")

    goal.until_posted("decision")
    goal.say("deny")
    goal.until_true(lambda look: look.goal.decisions == 2)
    goal.say("approve 2")
    goal.until("complete")

    assert why(goal)[0] == "rule"
    assert not there(goal, "drafts/list").exists()
    assert there(goal).read_text() == "x\n"


def test_a_command_that_only_seems_to_read_cannot_write_there(bot: Bot) -> None:
    told(bot, "/goal room profile read_only")
    # What a repository's own settings make of a command that reads is held by the session.
    hook = "echo it-was-run >&2; touch $PWD/../drafts/there; true"
    goal = does(
        bot,
        f'git init -q repo && cd repo && git config core.fsmonitor "{hook}"',
        "cd /workspace/repo; git status",
    )
    goal.until_posted("decision")
    goal.say("approve 1")
    goal.until("complete")

    assert why(goal)[1] == "rule"
    assert "it-was-run" in said(goal)
    assert "Read-only file system" in said(goal)
    assert not there(goal).exists()


def test_full_asks_for_nothing_and_what_is_denied_is_denied_there_too(bot: Bot) -> None:
    told(bot, "/goal room profile full")
    goal = does(bot, TOUCH, "dd if=/dev/zero of=drafts/zero count=1", "sh -c 'dd of=drafts/zero'")

    goal.until("complete")

    assert there(goal).exists()
    assert not there(goal, "drafts/zero").exists()
    assert why(goal) == ["profile"]
    assert goal.kinds() == ["complete"]
    assert said(goal).count("a rule of the operator's forbids it") == 2


def test_where_nobody_may_approve_the_call_fails_at_once(bot: Bot) -> None:
    told(bot, "/goal room four_eyes on")
    goal = does(bot, TOUCH)

    goal.until("complete")

    assert goal.kinds() == ["complete"]
    assert "nobody in this room may approve calls" in said(goal)
    assert not there(goal).exists()


def test_a_room_may_refuse_instead_of_asking(bot: Bot) -> None:
    told(bot, "/goal room approvals deny")
    goal = does(bot, TOUCH)

    goal.until("complete")

    assert "nobody is asked" in said(goal)
    assert not there(goal).exists()


def test_a_profile_is_set_while_the_goal_runs(bot: Bot) -> None:
    goal = does(bot, "sleep 2", "cp /dev/null drafts/there")
    goal.until_true(lambda look: bool(look.events("ToolStarted")))

    answer = told(bot, "profile read_only", goal.id)
    goal.until("deciding")

    assert "works as `read_only` from its next call on" in answer
    assert not there(goal).exists()
