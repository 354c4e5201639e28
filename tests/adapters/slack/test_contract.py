"""The contract of chat networks, over a Slack: sockets to hear by, the Web API to speak by."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from adapters.slack.connection import NOWHERE, Kept, Sentences, SlackChat
from adapters.slack.ear import Prompts
from adapters.slack.errors import LoggedOut, NotPermitted
from adapters.slack.ids import message_id, parted
from adapters.slack.listening import Manner, Way
from adapters.slack.tokens import AppKeys, Tokens
from bot.errors import Wait
from bot.ports.chat import Outgoing, Place, Shape
from tests.adapters.slack.hearing_bed import QUICK, WORDS, Inbox, WallClock
from tests.adapters.slack.posting_bed import WORDS as POST_WORDS
from tests.adapters.slack.web_bed import front, slack_of_module
from tests.contracts.chat import ChatContract
from tests.doubles.files import MemoryFiles
from tests.doubles.installs import MemoryInstalls
from tests.peers.localslack import APP_TOKEN, BOT_TOKEN, TEAM
from tests.peers.slack_faults import Failed
from tests.peers.slack_front import SlackFront

__all__ = ["front", "slack_of_module"]


class NoWaysBack:
    """Port WaysBack: nothing can be answered unseen."""

    async def way_back(self, message: str) -> str:
        """None."""
        return ""

    async def workspace_of(self, network: str, room: str) -> str | None:
        """The one that there is."""
        return TEAM


async def served(serve: Callable[[], Awaitable[None]], idle: Callable[[], None]) -> None:
    await serve()


@pytest.fixture
async def chat(front: SlackFront) -> AsyncIterator[SlackChat]:
    clock = WallClock()
    keys = AppKeys(front.api_url, BOT_TOKEN)
    tokens = Tokens(keys, MemoryInstalls(clock), learn=lambda name, value: None)
    kept = Kept(tokens, NoWaysBack(), MemoryFiles(), clock, front.api_url, served, lambda: True)
    sentences = Sentences(
        POST_WORDS, Manner(WORDS, "Not there."), "is working", lambda name, why: name,
        Prompts("Try", ()),
    )  # fmt: skip
    made = SlackChat(kept, sentences, Way("socket", APP_TOKEN, 1, QUICK))
    yield made
    await made.close()


@pytest.fixture
def elsewhere() -> Place:
    return Place("console", "", "console", "t1")


@pytest.fixture
def say(front: SlackFront) -> Callable[[Place, str], Awaitable[str]]:
    async def said(place: Place, text: str) -> str:
        # What is said while nobody hears is told to nobody: an ear is there first.
        await Inbox().until(lambda: front.sockets.links, "an ear")
        _, root = parted(place.thread)
        ts = await asyncio.to_thread(front.say, "U01ALICE", place.room, text, root)
        return message_id(place.room, ts)

    return said


class TestSlack(ChatContract):
    @pytest.fixture
    async def place(self, chat: SlackChat) -> Place:
        # Opened by the bot: what a person said before anybody heard would be told to the first ear.
        channel = Place("slack", TEAM, "C01GEN")
        root = await chat.send(Outgoing("root", channel, Shape("", "", body="🎯 G1")))
        return replace(channel, thread=root)


async def test_a_process_that_does_not_serve_the_app_claims_nothing(chat: SlackChat) -> None:
    assert chat.workspace is None

    object.__setattr__(chat._kept, "is_served", lambda: False)

    assert chat.workspace == NOWHERE


async def test_what_is_said_in_a_workspace_goes_by_its_token(
    chat: SlackChat, front: SlackFront
) -> None:
    await chat.send(Outgoing("k", Place("slack", TEAM, "C01GEN"), Shape("", "", body="Here.")))

    assert front.of("chat.postMessage")[-1].token == BOT_TOKEN


async def test_what_is_said_while_the_token_is_refused_waits_for_one_that_is_taken(
    chat: SlackChat, front: SlackFront
) -> None:
    general = Place("slack", TEAM, "C01GEN")
    await chat.send(Outgoing("k1", general, Shape("", "", body="Before.")))
    front.world.revoked.add(BOT_TOKEN)

    try:
        with pytest.raises(Wait, match="token_revoked"):
            await chat.send(Outgoing("k2", general, Shape("", "", body="Here.")))
        with pytest.raises(Wait, match="token_revoked"):
            await chat.find(general, "k2")
        told = dict(chat._kept.tokens.troubles)
    finally:
        front.world.revoked.clear()
    await chat.send(Outgoing("k2", general, Shape("", "", body="Here.")))

    assert "(token_revoked) in Test Workspace: what is to be said there waits" in told[TEAM]
    assert "Set slack_bot_token" in told[TEAM]
    assert chat._kept.tokens.troubles == {}


async def test_what_the_app_may_not_do_or_is_not_installed_for_is_not_waited_for(
    chat: SlackChat, front: SlackFront
) -> None:
    front.faults.next_times("chat.postMessage", Failed("missing_scope"))

    with pytest.raises(NotPermitted):
        await chat.send(Outgoing("k", Place("slack", TEAM, "C01GEN"), Shape("", "", body="Here.")))
    with pytest.raises(LoggedOut, match="not installed"):
        await chat.send(
            Outgoing("k", Place("slack", "T09NONE", "C01"), Shape("", "", body="Here."))
        )
