"""
Where incidents come from: the model's endpoint, the disk, the database, the sweeps, the sandbox.

Rule: whatever finds trouble says so each time, and the rows say it once. A process that starts looks
at what it finds mended: whoever opened it may be gone.
"""

import logging
import shutil
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final, get_args

from adapters.store.open import Store
from bot.chat.facts import Manner
from bot.chat.operations import Operations
from bot.errors import BadSettings, HeadwayError, StoreBusy, StoreUnusable
from bot.ports.chat import Network, Place
from bot.ports.clock import Clock
from bot.settings import Settings
from bot.wiring.names import Names
from scheduler.alarms import Alarms

log = logging.getLogger(__name__)

LOOK_S: Final = 10.0
CLOSED_S: Final = 300.0
"""A model endpoint that has been closed for so long is an incident; less passes by itself."""
LEAST_BYTES: Final = 500 * 1024 * 1024
LEAST_SHARE: Final = 0.05
ROOM_AGAIN: Final = 1.2
"""So much more than the least must be free before the disk counts as well again."""
DATABASE_S: Final = 5.0
"""Trouble with the database that passed sooner is no news."""
LATE_S: Final = 30.0
"""How far behind a sweep may be."""
LATE_LOOKS: Final = 4
"""In a row, before that is an incident: a database that was away has held them all up."""


def room_of(setting: str, names: Names) -> Place | None:
    """The operations room as the settings name it: `NETWORK:ROOM`, or `NETWORK:WORKSPACE/ROOM`.

    Raises:
        BadSettings: it is written otherwise.
    """
    if not setting:
        return None
    name, _, rest = setting.partition(":")
    workspace, _, room = rest.rpartition("/")
    for network in get_args(Network):
        if name == network and room:
            return Place(network, names.workspace(network) or workspace, room)
    raise BadSettings(
        f"The setting operations_room is {setting!r}. Write NETWORK:ROOM, such as `console:console`."
    )


class EndpointWatch:
    """Tells of the model's endpoint: refused at once, closed after five minutes."""

    def __init__(self, operations: Operations, clock: Clock) -> None:
        self._operations, self._clock = operations, clock
        self._closed: dict[str, tuple[str, float]] = {}
        """Of endpoints in passing trouble: its kind, and since when."""

    def troubled(self, endpoint: str, kind: str, since: float, *, is_operators: bool) -> None:
        """An endpoint takes no calls."""
        if is_operators:
            self._closed.pop(endpoint, None)
            self._operations.soon(partial(self._operations.trouble, "key", endpoint, kind))
        else:
            self._closed[endpoint] = (kind, since)

    def recovered(self, endpoint: str) -> None:
        """It takes them again."""
        self._closed.pop(endpoint, None)
        for kind in ("key", "endpoint"):
            self._operations.soon(partial(self._operations.over, kind, endpoint))

    async def look(self) -> None:
        """Tell of those that have been closed for long."""
        now = self._clock.now()
        for endpoint, (kind, since) in tuple(self._closed.items()):
            if now - since >= CLOSED_S:
                await self._operations.trouble("endpoint", endpoint, kind)


class DiskWatch:
    """Tells when the disk of the state folder is nearly full."""

    def __init__(self, operations: Operations, folder: Path) -> None:
        self._operations, self._folder = operations, folder

    async def look(self) -> None:
        """Look once."""
        try:
            disk = shutil.disk_usage(self._folder)
        except OSError as error:
            log.info("The disk under %s cannot be looked at: %s", self._folder, error)
            return
        least = max(LEAST_BYTES, int(disk.total * LEAST_SHARE)) if disk.total else 0
        if disk.free < least:
            left = f"{disk.free // 1024**2} MB"
            await self._operations.trouble("disk", str(self._folder), left)
        elif disk.free >= least * ROOM_AGAIN:
            self._operations.mended("disk", str(self._folder))


class StoreWatch:
    """Tells, once it is over, that the database was away."""

    def __init__(self, operations: Operations, clock: Callable[[], float] = time.monotonic) -> None:
        self._operations, self._clock = operations, clock
        self._since: float | None = None
        self._what = ""

    def troubled(self, error: HeadwayError | None) -> None:
        """Goals wait for this, or (None) go on."""
        if isinstance(error, StoreBusy | StoreUnusable):
            self._since = self._clock() if self._since is None else self._since
            self._what = str(error)
        elif error is None and self._since is not None:
            lasted, self._since = self._clock() - self._since, None
            if lasted >= DATABASE_S:
                self._operations.soon(partial(self._told, self._what, round(lasted)))

    async def _told(self, what: str, seconds: int) -> None:
        await self._operations.trouble("database", "database", what, seconds=seconds)
        await self._operations.over("database", "database")


class SweepWatch:
    """Tells of sweeps that are far behind."""

    def __init__(self, operations: Operations, alarms: Alarms) -> None:
        self._operations, self._alarms = operations, alarms
        self._times = 0

    async def look(self) -> None:
        """Look once. What was held up and has caught up since is no news."""
        late = {name: by for name, by in self._alarms.lateness().items() if by > LATE_S}
        self._times = self._times + 1 if late else 0
        if self._times >= LATE_LOOKS:
            worst = max(late, key=lambda name: late[name])
            await self._operations.trouble("sweeps", "sweeps", worst, seconds=round(late[worst]))
        elif not late:
            self._operations.mended("sweeps", "sweeps")


class Watches:
    """All of them, for one process."""

    def __init__(
        self, operations: Operations, clock: Clock, alarms: Alarms, state_dir: Path
    ) -> None:
        self.operations = operations
        self.endpoint = EndpointWatch(operations, clock)
        self.store = StoreWatch(operations)
        self._disk = DiskWatch(operations, state_dir)
        self._sweeps = SweepWatch(operations, alarms)
        self._alarms = alarms

    async def begin(self, in_trouble: frozenset[str], *, has_sandbox: bool) -> None:
        """Look for trouble from now on, and close what is over since an earlier process opened it.

        Args:
            in_trouble: model endpoints that are in trouble still.
            has_sandbox: tools are on.
        """
        operations = self.operations
        await operations.begin()
        for kind, subject in operations.open:
            if kind in ("key", "endpoint") and not _is_of(subject, in_trouble):
                await operations.over(kind, subject)
        if has_sandbox:
            operations.mended("sandbox", "sandbox")
        else:
            await operations.trouble("sandbox", "sandbox")
        self._alarms.add("incidents", self.look, LOOK_S)

    async def look(self) -> None:
        """Look once at everything that nobody tells of."""
        await self.endpoint.look()
        await self._disk.look()
        await self._sweeps.look()


def build_watches(
    stack: AsyncExitStack,
    settings: Settings,
    names: Names,
    clock: Clock,
    store: Store,
    alarms: Alarms,
    manner: Manner,
) -> Watches:
    """The operations room, and what tells it. Raises BadSettings."""
    room = room_of(settings.operations_room, names)
    if room is not None and room.network not in names.networks:
        log.warning(
            "Incidents reach nobody but this log: operations_room is %r, and %s is not connected. "
            "Connect it, write `console:console`, or leave it empty.",
            settings.operations_room,
            room.network,
        )
    operations = Operations(store.incidents, manner, room, clock)
    stack.push_async_callback(operations.close)
    return Watches(operations, clock, alarms, settings.state_dir)


def _is_of(subject: str, endpoints: frozenset[str]) -> bool:
    """Whether an incident is about one of the endpoints, or a model there."""
    return subject.partition(" ")[0] in endpoints
