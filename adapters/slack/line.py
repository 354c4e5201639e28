"""
What comes, stored in the order in which it came.

Rule 1: whoever stands in line stores after those in front of him: what is looked up for a message holds
        up none of its later ones for longer than that look-up takes.
Rule 2: all that is ready together is stored in one transaction. If that fails, each is tried alone: what
        cannot be stored keeps nobody else from it.
Rule 3: so many are inside, in line or done with it, and no more: the next waits outside, or is sent away.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

from bot.errors import StoreUnusable, Wait
from bot.ports.chat import Arrival, Receive

MOST: Final = 500
"""At 50 a second, ten seconds of a store that does nothing: by then Slack sends again."""
TOGETHER: Final = 100


@dataclass(slots=True, eq=False)
class Turn:
    """A place in the line."""

    stored: asyncio.Future[None]
    arrivals: tuple[Arrival, ...] = ()
    is_ready: bool = False
    is_gone: bool = False
    is_over: bool = False


class Line:
    """Those who wait until what they bring is stored."""

    def __init__(self, receive: Receive, most: int = MOST) -> None:
        self._receive, self._most = receive, most
        self._turns: deque[Turn] = deque()
        self._inside = 0
        self._storing: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def __len__(self) -> int:
        return self._inside

    @property
    def is_full(self) -> bool:
        """Whether nobody can be taken in."""
        return self._inside >= self._most

    async def has_room(self) -> None:
        """Wait until somebody can be taken in."""
        while self.is_full:
            self._room.clear()
            await self._room.wait()

    def enter(self) -> Turn:
        """A place at the end; `end` it whatever happens."""
        turn = Turn(asyncio.get_running_loop().create_future())
        self._inside += 1
        self._turns.append(turn)
        return turn

    async def store(self, turn: Turn, *arrivals: Arrival) -> None:
        """Store these when it is their turn. Raises as `Receive`."""
        if not arrivals:
            self.leave(turn)
            return
        turn.arrivals, turn.is_ready = arrivals, True
        self._look()
        # Who goes away while it is being stored lets it be stored.
        await asyncio.shield(turn.stored)

    def leave(self, turn: Turn) -> None:
        """Let those behind pass; what was handed over already is stored all the same."""
        if not turn.is_ready and not turn.is_gone:
            turn.is_gone = True
            self._look()

    def end(self, turn: Turn) -> None:
        """Leave, and make room for somebody else."""
        self.leave(turn)
        if not turn.is_over:
            turn.is_over = True
            self._inside -= 1
        if not self.is_full:
            self._room.set()

    async def close(self) -> None:
        """Wait for what is being stored; what comes later is not."""
        while self._storing is not None:
            await asyncio.wait((self._storing,))

    def _look(self) -> None:
        self._drop_gone()
        if self._storing is None and self._turns and self._turns[0].is_ready:
            self._storing = asyncio.create_task(self._store_all(), name="storing what came")

    def _drop_gone(self) -> None:
        while self._turns and self._turns[0].is_gone:
            self._turns.popleft()

    async def _store_all(self) -> None:
        try:
            while batch := self._ready():
                await self._store_batch(batch)
        finally:
            self._storing = None

    def _ready(self) -> list[Turn]:
        """Those in front who have something, up to the first who has not."""
        batch: list[Turn] = []
        self._drop_gone()
        while self._turns and self._turns[0].is_ready and len(batch) < TOGETHER:
            batch.append(self._turns.popleft())
            self._drop_gone()
        return batch

    async def _store_batch(self, batch: list[Turn]) -> None:
        try:
            await self._receive(*(one for turn in batch for one in turn.arrivals))
        except Exception as error:  # noqa: BLE001 - it goes to whoever waits for it
            is_about_all = len(batch) == 1 or isinstance(error, Wait | StoreUnusable)
            for turn in batch:
                await _end(turn, self._receive if not is_about_all else None, error)
            return
        for turn in batch:
            if not turn.stored.done():
                turn.stored.set_result(None)


async def _end(turn: Turn, receive: Receive | None, error: Exception) -> None:
    """Tell who waits that it failed; after one more try alone, where there is `receive`."""
    if receive is not None:
        try:
            await receive(*turn.arrivals)
        except Exception as alone:  # noqa: BLE001 - as above
            error = alone
        else:
            turn.stored.set_result(None)
            return
    turn.stored.set_exception(error)
    # It may be that nobody waits any more.
    turn.stored.exception()
