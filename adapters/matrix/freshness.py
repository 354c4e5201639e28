"""
Whether a homeserver's answers are news. Pure.

Rule 1: a position that was there before comes from a stale answer: a cache, a server put back. It is not
        gone back to.
Rule 2: an answer that has nothing new comes when the time we gave is over; one that comes at once, again
        and again, is no answer, and asking on would be a hot loop.
"""

from collections import OrderedDict
from typing import Final

from bot.errors import Wait

QUICK_S: Final = 1.0
"""Nothing new within it is at once, where half of what we asked for is not less."""
QUICK_MOST: Final = 3
PAST: Final = 500
"""Positions that are remembered."""
IDLE_FIRST_S: Final = 0.1
IDLE_LONGEST_S: Final = 5.0


class Freshness:
    """Looks at the answers of one connection, in their order."""

    def __init__(self, poll_s: float) -> None:
        """`poll_s`: how long the homeserver is asked to wait for news."""
        self._quick_s = min(QUICK_S, poll_s / 2)
        self._past: OrderedDict[str, None] = OrderedDict()
        self._repeated = 0
        self._idle = 0

    def pause_s(self, since: str | None, token: str, took_s: float, *, is_empty: bool) -> float:
        """How long to wait before asking on from `token`, which was asked for from `since`.

        Raises:
            Wait: the answer is stale, and nothing in it counts.
        """
        if token == since:
            self._repeated += 1
            if not is_empty or (took_s < self._quick_s and self._repeated >= QUICK_MOST):
                raise stale()
            return IDLE_FIRST_S if took_s < self._quick_s else 0.0
        if token in self._past:
            raise stale()
        self._repeated = 0
        self._remember(since)
        self._idle = self._idle + 1 if is_empty and took_s < self._quick_s else 0
        if self._idle < QUICK_MOST:
            return 0.0
        return float(min(IDLE_FIRST_S * 2 ** min(self._idle - QUICK_MOST, 10), IDLE_LONGEST_S))

    def _remember(self, token: str | None) -> None:
        if token is None:
            return
        self._past[token] = None
        while len(self._past) > PAST:
            self._past.popitem(last=False)


def stale() -> Wait:
    """What is said of an answer that does not count."""
    return Wait(
        "The homeserver, or a proxy before it, repeats an old answer to /sync. It is asked again; if "
        "that goes on, look for a cache between it and Headway."
    )
