"""Death by SIGKILL at a passing of a point, inside the process that is to die."""

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

DIED: Final = "died"


class Death:
    """Comes at the count-th passing of a point, once in the life of a state folder."""

    def __init__(self, point: str, count: int, mark: Path) -> None:
        self._point, self._left, self._mark = point, count, mark

    def at(self, point: str, *, counts: bool = True) -> None:
        """Pass a point, or die here."""
        if point != self._point or not counts or self._mark.exists():
            return
        self._left -= 1
        if self._left == 0:
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def then(method: Callable[..., Awaitable[Any]], after: Callable[[], None]) -> Any:
    """The same method, and something after each of its calls."""

    async def watched(self: Any, *args: Any, **more: Any) -> Any:
        result = await method(self, *args, **more)
        after()
        return result

    return watched
