"""
How long somebody is answered in a row: then nothing, until they rest. Pure.

Rule: two machines that take each other's words for words to them end by themselves. One is told a few times
that it was not understood; it makes a few turns begin without calling the bot; then it is let be.
"""

from collections import deque
from typing import Final

MOST: Final = 5
"""Complaints that somebody gets in a room within `WITHIN_S`."""
WITHIN_S: Final = 60.0
STRANGERS: Final = (10, 60.0)
"""Answers to strangers in a room, and within how many seconds: more are a crowd, and its noise ours."""
UNCALLED: Final = ((6, 60.0), (30, 900.0))
"""Turns that somebody makes begin in a room without calling the bot, and within how many seconds: more
is no person who reads the answers."""
KEPT: Final = 10_000


class Patience:
    """Counts by whom it is for."""

    def __init__(
        self, most: int = MOST, within_s: float = WITHIN_S, *, lasts: bool = False
    ) -> None:
        """`lasts`: what comes while it has ended counts, too, so that it takes a rest to end that."""
        self._most, self._within_s, self._lasts = most, within_s, lasts
        self._told: dict[object, deque[float]] = {}

    def has_ended(self, who: object, now: float) -> bool:
        """Whether they were answered often enough lately; if not, this counts as once more."""
        if who not in self._told and len(self._told) >= KEPT:
            self._told.clear()
        times = self._told.setdefault(who, deque(maxlen=self._most))
        has_ended = len(times) == self._most and now - times[0] < self._within_s
        if self._lasts or not has_ended:
            times.append(now)
        return has_ended

    def ends(self, who: object, now: float) -> bool:
        """Whether they are answered no more from now on: what was counted last was the last one."""
        times = self._told.get(who)
        if times is None or len(times) < self._most:
            return False
        return now - times[0] < self._within_s


class Chatter:
    """Notices who goes on and on without calling the bot."""

    def __init__(self) -> None:
        self._patience = [Patience(most, within_s, lasts=True) for most, within_s in UNCALLED]
        self._quiet = Patience(1, UNCALLED[-1][1], lasts=True)

    def is_endless(self, who: object, said_at: float) -> bool:
        """Whether what they said then is left alone."""
        ended = [one.has_ended(who, said_at) for one in self._patience]
        return any(ended)

    def is_told(self, who: object, said_at: float) -> bool:
        """Whether they were told so lately; if not, this counts as telling them."""
        return self._quiet.has_ended(who, said_at)
