"""Sweeps: rung, and known to be late when they are."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from bot.errors import StoreBusy
from scheduler.alarms import Alarms


@pytest.fixture
async def alarms() -> AsyncIterator[Alarms]:
    made = Alarms()
    yield made
    made.stop()


async def test_a_sweep_that_rings_in_time_is_not_late(alarms: Alarms) -> None:
    rung = asyncio.Event()

    async def sweep() -> None:
        rung.set()

    alarms.add("due", sweep, 60.0)
    alarms.start()
    alarms.at("due", 0.0)
    await asyncio.wait_for(rung.wait(), 5)
    await asyncio.sleep(0)

    assert alarms.lateness()["due"] < 1.0


async def test_a_sweep_that_hangs_is_as_late_as_it_hangs(alarms: Alarms) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def sweep() -> None:
        begun.set()
        await end.wait()

    alarms.add("due", sweep, 0.05)
    alarms.start()
    await asyncio.wait_for(begun.wait(), 5)
    await asyncio.sleep(0.3)
    hanging = alarms.lateness()["due"]
    end.set()
    await asyncio.sleep(0.02)

    assert 0.15 < hanging < 5.0
    assert alarms.lateness()["due"] < hanging


async def test_a_loop_that_is_held_up_makes_its_sweeps_late(alarms: Alarms) -> None:
    rung = asyncio.Event()

    async def sweep() -> None:
        rung.set()

    alarms.add("due", sweep, 60.0)
    alarms.start()
    alarms.at("due", 0.0)
    await hold_up(0.3)
    await asyncio.wait_for(rung.wait(), 5)

    assert 0.2 < alarms.lateness()["due"] < 5.0


async def test_a_sweep_that_raises_is_in_time_for_its_next_ring(alarms: Alarms) -> None:
    rung = asyncio.Event()

    async def sweep() -> None:
        rung.set()
        raise ValueError("broken")

    alarms.add("due", sweep, 60.0)
    alarms.start()
    alarms.at("due", 0.0)
    await asyncio.wait_for(rung.wait(), 5)
    await asyncio.sleep(0)

    assert alarms.lateness()["due"] < 1.0


async def test_a_sweep_that_hangs_is_not_told_of_at_each_ring(
    alarms: Alarms, caplog: pytest.LogCaptureFixture
) -> None:
    rung = []

    async def sweep() -> None:
        rung.append(1)
        await asyncio.sleep(60)

    alarms.add("due", sweep, 0.02)
    with caplog.at_level(logging.INFO):
        alarms.start()
        await asyncio.sleep(0.3)

    assert rung == [1]
    assert [record.message for record in caplog.records if "skipped" in record.message] == []


async def test_a_sweep_that_the_end_cuts_short_is_no_failure(
    alarms: Alarms, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def sweep() -> None:
        begun.set()
        await asyncio.sleep(60)

    alarms.add("due", sweep, 0.01)
    with caplog.at_level(logging.WARNING):
        alarms.start()
        await asyncio.wait_for(begun.wait(), 5)
        alarms.stop()
        await asyncio.sleep(0.05)

    assert caplog.records == []


async def test_a_sweep_whose_database_is_away_says_so_without_a_traceback(
    alarms: Alarms, caplog: pytest.LogCaptureFixture
) -> None:
    async def sweep() -> None:
        raise StoreBusy("PostgreSQL is out of reach: it is tried again.")

    alarms.add("caps", sweep, 60)
    alarms.at("caps", 0)
    with caplog.at_level(logging.WARNING):
        alarms.start()
        await asyncio.sleep(0.2)

    [told] = caplog.records
    assert "PostgreSQL is out of reach" in told.message
    assert told.exc_info is None


async def hold_up(seconds: float) -> None:
    """Let nothing else run in the loop."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        pass
