"""
How much may be called: Slack's limits of methods, of channels, and of edits. Pure but for the clock given.

Rule 1: a limit is counted per workspace and method, of posts per channel, too; what Slack says itself,
        when it refuses, counts before all.
Rule 2: of the edits a minute some are kept for cards and results; a status is edited at most every three
        seconds, and says then what is true then.

https://docs.slack.dev/apis/web-api/rate-limits
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from adapters.slack.errors import UNSAID_S

MINUTE_S: Final = 60.0
TIERS: Final[Mapping[str, int]] = {
    "conversations.list": 20, "users.list": 20, "usergroups.list": 20, "usergroups.users.list": 20,
    "chat.delete": 50, "conversations.history": 50, "conversations.replies": 50,
    "conversations.info": 50, "conversations.open": 50, "conversations.join": 50,
    "reactions.add": 50, "reactions.remove": 50, "users.lookupByEmail": 50,
    "chat.getPermalink": 100, "chat.postEphemeral": 100, "conversations.members": 100,
    "users.info": 100, "files.info": 100, "files.getUploadURLExternal": 100,
    "files.completeUploadExternal": 100, "views.open": 100, "views.update": 100,
    "views.publish": 100, "assistant.threads.setStatus": 600,
}  # fmt: skip
"""Calls a minute of a workspace."""
POST: Final = "chat.postMessage"
UPDATE: Final = "chat.update"
EDITS: Final = 40
"""Edits a minute of a workspace; Slack has 50."""
EDITS_OF_STATUS: Final = 30
"""Of them for statuses: what is left is for cards."""
STATUS_S: Final = 3.0
"""Between two edits of one status."""
POSTS_BURST: Final = 4
"""Posts that a channel takes at once; after them one a second."""
POST_S: Final = 1.0
REMEMBERED: Final = 4_096

Key = tuple[str, str, str]
K = TypeVar("K")
V = TypeVar("V")


class Pace:
    """What may be called now, by workspace. A `Budget` for all calls."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Know of no call yet. `clock` gives seconds that never go back."""
        self._clock = clock
        self._calls: OrderedDict[Key, deque[float]] = OrderedDict()
        self._not_before: OrderedDict[Key, float] = OrderedDict()
        self._edited: OrderedDict[str, float] = OrderedDict()

    def take(self, workspace: str, method: str, channel: str) -> float:
        """Seconds until it may be called; 0: it may now, and is counted."""
        now, key = self._clock(), _key(workspace, method, channel)
        wait_s = max(self._refused_s(key, now), self._limit_s(key, now))
        if wait_s > 0:
            return wait_s
        calls = self._of(key)
        calls.append(now)
        return 0.0

    def refused(
        self, workspace: str, method: str, channel: str, retry_after_s: float | None
    ) -> None:
        """Slack took one for too much; it says for how long, or None."""
        wait_s = UNSAID_S if retry_after_s is None else retry_after_s
        key = _key(workspace, method, channel)
        until = self._clock() + max(wait_s, 1.0)
        _keep(self._not_before, key, max(until, self._not_before.get(key, 0.0)))

    def status_s(self, workspace: str, message: str, *, is_resting: bool = False) -> float:
        """Seconds until the status in this message may be edited; 0: now.

        Args:
            is_resting: it tells of a state that lasts: it goes before those of goals at work.
        """
        now, key = self._clock(), _key(workspace, UPDATE, "")
        since_s = now - self._edited[message] if message in self._edited else STATUS_S
        full_s = _full_s(self._of(key), EDITS if is_resting else EDITS_OF_STATUS, now)
        return max(STATUS_S - since_s, full_s, self._refused_s(key, now), 0.0)

    def edited(self, message: str) -> None:
        """The status in this message was sent or edited."""
        _keep(self._edited, message, self._clock())

    def _refused_s(self, key: Key, now: float) -> float:
        until = self._not_before.get(key)
        if until is not None and until <= now:
            del self._not_before[key]
        return max((until or now) - now, 0.0)

    def _limit_s(self, key: Key, now: float) -> float:
        _, method, _ = key
        calls = self._of(key)
        if method == POST:
            return _bucket_s(calls, now)
        most = EDITS if method == UPDATE else TIERS.get(method, 0)
        return _full_s(calls, most, now) if most else 0.0

    def _of(self, key: Key) -> deque[float]:
        calls = self._calls.get(key)
        if calls is None:
            calls = deque(maxlen=600)
            _keep(self._calls, key, calls)
        return calls


def _key(workspace: str, method: str, channel: str) -> Key:
    return workspace, method, channel if method == POST else ""


def _full_s(calls: deque[float], most: int, now: float) -> float:
    """Seconds until fewer than `most` calls are in the last minute."""
    while calls and calls[0] <= now - MINUTE_S:
        calls.popleft()
    return calls[-most] + MINUTE_S - now if len(calls) >= most else 0.0


def _bucket_s(calls: deque[float], now: float) -> float:
    """Seconds until a bucket that leaks one post at a time has room for another."""
    level, before = 0.0, 0.0
    for at in calls:
        level = max(level - (at - before) / POST_S, 0.0) + 1
        before = at
    level = max(level - (now - before) / POST_S, 0.0)
    if level == 0.0:
        calls.clear()
    return max(level + 1 - POSTS_BURST, 0.0) * POST_S


def _keep(book: OrderedDict[K, V], key: K, value: V) -> None:
    """Note it as the newest; of too many the oldest are forgotten."""
    book.pop(key, None)
    book[key] = value
    while len(book) > REMEMBERED:
        book.popitem(last=False)
