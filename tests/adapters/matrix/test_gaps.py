"""Gaps and stale answers, without a homeserver."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.matrix.freshness import IDLE_LONGEST_S, QUICK_MOST, Freshness
from adapters.matrix.gaps import KEPT, Page, look_back
from adapters.matrix.rooms import has_just_joined, heard
from bot.errors import Wait

US = "@headway:example.org"


def said(number: int) -> dict[str, Any]:
    return {"type": "m.room.message", "event_id": f"${number}", "sender": "@ann:x", "content": {}}


def own(before: str, after: str, id: str = "$own") -> dict[str, Any]:
    return {
        "type": "m.room.member",
        "state_key": US,
        "event_id": id,
        "sender": US,
        "content": {"membership": after},
        "unsigned": {"prev_content": {"membership": before}} if before else {},
    }


class History:
    """A room's events, oldest first, given in pages from a token backwards."""

    def __init__(self, events: list[dict[str, Any]], page: int = 3) -> None:
        self.events, self.page = events, page
        self.asked: list[str] = []

    async def fetch(self, token: str) -> Page:
        self.asked.append(token)
        end = int(token)
        begin = max(0, end - self.page)
        newest_first = tuple(reversed(self.events[begin:end]))
        return Page(newest_first, str(begin) if begin else "")


async def heard_of(
    timeline: list[dict[str, Any]], history: History | None = None, since: str | None = "s"
) -> list[str]:
    info: dict[str, Any] = {"timeline": {"events": timeline}}
    if history is not None:
        info["timeline"] |= {"limited": True, "prev_batch": str(len(history.events))}

    def fetch() -> Callable[[str], Awaitable[Page]]:
        assert history is not None
        return history.fetch

    return [event["event_id"] async for event in heard(info, US, fetch, since=since)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(1, 7), st.integers(0, 5))
async def test_a_gap_is_given_whole_once_and_oldest_first(
    size: int, page: int, timeline: int
) -> None:
    history = History([said(number) for number in range(size)], page)
    shown = [said(size + number) for number in range(timeline)]

    ids = await heard_of(shown, history)

    assert ids == [f"${number}" for number in range(size + timeline)]


async def test_of_a_large_gap_a_few_pages_are_held_at_once() -> None:
    history = History([said(number) for number in range(300)])

    gap = await look_back(history.fetch, "300", US)

    assert len(gap.starts) == 100
    assert len(gap.kept) == KEPT
    assert len([event async for event in gap.events()]) == 300
    assert len(history.asked) == 2 * 100 - KEPT


async def test_what_the_timeline_has_is_not_given_twice() -> None:
    history = History([said(number) for number in range(4)])

    assert await heard_of([said(3), said(4)], history) == ["$0", "$1", "$2", "$3", "$4"]


async def test_a_history_that_goes_in_a_circle_or_has_no_events_ends() -> None:
    async def circle(token: str) -> Page:
        return Page((said(int(token)),), "2" if token == "1" else "1")

    async def empty(token: str) -> Page:
        return Page((), token + "x")

    assert len((await look_back(circle, "1", US)).starts) == 2
    assert (await look_back(empty, "x", US)).starts == []


@pytest.mark.parametrize(
    ("events", "ids"),
    [
        ([said(1), own("invite", "join"), said(2)], ["$own", "$2"]),
        ([said(1), own("", "join"), said(2)], ["$own", "$2"]),
        ([said(1), own("join", "join"), said(2)], ["$1", "$own", "$2"]),
        ([said(1), own("join", "leave"), said(2)], ["$1", "$own"]),
        (
            [said(1), own("join", "leave"), said(2), own("leave", "join", "$back"), said(3)],
            ["$1", "$own", "$back", "$3"],
        ),
        ([said(1), said(2)], ["$1", "$2"]),
    ],
)
@pytest.mark.parametrize("in_gap", [0, 1, 2, 3])
async def test_what_was_said_while_we_were_not_there_is_history(
    events: list[dict[str, Any]], ids: list[str], in_gap: int
) -> None:
    history = History(events[:in_gap], page=1) if in_gap else None

    assert await heard_of(events[in_gap:], history) == ids


def test_whether_we_have_just_come_is_told_by_our_own_membership() -> None:
    assert has_just_joined({"timeline": {"events": [own("invite", "join")]}}, US)
    assert has_just_joined({"state": {"events": [own("", "join")]}}, US)
    assert not has_just_joined({"timeline": {"events": [own("join", "join"), None, 3]}}, US)
    assert not has_just_joined({}, US)


def test_a_quiet_homeserver_is_not_stale() -> None:
    freshness = Freshness(30.0)

    pauses = [freshness.pause_s("s1", "s1", 30.0, is_empty=True) for _ in range(100)]

    assert set(pauses) == {0.0}


def test_an_old_position_or_an_old_content_is_stale() -> None:
    freshness = Freshness(30.0)
    freshness.pause_s("s1", "s2", 3.0, is_empty=False)
    freshness.pause_s("s2", "s3", 3.0, is_empty=False)

    for token in ("s1", "s2", "s3"):
        with pytest.raises(Wait, match="repeats an old answer"):
            freshness.pause_s("s3", token, 3.0, is_empty=False)
    assert freshness.pause_s("s3", "s4", 3.0, is_empty=False) == 0.0


def test_an_empty_answer_at_once_again_and_again_is_stale() -> None:
    freshness = Freshness(30.0)
    for _ in range(QUICK_MOST - 1):
        assert freshness.pause_s("s1", "s1", 0.01, is_empty=True) > 0.0

    with pytest.raises(Wait):
        freshness.pause_s("s1", "s1", 0.01, is_empty=True)


def test_a_homeserver_that_never_waits_is_asked_ever_more_slowly() -> None:
    freshness = Freshness(30.0)

    pauses = [freshness.pause_s(f"s{n}", f"s{n + 1}", 0.01, is_empty=True) for n in range(20)]

    assert pauses[:2] == [0.0, 0.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == IDLE_LONGEST_S
    assert freshness.pause_s("s20", "s21", 0.01, is_empty=False) == 0.0
