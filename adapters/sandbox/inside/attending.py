"""
Waiting for a child while its output comes, the bot may withdraw it, and its time may run out.

Meanwhile what runs in the background is looked after.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import NamedTuple

from adapters.sandbox.inside.background import Background
from adapters.sandbox.inside.link import Link, ready_of
from adapters.sandbox.inside.processes import Family

_TICK_S = 0.1
BLOCK = 65_536


class Ending(NamedTuple):
    """How a child came to its end: `ended`, `timeout`, `cancelled`, or the guard's sentence."""

    cause: str
    status: int | None
    """Exit code, negative for a signal; None when it was ended by us."""
    left_running: int
    """Processes that were still there when the child itself had ended."""


class Attendant:
    """Attends the children of one session, one at a time."""

    def __init__(self, link: Link, family: Family, background: Background) -> None:
        self._link, self._family, self._background = link, family, background

    def attend(
        self,
        call: int,
        pid: int,
        output: int,
        take: Callable[[bytes], None],
        deadline: float,
        guard: Callable[[], str | None],
    ) -> Ending:
        """Feed a child's output to `take` until it ends, is withdrawn, too late or stopped by `guard`.

        `deadline` is on the monotonic clock. Everything the child left behind is dead on return.

        Raises:
            BotGone: the bot is silent; nothing was killed yet.
        """
        os.set_blocking(output, False)
        watch = os.pidfd_open(pid)
        try:
            cause = self._watch(call, watch, output, take, deadline, guard)
            left_running = self._family.running() if cause == "ended" else 0
            statuses = self._family.end_rest()
            # Nobody is left to write, so this ends with what the pipe still holds.
            while move(output, take):
                pass
        finally:
            os.close(watch)
            os.close(output)
        status = os.waitstatus_to_exitcode(statuses[pid]) if pid in statuses else None
        return Ending(cause, status if cause == "ended" else None, left_running)

    def _watch(
        self,
        call: int,
        watch: int,
        output: int,
        take: Callable[[bytes], None],
        deadline: float,
        guard: Callable[[], str | None],
    ) -> str:
        own = {self._link.fd, watch, output}
        guarded = time.monotonic() + _TICK_S
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "timeout"
            if now >= guarded:
                self._link.check()
                if (broken := guard()) is not None:
                    return broken
                guarded = time.monotonic() + _TICK_S
            ready = ready_of(own | self._background.fds(), min(deadline - now, _TICK_S))
            self._background.look(ready)
            if self._link.fd in ready:
                self._link.take()
                if self._link.is_cancelled(call):
                    return "cancelled"
            if output in ready and move(output, take) is None:
                own.discard(output)
            if watch in ready:
                return "ended"


def move(output: int, take: Callable[[bytes], None]) -> bool | None:
    """Take one block; false where nothing waits, None at the end of the output."""
    with contextlib.suppress(BlockingIOError):
        block = os.read(output, BLOCK)
        if not block:
            return None
        take(block)
        return True
    return False
