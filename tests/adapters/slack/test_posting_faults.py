"""Posts through a network that fails: nothing is lost, nothing is there twice."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.errors import HeadwayError, OutcomeUnknown, Wait
from bot.ports.chat import Outgoing, Place
from tests.adapters.slack.posting_bed import ANN, GENERAL, Poster, poster, says
from tests.adapters.slack.shapes import APPROVAL
from tests.adapters.slack.web_bed import Watch, front, slack_of_module
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Cut, Failed, Fault, Limited, Page, Slow
from tests.peers.slack_front import SlackFront
from tests.peers.slack_payloads import way_back
from tests.peers.slack_world import WayBack

__all__ = ["front", "slack_of_module"]
KINDS: tuple[Fault, ...] = (
    Limited(0), Limited(None), Page(502), Page(502, passes=True), Cut("before"), Cut("after"),
    Cut("middle"), Failed("internal_error"), Failed("internal_error", passes=True),
    Failed("service_unavailable", status=503), Page(200, passes=True),
)  # fmt: skip


@pytest.fixture
async def bot(front: SlackFront) -> AsyncIterator[Poster]:
    async with poster(front, Watch()) as made:
        yield made


async def delivered(bot: Poster, message: Outgoing) -> str:
    """Send it as the outbox does: what may be there is looked up first."""
    since, is_unknown = time.time(), False
    for _ in range(30):
        bot.watch.now_s += 1.0
        try:
            found = None
            if is_unknown:
                found = await bot.posting.find(message.place, message.key, since)
            return found or await bot.posting.send(message)
        except OutcomeUnknown:
            is_unknown = True
            bot.watch.now_s += 1.0
        except Wait:
            bot.watch.now_s += 31.0
    raise AssertionError("It never came.")


@pytest.mark.parametrize("fault", KINDS, ids=str)
async def test_a_post_that_met_a_fault_is_there_once(bot: Poster, fault: Fault) -> None:
    thread = bot.thread()
    bot.front.faults.next_times("chat.postMessage", fault)

    id = await delivered(bot, says("Once.", thread))

    assert [one["text"] for one in bot.replies(thread)] == ["Once."]
    assert bot.message(id)["text"] == "Once."


async def test_a_post_that_is_not_answered_in_time_is_found_again(front: SlackFront) -> None:
    async with poster(front, timeout_s=0.5) as bot:
        thread = bot.thread()
        bot.front.faults.next_times("chat.postMessage", Slow(1.0))

        with pytest.raises(OutcomeUnknown):
            await bot.posting.send(says("Once.", thread))

        assert await bot.posting.find(thread, "k1", time.time() - 5) is not None
        assert len(bot.replies(thread)) == 1


async def test_a_post_that_arrives_after_its_answer_was_lost_is_waited_for(bot: Poster) -> None:
    thread = bot.thread()
    bot.front.faults.next_times("chat.postMessage", Cut("before"))
    with pytest.raises(OutcomeUnknown):
        await bot.posting.send(says("Once.", thread))

    with pytest.raises(Wait) as early:
        await bot.posting.find(thread, "k1", time.time() - 5)
    bot.watch.now_s += 3.0

    assert 0 < (early.value.retry_after_s or 0) <= 3
    assert await bot.posting.find(thread, "k1", time.time() - 5) is None


@pytest.mark.parametrize("fault", [Limited(0), Cut("before"), Cut("after")], ids=str)
async def test_a_card_whose_whole_is_lost_has_no_buttons_and_says_so_once_whatever_is_in_the_way(
    bot: Poster, fault: Fault
) -> None:
    bot.front.faults.next_times("files.getUploadURLExternal", *[Failed("missing_scope")] * 3)
    bot.front.faults.next_times("chat.update", fault, fault)
    thread = bot.thread()
    body = "Run it?\n\n```\n" + "line of the call\n" * 3_000 + "```"

    id = await delivered(bot, Outgoing("card", thread, replace(APPROVAL, body=body)))

    assert "actions" not in [block["type"] for block in bot.message(id)["blocks"]]
    lost = [one for one in bot.replies(thread) if "cannot be sent here" in str(one)]
    assert len(lost) == 1


async def test_a_limit_is_a_wait_as_long_as_slack_says_and_kept_to(bot: Poster) -> None:
    thread = bot.thread()
    bot.front.faults.next_times("chat.postMessage", Limited(17))

    with pytest.raises(Wait) as said:
        await bot.posting.send(says("Later.", thread))
    with pytest.raises(Wait) as kept:
        await bot.posting.send(says("Later.", thread))

    assert (type(said.value), said.value.retry_after_s) == (Wait, 17)
    assert 15 < (kept.value.retry_after_s or 0) <= 17
    assert len(bot.front.of("chat.postMessage")) == 1


async def test_without_slack_it_waits_and_nothing_is_unknown(bot: Poster) -> None:
    thread = bot.thread()
    bot.calls.api_url = "http://127.0.0.1:9/api/"

    with pytest.raises(Wait) as refused:
        await bot.posting.send(says("Later.", thread))

    assert type(refused.value) is Wait


@pytest.mark.parametrize("code", ["invalid_auth", "token_revoked", "account_inactive"])
async def test_a_token_that_is_no_good_is_waited_for(bot: Poster, code: str) -> None:
    bot.front.faults.next_times("chat.postMessage", Failed(code))
    thread = bot.thread()

    with pytest.raises(Wait, match=code) as refused:
        await bot.posting.send(says("Later.", thread))
    await bot.posting.send(says("Later.", thread))

    assert type(refused.value) is Wait
    assert len(bot.replies(thread)) == 1


async def test_a_scope_that_is_missing_is_for_the_operator(bot: Poster) -> None:
    fault = Failed("missing_scope", further=(("needed", "chat:write"),))
    bot.front.faults.next_times("chat.postMessage", fault)

    with pytest.raises(HeadwayError, match="chat:write") as refused:
        await bot.posting.send(says("Never.", bot.thread()))

    assert refused.value.exit_code == 78


@pytest.mark.parametrize("seed", range(2))
async def test_through_all_faults_each_post_is_there_once_and_in_the_order_of_its_thread(
    front: SlackFront, seed: int
) -> None:
    wished = [f"Number {n}." for n in range(12)]
    async with poster(front, Watch()) as bot:
        thread = bot.thread()
        front.faults.lottery(
            seed, 0.5, KINDS, methods=("chat.postMessage", "conversations.replies")
        )

        for n, text in enumerate(wished):
            await delivered(bot, says(text, thread, f"k{n}"))

        front.faults.calm()
        assert [one["text"] for one in bot.replies(thread)] == wished


async def test_what_concerns_one_alone_is_told_by_the_way_back_where_it_is_open(
    bot: Poster, front: SlackFront
) -> None:
    heard = _way_back(bot)

    await bot.posting.send(says("Only you.", only_for=ANN, answers=heard))

    [call] = front.of("response_url")
    assert (call.arguments["response_type"], call.arguments["text"]) == ("ephemeral", "Only you.")
    assert front.of("chat.postEphemeral", "chat.postMessage") == []


@pytest.mark.parametrize("place", [GENERAL, Place("slack", TEAM, "C03PRV")])
async def test_where_the_way_back_is_closed_it_is_told_in_the_channel_to_that_person_alone(
    bot: Poster, place: Place
) -> None:
    _way_back(bot)
    bot.ways["command:1"] += "-none-such"

    id = await bot.posting.send(says("Only you.", place, only_for=ANN, answers="command:1"))

    [call] = bot.front.of("chat.postEphemeral")
    assert call.arguments["user"] == "U01ALICE"
    assert id.startswith(f"{place.room}:")
    assert await bot.posting.find(place, "k1", time.time() - 5) is None


async def test_in_a_conversation_of_two_it_is_an_ordinary_message(bot: Poster) -> None:
    direct = bot.front.dm_of("U01ALICE")

    place = Place("slack", TEAM, direct)
    await bot.posting.send(says("Only you.", place, only_for=ANN, answers=_way_back(bot)))

    assert bot.front.of("chat.postEphemeral", "response_url") == []
    assert await bot.posting.find(place, "k1", time.time() - 5) is not None


async def test_an_answer_whose_outcome_is_unknown_is_told_once_more(bot: Poster) -> None:
    heard = _way_back(bot)
    bot.front.faults.next_times("response_url", Cut("before"))
    answer = says("Only you.", only_for=ANN, answers=heard)

    with pytest.raises(OutcomeUnknown):
        await bot.posting.send(answer)
    await bot.posting.send(answer)

    assert [call.is_done for call in bot.front.of("response_url")][-1]
    assert bot.front.of("chat.postEphemeral") == []


async def test_no_way_back_leads_anywhere_but_to_slack(bot: Poster) -> None:
    bot.ways["command:1"] = "http://169.254.169.254/latest"

    await bot.posting.send(says("Only you.", only_for=ANN, answers="command:1"))

    assert len(bot.front.of("chat.postEphemeral")) == 1


def _way_back(bot: Poster) -> str:
    """Open a way back to Ann; returns the id of what it came with."""
    front = bot.front
    path = way_back(front.world, WayBack(front.install, "U01ALICE", "C01GEN", time.monotonic()))
    bot.ways["command:1"] = f"{front.url}{path}"
    return "command:1"
