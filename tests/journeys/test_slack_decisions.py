"""Approvals and plans in Slack, in a browser: buttons, windows, kills between card and answer; with pictures."""

import json
import signal
from collections.abc import Iterator

import pytest

from tests.journeys.bot import until
from tests.journeys.slack import (
    ALICE,
    BOB,
    GENERAL,
    SlackBot,
    SlackGoal,
    a_slack,
    running,
    slack_bot,
)
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import plain_text
from tests.peers.slack_page import HOME, MODAL, THREAD, Page, page

pytestmark = [pytest.mark.process, pytest.mark.sandbox, pytest.mark.timeout(240)]

ASKS = json.dumps(["mktemp", "printf"])
CALL = "mktemp -p drafts ran.XXXXXX"


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str
) -> Iterator[SlackBot]:
    with a_slack("socket") as front:
        bot = slack_bot(tmp_path_factory.mktemp("slack"), api, front, ask_commands=ASKS)
        with running(bot, ALICE):
            bot.allow(BOB)
            yield bot


@pytest.fixture(scope="module")
def view(headway: SlackBot) -> Iterator[Page]:
    with page(headway.front) as opened:
        yield opened


def killed(bot: SlackBot) -> None:
    bot.stop(signal.SIGKILL)
    bot.start()


def ran(goal: SlackGoal) -> int:
    """How often the command has run."""
    folder = goal.bot.folder / "workspaces" / goal.look().goal.session / "drafts"
    return len(list(folder.glob("ran.*")))


def asked(headway: SlackBot, text: str) -> SlackGoal:
    return headway.asked(ALICE, f"<@{BOT}> {text}")


def test_a_call_is_approved_by_a_click_after_a_kill_and_runs_once(
    headway: SlackBot, view: Page
) -> None:
    view.go("general")
    goal = asked(headway, "Note the tide. !script runs_approved 1")
    card = goal.until_posted("decision")
    killed(headway)
    view.thread("Note the tide")
    view.see(CALL, THREAD)
    view.shot("slack-approval")

    view.press("Approve once")
    goal.until("complete")

    view.see("Approved, this once", THREAD)
    view.shot("slack-approved")
    assert ran(goal) == 1
    assert "answered by" in goal.text(card)


def test_a_call_is_denied_with_a_reason_in_a_window_after_a_kill(
    headway: SlackBot, view: Page
) -> None:
    view.go("general")
    goal = asked(headway, "Note the ebb. !script runs_approved 1")
    card = goal.until_posted("decision")
    killed(headway)
    view.thread("Note the ebb")
    view.see("Deny with a reason", THREAD)

    view.press("Deny with a reason")
    view.see("Why not", MODAL)
    view.fill("Why not", "the drafts are frozen today")
    view.shot("slack-deny")
    view.press("Deny", MODAL)
    view.gone(MODAL)
    goal.until("complete")

    assert ran(goal) == 0
    assert "Denied: the drafts are frozen today" in goal.text(card)
    # The agent was told.
    assert "the drafts are frozen today" in goal.text(goal.posts()[-1])


def test_who_may_not_approve_is_told_alone_and_the_second_of_two_who_was_first(
    headway: SlackBot,
) -> None:
    goal = asked(headway, "Note the flood. !script runs_approved 1")
    card = goal.until_posted("decision")

    goal.press(card, "Approve once", BOB)
    until(lambda: bool(whispered(headway, BOB)), 20, headway.told)
    assert "You may not approve calls" in whispered(headway, BOB)[-1]
    assert ran(goal) == 0

    headway.allow(BOB, "approver")
    shown = headway.front.mirror.get(GENERAL, card["ts"]) or card
    goal.press(shown, "Always here", BOB)
    until(lambda: len(whispered(headway, BOB)) > 1, 20, headway.told)
    assert "it takes an admin" in whispered(headway, BOB)[-1]

    goal.press(shown, "Deny", ALICE)
    goal.say("approve 1", BOB)
    goal.until("complete")
    until(lambda: any("Too late" in text for text in whispered(headway, BOB)), 20, headway.told)

    assert ran(goal) == 0


def whispered(headway: SlackBot, user: str) -> list[str]:
    return [plain_text(post) for post in headway.front.unseen(user)]


def test_a_call_that_no_message_holds_goes_along_as_a_file_with_its_hash(
    headway: SlackBot, view: Page
) -> None:
    view.go("general")
    goal = asked(headway, "Print the tides. !script long_call 20000")
    card = goal.until_posted("decision")
    headway.ask(do="settle")
    view.thread("Print the tides")
    view.see("call.md", THREAD)
    view.see("SHA-256", THREAD)
    view.shot("slack-approval-long")

    goal.say("approve")
    until(lambda: any("with its number" in t for t in whispered(headway, ALICE)), 20, headway.told)
    goal.press(headway.front.mirror.get(GENERAL, card["ts"]) or card, "Approve once")
    goal.until("complete")


def test_a_plan_is_asked_for_in_a_form_changed_in_a_window_and_approved_after_a_kill(
    headway: SlackBot, view: Page
) -> None:
    view.go("🏠")
    view.press("New goal", HOME)
    view.see("Plan first", MODAL)
    view.fill("Objective", "Paint the boat. !script plans 2")
    view.choose("Where", "#general")
    view.choose("Plan first", "It only looks until somebody approves its plan")
    view.shot("slack-new-goal-planned")
    view.press("Start", MODAL)
    view.gone(MODAL)
    root = headway.front.until(
        lambda: [
            p["ts"] for p in headway.front.posts(GENERAL) if "Paint the boat" in plain_text(p)
        ],
        "a root",
    )[0]
    goal = SlackGoal(headway, ALICE, GENERAL, root)
    goal.until_posted("decision")
    killed(headway)
    view.go("general")
    view.thread("Paint the boat")
    view.see("step 2", THREAD)
    view.shot("slack-plan")

    view.press("Change it")
    view.see("What should be different", MODAL)
    view.fill("What should be different", "let it grow")
    view.shot("slack-plan-change")
    view.press("Send", MODAL)
    view.gone(MODAL)
    view.see("the step that was asked for", THREAD)
    killed(headway)
    view.press("Approve")
    goal.until("complete")

    view.see("To be changed", THREAD)
    view.shot("slack-plan-approved")
    assert goal.look().goal.plan


def test_a_plan_that_is_rejected_says_how_to_go_on(headway: SlackBot, view: Page) -> None:
    view.go("general")
    view.type("/goal plan Scrape the hull. !script plans 2")
    root = headway.front.until(
        lambda: [
            p["ts"] for p in headway.front.posts(GENERAL) if "Scrape the hull" in plain_text(p)
        ],
        "a root",
    )[0]
    goal = SlackGoal(headway, ALICE, GENERAL, root)
    goal.until_posted("decision")
    view.thread("Scrape the hull")
    view.see("step 2", THREAD)

    view.press("Reject")
    goal.until("blocked")

    view.see("the plan was rejected", THREAD)
    view.shot("slack-plan-rejected")
    goal.say("cancel yes")


def test_what_waits_is_approved_at_home(headway: SlackBot, view: Page) -> None:
    goal = asked(headway, "Note the slack water. !script runs_approved 2")
    goal.until_posted("decision")

    view.go("🏠")
    view.see(CALL, HOME)
    view.shot("slack-home-approval")
    view.press("For this goal", HOME)
    goal.until("complete")

    assert ran(goal) == 2
    assert goal.kinds().count("decision") == 1
