"""What people do to a goal while it lives: steer, edit, pause, stop, resume, cancel, reopen."""

import re
import time

import pytest

from tests.journeys.bot import Bot, assert_sound, until, until_called
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi, started

pytestmark = pytest.mark.process

Api = BlockingMessagesApi


def test_a_pause_lets_the_running_step_end_and_resume_goes_on(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script slow 1 1")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    goal.say("pause")
    goal.until("paused")
    rested = goal.until_true(lambda look: not look.goal.turn_open).goal
    calls = api.totals(user=rested.id)["calls"]
    time.sleep(1.2)
    assert api.totals(user=rested.id)["calls"] == calls == 1
    assert rested.reason == "paused"
    assert rested.by == rested.owner
    goal.say("resume")
    goal.until("complete")

    assert_sound(api, goal, "reply", "reply", "complete")


@pytest.mark.parametrize("script", ["slow 20", "sleeps 20"])
def test_a_stop_aborts_what_runs_within_a_second(bot: Bot, api: Api, script: str) -> None:
    goal = bot.goal(f"!script {script}")
    until_called(api, goal)
    if script.startswith("sleeps"):
        goal.until_true(lambda look: bool(look.events("ToolStarted")))

    goal.say("stop")
    look = goal.until_true(lambda look: look.goal.state == "paused" and not look.goal.turn_open)
    took = look.events("TurnEnded")[-1].at - look.events("Stopped")[0].at
    until(lambda: not api.totals(user=look.goal.id)["in_flight"], 5, lambda: "in flight still")

    stopped = goal.until("paused")
    assert took < 1.0
    assert stopped.reason == "stopped"
    lost = 1 if script.startswith("slow") else 0
    assert_sound(api, goal, "reply", lost=lost)
    if not lost:
        assert [event.outcome for event in goal.look().events("ToolEnded")] == ["interrupted"]


def test_a_stopped_goal_is_resumed_and_told_what_was_interrupted(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script sleeps 5")
    goal.until_true(lambda look: bool(look.events("ToolStarted")))
    goal.say("stop")
    goal.until_true(lambda look: not look.goal.turn_open)

    goal.say("resume")
    goal.until("complete")

    look = assert_sound(api, goal, "reply", "reply", "complete")
    assert len(look.events("ToolStarted")) == 1


def test_cancel_asks_once_and_is_final(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script slow 20")
    until_called(api, goal)

    goal.say("cancel")
    goal.until_posted("reply")
    assert goal.goal().state == "working"
    goal.say("cancel yes")
    goal.until("cancelled")
    look = goal.until_true(lambda look: not look.goal.turn_open)
    until(lambda: not api.totals(user=look.goal.id)["in_flight"], 5, lambda: "in flight still")

    assert_sound(api, goal, "reply", "reply", lost=1)
    goal.say("resume")
    until(lambda: len(goal.kinds()) == 3, 10, lambda: str(goal.kinds()))
    assert "was cancelled" in goal.posts()[-1].text


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("blocked", "blocked"),
        ("waits 600", "waiting"),
        ("asks", "deciding"),
        ("spends 190000", "over_budget"),
    ],
)
def test_cancel_works_in_every_state_that_rests(
    bot: Bot, api: Api, script: str, state: str
) -> None:
    goal = bot.goal(f"!script {script}")
    goal.until(state)
    before = goal.kinds()

    goal.say("cancel yes")
    cancelled = goal.until("cancelled")

    assert_sound(api, goal, *before, "reply")
    assert cancelled.wait is None
    assert cancelled.decision is None


def test_reopen_goes_on_in_the_same_workspace_with_the_transcript_and_the_rest_of_the_budget(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script writes 2")
    first = goal.until("complete")

    goal.say("reopen the third part is missing")
    goal.until_true(lambda look: look.goal.id != first.id)
    second = goal.until("complete")

    look = assert_sound(api, goal, "complete", "reply", "complete")
    assert second.session == first.session
    assert look.events("GoalOpened")[0].reopens == first.id
    assert second.budget.tokens == (first.budget.tokens or 0) - first.ledger.tokens
    drafts = bot.state_dir / "workspaces" / first.session / "drafts"
    assert sorted(path.name for path in drafts.iterdir()) == [
        "part-1.txt", "part-2.txt", "part-3.txt",
    ]  # fmt: skip


def test_an_edit_while_a_turn_runs_steers_it(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script reports 1")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    goal.say("edit !script reports 1 and mention steer-1")
    done = goal.until("complete")

    assert_sound(api, goal, "reply", "complete")
    assert done.revision == done.seen_revision == 2
    assert done.turn == 1
    assert goal.posts()[-1].text.count("steer-1") == 1


def test_an_edit_while_auditing_drops_the_verdict(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script slow_audit 1")
    goal.until_true(lambda look: look.goal.state == "auditing" and bool(look.goal.ledger.open))

    goal.say("edit !script slow_audit 1 and again")
    done = goal.until("complete")

    look = assert_sound(api, goal, "reply", "complete")
    assert done.revision == 2
    assert done.turn == 2
    assert len(look.events("Audited")) == 1
    assert "edit_opens" in look.rules()


def test_a_message_while_auditing_drops_the_verdict(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script slow_audit 1")
    goal.until_true(lambda look: look.goal.state == "auditing" and bool(look.goal.ledger.open))

    goal.say("one thing more")
    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert done.turn == 2
    assert len(look.events("Audited")) == 1
    assert "verdict_dropped" in look.rules()


def test_what_is_said_while_a_turn_runs_enters_before_the_next_call_once(
    bot: Bot, api: Api
) -> None:
    goal = bot.goal("!script reports 1")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    goal.say("please mind steer-1")
    goal.say("and steer-2")
    done = goal.until("complete")

    assert_sound(api, goal, "complete")
    assert done.turn == 1
    assert re.findall(r"steer-\d", goal.posts()[0].text) == ["steer-1", "steer-2"]


def test_what_is_said_during_the_last_call_opens_the_next_turn(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script reports 1")
    goal.until_true(lambda look: len(look.events("CallStarted")) == 2)

    goal.say("please mind steer-1")
    done = goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert done.turn == 2
    assert "unread_message" in look.rules()
    assert re.findall(r"steer-\d", goal.posts()[0].text) == ["steer-1"]
    assert done.continuations == 0


def test_a_message_to_a_waiting_goal_ends_the_wait(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600")
    goal.until("waiting")

    goal.say("never mind waiting")
    goal.until("complete")

    look = assert_sound(api, goal, "complete")
    assert "wait_withdrawn" in look.rules()


def test_a_message_to_a_blocked_goal_resumes_it(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script stalls")
    goal.until("blocked")

    goal.say("think harder")
    goal.until_true(lambda look: "message_resumes" in look.rules())
    goal.until("blocked")

    assert_sound(api, goal, "blocked", "blocked")


def test_a_message_to_a_paused_goal_is_answered_and_changes_nothing(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script writes 5")
    goal.until_true(lambda look: bool(look.events("ToolEnded")))
    goal.say("pause")
    goal.until("paused")
    paused = goal.until_true(lambda look: not look.goal.turn_open).goal
    drafts = bot.state_dir / "workspaces" / paused.session / "drafts"
    before = sorted(drafts.iterdir())

    goal.say("how far are you?")
    goal.until_posted("answer")

    assert_sound(api, goal, "reply", "answer", asks=True)
    assert goal.goal() == paused
    assert sorted(drafts.iterdir()) == before


def test_a_message_to_a_complete_goal_is_answered_and_changes_nothing(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script writes 1")
    done = goal.until("complete")

    goal.say("where is it?")
    goal.until_posted("answer")

    assert_sound(api, goal, "complete", "answer", asks=True)
    assert goal.goal() == done
    drafts = bot.state_dir / "workspaces" / done.session / "drafts"
    assert [path.name for path in drafts.iterdir()] == ["part-1.txt"]


def test_an_answer_given_while_paused_counts_at_resume(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script asks")
    goal.until("deciding")
    goal.say("pause")
    goal.until("paused")

    goal.say("1")
    goal.until_true(lambda look: "answer_stored" in look.rules())
    assert goal.goal().state == "paused"
    goal.say("resume")
    goal.until("complete")

    look = assert_sound(api, goal, "decision", "reply", "reply", "complete")
    assert "answer_counts" in look.rules()
    assert "the answer was yes" in goal.posts()[-1].text


def test_resume_of_a_decision_that_is_open_still_names_it(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script asks")
    goal.until("deciding")
    goal.say("pause")
    goal.until("paused")

    goal.say("resume")
    goal.until("deciding")
    goal.say("2")
    goal.until("complete")

    assert_sound(api, goal, "decision", "reply", "reply", "complete")
    assert "decision 1" in goal.posts()[2].text


def test_a_pause_of_a_waiting_goal_keeps_the_wait(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600")
    goal.until("waiting")
    goal.say("pause")
    goal.until("paused")

    goal.say("resume")
    waits = goal.until("waiting")

    assert waits.wait is not None
    assert_sound(api, goal, "reply", "reply")
    goal.say("cancel yes")
    goal.until("cancelled")


def test_plain_stop_wins_over_a_question(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script asks")
    goal.until("deciding")

    goal.say("stop")
    stopped = goal.until("paused")

    assert_sound(api, goal, "decision", "reply")
    assert stopped.decision is not None
    assert not stopped.decision.answered


def test_an_edit_of_a_blocked_goal_sets_it_to_work_again(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script stalls")
    goal.until("blocked")

    goal.say("edit !script stalls another way")
    goal.until_true(lambda look: "edit_opens" in look.rules())
    again = goal.until("blocked")

    assert_sound(api, goal, "blocked", "reply", "blocked")
    assert again.revision == 2


def test_an_edit_of_a_waiting_goal_ends_its_wait(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600")
    goal.until("waiting")

    goal.say("edit !script waits 600 and do not wait")
    done = goal.until("complete")

    assert_sound(api, goal, "reply", "complete")
    assert done.wait is None


def test_an_edit_of_a_deciding_goal_withdraws_the_question(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script asks")
    goal.until("deciding")

    goal.say("edit !script echo")
    goal.until_true(lambda look: look.trace.decisions[0].state == "withdrawn")
    goal.say("1")
    goal.until_true(lambda look: look.goal.state in ("complete", "deciding", "blocked"))

    cards = [post.shape["now"] for post in bot.posts(goal.id) if post.kind == "card"]
    assert cards == ["→ The goal moved on without it."]


def test_an_edit_of_a_paused_goal_leaves_it_paused(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600")
    goal.until("waiting")
    goal.say("pause")
    goal.until("paused")

    goal.say("edit !script complete_after 1")
    goal.until_true(lambda look: look.goal.revision == 2)
    still = goal.goal()

    assert still.state == "paused"
    assert still.wait is None
    goal.say("resume")
    goal.until("complete")
    assert_sound(api, goal, "reply", "reply", "reply", "complete")


def test_a_message_to_a_goal_over_its_budget_is_told_how_to_raise_it(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script spends 190000")
    over = goal.until("over_budget")

    goal.say("go on, please")
    goal.until_posted("reply")

    assert goal.goal() == over
    assert "has reached its budget" in goal.posts()[-1].text
    assert "and resume`" in goal.posts()[-1].text


def test_a_budget_raised_in_time_is_never_crossed(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script spends 90000 4")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    goal.say("budget 2M tokens")
    done = goal.until("complete")

    look = assert_sound(api, goal, "reply", "complete")
    assert "budget_crossed" not in look.rules()
    assert done.ledger.tokens > 400_000


@pytest.mark.parametrize(
    ("verb", "state"), [("pause", "paused"), ("stop", "paused"), ("cancel yes", "cancelled")]
)
def test_a_goal_that_waits_for_the_endpoint_is_ended_at_once_and_owes_nothing(
    begin: Begin, verb: str, state: str
) -> None:
    with started() as api:
        api.fault({"status": 529}, count=None)
        bot = begin(api)
        goal = bot.goal("!script complete_after 1")
        until(lambda: api.totals(status=529)["calls"] >= 2, 30, bot.told)

        goal.say(verb)
        began = time.monotonic()
        goal.until(state)
        goal.until_true(lambda look: not look.goal.turn_open and not look.goal.ledger.open, 5)
        took = time.monotonic() - began

        assert took < 5
        assert_sound(api, goal, "reply")
        assert goal.goal().ledger.tokens == 0
        api.clear_faults()
        time.sleep(1.5)
        assert api.totals()["served"] == 0


def test_two_goals_of_two_threads_know_nothing_of_each_other(bot: Bot, api: Api) -> None:
    ours, theirs = bot.goal("!script reports 1"), bot.goal("!script reports 1")
    theirs.until_true(lambda look: bool(look.events("CallStarted")))
    ours.until_true(lambda look: bool(look.events("CallStarted")))

    ours.say("please mind steer-1")
    theirs.say("please mind steer-2")
    ours.until("complete")
    theirs.until("complete")

    assert re.findall(r"steer-\d", ours.posts()[0].text) == ["steer-1"]
    assert re.findall(r"steer-\d", theirs.posts()[0].text) == ["steer-2"]
    assert_sound(api, ours, "complete")
    assert_sound(api, theirs, "complete")


def test_a_second_goal_in_a_thread_begins_a_thread_of_its_own(bot: Bot, api: Api) -> None:
    goal = bot.goal("!script waits 600")
    goal.until("waiting")
    before = {one.id for one in bot.goals()}

    goal.say("/goal !script complete_after 1")
    until(lambda: len(bot.goals()) > len(before), 20, bot.told)
    [other] = [one for one in bot.goals() if one.id not in before]

    def ended() -> bool:
        return any(one.id == other.id and one.state == "complete" for one in bot.goals())

    until(ended, 20, bot.told)
    bot.ask(do="settle")
    assert len(bot.look(goal.id)) == 1
    assert goal.goal().state == "waiting"
    [root] = [post for post in bot.posts("") if post.key.startswith("root:")]
    assert root.shape["body"].startswith(f"🎯 G{other.number} for @")
    goal.say("cancel yes")
    goal.until("cancelled")
