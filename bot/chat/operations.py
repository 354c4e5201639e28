"""
What the operations room is told: each incident once, and one line when it is over.

Rule 1: an incident is opened with its post in one transaction; where one is open already, nothing
        more is said. The log has each, too.
Rule 2: `soon` is for whoever cannot wait: what it is given is done in its order, and again while the
        database is away.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from bot.chat.facts import Manner
from bot.errors import HeadwayError
from bot.ports.chat import Place
from bot.ports.clock import Clock
from bot.ports.incidents import Alert, Incidents

log = logging.getLogger(__name__)

LOGGED: Final = frozenset({"key", "endpoint"})
"""Kinds whose trouble the log has from where it comes from."""
RETRY_S: Final = 2.0
KEPT_MOST: Final = 200
"""Of what waits for the database; what is older is in the log alone."""


def _nothing() -> None:
    return


class Operations:
    """Tells the operations room."""

    def __init__(
        self,
        incidents: Incidents,
        manner: Manner,
        room: Place | None,
        clock: Clock,
    ) -> None:
        """`room` None: the log alone is told."""
        self._incidents, self._manner, self._room = incidents, manner, room
        self._clock = clock
        self.posted: Callable[[], None] = _nothing
        """Told when there is something to deliver."""
        self._queue: deque[Callable[[], Awaitable[None]]] = deque(maxlen=KEPT_MOST)
        self._working: asyncio.Task[None] | None = None
        self._open: set[tuple[str, str]] = set()
        """What may be open, as far as this process knows."""

    async def begin(self) -> None:
        """Know what an earlier process left open. Raises StoreBusy, StoreUnusable."""
        for one in await self._incidents.listed():
            if one.is_open:
                self._open.add((one.kind, one.subject))

    @property
    def open(self) -> frozenset[tuple[str, str]]:
        """Kind and subject of what may be open."""
        return frozenset(self._open)

    def alert(self, kind: str, subject: str, detail: str = "", **values: object) -> Alert:
        """The incident of that kind as it is said, to be opened with whatever it comes from.

        `detail` may be a code (`auth`), for which the kind has a sentence of its own.
        """
        self._open.add((kind, subject))
        texts = self._manner.texts
        keys = (f"incident.{kind}.{detail}", f"incident.{kind}", "incident.other")
        told = texts.first(*keys, kind=kind, subject=subject, detail=detail, **values)
        text = texts("incident.head", text=told)
        return Alert(kind, subject, detail, text, self._room)

    async def trouble(self, kind: str, subject: str, detail: str = "", **values: object) -> None:
        """Open an incident, unless it is open. Raises StoreBusy, StoreUnusable."""
        alert = self.alert(kind, subject, detail, **values)
        if await self._incidents.open(alert):
            log.log(logging.INFO if kind in LOGGED else logging.ERROR, "%s", alert.text)
            self.posted()

    async def over(self, kind: str, subject: str, **values: object) -> None:
        """Close an incident, where it is open. Raises StoreBusy, StoreUnusable."""
        self._open.discard((kind, subject))
        texts = self._manner.texts
        keys = (f"incident.{kind}.over", "incident.other.over")
        told = texts.first(*keys, kind=kind, subject=subject, **values)
        text = texts("incident.over", text=told)
        if await self._incidents.recovered(Alert(kind, subject, "", text, self._room)):
            log.log(logging.INFO if kind in LOGGED else logging.WARNING, "%s", text)
            self.posted()

    def mended(self, kind: str, subject: str) -> None:
        """It works: where an incident of that kind may be open, it is closed shortly."""
        if (kind, subject) in self._open:
            self._open.discard((kind, subject))
            self.soon(partial(self.over, kind, subject))

    def mended_all(self, kind: str) -> None:
        """The same of every subject."""
        for subject in [subject for of, subject in self._open if of == kind]:
            self.mended(kind, subject)

    def soon(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do this shortly, in the order of asking; again while the database is away."""
        self._queue.append(work)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work(), name="operations")

    async def close(self) -> None:
        """Do nothing more."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _work(self) -> None:
        while self._queue:
            work = self._queue[0]
            try:
                await work()
            except HeadwayError as error:
                log.info("The operations room cannot be told yet: %s", error)
                await self._clock.sleep(RETRY_S)
                continue
            except Exception:
                log.exception("The operations room cannot be told")
            if self._queue and self._queue[0] is work:
                self._queue.popleft()
