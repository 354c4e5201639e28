"""
What is new, asked of the homeserver: one answer of /sync.

Rule 1: an answer that takes too long is cut; one that repeats old ones is not taken.
Rule 2: the first one after a start tells the state of every room, which nio keeps nowhere.
"""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlencode

import nio

from adapters.matrix import wire
from adapters.matrix.freshness import Freshness, stale
from adapters.matrix.invites import CLAIM
from adapters.matrix.parse import Json
from adapters.matrix.reading import position_of, rooms_of

POLL_S: Final = 30.0
LATE_S: Final = 15.0
"""An answer comes that much later than asked for, or never."""
WHOLE_S: Final = 300.0
SHORT_MOST: Final = 3
"""First answers that lack a room before one is taken as it is."""
FILTER: Final = {
    "presence": {"types": []},
    "account_data": {"types": []},
    # Our own typing would end every wait.
    "room": {
        "ephemeral": {"types": ["m.receipt"]},
        "account_data": {"types": [CLAIM]},
        "timeline": {"limit": 50},
    },
}


class Asking:
    """Asks for one client."""

    def __init__(
        self,
        client: nio.AsyncClient,
        ready: Callable[[], Awaitable[None]],
        *,
        poll_s: float = POLL_S,
        late_s: float = LATE_S,
    ) -> None:
        """`ready` is called before each look, as `Session.ready`; `poll_s`, `late_s`: as above."""
        self._client, self._ready = client, ready
        self._poll_s, self._late_s = poll_s, late_s
        self._freshness = Freshness(poll_s)
        self._short_left = SHORT_MOST

    async def answer(self, since: str | None, *, is_whole: bool) -> tuple[Json, float]:
        """An answer, and how many seconds to wait after it.

        Args:
            since: where we have read to; None: nowhere.
            is_whole: it is the first one after a start.

        Raises:
            HeadwayError: as `errors.unwrap`; Wait, too, where the answer is stale.
        """
        await self._ready()
        began = time.monotonic()
        answer = await wire.call(
            self._client,
            "GET",
            f"/sync?{urlencode(self._wish(since, is_whole=is_whole))}",
            what="What is new cannot be read",
            timeout_s=WHOLE_S if is_whole else self._poll_s + self._late_s,
        )
        token, took_s = position_of(answer.body), time.monotonic() - began
        if is_whole:
            await self._refuse_short(answer.body)
            return answer.body, 0.0
        is_empty = not answer.body.get("rooms") and not answer.body.get("to_device")
        return answer.body, self._freshness.pause_s(since, token, took_s, is_empty=is_empty)

    def _wish(self, since: str | None, *, is_whole: bool) -> dict[str, str]:
        wish = {"filter": json.dumps(FILTER, separators=(",", ":"))}
        if since is None:
            return wish
        if is_whole:
            return wish | {"since": since, "timeout": "0", "full_state": "true"}
        return wish | {"since": since, "timeout": str(int(self._poll_s * 1000))}

    async def _refuse_short(self, answer: Json) -> None:
        """A first answer without all of our rooms is an old one: rooms would stay unknown."""
        ours = await wire.call(self._client, "GET", "/joined_rooms", what="Rooms cannot be read")
        rooms = ours.body.get("joined_rooms")
        told = {room for room, _ in rooms_of(answer, "join")}
        if isinstance(rooms, list) and not told.issuperset(map(str, rooms)) and self._short_left:
            self._short_left -= 1
            raise stale()
