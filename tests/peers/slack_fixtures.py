"""
Fixtures of the Slack beds; a `conftest.py` or a test module imports those that its tests ask for.

Each fails its test on any payload that Slack would not have taken, whichever way it was sent. A test
that means to send one clears `violations` itself.
"""

from collections.abc import Iterator

import pytest

from tests.peers.localslack import CHANNELS, Channel, Install
from tests.peers.slack_front import SlackFront, slack

SECOND = Install(
    team="T02TWO", bot="U0BOTB", bot_token="xoxb-second-token", name="Second", domain="second"
)
SECOND_CHANNELS = (Channel("C09TWO", "two", team="T02TWO"),)


@pytest.fixture
def slack_front() -> Iterator[SlackFront]:
    """A Slack of one workspace that speaks over sockets."""
    with slack() as front:
        yield front
        assert front.violations == []


@pytest.fixture
def slack_two() -> Iterator[SlackFront]:
    """A Slack in which the app is in two workspaces; the second has the channel C09TWO."""
    with slack((*CHANNELS, *SECOND_CHANNELS), (Install(), SECOND)) as front:
        yield front
        assert front.violations == []
