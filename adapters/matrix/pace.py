"""
How much an account may send: the homeserver says it, this remembers it. Pure but for the clock given.

Rule 1: until a homeserver limits us nothing is held back but edits of a status that tell nothing new.
Rule 2: after that we count as the server does (a bucket that leaks at a rate) with the rate that its
        answers imply; after a long calm all is free again.
Rule 3: what people read waits only as long as the server says. Edits leave it room, signs leave it
        more.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

UNSAID_S: Final = 5.0
"""Between two events, where a server limits us and does not say how long: stock Synapse's 0.2/s."""
SLOWEST_S: Final = 60.0
SILENCE_S: Final = 30.0
CALM_S: Final = 600.0
"""Without a refusal for so long, nothing is known of a limit any more."""
REMEMBERED: Final = 64
"""Events of the past by which the size of the bucket is guessed."""
UNCHANGED_S: Final = 60.0
"""Between two edits of a status that is in the same state."""
UNCHANGED_LATER_S: Final = 300.0
FIRST_S: Final = 3600.0
"""How long a status counts as new."""
EDITS_MOST: Final = 100
"""Edits of one message; a new one is begun after them."""


class Rank(IntEnum):
    """What goes first. The value is how many events must be free beyond its own."""

    POST = 0
    EDIT = 1
    SIGN = 2


class Pace:
    """What one account may send now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Know no limit yet. `clock` gives seconds that never go back."""
        self._clock = clock
        self._sent: deque[float] = deque(maxlen=REMEMBERED)
        self._interval_s = 0.0
        self._capacity = 1.0
        self._not_before = 0.0
        self._refused_at: float | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the server has refused something lately."""
        if self._refused_at is not None and self._clock() - self._refused_at > CALM_S:
            self._refused_at = None
            self._interval_s = 0.0
        return self._refused_at is not None

    @property
    def interval_s(self) -> float:
        """Seconds between two events that the server lets through for long; 0 where not known."""
        return self._interval_s if self.is_limited else 0.0

    def wait_s(self, rank: Rank) -> float:
        """Seconds until one of this rank may be sent; 0: now."""
        if not self.is_limited:
            return 0.0
        now = self._clock()
        said = max(self._not_before - now, 0.0)
        if rank is Rank.POST:
            return said
        spare = min(float(rank), self._capacity - 1)
        over = self._level(now) + 1 + spare - self._capacity
        return max(said, over * self._interval_s)

    def sent(self) -> None:
        """One event was taken by the server."""
        self._sent.append(self._clock())

    def refused(self, retry_after_s: float | None, asked_at: float) -> None:
        """The server took one for too much.

        Args:
            retry_after_s: what it said; counted from when it was asked, as Synapse holds its answer
                back for a while.
            asked_at: by our clock, when it was asked.
        """
        was_limited = self.is_limited
        wait_s = min(UNSAID_S if retry_after_s is None else retry_after_s, SLOWEST_S)
        free_at = asked_at + wait_s
        # A bucket that is full after an event has room for the next one after one interval at most.
        # After a silence of ours it is somebody else's events on the account that fill it.
        since_s = free_at - self._sent[-1] if self._sent else wait_s
        seen = since_s if since_s <= SILENCE_S else wait_s
        self._interval_s = min(max(self._interval_s, seen, wait_s, 0.1), SLOWEST_S)
        if not was_limited:
            self._capacity = max(1.0, float(round(self._level(asked_at))))
        now = self._clock()
        self._not_before = max(self._not_before, now + wait_s)
        self._refused_at = now

    def _level(self, now: float) -> float:
        """Events in the bucket, as the server counts."""
        level, before = 0.0, 0.0
        for at in self._sent:
            level = max(level - (at - before) / self._interval_s, 0.0) + 1
            before = at
        return max(level - (now - before) / self._interval_s, 0.0)


@dataclass
class _Shown:
    """A message that is edited in place."""

    state: tuple[str, ...]
    text: str
    begun_at: float
    edited_at: float
    edits: int = 0


class Edits:
    """When a message that is edited in place is edited again."""

    def __init__(self, clock: Callable[[], float], most: int = 4096) -> None:
        """Know no message yet; of more than `most` the oldest are forgotten."""
        self._clock = clock
        self._most = most
        self._shown: dict[str, _Shown] = {}
        self._gone: dict[str, None] = {}

    def wait_s(self, event: str, state: tuple[str, ...]) -> float:
        """Seconds until `event` may be edited to say something of this state; 0: now."""
        shown = self._shown.get(event)
        if shown is None or shown.state != state:
            return 0.0
        now = self._clock()
        is_new = now - shown.begun_at < FIRST_S
        return max(shown.edited_at + (UNCHANGED_S if is_new else UNCHANGED_LATER_S) - now, 0.0)

    def says(self, event: str, text: str) -> bool:
        """Whether it says exactly this already."""
        shown = self._shown.get(event)
        return shown is not None and shown.text == text

    def is_worn(self, event: str) -> bool:
        """Whether a new message is better: it was edited very often, or is not there any more."""
        shown = self._shown.get(event)
        return event in self._gone or (shown is not None and shown.edits >= EDITS_MOST)

    def shown(self, event: str, state: tuple[str, ...], text: str) -> None:
        """It says this now: sent or edited."""
        now = self._clock()
        before = self._shown.pop(event, None)
        begun_at = before.begun_at if before else now
        edits = before.edits + 1 if before else 0
        self._shown[event] = _Shown(state, text, begun_at, now, edits)
        while len(self._shown) > self._most:
            del self._shown[next(iter(self._shown))]

    def gone(self, event: str) -> None:
        """It is not there any more."""
        self._shown.pop(event, None)
        self._gone[event] = None
        while len(self._gone) > self._most:
            del self._gone[next(iter(self._gone))]
