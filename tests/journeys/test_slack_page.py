"""A goal on Slack's page in a browser, as a person clicks through it; with pictures to look at."""

from collections.abc import Iterator

import pytest

from tests.journeys.slack import ALICE, GENERAL, SlackBot, SlackGoal, a_slack, running, slack_bot
from tests.peers.hydrogen import browser
from tests.peers.localslack import BOT
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import SlackFront, plain_text
from tests.peers.slack_page import HOME, MAIN, MODAL, THREAD, Page, page

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str
) -> Iterator[SlackBot]:
    with a_slack("socket") as front:
        bot = slack_bot(tmp_path_factory.mktemp("slack"), api, front)
        with running(bot, ALICE):
            yield bot


@pytest.fixture(scope="module")
def view(headway: SlackBot) -> Iterator[Page]:
    if browser() is None:
        pytest.skip("no Chromium here, and no right to install it: the pictures are left out")
    with page(headway.front) as opened:
        yield opened


def test_a_goal_is_begun_by_command_paused_looked_into_and_completed(
    headway: SlackBot, view: Page
) -> None:
    view.go("general")
    view.type("/goal Count the boats in the harbour. !script slow 2 4")
    view.see("🎯", MAIN)
    view.shot("slack-start")
    view.thread("Count the boats")
    view.see("Working", THREAD)
    view.press("Pause")
    view.see("Paused", THREAD)
    view.shot("slack-paused")
    view.press("Resume")
    view.see("Complete", THREAD)
    view.shot("slack-complete")
    view.press("Details")
    view.see("Cost", MODAL)
    view.shot("slack-details")
    view.press("Close", MODAL)
    view.gone(MODAL)


def test_a_decision_is_answered_by_a_click_and_one_in_words(headway: SlackBot, view: Page) -> None:
    view.go("general")
    first = headway.asked(ALICE, f"<@{BOT}> Mend the pier. !script asks Is the pier **safe**?")
    first.until_posted("decision")
    view.thread("Mend the pier")
    view.see("Decision 1", THREAD)
    view.shot("slack-decision")
    view.press("yes")
    view.see("answered by", THREAD)
    first.until("complete")

    second = headway.asked(ALICE, f"<@{BOT}> Paint the pier. !script asks")
    second.until_posted("decision")
    view.thread("Paint the pier")
    view.see("In words", THREAD)
    view.press("In words")
    view.see("Your answer", MODAL)
    view.fill("Your answer", "only the north side")
    view.shot("slack-in-words")
    view.press("Answer", MODAL)
    view.gone(MODAL)
    view.see("only the north side", THREAD)

    second.say("cancel yes")


def test_an_objective_is_edited_in_a_window_which_says_what_is_wrong(
    headway: SlackBot, view: Page
) -> None:
    view.go("general")
    view.type("/goal Sweep the quay. !script slow 3 3")
    root = _root(headway.front, "Sweep the quay")
    view.see("Sweep the quay", MAIN)
    view.press("Edit", MAIN)
    view.see("Objective", MODAL)
    view.fill("Objective", "Sweep the quay and the steps. !script slow 1 1")
    view.shot("slack-edit")
    view.press("Save", MODAL)
    view.gone(MODAL)

    done = SlackGoal(headway, ALICE, GENERAL, root).until("complete", 60)

    assert done.revision == 2


def test_the_home_shows_what_waits_and_what_goes_on(headway: SlackBot, view: Page) -> None:
    goal = headway.asked(ALICE, f"<@{BOT}> Watch the tide. !script asks")
    goal.until_posted("decision")

    view.go("🏠")
    view.see("Watch the tide", HOME)
    view.shot("slack-home")
    view.press("yes", HOME)

    goal.until("complete")


def test_a_goal_is_begun_from_the_home(headway: SlackBot, view: Page) -> None:
    view.go("🏠")
    view.press("New goal", HOME)
    view.see("Objective", MODAL)
    view.fill("Objective", "Oil the winch. !script complete_after 1")
    view.choose("Where", "#general")
    view.shot("slack-new-goal")
    view.press("Start", MODAL)
    view.gone(MODAL)

    root = _root(headway.front, "Oil the winch")

    SlackGoal(headway, ALICE, GENERAL, root).until("complete")


def _root(front: SlackFront, words: str) -> str:
    def there() -> list[str]:
        return [post["ts"] for post in front.posts(GENERAL) if words in plain_text(post)]

    return str(front.until(there, f"a root with {words!r}")[0])
