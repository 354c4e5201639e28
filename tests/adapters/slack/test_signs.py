"""Reactions, and that the bot is at work, shown by a Slack."""

import pytest

from adapters.slack.calling import Calls
from adapters.slack.signs import REFUSALS_MOST, RENEWED_S, SlackSigns
from bot.errors import Refused, Wait
from bot.ports.chat import Place
from tests.adapters.slack.web_bed import Watch, calls, front, place, slack_of_module, watch
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Failed, Limited
from tests.peers.slack_front import SlackFront

__all__ = ["calls", "front", "slack_of_module", "watch"]
WORKING = "is working..."
STATUS = "assistant.threads.setStatus"


@pytest.fixture
def signs(calls: Calls, watch: Watch) -> SlackSigns:
    return SlackSigns(calls, WORKING, watch)


async def said(calls: Calls) -> str:
    """A message; its id."""
    answer = await calls.call(TEAM, "chat.postMessage", channel="C01GEN", text="hello")
    return f"C01GEN:{answer['ts']}"


async def thread_of(calls: Calls) -> Place:
    """A thread in which a goal lives."""
    return place(thread=await said(calls))


def under(front: SlackFront, message: str) -> list[str]:
    found = front.mirror.get(*message.split(":")) or {}
    return [one["name"] for one in found.get("reactions", ())]


async def test_a_mark_is_put_and_taken_away(
    front: SlackFront, calls: Calls, signs: SlackSigns
) -> None:
    message = await said(calls)

    eyes = await signs.react(place(), message, "👀")
    with_eyes = under(front, message)
    await signs.take_reaction(place(), eyes)
    await signs.react(place(), message, "✅")

    assert with_eyes == ["eyes"]
    assert under(front, message) == ["white_check_mark"]


async def test_a_mark_that_is_there_is_put_and_one_that_is_gone_is_taken_away(
    calls: Calls, signs: SlackSigns
) -> None:
    message = await said(calls)
    first = await signs.react(place(), message, "👀")

    again = await signs.react(place(), message, "👀")
    await signs.take_reaction(place(), again)
    await signs.take_reaction(place(), again)

    assert first == again


async def test_a_mark_under_nothing_says_so(signs: SlackSigns) -> None:
    with pytest.raises(Refused) as caught:
        await signs.react(place(), "C01GEN:1.000001", "👀")
    with pytest.raises(Refused) as foreign:
        await signs.react(place(), "$event:example.org", "👀")

    assert (caught.value.code, foreign.value.code) == ("message_not_found", "wrong_network")


async def test_a_mark_for_which_there_is_no_room_says_how_long_to_wait(
    front: SlackFront, calls: Calls, signs: SlackSigns
) -> None:
    message = await said(calls)
    front.faults.next_times("reactions.add", Limited(9))

    with pytest.raises(Wait) as caught:
        await signs.react(place(), message, "👀")

    assert caught.value.retry_after_s == 9


async def test_a_status_is_renewed_while_the_work_lasts_and_taken_back_at_its_end(
    front: SlackFront, calls: Calls, signs: SlackSigns, watch: Watch
) -> None:
    thread = await thread_of(calls)

    await signs.show_working(frozenset({thread}))
    await signs.show_working(frozenset({thread}))
    shown = front.world.statuses[_key(thread)]
    watch.now_s += RENEWED_S
    await signs.show_working(frozenset({thread}))
    told = len(front.of(STATUS))
    await signs.show_working(frozenset())
    await signs.show_working(frozenset())

    assert (shown, told) == (WORKING, 2)
    assert front.world.statuses[_key(thread)] == ""
    assert len(front.of(STATUS)) == 3


async def test_a_status_is_shown_again_after_the_bot_has_said_something(
    front: SlackFront, calls: Calls, signs: SlackSigns
) -> None:
    thread = await thread_of(calls)
    await signs.show_working(frozenset({thread}))

    signs.said(thread)
    await signs.show_working(frozenset({thread}))

    assert len(front.of(STATUS)) == 2


async def test_a_main_timeline_and_another_network_show_no_status(
    front: SlackFront, signs: SlackSigns
) -> None:
    matrix = Place("matrix", "@bot:example.org", "!room", "$event")

    await signs.show_working(frozenset({place(), matrix}))

    assert front.of(STATUS) == []


@pytest.mark.parametrize("how", ["no scope", "no method"])
async def test_where_the_app_may_show_no_status_it_asks_once(
    front: SlackFront, calls: Calls, signs: SlackSigns, watch: Watch, how: str
) -> None:
    thread = await thread_of(calls)
    front.world.has_assistant = how != "no scope"
    if how == "no method":
        front.faults.next_times(STATUS, Failed("unknown_method"))

    for _ in range(3):
        await signs.show_working(frozenset({thread}))
        watch.now_s += RENEWED_S

    front.world.has_assistant = True
    assert len(front.of(STATUS)) == 1
    signs.forget(TEAM)
    await signs.show_working(frozenset({thread}))
    assert front.world.statuses[_key(thread)] == WORKING


async def test_a_thread_that_is_gone_keeps_no_other_from_its_status(
    front: SlackFront, calls: Calls, signs: SlackSigns
) -> None:
    gone, thread = place(thread="C01GEN:1.000001"), await thread_of(calls)

    await signs.show_working(frozenset({gone, thread}))

    assert front.world.statuses[_key(thread)] == WORKING


async def test_refusals_without_end_are_taken_for_a_no(
    front: SlackFront, calls: Calls, signs: SlackSigns, watch: Watch
) -> None:
    thread = await thread_of(calls)
    front.faults.next_times(STATUS, *[Failed("some_new_word")] * REFUSALS_MOST)

    for _ in range(REFUSALS_MOST + 3):
        await signs.show_working(frozenset({thread}))
        watch.now_s += RENEWED_S

    assert len(front.of(STATUS)) == REFUSALS_MOST


async def test_a_status_that_slack_limits_is_shown_later(
    front: SlackFront, calls: Calls, signs: SlackSigns, watch: Watch
) -> None:
    thread = await thread_of(calls)
    front.faults.next_times(STATUS, Limited(20))

    await signs.show_working(frozenset({thread}))
    await signs.show_working(frozenset({thread}))
    asked = len(front.of(STATUS))
    watch.now_s += 20
    await signs.show_working(frozenset({thread}))

    assert asked == 1
    assert front.world.statuses[_key(thread)] == WORKING


def _key(thread: Place) -> tuple[str, str]:
    channel, _, ts = thread.thread.partition(":")
    return channel, ts
