"""
What the running process can be asked of itself: health, metrics, `headway status`.

Rule 1: the listeners run on threads of their own and ask the main loop; a loop that hangs is told of
        by the silence.
Rule 2: nothing is measured on a goal's way: numbers are read off the parts when somebody asks.
"""

import asyncio
import contextlib
import os
import shutil
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from adapters.store.figures import touch
from adapters.store.open import Store
from bot.ports.chat import Arrival, Receive
from bot.ports.clock import Clock
from bot.ports.figures import Now, Totals
from bot.ports.positions import Position
from bot.ports.sight import Connector, EndpointSight, Health, ProcessSight, Read, Stage
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.discreet import discreet_routes
from bot.wiring.kept import Kept, done_within
from bot.wiring.program import version
from bot.wiring.sandbox import Built
from scheduler.alarms import Alarms
from scheduler.worker import Worker

if TYPE_CHECKING:
    from adapters.claude.endpoint import ClaudeModel
    from adapters.telemetry.doors import Doors

T = TypeVar("T")

BEAT_S: Final = 1.0
HANGS_S: Final = 5.0
"""How long the loop, or a unit on its way through the writer, may take."""
WRITTEN_S: Final = 2.0
"""For how long one written unit speaks for the next ones."""
STUCK_S: Final = 60.0
"""A writer that waits so long for its database is restarted; until then it is the database's part."""
LAGS: Final = 60
FRESH_S: Final = 5.0
SHARE: Final = 50
"""Totals are read again after that many times what reading them took: 2 % of a core.

Of 100,000 goals with 1.2 million steps they take 0.2 s, the first time 1.6 s, on a thread that leaves the
interpreter free."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What is looked at, once it is built."""

    store: Store
    claude: "ClaudeModel"
    sandbox: Built | None
    worker: Worker
    alarms: Alarms


@dataclass(slots=True)
class _Network:
    task: "asyncio.Task[None] | None" = None
    heard_at: float | None = None
    trouble: str = ""

    @property
    def is_up(self) -> bool:
        return self.task is not None and not self.task.done() and not self.trouble


class Watch:
    """Port Sight. Made on the main loop; asked from any thread."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self.loop = asyncio.get_running_loop()
        self._started_at = time.time()
        self._beat_at = time.monotonic()
        self._lags: deque[float] = deque(maxlen=LAGS)
        self._networks: dict[str, _Network] = {}
        self._unit: tuple[Future[Any], float] | None = None
        self._now: Kept[Now] = Kept(self.loop, lambda took: FRESH_S)
        self._totals: Kept[Totals] = Kept(self.loop, lambda took: max(FRESH_S, SHARE * took))
        self.stage: Stage = "starting"
        self.parts: Parts | None = None
        self.doors: Doors | None = None
        """Where networks reach the process from outside; None where it listens nowhere."""

    @property
    def now(self) -> Stage:
        """The stage; a process that `headway drain` ends is in its last one, too."""
        ends = self.parts is not None and self.parts.worker.is_ending
        return "draining" if ends else self.stage

    def hears(self, network: str, receive: Receive) -> Receive:
        """Know a network; returns `receive`, noting when it is called."""
        self._networks[network] = _Network()

        async def noted(*arrivals: Arrival, upto: Position | None = None) -> None:
            self.heard(network)
            await receive(*arrivals, upto=upto)

        return noted

    def listens(self, network: str, task: "asyncio.Task[None]") -> None:
        """The network is up for as long as the task goes on."""
        self._networks[network].task = task

    def heard(self, network: str) -> None:
        """The network gave a sign of life."""
        self._networks[network].heard_at = self._clock.now()
        self._networks[network].trouble = ""

    def troubled(self, network: str, why: str) -> None:
        """The network cannot be heard, and why."""
        self._networks[network].trouble = why

    async def beat(self) -> None:
        """Note that the loop turns, and how late, until cancelled."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(BEAT_S)
            self._beat_at = time.monotonic()
            self._lags.append(self._beat_at - began - BEAT_S)

    async def live(self) -> Health:
        """Whether the loop turns and the writer writes. A database out of reach is no reason."""
        if hang := self._hang():
            return Health((hang,))
        if self.parts is None or self.now == "draining" or await self._wrote() is not None:
            return Health()
        began = self.parts.store.commits.began
        stuck = time.perf_counter() - began if began else 0.0
        if 0.0 < stuck < STUCK_S:
            return Health()
        return Health(("The writer has not taken a unit for too long.",))

    async def ready(self) -> Health:
        """Whether it takes work. On hold it does: what is said is kept for the release."""
        if self.parts is None or self.now != "running":
            return Health((f"Headway is {self.now}.",))
        reasons = [
            f"The network {name} cannot be heard."
            for name, network in self._networks.items()
            if not network.is_up
        ]
        if len(reasons) < len(self._networks):
            reasons = []
        if hang := self._hang():
            reasons.append(hang)
        elif (trouble := await self._wrote()) is None:
            reasons.append(f"No unit was written within {HANGS_S:g} s.")
        elif trouble:
            reasons.append(trouble)
        return Health(tuple(reasons))

    async def figures(self) -> Read:
        """The database's figures, as fresh as they are worth, or the last there were."""
        if self.parts is not None and self.stage != "starting":
            figures = self.parts.store.figures
            await asyncio.gather(self._now.fresh(figures.now), self._totals.fresh(figures.totals))
        now, totals = self._now, self._totals
        return Read(now.value, totals.value, now.age_s, totals.age_s, now.took_s, totals.took_s)

    def process(self) -> ProcessSight:
        """The process itself."""
        today = datetime.fromtimestamp(self._clock.now(), self._settings.tz).date().isoformat()
        seen = ProcessSight(self.now, self._started_at, version(), today)
        if self.parts is None:
            return seen
        parts, disk = self.parts, shutil.disk_usage(self._settings.state_dir)
        return replace(
            seen,
            running=len(parts.worker.busy),
            lag_s=max([*self._lags, time.monotonic() - self._beat_at - BEAT_S, 0.0]),
            takeovers=parts.store.leases.takeovers,
            sandboxes=parts.sandbox.sessions if parts.sandbox is not None else 0,
            day_cap_usd=self._settings.cap_all_usd,
            disk_free=disk.free,
            disk_size=disk.total,
            commits=parts.store.commits,
            sweeps=parts.alarms.lateness(),
            connectors=self._connectors(),
            endpoints=(_endpoint(parts.claude, self._clock.now()),),
        )

    async def status(self) -> dict[str, Any]:
        """The operator's one look, as JSON has it."""
        from adapters.telemetry.details import details

        built = None if self.parts is None else self.parts.sandbox
        tools = "off" if built is None else built.name
        return {**await details(self), "pid": os.getpid(), "tools": tools}

    def _connectors(self) -> tuple[Connector, ...]:
        stored = self._now.value.heard if self._now.value else {}
        return tuple(
            Connector(name, network.is_up, network.heard_at or stored.get(name), network.trouble)
            for name, network in list(self._networks.items())
        )

    def _hang(self) -> str:
        silent = time.monotonic() - self._beat_at - BEAT_S
        return f"The event loop has not turned for {silent:.0f} s." if silent > HANGS_S else ""

    async def _wrote(self) -> str | None:
        """Nothing once a small unit is written, or why it cannot be; None while it hangs.

        One is tried at a time, and none where one was written just now.
        """
        assert self.parts is not None
        now = time.monotonic()
        if self._unit is None or (self._unit[0].done() and now - self._unit[1] > WRITTEN_S):
            touching = self.parts.store.writer.do(touch)
            asked = asyncio.run_coroutine_threadsafe(touching, self.loop)
            self._unit = asked, now
        unit, began = self._unit
        if not await done_within(unit, began + HANGS_S - now):
            return None
        error = unit.exception()
        return "" if error is None else f"Nothing can be written: {error}"


@asynccontextmanager
async def watching(
    settings: Settings, clock: Clock, redactor: Redactor | None = None
) -> AsyncIterator[Watch]:
    """A watch over this process, served where the settings say, for the life of the context."""
    watch = Watch(settings, clock)
    beating = asyncio.create_task(watch.beat(), name="beat")
    with contextlib.ExitStack() as stack:
        stack.callback(beating.cancel)
        if settings.private_listen or settings.public_listen:
            # Loading the server takes a fifth of a second, and most commands serve nothing.
            from adapters.telemetry.doors import Doors
            from adapters.telemetry.listener import listening
            from adapters.telemetry.routes import private_routes, public_routes

            at, folder = settings, settings.state_dir
            private, public = (
                discreet_routes(routes(watch), redactor or Redactor())
                for routes in (private_routes, public_routes)
            )
            stack.enter_context(listening("private", at.private_listen, private, folder))
            watch.doors = Doors(watch.loop) if at.public_listen else None
            stack.enter_context(listening("public", at.public_listen, public, folder, watch.doors))
        yield watch


def _endpoint(claude: "ClaudeModel", now: float) -> EndpointSight:
    limiter = claude.limiter
    state = limiter.state
    since = state.closed_at if state.closed_at is not None else state.since
    closed_s = max(0.0, now - since) if state.kind and since is not None else 0.0
    name = state.name.rpartition("@")[2]
    return EndpointSight(name, state.kind or "", closed_s, limiter.in_flight, limiter.waiting)
