"""Time, as the application is given it."""

from typing import Protocol


class Clock(Protocol):
    """Wall time for rows, and sleeping; a test's clock may run faster than the wall's."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of this clock's time; 0 yields once."""
