"""
What channels are called, for texts in which people name one.

Rule 1: nobody waits for a name: what is not known is asked for beside, and known the next time.
Rule 2: a name counts for an hour, and so does that there is none which the bot may see.
"""

import asyncio
import logging
import math
from collections import OrderedDict
from typing import Final

from adapters.slack.calling import Calls
from adapters.slack.ids import is_channel
from adapters.slack.payloads import fields, text_of
from bot.errors import HeadwayError, Wait
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

KEPT_S: Final = 3600.0
MOST: Final = 10_000
AT_ONCE: Final = 4
"""Channels that are asked about at the same time; of more, the next time they are named."""

Key = tuple[str, str]
"""Workspace and channel."""


class RoomNames:
    """Names of the channels of an app's workspaces. Close it."""

    def __init__(self, calls: Calls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock
        self._known: OrderedDict[Key, tuple[float, str]] = OrderedDict()
        self._asking: dict[Key, asyncio.Task[None]] = {}

    def name(self, workspace: str, channel: str) -> str:
        """The name of a channel where it is known; else empty, and it is asked for."""
        key = (workspace, channel)
        at, name = self._known.get(key, (-math.inf, ""))
        if self._clock.now() - at >= KEPT_S and is_channel(channel):
            self._ask(key)
        return name

    def told(self, workspace: str, channel: str, name: str) -> None:
        """Slack told what a channel is called."""
        key = (workspace, channel)
        self._known.pop(key, None)
        self._known[key] = self._clock.now(), name
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def forget(self, workspace: str) -> None:
        """The app was uninstalled there."""
        for key in [key for key in self._known if key[0] == workspace]:
            del self._known[key]

    async def settle(self) -> None:
        """Wait until what is asked for is known."""
        while self._asking:
            await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def close(self) -> None:
        """Ask no more."""
        tasks = tuple(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ask(self, key: Key) -> None:
        if key in self._asking or len(self._asking) >= AT_ONCE:
            return
        task = asyncio.create_task(self._asked(key), name=f"the name of {key[1]}")
        self._asking[key] = task
        task.add_done_callback(lambda _: self._asking.pop(key, None))

    async def _asked(self, key: Key) -> None:
        what = "A channel's name cannot be asked"
        try:
            answer = await self._calls.call(key[0], "conversations.info", what=what, channel=key[1])
        except Wait as error:
            log.debug("%s", error)
            return
        except HeadwayError as error:
            log.debug("%s", error)
            answer = {}
        self.told(*key, text_of(fields(answer.get("channel")).get("name")))
