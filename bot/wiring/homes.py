"""
Homes that people have looked at lately, kept true as goals change.

Rule 1: a home is read anew for its person each time, and told where it says something else than what
        stands there; at most once in a while, and the last state lands.
Rule 2: of so many people so long after their last look; whoever comes back looks anew anyway.
Rule 3: what other processes of the database write is not heard of here: there, now and then, everybody's
        is read.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from bot.chat.desk import Desk
from bot.chat.windows import PersonalWindows
from bot.errors import HeadwayError, Wait
from bot.goals.events import (
    CallStarted,
    Compacted,
    MessageReceived,
    NoteLeft,
    ToolEnded,
    ToolStarted,
    WaitChecked,
)
from bot.ports.chat import Speaker
from bot.ports.clock import Clock
from bot.ports.journal import Applied
from bot.ports.windows import Home, Windows
from bot.ports.windows import Homes as Publishing
from bot.wiring.ground import Ground
from bot.wiring.networks import Connected

log = logging.getLogger(__name__)

LOOKED_S: Final = 900.0
PEOPLE_MOST: Final = 100
PAUSE_S: Final = 3.0
"""Between two rounds; Slack takes some hundred homes a minute."""
AGAIN_S: Final = 10.0
"""Where the network asks to wait and does not say how long."""
OTHERS_S: Final = 30.0
"""How long what another process writes is not seen at most."""
_UNSEEN: Final = (
    CallStarted, ToolStarted, ToolEnded, NoteLeft, Compacted, MessageReceived, WaitChecked,
)  # fmt: skip
"""Events that no home tells of; a turn has hundreds of them."""

Person = tuple[str, str]
"""Workspace, and id in the network."""


@dataclass(slots=True)
class _Looker:
    """Somebody who looks at a page of their home."""

    who: Speaker
    page: int
    looked_at: float
    shown: Home | None = None
    telling: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One after the other: what was read last stands there last."""


class Homes:
    """Publishes the homes of one network."""

    def __init__(
        self, network: Publishing, windows: Windows, clock: Clock, *, is_alone: bool = True
    ) -> None:
        """`is_alone`: no other process writes to the database."""
        self._network, self._windows, self._clock = network, windows, clock
        self._is_alone = is_alone
        self._lookers: OrderedDict[Person, _Looker] = OrderedDict()
        self._stale: set[Person] = set()
        self._changed = asyncio.Event()

    async def looks(self, workspace: str, who: Speaker, page: int) -> None:
        """Somebody looks at a page of their home: show it. Raises HeadwayError."""
        key, now = (workspace, who.id), self._clock.now()
        looker = self._lookers.pop(key, None) or _Looker(who, page, now)
        looker.who, looker.page, looker.looked_at, looker.shown = who, page, now, None
        self._lookers[key] = looker
        while len(self._lookers) > PEOPLE_MOST:
            self._lookers.popitem(last=False)
        await self._tell(key)

    def heard(self, applied: Applied) -> None:
        """Something was written of a goal: whoever looks at a home may see it there."""
        is_seen = any(
            entry.before != entry.after or not isinstance(entry.event, _UNSEEN)
            for entry in applied.entries
        )
        if self._lookers and is_seen:
            self._all_stale()

    def parts(self) -> tuple["asyncio.Task[None]", ...]:
        """What runs, under way."""
        return (asyncio.create_task(self.run(), name="homes"),)

    async def run(self) -> None:
        """Keep homes true until cancelled."""
        while True:
            try:
                # Not `wait_for`, which in Python 3.11 may swallow the cancellation that ends this.
                async with asyncio.timeout(None if self._is_alone else OTHERS_S):
                    await self._changed.wait()
            except TimeoutError:
                self._all_stale()
            await self._clock.sleep(PAUSE_S)
            self._changed.clear()
            await self.round()

    async def round(self) -> None:
        """Tell everybody anew whose home may have changed, and forget who has not looked for long."""
        now = self._clock.now()
        for key, looker in list(self._lookers.items()):
            if now - looker.looked_at > LOOKED_S:
                del self._lookers[key]
        stale, self._stale = self._stale & self._lookers.keys(), set()
        for key in stale:
            try:
                await self._tell(key)
            except HeadwayError as error:
                log.info("The home of %s is not shown anew: %s", key[1], error)
            except Exception:
                log.exception("The home of %s is not shown anew", key[1])

    async def _tell(self, key: Person) -> None:
        looker = self._lookers.get(key)
        if looker is None:
            return
        async with looker.telling:
            # Whatever changes from here on is seen in the next round.
            self._stale.discard(key)
            try:
                home = await self._windows.home(key[0], looker.who, looker.page)
                if home != looker.shown:
                    await self._network.publish(key[0], looker.who, home)
                    looker.shown = home
            except Wait as error:
                self._later(key, error.retry_after_s or AGAIN_S)
                raise

    def _later(self, key: Person, after_s: float) -> None:
        self._stale.add(key)
        asyncio.get_running_loop().call_later(after_s, self._changed.set)

    def _all_stale(self) -> None:
        self._stale |= self._lookers.keys()
        self._changed.set()


def build_homes(ground: Ground, desk: Desk, connected: Connected) -> Homes | None:
    """The windows and homes of a network that has them; None where there is none."""
    slack = connected.slack
    if slack is None:
        return None
    windows = PersonalWindows(
        desk, ground.store.records, attachments=ground.store.attachments, redactor=ground.redactor
    )
    homes = Homes(slack.chat, windows, ground.clock, is_alone=not ground.names.is_shared)
    slack.shows(windows, homes.looks)
    return homes
