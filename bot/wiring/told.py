"""A journal that tells what was written to it, and when it has left something to send."""

from collections.abc import Callable
from typing import Any

from bot.ports.journal import Applied


class Told:
    """Tells `heard` of each commit, and rings `posted` after one that left something to send."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.posted: Callable[[], None] = _nobody
        self.heard: list[Callable[[Applied], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def open(self, *args: Any, **kwargs: Any) -> Applied:
        return self._ring(await self._journal.open(*args, **kwargs))

    async def commit(self, *args: Any, **kwargs: Any) -> Applied:
        return self._ring(await self._journal.commit(*args, **kwargs))

    def _ring(self, applied: Applied) -> Applied:
        for hear in self.heard:
            hear(applied)
        if applied.instructions:
            self.posted()
        return applied


def _nobody() -> None:
    pass
