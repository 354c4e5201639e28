"""
Small things that are done beside what is acknowledged, and may be lost.

Rule: so many at a time; the next is left out. What goes wrong is logged and no more.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from bot.errors import HeadwayError

log = logging.getLogger(__name__)

MOST: Final = 100


class Errands:
    """Those under way. Close them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, errand: Coroutine[Any, Any, object]) -> bool:
        """Begin one; False where there are too many."""
        if len(self._tasks) >= self._most:
            errand.close()
            log.warning("Too much at once: %s is left out.", name)
            return False
        task = asyncio.create_task(_run(name, errand), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(name: str, errand: Coroutine[Any, Any, object]) -> None:
    try:
        await errand
    except HeadwayError as error:
        log.info("%s: %s", name, error)
    except Exception:
        log.exception("%s has failed", name)
