"""
What networks show beside messages as the work goes on: marks under what was taken, and where the bot
is at work.

Rule: nothing waits for it. Where no network has signs, nothing of it runs.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final

from bot.chat.acks import Acks
from bot.chat.allow_list import AllowList
from bot.errors import HeadwayError
from bot.goals.events import Audited, AuditFailed, TurnEnded, TurnResumed, TurnStarted
from bot.goals.goal import ACTIVE, Goal
from bot.ports.chat import Network, Place, Signs
from bot.ports.clock import Clock
from bot.ports.journal import Applied, Journal
from bot.ports.mail import NEW

log = logging.getLogger(__name__)

WORKING_S: Final = 15.0
"""How often a network is told where the bot is at work: it forgets after 30 s."""
SOON_S: Final = 0.5
"""So long after a turn has begun or ended, so that what comes together costs one call."""
_TURNS: Final = (TurnStarted, TurnResumed, TurnEnded, Audited, AuditFailed)


class Working:
    """Tells networks in which places goals are worked at."""

    def __init__(
        self,
        networks: Mapping[Network, Signs],
        busy: Callable[[], Collection[str]],
        journal: Journal,
        allow_list: AllowList,
    ) -> None:
        """`busy`: ids of the goals that this process works at now."""
        self._networks = networks
        self._busy = busy
        self._journal = journal
        self._allow_list = allow_list
        self._shown: set[Network] = set()
        self._turned = asyncio.Event()

    def heard(self, applied: Applied) -> None:
        """Something was written of a goal: where a turn begins or ends, this looks soon."""
        if any(isinstance(entry.event, _TURNS) for entry in applied.entries):
            self._turned.set()

    async def run(self) -> None:
        """Tell them until cancelled."""
        while True:
            self._turned.clear()
            await self.look()
            try:
                # Not `wait_for`, which in Python 3.11 may swallow the cancellation that ends this.
                async with asyncio.timeout(WORKING_S):
                    await self._turned.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(SOON_S)

    async def look(self) -> None:
        """Tell each network its places; one where nothing goes on any more is told that once."""
        places = await self._places()
        for network, signs in self._networks.items():
            here = frozenset(place for place in places if place.network == network)
            if not here and network not in self._shown:
                continue
            (self._shown.add if here else self._shown.discard)(network)
            try:
                await signs.show_working(here)
            except HeadwayError as error:
                log.info("Where work goes on is not shown on %s: %s", network, error)
            except Exception:
                log.exception("Where work goes on is not shown on %s", network)

    async def _places(self) -> frozenset[Place]:
        found = set()
        for goal in list(self._busy()):
            try:
                row = await self._journal.goal(goal)
                if not _is_thinking(row):
                    continue
                place = await self._allow_list.home(row.session)
                if not place.thread.startswith(NEW):
                    found.add(place)
            except (KeyError, HeadwayError) as error:
                log.info("Where goal %s is worked at is not known: %s", goal, error)
        return frozenset(found)


class Shown:
    """The marks and the typing of a process."""

    def __init__(
        self,
        networks: Mapping[Network, Signs],
        busy: Callable[[], Collection[str]],
        journal: Journal,
        allow_list: AllowList,
        clock: Clock,
    ) -> None:
        """`networks`: those that have signs."""
        self.acks = Acks(networks, allow_list.settings, clock)
        self.working = Working(networks, busy, journal, allow_list)
        self._has_any = bool(networks)

    def heard(self, applied: Applied) -> None:
        """Something was written of a goal."""
        if self._has_any:
            self.acks.heard(applied)
            self.working.heard(applied)

    def parts(self) -> tuple["asyncio.Task[None]", ...]:
        """What runs, under way."""
        if not self._has_any:
            return ()
        return (
            asyncio.create_task(self.acks.run(), name="marks"),
            asyncio.create_task(self.working.run(), name="working"),
        )


def _is_thinking(goal: Goal) -> bool:
    return goal.state in ACTIVE
