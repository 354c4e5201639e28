"""The Web API of a Slack for the tests of a module, and the calls of an app that is installed there."""

from collections.abc import AsyncIterator, Iterator

import pytest

from adapters.slack.calling import Calls
from adapters.slack.errors import LoggedOut
from adapters.slack.people import Directory
from bot.ports.chat import Place
from tests.doubles.clock import HandClock
from tests.peers.localslack import CHANNELS, TEAM, Channel, Install
from tests.peers.slack_front import SlackFront, slack

SECOND = Install(
    team="T02SECOND", bot="U0TWO", bot_token="xoxb-second-token", name="Second", domain="second"
)
OTHERS = Channel("C04SEC", "second", team=SECOND.team)


class Watch:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        """Where it stands."""
        return self.now_s


@pytest.fixture(scope="module")
def slack_of_module() -> Iterator[SlackFront]:
    """One Slack for a module, with two workspaces."""
    with slack((*CHANNELS, OTHERS), (Install(), SECOND)) as front:
        yield front


@pytest.fixture
def front(slack_of_module: SlackFront) -> Iterator[SlackFront]:
    """The Slack, calm; nothing that Slack would not have taken may have come to it."""
    slack_of_module.faults.calm()
    slack_of_module.calls.clear()
    slack_of_module.violations.clear()
    yield slack_of_module
    assert slack_of_module.violations == [], slack_of_module.violations


@pytest.fixture
async def calls(front: SlackFront) -> AsyncIterator[Calls]:
    """The app's calls, with the token of each workspace."""
    tokens = {each.team: each.bot_token for each in front.world.installs}

    async def token_for(workspace: str) -> str:
        if workspace not in tokens:
            raise LoggedOut("The app is not installed there.", code="not_installed")
        return tokens[workspace]

    calls = Calls(token_for, api_url=front.api_url)
    yield calls
    await calls.close()


@pytest.fixture
def clock() -> HandClock:
    """Stands until it is moved."""
    return HandClock()


@pytest.fixture
def watch() -> Watch:
    """Stands until it is moved."""
    return Watch()


@pytest.fixture
def people(calls: Calls, clock: HandClock) -> Directory:
    """Whom the app has met: nobody yet."""
    return Directory(calls, clock)


def place(channel: str = "C01GEN", thread: str = "", workspace: str = TEAM) -> Place:
    """A channel, or a thread in it."""
    return Place("slack", workspace, channel, thread)


__all__ = ["calls", "clock", "front", "people", "place", "slack_of_module", "watch"]
