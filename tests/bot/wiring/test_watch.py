"""The watch over a process: what it says of a loop, a writer, a network or a database in trouble."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.claude.limiter import Limiter
from adapters.clock import WallClock
from adapters.store.open import Store, open_store
from bot.errors import StoreUnusable
from bot.goals.limits import LIMITS
from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.figures import Now
from bot.settings import read_settings
from bot.wiring import watch as module
from bot.wiring.watch import Parts, Watch
from scheduler.alarms import Alarms

CLOCK = WallClock()


@dataclass
class Idle:
    """A worker and an endpoint that do nothing."""

    limiter: Limiter
    busy: frozenset[str] = frozenset()
    is_ending: bool = False


class Broken:
    """Figures that cannot be read after the first time."""

    def __init__(self) -> None:
        self.reads = 0

    async def now(self) -> Now:
        self.reads += 1
        if self.reads > 1:
            raise StoreUnusable("gone")
        return Now(1.0, live={"ready": 3})

    async def totals(self) -> Any:
        raise StoreUnusable("gone")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(
        "sqlite:///headway.db", clock=CLOCK, limits=LIMITS, state_dir=tmp_path
    ) as opened:
        yield opened


@pytest.fixture
async def watch(store: Store, tmp_path: Path) -> AsyncIterator[Watch]:
    made = Watch(read_settings(None, state_dir=tmp_path), CLOCK)
    idle: Any = Idle(Limiter("api", CLOCK))
    made.parts = Parts(store, idle, None, idle, Alarms())
    made.stage = "running"
    beating = asyncio.create_task(made.beat())
    yield made
    beating.cancel()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_S", 0.02)
    monkeypatch.setattr(module, "HANGS_S", 0.2)
    monkeypatch.setattr(module, "STUCK_S", 0.6)
    monkeypatch.setattr(module, "WRITTEN_S", 0.0)


def elsewhere(ask: Callable[[], Awaitable[Any]]) -> "asyncio.Future[Any]":
    """Ask from another thread's loop, as a listener does."""

    async def asked() -> Any:
        return await ask()

    return asyncio.ensure_future(asyncio.to_thread(lambda: asyncio.run(asked())))


async def test_all_is_well_from_any_thread(watch: Watch) -> None:
    live, ready = await elsewhere(watch.live), await elsewhere(watch.ready)

    assert (live.reasons, ready.reasons) == ((), ())


@pytest.mark.parametrize("stage", ["starting", "draining"])
async def test_a_process_that_starts_or_drains_is_live_and_not_ready(
    watch: Watch, stage: Any
) -> None:
    watch.stage = stage

    assert (await watch.ready()).reasons == (f"Headway is {stage}.",)
    assert (await watch.live()).is_good


async def test_a_worker_that_claims_nothing_more_is_draining(watch: Watch) -> None:
    assert watch.parts is not None
    worker: Any = Idle(Limiter("api", CLOCK), is_ending=True)
    watch.parts = replace(watch.parts, worker=worker)

    assert (await watch.ready()).reasons == ("Headway is draining.",)
    assert watch.process().stage == "draining"


async def test_before_anything_is_built_it_is_starting(tmp_path: Path) -> None:
    watch = Watch(read_settings(None, state_dir=tmp_path), CLOCK)

    assert (await watch.ready()).reasons == ("Headway is starting.",)
    assert (await watch.live()).is_good
    assert (await watch.figures()).now is None
    assert watch.process().stage == "starting"


@pytest.mark.usefixtures("hurried")
async def test_a_loop_that_hangs_is_told_of_from_outside(watch: Watch) -> None:
    told: list[Any] = []
    await asyncio.sleep(0.05)

    def ask() -> None:
        time.sleep(0.7)
        told.append(asyncio.run(cast(Any, watch.live())))
        told.append(asyncio.run(cast(Any, watch.ready())))

    asking = threading.Thread(target=ask)
    asking.start()
    # The loop does nothing else meanwhile.
    asking.join(5)

    assert [health.is_good for health in told] == [False, False]
    assert "The event loop has not turned" in told[0].reasons[0]
    await asyncio.sleep(0.1)
    assert (await watch.live()).is_good
    assert watch.process().lag_s > 0.5


@pytest.mark.usefixtures("hurried")
async def test_a_writer_that_waits_is_not_ready_at_once_and_not_live_after_a_while(
    watch: Watch, store: Store
) -> None:
    go = threading.Event()
    stuck = asyncio.create_task(store.writer.do(lambda tx: go.wait(10)))
    await asyncio.sleep(0.05)

    live, ready = await watch.live(), await watch.ready()
    await asyncio.sleep(0.6)
    live_later = await watch.live()
    go.set()
    await stuck
    await store.writer.do(lambda tx: None)
    after = await watch.live(), await watch.ready()

    assert ready.reasons == ("No unit was written within 0.2 s.",)
    assert live.is_good, "A database that is out of reach is mended by no restart."
    assert live_later.reasons == ("The writer has not taken a unit for too long.",)
    assert [health.is_good for health in after] == [True, True]


async def test_a_database_that_cannot_be_written_is_not_ready_and_gives_the_mend(
    watch: Watch, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WRITTEN_S", 0.0)
    before = await watch.ready()
    (tmp_path / "headway.db").rename(tmp_path / "moved.db")
    (tmp_path / "headway.db").write_bytes(b"")

    ready, live = await watch.ready(), await watch.live()
    (tmp_path / "moved.db").replace(tmp_path / "headway.db")

    assert before.is_good
    [reason] = ready.reasons
    assert reason.startswith("Nothing can be written: ")
    assert "put it back" in reason
    assert live.is_good
    assert store.commits.failed > 0


async def test_a_unit_that_was_written_just_now_speaks_for_the_next_ones(
    watch: Watch, store: Store
) -> None:
    await watch.ready()
    units = store.commits.units

    for _ in range(10):
        await watch.ready()
        await watch.live()

    assert store.commits.units == units


async def test_a_network_that_has_ended_is_not_heard(watch: Watch) -> None:
    async def hear() -> None:
        return

    received = asyncio.create_task(hear())
    watch.hears("console", cast(Any, None))
    watch.listens("console", received)
    up = await watch.ready()
    await received

    assert up.is_good
    assert (await watch.ready()).reasons == ("The network console cannot be heard.",)


async def test_what_is_heard_is_noted_before_it_is_passed_on(watch: Watch) -> None:
    passed: list[Any] = []

    async def receive(*messages: Any, upto: Any = None) -> None:
        passed.extend(messages)

    hears = watch.hears("console", receive)
    before = watch.process().connectors[0].heard_at
    message = Incoming("m", Place("console", "", "r"), Speaker("a", "A"), "hi", 1.0)
    await hears(message)

    [console] = watch.process().connectors
    assert (before, passed) == (None, [message])
    assert console.heard_at == pytest.approx(time.time(), abs=5)


async def test_figures_are_read_once_and_kept_while_they_are_fresh(watch: Watch) -> None:
    broken = Broken()
    assert watch.parts is not None
    watch.parts = replace(watch.parts, store=replace(watch.parts.store, figures=cast(Any, broken)))

    first, again = await watch.figures(), await watch.figures()

    assert first.now == again.now == Now(1.0, live={"ready": 3})
    assert broken.reads == 1


async def test_figures_that_cannot_be_read_any_more_are_the_last_ones_and_say_how_old(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    broken = Broken()
    assert watch.parts is not None
    watch.parts = replace(watch.parts, store=replace(watch.parts.store, figures=cast(Any, broken)))

    first = await watch.figures()
    await asyncio.sleep(0.05)
    second = await watch.figures()

    assert broken.reads == 2
    assert second.now == first.now
    assert second.now_age_s > 0.04
    assert second.totals is None
