"""
The composition root: every part is built here, once, and closed in the reverse order.

Plain constructor calls in one `AsyncExitStack`. `Around` is where a drill puts something between
two parts; otherwise nothing is.
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_hex
from typing import Any, Final, cast

from adapters.clock import WallClock
from adapters.console.connection import ConsoleChat
from adapters.store.open import Store, open_store
from adapters.store.reading import Reading, open_for_reading
from adapters.systemd import READY, STOPPING, signs_of_life, tell
from adapters.telemetry.logs import redact_with
from bot.agent.probe import SandboxProbe
from bot.chat.delivery import Delivery
from bot.chat.departures import Departures
from bot.chat.facts import Manner
from bot.chat.intake import Intake
from bot.chat.screening import Screening
from bot.errors import HeadwayError
from bot.goals.goal import State
from bot.known import learn_settings
from bot.ports.clock import Clock
from bot.ports.model import Model
from bot.ports.sandbox import Sandbox
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.by_room import RoomAudits, RoomTurns, build_audits, build_turns
from bot.wiring.caps import guard_of, keep_caps
from bot.wiring.control import Control, with_desks
from bot.wiring.discreet import DiscreetModel, discreet_answers, discreet_reading, discreetly
from bot.wiring.draining import Drain
from bot.wiring.endpoint import build_model, open_model
from bot.wiring.folder import owned, prepare_folder
from bot.wiring.forgetting import keep_forgetting
from bot.wiring.holding import HoldDesk, tell_holds
from bot.wiring.names import Names, names_of, take_over
from bot.wiring.operations import build_watches
from bot.wiring.outdated import version_watch
from bot.wiring.people import (
    Entitled,
    build_intake,
    follow,
    invite_admin,
    open_allow_list,
    report_idle,
    watch_owners,
    with_worker,
)
from bot.wiring.people_desk import PeopleDesk
from bot.wiring.sandbox import build_sandbox, discreet_sandbox, open_sandbox
from bot.wiring.secrets import (
    LOOK_S,
    SecretDesk,
    learn_stored,
    learn_what_opens,
    sealing_of,
    with_secrets,
)
from bot.wiring.told import Told
from bot.wiring.upkeep import keep_before
from bot.wiring.watch import Parts, watching
from scheduler.alarms import Alarms
from scheduler.control import serving
from scheduler.parked import Parked
from scheduler.worker import Worker

log = logging.getLogger(__name__)

SETTLE_S: Final = 20.0
LAST_POSTS_S: Final = 1.0
"""How long a shutdown lets the outbox go on."""


Wrap = Callable[[Any], Any]


def _as_it_is(part: Any) -> Any:
    return part


@dataclass(frozen=True, slots=True)
class Around:
    """What stands between the parts: each is given a part and returns what is used in its place."""

    store: Wrap = _as_it_is
    model: Wrap = _as_it_is
    sandbox: Wrap = _as_it_is
    chat: Wrap = _as_it_is
    redactor: Redactor = field(default_factory=Redactor)
    """What knows the secrets of the process, where more than its parts has to know them."""


@dataclass(frozen=True, slots=True)
class Running:
    """One process's Headway, at work."""

    settings: Settings
    clock: Clock
    store: Store
    model: Model
    sandbox: Sandbox | None
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
    around = around or Around()
    prepare_folder(settings)
    clock = WallClock(settings.clock_rate)
    names = names_of(settings)
    async with AsyncExitStack() as stack:
        # Built in this order, so that a part may speak only of those before it.
        stack.enter_context(owned(settings.state_dir))
        redactor = around.redactor
        learn_settings(redactor, settings)
        redact_with(redactor.text)
        watch = await stack.enter_async_context(watching(settings, clock, redactor))
        store = await stack.enter_async_context(
            open_store(
                settings.database_url,
                clock=clock,
                limits=settings.limits,
                state_dir=settings.state_dir,
                lease_s=settings.lease_s,
                home=names.home,
                sealing=sealing_of(settings),
                guard=guard_of(settings),
                before=partial(keep_before, settings),
            )
        )
        await learn_stored(redactor, store.secrets)
        await take_over(store, names)
        told = Told(store.journal)
        store = around.store(replace(store, journal=cast(Any, told)))
        alarms, manner = Alarms(), Manner(zone=settings.tz)
        watches = build_watches(stack, settings, names, clock, store, alarms, manner)
        claude = await open_model(stack, settings, clock, store, redactor, watches.endpoint)
        learning = asyncio.create_task(claude.learn(), name="learning")
        stack.callback(learning.cancel)
        model = cast(Model, DiscreetModel(around.model(claude), redactor))
        confined = await open_sandbox(stack, settings)
        sandbox = discreet_sandbox(around.sandbox(confined), redactor)
        console = ConsoleChat(settings.state_dir, clock, names.console, redactor.text)
        delivery = Delivery(
            store.outbox,
            store.journal,
            store.rooms,
            (around.chat(console),),
            manner,
            clock,
            redactor,
            lambda place: manner.in_zone(allow_list.settings(place).zone),
        )
        allow_list = await open_allow_list(settings, names, store)
        report_idle(allow_list.register)
        await invite_admin(allow_list, store.doors)
        departures = watch_owners(allow_list, store, manner)
        turns = build_turns(settings, clock, store, model, sandbox, allow_list)
        audits = build_audits(settings, clock, store, model, allow_list)
        worker = _worker(
            settings,
            names,
            clock,
            store,
            sandbox,
            alarms,
            turns,
            audits,
            model.withdraw,
            departures,
        )
        if not names.is_shared:
            told.heard += [turns.heard, audits.heard]
        with_worker(departures, worker, delivery.notify)
        intake = build_intake(
            settings,
            names,
            clock,
            store,
            worker.wake,
            delivery.notify,
            manner,
            allow_list,
            worker.recall,
        )
        told.posted = delivery.notify
        delivery.holds, delivery.operations = store.holds, watches.operations
        intake.operations, watches.operations.posted = watches.operations, delivery.notify
        worker.troubled = watches.store.troubled
        await watches.begin(
            frozenset(row.name for row in await store.leases.endpoints()),
            has_sandbox=confined is not None,
        )
        keep_caps(alarms, store, worker, delivery, watches.operations, manner)
        screening = Screening(intake.receive, store.rooms, store.outbox, redactor, manner)
        watch.parts = Parts(store, claude, confined, worker, alarms)
        control = Control(console, watch)
        drain = Drain(worker, turns, delivery)
        holding = HoldDesk(store.holds, store.rooms, worker.recall, delivery.notify)
        desk = SecretDesk(store.secrets, redactor)
        people = PeopleDesk(allow_list, store, names, delivery.notify)
        cached = (turns.forget_texts, allow_list.load)
        purges = keep_forgetting(alarms, settings, store, worker.wake, *cached)
        if names.is_shared:
            alarms.add("secrets", desk.look, LOOK_S)
        await stack.enter_async_context(
            serving(
                settings.state_dir,
                discreet_answers(
                    with_secrets(
                        desk, redactor, with_desks((holding, drain, purges, people), control)
                    ),
                    redactor,
                ),
            )
        )
        heard = watch.hears("console", screening.receive)
        alarms.start()
        stack.callback(alarms.stop)
        parts = (
            asyncio.create_task(worker.run(), name="worker"),
            asyncio.create_task(intake.run(), name="intake"),
            asyncio.create_task(delivery.run(), name="delivery"),
            asyncio.create_task(
                follow(allow_list, departures, is_shared=names.is_shared), name="people"
            ),
            *version_watch(store, is_shared=names.is_shared),
            asyncio.create_task(console.listen(heard), name="console"),
        )
        watch.listens("console", parts[-1])
        bot = Running(
            settings, clock, store, model, sandbox, console, intake, delivery, worker, turns,
            drain, parts,
        )  # fmt: skip
        control.settle = bot.settle
        watch.stage = "running"
        try:
            yield bot
        finally:
            watch.stage = "draining"
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


def _worker(
    settings: Settings,
    names: Names,
    clock: Clock,
    store: Store,
    sandbox: Sandbox | None,
    alarms: Alarms,
    turns: RoomTurns,
    audits: RoomAudits,
    rest: Callable[[str], None],
    departures: Departures,
) -> Worker:
    parked = Parked(store.journal, clock, settings.limits, SandboxProbe(sandbox))
    return Worker(
        f"{names.worker}{os.getpid()}.{token_hex(4)}",
        journal=store.journal,
        leases=store.leases,
        runners={
            State.READY: Entitled(turns, departures, store.journal),
            State.WORKING: turns,
            State.AUDITING: audits,
            State.WAITING: parked,
            State.DECIDING: parked,
        },
        alarms=alarms,
        clock=clock,
        at_once=settings.turns_at_once,
        renew_s=settings.renew_s,
        lease_s=settings.lease_s,
        rate=settings.clock_rate,
        is_alone=not names.is_shared,
        rest=rest,
    )


async def _shut_down(bot: Running) -> None:
    """Take nothing more in, let running steps end, send what can be sent."""
    for part in bot.parts:
        if part.get_name() in ("console", "intake"):
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
