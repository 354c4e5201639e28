"""The app as workspaces install it: by a browser, with tokens that run out, removed, and back again."""

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.journeys.bot import environment
from tests.journeys.bot import headway as headway_command
from tests.journeys.slack import (
    ALICE,
    ERIN,
    GENERAL,
    GOAL_S,
    SlackBot,
    a_slack,
    running,
    slack_bot,
)
from tests.peers.localslack import BOT, free_port
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import SlackFront, plain_text
from tests.peers.slack_tokens import CLIENT_ID, CLIENT_SECRET

pytestmark = [pytest.mark.process, pytest.mark.timeout(150)]


@pytest.fixture(params=["socket", "http"])
def headway(
    tmp_path: Path, api: BlockingMessagesApi, sandbox: str, request: pytest.FixtureRequest
) -> Iterator[SlackBot]:
    with a_slack(request.param) as front:
        at = urlsplit(front.request_url).netloc or f"127.0.0.1:{free_port()}"
        bot = slack_bot(
            tmp_path, api, front,
            slack_bot_token="", slack_client_id=CLIENT_ID, slack_client_key=CLIENT_SECRET,
            public_listen=at, public_url=f"http://{at}", secret_key_file=tmp_path / "key",
        )  # fmt: skip
        with running(bot):
            yield bot


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def get(url: str, cookie: str = "") -> tuple[int, Message, str]:
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=20)) as connection:
        headers = {"Cookie": cookie} if cookie else {}
        connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


def install(bot: SlackBot) -> str:
    """Install it as a person does in a browser; the last page."""
    _, headers, page = get(f"{bot.settings['public_url']}/slack/install")
    found = re.search(r'<a href="([^"]+)"', page)
    assert found, page
    status, answer, _ = get(unescape(found[1]))
    assert status == 302
    return get(answer["Location"], headers["Set-Cookie"].partition(";")[0])[2]


def installed(bot: SlackBot) -> list[str]:
    """Where it is installed, as the command line tells it."""
    told = headway_command("slack", "status", "--json", env=bot.env)
    assert told.returncode == 0, told.stderr
    return [row["workspace"] for row in json.loads(told.stdout)["installs"]]


def test_a_workspace_installs_it_and_lets_nobody_in_until_somebody_claims_it(
    headway: SlackBot, front: SlackFront
) -> None:
    page = install(headway)
    front.say(ERIN, GENERAL, f"<@{BOT}> write something")
    told = front.until(lambda: front.unseen(ERIN), f"who may\n{headway.told()}", GOAL_S)
    headway.allow(ALICE, "admin")
    goal = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")

    goal.until("complete")
    assert "Headway is in Test Workspace" in page
    assert "claim CODE" in page
    assert "my list" in plain_text(told[0])
    goal.until_kinds("settle")
    assert "xoxb-" not in headway.told()


def test_a_token_that_runs_out_is_renewed_and_the_goals_go_on(
    headway: SlackBot, front: SlackFront
) -> None:
    front.token_lasts_s = 60
    install(headway)
    headway.allow(ALICE, "admin")

    first = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    first.until("complete")
    second = headway.asked(ALICE, f"<@{BOT}> !script complete_after 1")
    second.until("complete")

    second.until_kinds("settle")
    renewals = [call for call in front.calls if call.arguments.get("grant_type") == "refresh_token"]
    assert renewals


def test_removed_its_goals_are_parked_and_its_tokens_erased_and_back_again_they_go_on(
    headway: SlackBot, front: SlackFront
) -> None:
    install(headway)
    headway.allow(ALICE, "admin")
    goal = headway.asked(ALICE, f"<@{BOT}> !script asks")
    goal.until_posted("decision")

    front.uninstall()
    front.until(lambda: goal.look().goal.state == "paused", f"a pause\n{goal.story()}", GOAL_S)
    erased = installed(headway)
    install(headway)
    goal.say("resume")
    card = goal.until_posted("decision")
    goal.press(card, "yes")

    goal.until("complete")
    assert erased == []


def test_the_doctor_finds_nothing_wrong_with_what_works(headway: SlackBot) -> None:
    install(headway)
    headway.allow(ALICE, "admin")

    told = headway_command("doctor", "--json", env=headway.env)

    rows = {row["check"]: row for row in json.loads(told.stdout)["checks"]}
    slack = {name: row for name, row in rows.items() if name.startswith("slack")}
    assert len(slack) == 10
    assert {name: row["text"] for name, row in slack.items() if row["state"] == "wrong"} == {}


@pytest.mark.parametrize(
    ("given", "mend"),
    [
        ({"slack_bot_token": "xoxb-1"}, "slack_app_token is empty"),
        ({"slack_bot_token": "xoxb-1", "slack_mode": "http"}, "slack_signing_key is empty"),
        (
            {"slack_bot_token": "xoxb-1", "slack_mode": "http", "slack_signing_key": "s"},
            "public_listen is empty",
        ),
        ({"slack_client_id": "1.2", "slack_app_token": "xapp-1"}, "slack_client_key is empty"),
    ],
)
def test_a_start_with_half_of_the_settings_ends_with_what_is_missing(
    tmp_path: Path, given: dict[str, object], mend: str
) -> None:
    env = environment(state_dir=tmp_path / "state", provider="rehearsed", sandbox="none", **given)

    done = headway_command("run", env=env)

    assert done.returncode == 78
    assert mend in " ".join(done.stderr.split())
