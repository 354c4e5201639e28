"""
The composition root: every part is built here, once, and closed in the reverse order.

Plain constructor calls in one `AsyncExitStack`. `Around` is where a drill puts something between
two parts; otherwise nothing is.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final, get_args

from adapters.console.connection import ConsoleChat
from adapters.store.open import Store
from adapters.store.reading import Reading, open_for_reading
from adapters.systemd import READY, STOPPING, signs_of_life, tell
from bot.chat.delivery import Delivery
from bot.chat.intake import Intake
from bot.errors import HeadwayError
from bot.known import learn_settings
from bot.ports.chat import Network
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.by_room import RoomTurns
from bot.wiring.control import Control
from bot.wiring.discreet import discreet_reading, discreetly
from bot.wiring.draining import Drain
from bot.wiring.endpoint import build_model
from bot.wiring.folder import prepare_folder
from bot.wiring.ground import Around, Ground, open_ground
from bot.wiring.holding import tell_holds
from bot.wiring.keys import sealing_of
from bot.wiring.matrix_account import learn_account
from bot.wiring.operations import LOOK_S
from bot.wiring.outdated import version_watch
from bot.wiring.people import follow
from bot.wiring.sandbox import build_sandbox
from bot.wiring.secrets import learn_what_opens
from bot.wiring.work import Work, build_work, desks
from scheduler.control import serving
from scheduler.worker import Worker

SETTLE_S: Final = 20.0
LAST_POSTS_S: Final = 1.0
"""How long a shutdown lets the outbox go on."""


@dataclass(frozen=True, slots=True)
class Running:
    """One process's Headway, at work."""

    settings: Settings
    store: Store
    console: ConsoleChat
    intake: Intake
    delivery: Delivery
    worker: Worker
    turns: RoomTurns
    drain: Drain
    parts: tuple["asyncio.Task[None]", ...]

    async def settle(self) -> None:
        """Return once everything said so far is handled and answered, or after 20 s."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                # Another process may write to the room: there is nobody to ring.
                while self.console.has_untaken or await self.intake.waiting():  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
                await self.delivery.drain()

    async def until_broken(self) -> None:
        """Wait until a part ends, which none does by itself, and raise why."""
        done, _ = await asyncio.wait(self.parts, return_when=asyncio.FIRST_COMPLETED)
        for part in done:
            await part


@asynccontextmanager
async def running(settings: Settings, around: Around | None = None) -> AsyncIterator[Running]:
    """Headway at work on its state folder, until the context ends; ending takes at most 10 s.

    Raises:
        BadSettings: a setting cannot be used, or there is no key.
        StoreBusy, StoreUnusable: the database is out of reach, or another process owns it.
    """
    async with AsyncExitStack() as stack:
        # Built in this order, so that a part may speak only of those before it.
        ground = await open_ground(stack, settings, around or Around())
        work = await build_work(ground)
        stack.push_async_callback(work.connected.close)
        control = Control(work.console, ground.watch)
        answer = desks(ground, work, control)
        await stack.enter_async_context(serving(settings.state_dir, answer))
        ground.alarms.start()
        stack.callback(ground.alarms.stop)
        bot = _started(ground, work)
        control.settle = bot.settle
        ground.watch.stage = "running"
        try:
            yield bot
        finally:
            ground.watch.stage = "draining"
            await _shut_down(bot)


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[Reading]:
    """The store for reading, whether or not a process owns it.

    Raises:
        StoreBusy, StoreUnusable: there is no database yet, or it cannot be read.
    """
    opening = open_for_reading(
        settings.database_url, state_dir=settings.state_dir, sealing=sealing_of(settings)
    )
    redactor = Redactor()
    learn_settings(redactor, settings)
    learn_account(redactor, settings)
    async with opening as store:
        await learn_what_opens(redactor, store.secrets)
        with discreetly(redactor):
            yield discreet_reading(store, redactor)


async def run_until_stopped(
    settings: Settings,
    around: Around | None = None,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Work until SIGTERM or SIGINT; a second one ends it at once. `on_ready` is told of the start.

    Raises: as `running`, and whatever ends a part.
    """
    stop = asyncio.Event()

    def stopped() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped)
    async with signs_of_life(), running(settings, around) as bot:
        drained = asyncio.Event()
        bot.drain.done = drained.set
        tell(READY)
        await tell_holds(bot.store.holds)
        if on_ready is not None:
            on_ready()
        ends = (stop.wait(), drained.wait(), bot.until_broken())
        waits = {asyncio.create_task(end) for end in ends}
        done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        tell(STOPPING)
        for task in pending:
            task.cancel()
        for task in done:
            await task


def _started(ground: Ground, work: Work) -> Running:
    """The process with its parts under way."""
    is_shared, watch = ground.names.is_shared, ground.watch
    heard = watch.hears("console", work.screening.receive)
    parts = (
        asyncio.create_task(work.worker.run(), name="worker"),
        asyncio.create_task(work.intake.run(), name="intake"),
        asyncio.create_task(work.delivery.run(), name="delivery"),
        asyncio.create_task(
            follow(work.allow_list, work.departures, is_shared=is_shared), name="people"
        ),
        *version_watch(ground.store, is_shared=is_shared),
        *_listening(ground, work),
        *work.shown.parts(),
        *(work.homes.parts() if work.homes is not None else ()),
        asyncio.create_task(work.console.listen(heard), name="console"),
    )
    watch.listens("console", parts[-1])
    return Running(
        ground.settings, ground.store, work.console, work.intake, work.delivery, work.worker,
        work.turns, work.drain, parts,
    )  # fmt: skip


def _listening(ground: Ground, work: Work) -> Iterator["asyncio.Task[None]"]:
    """What hears each network beside the console, for as long as the process lives."""
    for hearing in work.connected.hearings:
        network = hearing.network
        heard = ground.watch.hears(network, work.screening.receive)
        task = asyncio.create_task(hearing.run(heard), name=network)
        ground.watch.listens(network, task)
        ground.alarms.add(f"deaf.{network}", hearing.look, LOOK_S)
        yield task


async def _shut_down(bot: Running) -> None:
    """Take nothing more in, let running steps end, send what can be sent."""
    for part in bot.parts:
        if part.get_name() in (*get_args(Network), "intake"):
            part.cancel()
    bot.turns.drain()
    asyncio.get_running_loop().call_later(bot.settings.shutdown_s, bot.store.hurry)
    await bot.worker.stop(bot.settings.shutdown_s)
    with contextlib.suppress(TimeoutError, HeadwayError):
        async with asyncio.timeout(LAST_POSTS_S):
            await bot.delivery.drain()
    for part in bot.parts:
        part.cancel()
    await asyncio.gather(*bot.parts, return_exceptions=True)


__all__ = [
    "Around",
    "Running",
    "build_model",
    "build_sandbox",
    "prepare_folder",
    "reading",
    "run_until_stopped",
    "running",
]
