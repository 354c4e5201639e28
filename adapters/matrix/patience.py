"""
Trying again: as late as the server says, else from 1 s on and up to 60 s, never at once twice.

Rule: whatever waits here is told to whoever looks after the connection; the session is renewed where
it has ended, and waits for a person where only a person can mend it.
"""

import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from adapters.matrix.errors import LoggedOut
from adapters.matrix.session import SessionReplaced
from bot.errors import ByOperator, HeadwayError, Refused, StoreUnusable, Wait
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0
LEAST_S: Final = 0.1


class Renewing(Protocol):
    """What of a session is needed to go on after it has ended."""

    async def ready(self) -> None:
        """See to it that it can be used. Raises HeadwayError."""

    async def renew(self) -> None:
        """Return once there is a valid token again. Raises SessionReplaced."""

    async def mended(self, error: ByOperator) -> None:
        """Return once it is worth another try."""


def pause_s(failures: int, error: HeadwayError) -> float:
    """How long to wait after that many failures in a row, the last of them `error`."""
    told = error.retry_after_s if isinstance(error, Wait) else None
    if told is not None:
        return max(told, LEAST_S)
    most = float(min(FIRST_S * 2 ** min(failures - 1, 10), LONGEST_S))
    # A part of it at random: not everybody comes back in the same second.
    return most * (0.75 + random.random() / 4)


class Patience:
    """Carries calls out in the end."""

    def __init__(self, session: Renewing, clock: Clock, trouble: Callable[[str], None]) -> None:
        """`trouble` is told why nothing is heard."""
        self._session = session
        self._clock = clock
        self._trouble = trouble

    async def asked(
        self, call: Callable[[], Awaitable[T]], what: str, *, takes_no: bool = False
    ) -> T:
        """What a call of the homeserver returns, once it does.

        Args:
            takes_no: a refusal is tried again, too.

        Raises:
            Refused: unless `takes_no`.
            SessionReplaced: there is another account now.
        """
        failures = 0
        while True:
            try:
                return await call()
            except SessionReplaced:
                raise
            except HeadwayError as error:
                if isinstance(error, Refused) and not takes_no:
                    raise
                failures += 1
                await self._after(failures, error, what)

    async def stored(self, call: Callable[[], Awaitable[T]], what: str) -> T:
        """What a call of the store returns, once it does, whatever it raised before."""
        failures = 0
        while True:
            try:
                return await call()
            except HeadwayError as error:
                failures += 1
                await self._pause(failures, error, what)

    async def _after(self, failures: int, error: HeadwayError, what: str) -> None:
        if isinstance(error, LoggedOut):
            self._trouble(str(error))
            await self._session.renew()
            if failures > 1:
                await self._pause(failures, error, what)
        elif isinstance(error, ByOperator) and not isinstance(error, StoreUnusable):
            self._trouble(str(error))
            await self._session.mended(error)
        else:
            await self._pause(failures, error, what)

    async def _pause(self, failures: int, error: HeadwayError, what: str) -> None:
        self._trouble(str(error))
        wait_s = pause_s(failures, error)
        log.info("%s: tried again in %.1f s: %s", what, wait_s, error)
        await self._clock.sleep(wait_s)
