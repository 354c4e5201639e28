"""How often somebody is told in a row that they were not understood: then nothing, until they rest. Pure.

Rule: two machines that take each other's complaints for words end by themselves.
"""

from collections import deque
from typing import Final

MOST: Final = 5
"""Complaints that somebody gets in a room within `WITHIN_S`."""
WITHIN_S: Final = 60.0
KEPT: Final = 10_000


class Patience:
    """Counts complaints by whom they are for."""

    def __init__(self) -> None:
        self._told: dict[object, deque[float]] = {}

    def has_ended(self, who: object, now: float) -> bool:
        """Whether they were told often enough lately; if not, this counts as once more."""
        if who not in self._told and len(self._told) >= KEPT:
            self._told.clear()
        times = self._told.setdefault(who, deque(maxlen=MOST))
        if len(times) == MOST and now - times[0] < WITHIN_S:
            return True
        times.append(now)
        return False
