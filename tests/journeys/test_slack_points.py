"""A goal that is put back and copied in a Slack channel."""

from collections.abc import Iterator

import pytest

from tests.adapters.snapshots.test_whole_trees import kept_of
from tests.journeys.bot import until
from tests.journeys.slack import ALICE, GENERAL, SlackBot, a_slack, running, slack_bot
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import plain_text

pytestmark = [pytest.mark.process, pytest.mark.sandbox, pytest.mark.timeout(180)]


@pytest.fixture
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str
) -> Iterator[SlackBot]:
    with a_slack("socket") as front:
        bot = slack_bot(tmp_path_factory.mktemp("slack"), api, front)
        with running(bot, ALICE):
            yield bot


def test_a_goal_is_put_back_byte_for_byte_and_copied_into_a_thread_of_its_own(
    headway: SlackBot,
) -> None:
    front = headway.front
    goal = headway.started(ALICE, "!script keeps 3 3")
    goal.until("deciding")
    workspaces = headway.state_dir / "workspaces"
    first = kept_of(workspaces / goal.look().goal.session)
    goal.say("yes")
    goal.until_true(lambda look: look.goal.decisions == 2 and look.goal.state == "deciding")

    goal.say("rewind 1")
    goal.until("paused")
    goal.say("resume")
    goal.until_true(lambda look: bool(look.events("WorkspaceRestored")))
    back = kept_of(workspaces / goal.look().goal.session)
    goal.until_true(lambda look: look.goal.decisions == 3 and look.goal.state == "deciding")
    number = goal.look().goal.number
    assert front.command(ALICE, GENERAL, f"fork G{number} 1").wait().is_acked

    def copies() -> list[str]:
        return [one.session for one in headway.goals() if one.forks == goal.look().goal.id]

    until(lambda: bool(copies()), 20, headway.told)
    [session] = copies()

    def is_asking() -> bool:
        [copy] = [one for one in headway.goals() if one.session == session]
        return copy.state == "deciding" and copy.decisions == 1

    until(is_asking, 60, headway.told)
    roots = [post for post in front.posts(GENERAL) if not post.get("thread_ts")]

    assert back == first
    assert (workspaces / session / "drafts/log.txt").read_text() == "turn-1\nturn-2\n"
    assert any(f"🎯 G{number + 1}" in plain_text(post) for post in roots)
