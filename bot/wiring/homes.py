"""
Homes that people have looked at lately, kept true as goals change.

Rule 1: a home is read anew for its person each time; it is told at most once in a while, and the last
        state lands. What a network refuses is not tried again until something changes.
Rule 2: of so many people so long after their last look; whoever comes back looks anew anyway.
"""

import asyncio
import logging
from collections import OrderedDict
from typing import Final

from bot.chat.desk import Desk
from bot.chat.windows import PersonalWindows
from bot.errors import HeadwayError, Wait
from bot.ports.chat import Speaker
from bot.ports.clock import Clock
from bot.ports.journal import Applied
from bot.ports.windows import Homes as Publishing
from bot.ports.windows import Windows
from bot.wiring.ground import Ground
from bot.wiring.networks import Connected

log = logging.getLogger(__name__)

LOOKED_S: Final = 900.0
PEOPLE_MOST: Final = 100
PAUSE_S: Final = 3.0
"""Between two rounds; Slack takes some hundred homes a minute."""
AGAIN_S: Final = 10.0
"""Where the network asks to wait and does not say how long."""

Person = tuple[str, str]
"""Workspace, and id in the network."""


class Homes:
    """Publishes the homes of one network."""

    def __init__(self, network: Publishing, windows: Windows, clock: Clock) -> None:
        self._network, self._windows, self._clock = network, windows, clock
        self._lookers: OrderedDict[Person, tuple[Speaker, int, float]] = OrderedDict()
        self._stale: set[Person] = set()
        self._changed = asyncio.Event()

    async def looks(self, workspace: str, who: Speaker, page: int) -> None:
        """Somebody looks at a page of their home: show it. Raises HeadwayError."""
        key = (workspace, who.id)
        self._lookers.pop(key, None)
        self._lookers[key] = (who, page, self._clock.now())
        while len(self._lookers) > PEOPLE_MOST:
            self._lookers.popitem(last=False)
        await self._publish(key)

    def heard(self, applied: Applied) -> None:
        """Something was written of a goal: whoever looks at a home may see it there."""
        if self._lookers:
            self._stale |= self._lookers.keys()
            self._changed.set()

    def parts(self) -> tuple["asyncio.Task[None]", ...]:
        """What runs, under way."""
        return (asyncio.create_task(self.run(), name="homes"),)

    async def run(self) -> None:
        """Keep homes true until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PAUSE_S)
            self._changed.clear()
            await self._round()

    async def _round(self) -> None:
        now = self._clock.now()
        for key, (_, _, looked_at) in list(self._lookers.items()):
            if now - looked_at > LOOKED_S:
                del self._lookers[key]
        stale, self._stale = self._stale & self._lookers.keys(), set()
        for key in stale:
            try:
                await self._publish(key)
            except Wait as error:
                self._stale.add(key)
                asyncio.get_running_loop().call_later(
                    error.retry_after_s or AGAIN_S, self._changed.set
                )
            except HeadwayError as error:
                log.info("The home of %s is not shown anew: %s", key[1], error)
            except Exception:
                log.exception("The home of %s is not shown anew", key[1])

    async def _publish(self, key: Person) -> None:
        known = self._lookers.get(key)
        if known is None:
            return
        who, page, _ = known
        self._stale.discard(key)
        home = await self._windows.home(key[0], who, page)
        await self._network.publish(key[0], who, home)


def build_homes(ground: Ground, desk: Desk, connected: Connected) -> Homes | None:
    """The windows and homes of a network that has them; None where there is none."""
    slack = connected.slack
    if slack is None:
        return None
    windows = PersonalWindows(
        desk, ground.store.records, attachments=ground.store.attachments, redactor=ground.redactor
    )
    homes = Homes(slack.chat, windows, ground.clock)
    slack.shows(windows, homes.looks)
    return homes
