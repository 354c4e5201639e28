"""
Whether this process serves an app that several processes of one database could serve.

Rule 1: the charge is held for half a minute and renewed every ten seconds. It counts here no longer
        than the database was asked for it, whatever became of the renewal: a process that hangs finds
        that it holds nothing.
Rule 2: before anything is served, what former holders were about to send is looked up and not sent
        again (`outbox.void`).
Rule 3: whoever ends gives it up, so that the next takes it when it asks; who dies is followed when it lapses.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from bot.errors import HeadwayError
from bot.ports.clock import Clock
from bot.ports.installs import Installs

log = logging.getLogger(__name__)

LASTS_S: Final = 30.0
RENEW_S: Final = 10.0
LOOK_S: Final = 1.0

Taken = Callable[[], Awaitable[object]]


class Charge:
    """A flag that many look at and one sets."""

    def __init__(self, *, is_held: bool = False) -> None:
        self._until = math.inf if is_held else 0.0
        self._now: Callable[[], float] = lambda: 0.0

    @property
    def is_held(self) -> bool:
        """Whether this process serves the app, now."""
        return self._now() < self._until

    @is_held.setter
    def is_held(self, value: bool) -> None:
        self._until = math.inf if value else 0.0

    def hold(self, until: float, now: Callable[[], float]) -> None:
        """It is held until then, by this clock."""
        self._until, self._now = until, now

    def drop(self) -> None:
        """It is held no more."""
        self._until = 0.0


class Keeper:
    """Takes the charge of an app and keeps it: `renew` is rung every RENEW_S, and once before that."""

    def __init__(
        self,
        charge: Charge,
        installs: Installs,
        clock: Clock,
        *,
        app: str,
        holder: str,
        taken: Taken,
    ) -> None:
        """`holder`: of this state folder, which one process owns; `taken` runs before it counts."""
        self._charge, self._installs, self._clock = charge, installs, clock
        self._app, self._holder, self._taken = app, holder, taken

    async def renew(self) -> None:
        """Take or keep it.

        Raises:
            HeadwayError: the database could not be asked; what is held lapses by itself.
        """
        was_held, asked_at = self._charge.is_held, self._clock.now()
        if not await self._installs.take_charge(self._app, self._holder, lasts_s=LASTS_S):
            self._charge.drop()
            if was_held:
                log.warning("Another process serves %s from now on.", self._app)
            return
        if not was_held:
            await self._taken()
            log.info("This process serves %s.", self._app)
        self._charge.hold(asked_at + LASTS_S, self._clock.now)

    async def leave(self) -> None:
        """Give it up; called once nothing is sent any more."""
        was_held = self._charge.is_held
        self._charge.drop()
        if was_held:
            with suppress(HeadwayError):
                await self._installs.leave_charge(self._app, self._holder)


async def while_held(
    charge: Charge, clock: Clock, serve: Callable[[], Awaitable[None]], idle: Callable[[], None]
) -> None:
    """Run `serve` for as long as the charge is held, each time that it is, until cancelled.

    `idle` is told every second that another process has it. Raises what `serve` raises.
    """
    while True:
        while not charge.is_held:
            idle()
            await clock.sleep(LOOK_S)
        serving = asyncio.ensure_future(serve())
        try:
            await _until_over(charge, serving)
        finally:
            serving.cancel()
            # Awaiting it would mistake its end for ours.
            await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()


async def _until_over(charge: Charge, serving: "asyncio.Future[None]") -> None:
    while charge.is_held and not serving.done():
        await asyncio.wait((serving,), timeout=LOOK_S)
