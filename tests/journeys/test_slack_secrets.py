"""A secret in Slack: a button after the command, a window for the value, and the value nowhere."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from adapters.store.reading import open_for_reading
from tests.journeys.slack import ALICE, BOB, GENERAL, GOAL_S, SlackBot, a_slack, running, slack_bot
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.slack_front import SlackFront, buttons, plain_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

VALUE = "Tr0ub4dor-and-3-more"


@pytest.fixture(scope="module", params=["socket", "http"])
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    request: pytest.FixtureRequest,
) -> Iterator[SlackBot]:  # fmt: skip
    folder = tmp_path_factory.mktemp("slack")
    with a_slack(request.param) as front:
        bot = slack_bot(folder, api, front, secret_key_file=str(folder / "key" / "secret.key"))
        with running(bot, ALICE):
            bot.allow(BOB)
            yield bot


@pytest.fixture
def front(headway: SlackBot) -> SlackFront:
    return headway.front


def test_a_value_is_typed_in_a_window_and_stands_nowhere(
    headway: SlackBot, front: SlackFront
) -> None:
    heard = len(front.unseen(ALICE))
    front.command(ALICE, GENERAL, "secret API_TOKEN api.example.org").wait()
    told = front.until(lambda: front.unseen(ALICE)[heard:], "an answer", GOAL_S)[-1]
    [button] = [one for one in buttons(told) if "Type the value" in plain_text(one)]

    front.press_as(ALICE, told, button).wait()
    front.until(
        lambda: any(block["type"] == "input" for block in front.window(ALICE)["blocks"]),
        "a window", GOAL_S,
    )  # fmt: skip
    refused = front.submit(ALICE, **{"headway:input:value": "short"}).wait().answer
    front.submit(ALICE, **{"headway:input:value": VALUE}).wait()
    front.until(
        lambda: [post for post in front.posts(GENERAL) if "API_TOKEN" in plain_text(post)],
        f"word of it\n{headway.told()[-2000:]}", GOAL_S,
    )  # fmt: skip

    assert refused is not None
    assert "fewer than 6 characters" in str(refused["errors"])
    assert "api.example.org" in plain_text(front.posts(GENERAL)[-1])
    assert _kept(headway) == ["API_TOKEN"]
    assert VALUE not in str(front.posts(GENERAL)) + str([call.arguments for call in front.calls])
    for path in headway.state_dir.rglob("*"):
        if path.is_file():
            assert VALUE.encode() not in path.read_bytes(), path
    assert VALUE not in headway.told()


def test_who_is_no_admin_has_no_window(headway: SlackBot, front: SlackFront) -> None:
    heard = len(front.unseen(BOB))
    front.command(BOB, GENERAL, "secret OTHER_TOKEN api.example.org").wait()

    told = front.until(lambda: front.unseen(BOB)[heard:], "an answer", GOAL_S)[-1]

    assert "it takes an admin" in plain_text(told)
    assert not buttons(told)


def test_what_looks_secret_is_answered_and_not_kept(headway: SlackBot, front: SlackFront) -> None:
    token = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ012345"
    heard = len(front.unseen(ALICE))

    front.command(ALICE, GENERAL, f"Look with {token}. !script complete_after 1").wait()

    front.until(
        lambda: any("looks like a secret" in plain_text(one) for one in front.unseen(ALICE)[heard:]),
        "an answer", GOAL_S,
    )  # fmt: skip
    for path in headway.state_dir.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path


def _kept(bot: SlackBot) -> list[str]:
    async def read() -> list[Any]:
        async with open_for_reading(bot.database, state_dir=bot.folder) as store:
            return [one.name for one in await store.secrets.names()]

    return asyncio.run(read())
