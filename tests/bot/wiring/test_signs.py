"""Where the bot is at work, as networks show it."""

import asyncio

import pytest

from bot.errors import Wait
from bot.goals.events import Paused, TurnStarted
from bot.ports.journal import Unit
from bot.wiring.signs import Working
from tests.bot.chat.network import ANN, MemorySigns, Net, room


class Bed:
    """A goal in a thread, and whether it is worked at."""

    def __init__(self) -> None:
        self.net, self.signs, self.busy = Net(), MemorySigns(), set[str]()
        self.working = Working(
            {"matrix": self.signs}, lambda: self.busy, self.net.store.journal, self.net.allow_list
        )

    async def start(self) -> str:
        """A goal that is worked at; returns its thread."""
        await self.net.allow(ANN)
        thread = await self.net.say("!goal write a haiku about tides")
        [goal] = await self.net.goals()
        await self.net.happens(goal, TurnStarted())
        self.busy.add(goal.id)
        return thread


@pytest.fixture
def bed() -> Bed:
    return Bed()


async def test_while_a_turn_runs_its_place_is_shown_and_once_that_none_is(bed: Bed) -> None:
    thread = await bed.start()

    await bed.working.look()
    await bed.working.look()
    bed.busy.clear()
    for _ in range(3):
        await bed.working.look()

    here = frozenset({room(thread)})
    assert bed.signs.working == [here, here, frozenset()]


async def test_a_goal_that_only_rests_is_not_shown(bed: Bed) -> None:
    await bed.start()
    [goal] = await bed.net.goals()
    await bed.net.happens(goal, Paused("ann"))

    await bed.working.look()

    assert bed.signs.working == []


async def test_a_goal_that_is_gone_and_a_network_in_trouble_change_nothing(bed: Bed) -> None:
    thread = await bed.start()
    bed.busy.add("gone")
    bed.signs.will_raise = [Wait("Later."), RuntimeError("no")]

    for _ in range(3):
        await bed.working.look()

    assert bed.signs.working == [frozenset({room(thread)})]


async def test_a_turn_that_begins_is_shown_soon(bed: Bed) -> None:
    running = asyncio.create_task(bed.working.run())
    await asyncio.sleep(0)
    await bed.net.allow(ANN)
    thread = await bed.net.say("!goal write a haiku about tides")
    [goal] = await bed.net.goals()
    bed.busy.add(goal.id)

    bed.working.heard(await bed.net.store.journal.commit(Unit(goal.id, (TurnStarted(),))))
    async with asyncio.timeout(5):
        while not bed.signs.working:
            await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert bed.signs.working[-1] == frozenset({room(thread)})
