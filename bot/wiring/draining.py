"""
Draining: the process claims nothing more, lets what runs come to its end, sends what is to be sent,
and ends.

Rule: whatever has not ended in time stops between two steps, and is gone on with later.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from bot.chat.delivery import Delivery
from bot.errors import HeadwayError
from bot.wiring.by_room import RoomTurns
from scheduler.control import Request
from scheduler.worker import Worker

log = logging.getLogger(__name__)

OUTBOX_S: Final = 10.0
"""How long what is to be sent may take once nothing runs."""


class Drain:
    """Ends a process's work, for a command line that may be in another process."""

    def __init__(self, worker: Worker, turns: RoomTurns, delivery: Delivery) -> None:
        self._worker, self._turns, self._delivery = worker, turns, delivery
        self._task: asyncio.Task[int] | None = None
        self.done: Callable[[], None] | None = None
        """Ends the process; without one it is not ours to end."""

    async def __call__(self, request: Request) -> dict[str, Any] | None:
        """The answer to a request about draining; None for any other.

        Raises:
            HeadwayError: the process ends with the terminal that it serves.
        """
        match request:
            case {"do": "drain"}:
                if self.done is None:
                    raise HeadwayError(
                        "This Headway belongs to a `headway chat`, and ends with it: leave it "
                        "there with /quit."
                    )
                if self._task is None:
                    timeout_s = float(request.get("timeout_s", 600.0))
                    self._task = asyncio.create_task(self._drain(timeout_s), name="drain")
                return {"turns": len(self._worker.busy)}
            case {"do": "drained"} if self._task is not None:
                return {"turns": await asyncio.shield(self._task)}
            case {"do": "draining"}:
                return {"turns": len(self._worker.busy), "is_draining": self._task is not None}
            case _:
                return None

    async def _drain(self, timeout_s: float) -> int:
        """Returns how many turns had not ended."""
        left = len(self._worker.busy)
        log.warning("Draining: %d turns may end, within %g s.", left, timeout_s)
        try:
            left = await self._worker.drain(timeout_s)
            if left:
                log.warning("%d turns go on later, from the step where they are.", left)
                self._turns.drain()
            else:
                async with asyncio.timeout(OUTBOX_S):
                    await self._delivery.drain()
        except TimeoutError:
            log.warning("Not all could be sent in %g s; it is sent later.", OUTBOX_S)
        except HeadwayError as error:
            log.warning("Not all could be sent: %s", error)
        finally:
            if self.done is not None:
                self.done()
        return left
