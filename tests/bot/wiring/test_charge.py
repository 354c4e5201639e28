"""One process of several serves an app: taken, kept, lost, left, and never by two at once."""

import asyncio

import pytest

from adapters.clock import WallClock
from bot.errors import StoreBusy
from bot.wiring.charge import LASTS_S, RENEW_S, Charge, Keeper, while_held
from tests.doubles.clock import HandClock
from tests.doubles.installs import MemoryInstalls


class Flaky(MemoryInstalls):
    """A store that can be told to be busy."""

    is_busy = False

    async def take_charge(self, app: str, holder: str, *, lasts_s: float) -> bool:
        """Take it."""
        if self.is_busy:
            raise StoreBusy("The database is out of reach. It is tried again.")
        return await super().take_charge(app, holder, lasts_s=lasts_s)


class Process:
    """One of several on a database."""

    def __init__(self, name: str, installs: MemoryInstalls, clock: HandClock) -> None:
        self.charge = Charge()
        self.taken: list[bool] = []
        self.fails = False
        self.keeper = Keeper(
            self.charge, installs, clock, app="slack", holder=name, taken=self._taken
        )

    async def _taken(self) -> None:
        self.taken.append(self.charge.is_held)
        if self.fails:
            raise StoreBusy("The outbox cannot be looked at. It is tried again.")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def installs(clock: HandClock) -> Flaky:
    return Flaky(clock)


async def test_the_first_serves_and_the_second_stands_by(installs: Flaky, clock: HandClock) -> None:
    one, two = Process("one", installs, clock), Process("two", installs, clock)

    for process in (one, two, one, two):
        await process.keeper.renew()
        clock.move(RENEW_S)

    assert (one.charge.is_held, two.charge.is_held) == (True, False)
    assert (one.taken, two.taken) == ([False], [])


async def test_what_was_being_sent_is_looked_at_before_anything_is_served(
    installs: Flaky, clock: HandClock
) -> None:
    one = Process("one", installs, clock)
    one.fails = True

    with pytest.raises(StoreBusy):
        await one.keeper.renew()
    before = one.charge.is_held
    one.fails = False
    await one.keeper.renew()

    assert (before, one.charge.is_held) == (False, True)
    assert one.taken == [False, False]


async def test_who_dies_is_followed_when_its_charge_has_lapsed_and_not_before(
    installs: Flaky, clock: HandClock
) -> None:
    one, two = Process("one", installs, clock), Process("two", installs, clock)
    await one.keeper.renew()

    clock.move(LASTS_S - 1)
    await two.keeper.renew()
    early = two.charge.is_held
    clock.move(2)
    still = one.charge.is_held
    await two.keeper.renew()

    assert (early, still, two.charge.is_held) == (False, False, True)


async def test_who_ends_in_good_order_is_followed_at_once(
    installs: Flaky, clock: HandClock
) -> None:
    one, two = Process("one", installs, clock), Process("two", installs, clock)
    await one.keeper.renew()

    await one.keeper.leave()
    await two.keeper.renew()

    assert (one.charge.is_held, two.charge.is_held) == (False, True)


async def test_who_starts_again_takes_its_own_charge_at_once(
    installs: Flaky, clock: HandClock
) -> None:
    await Process("one", installs, clock).keeper.renew()

    again = Process("one", installs, clock)
    await again.keeper.renew()

    assert again.charge.is_held
    assert again.taken == [False]


async def test_who_cannot_ask_the_database_serves_no_longer_than_it_was_given(
    installs: Flaky, clock: HandClock
) -> None:
    one = Process("one", installs, clock)
    await one.keeper.renew()
    installs.is_busy = True

    clock.move(RENEW_S)
    with pytest.raises(StoreBusy):
        await one.keeper.renew()
    meanwhile = one.charge.is_held
    clock.move(LASTS_S - RENEW_S)

    assert (meanwhile, one.charge.is_held) == (True, False)


async def test_who_hung_and_was_followed_finds_that_it_holds_nothing(
    installs: Flaky, clock: HandClock
) -> None:
    one, two = Process("one", installs, clock), Process("two", installs, clock)
    await one.keeper.renew()
    clock.move(LASTS_S + 1)
    await two.keeper.renew()

    on_waking = one.charge.is_held
    await one.keeper.renew()
    await one.keeper.leave()
    await two.keeper.renew()

    assert (on_waking, one.charge.is_held, two.charge.is_held) == (False, False, True)


async def test_one_that_is_always_held_is() -> None:
    assert Charge(is_held=True).is_held
    assert not Charge().is_held


async def test_what_serves_runs_while_the_charge_is_held_and_ends_with_it() -> None:
    charge, clock = Charge(is_held=True), HandClock()
    told: list[str] = []

    async def serve() -> None:
        told.append("begins")
        try:
            await asyncio.sleep(60)
        finally:
            told.append("ends")

    async def until(count: int) -> None:
        async with asyncio.timeout(5):
            while len(told) < count:
                await asyncio.sleep(0.01)

    running = asyncio.create_task(while_held(charge, clock, serve, lambda: None))
    await until(1)
    charge.drop()
    await until(2)
    charge.is_held = True
    await until(3)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert told == ["begins", "ends", "begins", "ends"]


async def test_what_serves_may_fail_and_who_asked_hears_it() -> None:
    async def serve() -> None:
        raise StoreBusy("It does not work.")

    with pytest.raises(StoreBusy):
        await while_held(Charge(is_held=True), HandClock(), serve, lambda: None)


async def test_a_stop_while_what_served_is_closing_is_heard() -> None:
    charge, closing = Charge(is_held=True), asyncio.Event()

    async def serve() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            closing.set()
            await asyncio.sleep(0.2)

    task = asyncio.create_task(while_held(charge, WallClock(), serve, lambda: None))
    await asyncio.sleep(0.05)
    charge.drop()
    await closing.wait()

    task.cancel()

    done, _ = await asyncio.wait((task,), timeout=3)
    assert done
    assert task.cancelled()
