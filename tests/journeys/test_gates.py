"""A goal's checks at the console, in the real process: failing, mended, broken, set and taken back."""

import pytest

from bot.ports.journal import content_hash
from tests.journeys.bot import Thread, assert_sound, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

Api = BlockingMessagesApi
NOT_YET = "test -f drafts/done.txt || { echo mark-from-the-check; exit 3; }"


def replies(goal: Thread) -> list[str]:
    return [post.text for post in goal.posts() if post.kind == "reply"]


def test_a_failing_check_rules_complete_out_until_the_agent_has_mended_it(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    goal = bot.goal(f"!script mends drafts/done.txt\n- Check: `{NOT_YET}`")

    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    first, last = look.events("GatesRan")
    assert (first.failing, last.failing) == ((content_hash(NOT_YET),), ())
    assert done.turn == 2
    assert "I was told mark-from-the-check." in goal.posts()[-1].text
    assert "test -f drafts/done.txt" in goal.posts()[-1].text
    assert " passed" in goal.posts()[-1].text


def test_a_check_that_cannot_run_blocks_at_the_third_time_and_is_named(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    goal = bot.goal("!script claims\ncheck: no-such-program --quiet")

    stopped = goal.until("blocked")

    assert stopped.gate_breaks == 3
    assert "the check no-such-program --quiet could not run" in goal.posts()[-1].text


def test_checks_are_set_listed_and_taken_back_in_the_thread(begin: Begin, api: Api) -> None:
    bot = begin(api)
    goal = bot.goal("!script slow 1 9\ncheck: true")
    goal.until_true(lambda look: look.goal.turn >= 1)
    goal.say("gate add `false`")
    goal.say("gate add test -d drafts")
    goal.say("gate remove 1")
    goal.say("gate")
    until(lambda: len(replies(goal)) == 4, 20, bot.told)

    gates = goal.goal().gates
    assert [gate.number for gate in gates] == [2]
    assert replies(goal)[0].strip() == "Check 1 is set: G1 is complete only when it passes."
    assert "2. `test -d drafts`" in replies(goal)[3]
    assert "- `true` (in the objective)" in replies(goal)[3]
    goal.say("cancel yes")
    goal.until("cancelled")


def test_a_check_sees_neither_the_directory_nor_the_variables_of_the_agents_shell(
    begin: Begin, api: Api
) -> None:
    bot = begin(api)
    goal = bot.goal(
        '!script runs cd drafts; export MARK=1\ncheck: pwd; test -z "$MARK" && test -d drafts'
    )

    goal.until("complete")

    assert goal.look().events("GatesRan")[-1].failing == ()


def test_killed_while_a_check_runs_it_runs_again_and_counts_once(begin: Begin, api: Api) -> None:
    bot = begin(api)
    slow = "echo ran >> notes/runs; sleep 3; test $(wc -l < notes/runs) -ge 2"
    goal = bot.goal(f"!script claims\ncheck: {slow}")
    goal.until_true(lambda look: look.goal.state == "auditing")
    runs = bot.folder / "workspaces" / goal.goal().session / "notes" / "runs"
    until(runs.exists, 20, bot.told)
    bot.end()

    bot.start()
    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert len(look.events("GatesRan")) == 1
