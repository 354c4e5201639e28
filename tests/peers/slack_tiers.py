"""
How often Slack lets an app call each method: tiers a minute in a workspace, a post a second in a channel.

A front that `is_limited` answers 429 to what is above them. Slack documents the tiers; of posts it says
that one a second is allowed, and short bursts above that.
"""

import math
from collections import defaultdict, deque
from typing import Final

TIERS: Final = {2: 20, 3: 50, 4: 100}
"""Calls a minute."""
METHODS: Final = {
    "conversations.list": 2, "users.list": 2, "usergroups.list": 2, "usergroups.users.list": 2,
    "reactions.remove": 2, "chat.startStream": 2, "chat.stopStream": 2,
    "apps.connections.open": 3, "chat.update": 3, "chat.delete": 3, "conversations.history": 3,
    "conversations.replies": 3, "conversations.info": 3, "conversations.open": 3,
    "conversations.join": 3, "reactions.add": 3, "reactions.get": 3, "bots.info": 3, "team.info": 3,
    "users.lookupByEmail": 3,
    "chat.postEphemeral": 4, "conversations.members": 4, "users.info": 4, "views.open": 4,
    "views.push": 4, "views.publish": 4, "views.update": 4, "files.info": 4,
    "files.getUploadURLExternal": 4, "files.completeUploadExternal": 4,
    "assistant.threads.setSuggestedPrompts": 4, "assistant.threads.setTitle": 4,
    "chat.appendStream": 4,
}  # fmt: skip
BURST: Final = 5
"""Posts at once in a channel, before one a second is asked for."""
MINUTE_S: Final = 60.0


class Tiers:
    """What was called of late."""

    def __init__(self) -> None:
        self._called: dict[tuple[str, str], deque[float]] = defaultdict(deque)
        self._posted: dict[str, tuple[float, float]] = {}

    def wait_s(self, method: str, team: str, channel: str, now: float) -> int:
        """Whole seconds until it may be called again; 0: it is called now, and counts."""
        if method == "chat.postMessage":
            return self._post_wait_s(channel, now)
        if method not in METHODS:
            return 0
        called = self._called[method, team]
        while called and called[0] <= now - MINUTE_S:
            called.popleft()
        if len(called) >= TIERS[METHODS[method]]:
            return max(1, math.ceil(called[0] + MINUTE_S - now))
        called.append(now)
        return 0

    def _post_wait_s(self, channel: str, now: float) -> int:
        left, at = self._posted.get(channel, (float(BURST), now))
        left = min(float(BURST), left + now - at)
        if left < 1.0:
            self._posted[channel] = (left, now)
            return 1
        self._posted[channel] = (left - 1.0, now)
        return 0
