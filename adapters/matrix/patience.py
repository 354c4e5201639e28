"""
Trying again: as late as the server says, else from 1 s on and up to 60 s, never at once twice.

Rule: whatever waits here is told to whoever looks after the connection, and the session is renewed
where it has ended.
"""

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from adapters.matrix.errors import LoggedOut
from bot.errors import HeadwayError, Refused, Wait
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")
Renew = Callable[[LoggedOut], Awaitable[None]]

FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0


def pause_s(failures: int, error: HeadwayError | None = None) -> float:
    """How long to wait after that many failures in a row, the last of them `error`."""
    told = error.retry_after_s if isinstance(error, Wait) else None
    if told is not None and not isinstance(error, LoggedOut):
        return max(told, 0.1)
    most = float(min(FIRST_S * 2 ** min(failures - 1, 10), LONGEST_S))
    # A part of it at random: not everybody comes back in the same second.
    return most * (0.75 + random.random() / 4)


class Patience:
    """Carries a call out in the end."""

    def __init__(self, clock: Clock, renew: Renew, trouble: Callable[[str], None]) -> None:
        """`renew` logs in again; `trouble` is told why nothing is heard."""
        self._clock = clock
        self._renew = renew
        self._trouble = trouble

    async def until_done(
        self, call: Callable[[], Awaitable[T]], *, takes_no: bool = False, name: str = "It"
    ) -> T:
        """What the call returns, once it does.

        Args:
            takes_no: a refusal is tried again, too.

        Raises:
            Refused: unless `takes_no`.
        """
        failures = 0
        while True:
            try:
                return await call()
            except Refused as error:
                if not takes_no:
                    raise
                failures += 1
                last: HeadwayError = error
            except HeadwayError as error:
                failures += 1
                last = error
            if isinstance(last, LoggedOut) and await self._renewed(last) and failures == 1:
                continue
            self._trouble(str(last))
            wait_s = pause_s(failures, last)
            log.info("%s is tried again in %.1f s: %s", name, wait_s, last)
            await self._clock.sleep(wait_s)

    async def _renewed(self, error: LoggedOut) -> bool:
        try:
            await self._renew(error)
        except HeadwayError as why:
            log.warning("The session cannot be renewed: %s", why)
            return False
        return True
