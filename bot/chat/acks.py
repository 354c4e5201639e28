"""
Marks under what was taken: 👀 when it is stored and counts, ✅ when a model call has carried it.

Rule 1: a mark may be lost and is never tried again; nothing waits for one. A network that asks to wait
        gets none meanwhile.
Rule 2: what is taken back loses its mark with the rest.
Rule 3: nothing of it is written down: what was taken before a restart keeps its 👀.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.chat.abilities import is_unseen
from bot.chat.signs import CARRIED, TAKEN
from bot.errors import HeadwayError, Wait
from bot.goals.events import CallLost, CallReleased, CallSettled, CallStarted
from bot.goals.goal import Goal
from bot.ports.chat import EDIT, LOSS, MOVE, REACTION, REMOVAL, Incoming, Network, Place, Signs
from bot.ports.clock import Clock
from bot.ports.journal import Applied
from bot.ports.room_settings import RoomSettings

log = logging.getLogger(__name__)

WAITING_MOST: Final = 500
"""Marks on their way; more are dropped."""
GOALS_MOST: Final = 2_000
PAUSE_S: Final = 30.0
"""Where a network asks to wait and does not say how long."""
_UNMARKED: Final = (EDIT, LOSS, MOVE, REMOVAL)


@dataclass(slots=True)
class _Mark:
    """A message that was taken, and the least that a call must have seen to have carried it."""

    place: Place
    message: str
    messages: int
    revision: int
    reaction: str = ""


class Acks:
    """Puts marks under messages, one after the other."""

    def __init__(
        self,
        networks: Mapping[Network, Signs],
        settings: Callable[[Place], RoomSettings],
        clock: Clock,
    ) -> None:
        """`networks`: those that have marks; one may be added later."""
        self._networks = networks
        self._settings = settings
        self._clock = clock
        self._queue: asyncio.Queue[tuple[_Mark, str]] = asyncio.Queue(WAITING_MOST)
        self._marks: dict[str, list[_Mark]] = {}
        """By goal, those that no call has carried."""
        self._calls: dict[str, tuple[int, int]] = {}
        """What calls under way have seen: messages and revision."""
        self._quiet_until: dict[Network, float] = {}

    def taken(self, message: Incoming, goal: Goal) -> None:
        """A message counts for a goal, as it is with it."""
        id, place = _marked(message), message.place
        if not id or place.network not in self._networks or not self._settings(place).acks:
            return
        if len(self._marks) >= GOALS_MOST:
            self._marks.clear()
        mark = _Mark(place, id, goal.messages, goal.revision)
        self._marks.setdefault(goal.id, []).append(mark)
        self._put(mark, TAKEN)

    def heard(self, applied: Applied) -> None:
        """Something was written of a goal: calls that have carried what was said are told by it."""
        for entry in applied.entries:
            match entry.event:
                case CallStarted(call=call, role="agent") as started:
                    if applied.goal.id in self._marks:
                        self._calls[call] = (started.messages, started.revision)
                case CallSettled(call=call) if call in self._calls:
                    self._carried(applied.goal.id, *self._calls.pop(call))
                case CallReleased(call=call) | CallLost(call=call):
                    self._calls.pop(call, None)
                case _:
                    pass
        if applied.goal.is_final:
            left = self._marks.pop(applied.goal.id, ())
            for mark in left if applied.goal.reason == "undone" else ():
                self._put(mark, "")

    async def run(self) -> None:
        """Put marks until cancelled."""
        while True:
            mark, emoji = await self._queue.get()
            await self._show(mark, emoji)

    async def settle(self) -> None:
        """Put what is on its way."""
        while not self._queue.empty():
            await self._show(*self._queue.get_nowait())

    def _carried(self, goal: str, messages: int, revision: int) -> None:
        left = []
        for mark in self._marks.get(goal, ()):
            if mark.messages <= messages and mark.revision <= revision:
                self._put(mark, CARRIED)
            else:
                left.append(mark)
        self._marks[goal] = left
        if not left:
            del self._marks[goal]

    def _put(self, mark: _Mark, emoji: str) -> None:
        if not self._queue.full():
            self._queue.put_nowait((mark, emoji))

    async def _show(self, mark: _Mark, emoji: str) -> None:
        network = mark.place.network
        signs = self._networks.get(network)
        if signs is None or self._clock.now() < self._quiet_until.get(network, 0.0):
            return
        try:
            if mark.reaction:
                await signs.take_reaction(mark.place, mark.reaction)
            if emoji:
                mark.reaction = await signs.react(mark.place, mark.message, emoji)
        except Wait as error:
            self._quiet_until[network] = self._clock.now() + (error.retry_after_s or PAUSE_S)
        except HeadwayError as error:
            log.info("A mark under %s is left out: %s", mark.message, error)
        except Exception:
            log.exception("A mark under %s is left out", mark.message)


def _marked(message: Incoming) -> str:
    """The id of what is marked: of an aim, the message that was aimed at; of what is no message, none."""
    if is_unseen(message):
        return ""
    if message.id.startswith(REACTION):
        return message.reply_to
    return "" if message.id.startswith(_UNMARKED) else message.id
