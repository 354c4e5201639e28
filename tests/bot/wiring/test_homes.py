"""Homes that people look at are kept true: soon, seldom, the last state, and for so many of them."""

import asyncio
from collections.abc import Mapping

import pytest

from bot.errors import HeadwayError, Wait
from bot.goals.events import NoteLeft, Paused, TurnStarted
from bot.goals.goal import Goal, State
from bot.goals.machine import Entry
from bot.ports.chat import Incoming, Shape, Speaker
from bot.ports.journal import Applied
from bot.ports.windows import Home, Window
from bot.wiring.homes import LOOKED_S, PEOPLE_MOST, Homes
from tests.doubles.clock import HandClock

ANN, BEN = Speaker("T01:U01ANN", "ann"), Speaker("T01:U02BEN", "ben")
GOAL = Goal("g1", "s1", 1, "p1", "hash")
MOVED = Applied(GOAL, (Entry(1, TurnStarted(), "r", State.READY, State.WORKING, {}),), ())
CHATTER = Applied(GOAL, (Entry(2, NoteLeft("h"), "r", State.WORKING, State.WORKING, {}),), ())


class Shown:
    """Ports Windows and Homes: whatever the test says is everybody's home."""

    def __init__(self) -> None:
        self.says = "nothing"
        self.read = 0
        self.published: list[tuple[str, str, int]] = []
        self.will_raise: list[Exception] = []
        self.slow: asyncio.Event | None = None

    def opens(self, pressed: Incoming) -> bool:
        return False

    async def window(self, pressed: Incoming) -> Window:
        raise NotImplementedError

    async def errors(self, filled: Incoming) -> Mapping[str, str]:
        return {}

    async def home(self, workspace: str, who: Speaker, page: int = 1) -> Home:
        self.read += 1
        home = Home((), Shape("", self.says), page)
        if self.slow is not None:
            await self.slow.wait()
        return home

    async def publish(self, workspace: str, who: Speaker, home: Home) -> None:
        if self.will_raise:
            raise self.will_raise.pop(0)
        self.published.append((who.name, home.top.word, home.page))


class Bed:
    def __init__(self) -> None:
        self.shown, self.clock = Shown(), HandClock()
        self.homes = Homes(self.shown, self.shown, self.clock)


@pytest.fixture
def bed() -> Bed:
    return Bed()


async def test_who_looks_is_shown_their_home_at_once_and_anew_each_time(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    await bed.homes.looks("T01", ANN, 2)

    assert bed.shown.published == [("ann", "nothing", 1), ("ann", "nothing", 2)]


async def test_a_change_is_told_once_however_often_it_came(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 2)
    bed.shown.says = "one goal"
    for _ in range(50):
        bed.homes.heard(MOVED)

    await bed.homes.round()
    await bed.homes.round()

    assert bed.shown.published[1:] == [("ann", "one goal", 2)]


async def test_what_changes_nothing_that_is_shown_is_not_told(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    bed.homes.heard(MOVED)

    await bed.homes.round()

    assert bed.shown.read == 2
    assert len(bed.shown.published) == 1


async def test_what_no_home_tells_of_is_not_even_read(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    bed.homes.heard(CHATTER)

    await bed.homes.round()

    assert bed.shown.read == 1


async def test_nobody_looks_and_nothing_is_read(bed: Bed) -> None:
    bed.homes.heard(MOVED)

    await bed.homes.round()

    assert bed.shown.read == 0


async def test_what_the_network_cannot_take_now_lands_later(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    bed.shown.says = "one goal"
    bed.shown.will_raise = [Wait("Slack limits us.", retry_after_s=0.0)]
    bed.homes.heard(MOVED)

    await bed.homes.round()
    bed.shown.says = "two goals"
    await bed.homes.round()

    assert bed.shown.published[1:] == [("ann", "two goals", 1)]


async def test_a_first_look_that_has_to_wait_lands_later(bed: Bed) -> None:
    bed.shown.will_raise = [Wait("Slack limits us.", retry_after_s=0.0)]

    with pytest.raises(Wait):
        await bed.homes.looks("T01", ANN, 1)
    await bed.homes.round()

    assert bed.shown.published == [("ann", "nothing", 1)]


@pytest.mark.parametrize("error", [HeadwayError("It is gone."), RuntimeError("a defect")])
async def test_one_home_that_cannot_be_shown_keeps_no_other_back(
    bed: Bed, error: Exception
) -> None:
    await bed.homes.looks("T01", ANN, 1)
    await bed.homes.looks("T01", BEN, 1)
    bed.shown.says, bed.shown.will_raise = "one goal", [error]
    bed.homes.heard(MOVED)

    await bed.homes.round()

    assert len(bed.shown.published) == 3


async def test_who_has_not_looked_for_long_is_told_nothing(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    bed.clock.move(LOOKED_S + 1)
    bed.shown.says = "one goal"
    bed.homes.heard(MOVED)

    await bed.homes.round()

    assert len(bed.shown.published) == 1


async def test_of_too_many_the_latest_are_told(bed: Bed) -> None:
    for n in range(PEOPLE_MOST + 3):
        await bed.homes.looks("T01", Speaker(f"T01:U{n}", f"n{n}"), 1)
    bed.shown.published.clear()
    bed.shown.says = "one goal"
    bed.homes.heard(MOVED)

    await bed.homes.round()

    told = {name for name, _, _ in bed.shown.published}
    assert len(told) == PEOPLE_MOST
    assert told.isdisjoint({"n0", "n1", "n2"})


async def test_a_look_and_a_change_at_once_leave_what_was_read_last(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    bed.shown.slow = asyncio.Event()
    look = asyncio.create_task(bed.homes.looks("T01", ANN, 2))
    await asyncio.sleep(0)
    bed.shown.says = "one goal"
    bed.homes.heard(MOVED)
    round_ = asyncio.create_task(bed.homes.round())
    await asyncio.sleep(0)

    bed.shown.slow.set()
    await asyncio.gather(look, round_)

    assert bed.shown.published[-1] == ("ann", "one goal", 2)


async def test_while_it_runs_a_change_lands_by_itself(bed: Bed) -> None:
    await bed.homes.looks("T01", ANN, 1)
    [part] = bed.homes.parts()
    bed.shown.says = "one goal"
    bed.homes.heard(
        Applied(GOAL, (Entry(3, Paused("p1"), "r", State.WORKING, State.PAUSED, {}),), ())
    )

    async with asyncio.timeout(5):
        while len(bed.shown.published) < 2:
            await asyncio.sleep(0)
    part.cancel()
    await asyncio.gather(part, return_exceptions=True)

    assert bed.shown.published[-1] == ("ann", "one goal", 1)


async def test_what_other_processes_write_is_looked_for(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.wiring.homes.OTHERS_S", 0.01)
    homes = Homes(bed.shown, bed.shown, bed.clock, is_alone=False)
    await homes.looks("T01", ANN, 1)
    [part] = homes.parts()
    bed.shown.says = "one goal"

    async with asyncio.timeout(5):
        while len(bed.shown.published) < 2:
            await asyncio.sleep(0.005)
    part.cancel()
    await asyncio.gather(part, return_exceptions=True)

    assert bed.shown.published[-1] == ("ann", "one goal", 1)
