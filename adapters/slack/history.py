"""
What messages of Slack say that is not told with what came: the message under a reaction, or one of ours.

Rule 1: Slack lets many apps read only a few messages a minute, so what came is remembered, and only what
        is not remembered is asked for.
Rule 2: what is asked for has a budget of its own, which leaves room for the look-ups of posts.
Rule 3: what Slack refuses to show is as if it were not there; what it cannot show at the moment is Wait.

https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

from adapters.slack.calling import Calls, Json
from adapters.slack.errors import NotPermitted
from adapters.slack.ids import message_id, parted
from adapters.slack.payloads import rows, text_of, ts
from bot.errors import Refused, Wait

REMEMBERED: Final = 10_000
"""Messages of all channels together."""
MARKS_MOST: Final = 40_000
"""Characters of a message, as Slack has them."""
READS_A_MINUTE: Final = 20
"""Of a workspace; the limit of all calls of the method is 50 a minute, of many apps 1."""
MINUTE_S: Final = 60.0
STONE: Final = "tombstone"
"""Subtype of what stands in the place of a deleted message under which a thread hangs."""
_KEPT_FIELDS: Final = (
    "type", "subtype", "user", "bot_id", "app_id", "team", "user_team", "source_team", "username",
    "user_profile", "bot_profile", "text", "ts", "thread_ts", "metadata", "edited",
)  # fmt: skip


class History:
    """Messages of the channels of an app's workspaces."""

    def __init__(self, calls: Calls, clock: Callable[[], float]) -> None:
        """Know none yet. `clock`: seconds that never go back."""
        self._calls, self._clock = calls, clock
        self._known: OrderedDict[tuple[str, str], Json] = OrderedDict()
        self._reads: dict[str, deque[float]] = {}
        self._not_before: dict[str, float] = {}

    def saw(self, workspace: str, channel: str, message: Json) -> None:
        """A message came, or was edited, or is one that we have just posted."""
        stamp = ts(message.get("ts"))
        if message.get("subtype") == STONE:
            self.gone(workspace, message_id(channel, stamp))
            return
        if not stamp or len(text_of(message.get("text"))) > MARKS_MOST:
            return
        kept = {name: message[name] for name in _KEPT_FIELDS if name in message}
        key = (workspace, message_id(channel, stamp))
        self._known.pop(key, None)
        self._known[key] = kept
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def gone(self, workspace: str, message: str) -> None:
        """A message was deleted: nothing of it is remembered."""
        self._known.pop((workspace, message), None)

    def forget(self, workspace: str) -> None:
        """The app was uninstalled there."""
        for key in [key for key in self._known if key[0] == workspace]:
            del self._known[key]

    def remembered(self, workspace: str, message: str) -> Json | None:
        """The message of that id, as Slack told it; None: it is not remembered."""
        return self._known.get((workspace, message))

    async def message(self, workspace: str, message: str) -> Json | None:
        """The message of that id, as Slack tells it; None: there is none that the bot may read.

        Raises:
            Wait: it is not remembered, and Slack cannot be asked at the moment.
            ByOperator: the workspace's token is no good.
        """
        known = self.remembered(workspace, message)
        if known is not None:
            return known
        channel, stamp = parted(message)
        self._take(workspace)
        found = await self._asked(workspace, channel, stamp)
        if found is not None:
            self.saw(workspace, channel, found)
        return found

    async def _asked(self, workspace: str, channel: str, stamp: str) -> Json | None:
        # Asked for a thread by the timestamp of any message in it, Slack gives that message.
        given: dict[str, Any] = {
            "channel": channel, "ts": stamp, "oldest": stamp, "latest": stamp,
            "inclusive": True, "include_all_metadata": True, "limit": 2,
        }  # fmt: skip
        try:
            answer = await self._calls.call(
                workspace, "conversations.replies", what="A message cannot be read", **given
            )
        except (Refused, NotPermitted):
            return None
        except Wait as error:
            wait_s = error.retry_after_s or 0.0
            self._not_before[workspace] = self._clock() + wait_s
            raise
        messages = rows(answer.get("messages"), 1_000)
        found = next((one for one in messages if one.get("ts") == stamp), {})
        return found if found and found.get("subtype") != STONE else None

    def _take(self, workspace: str) -> None:
        """Count a read. Raises Wait where there is no room for it."""
        now = self._clock()
        reads = self._reads.setdefault(workspace, deque())
        while reads and now - reads[0] >= MINUTE_S:
            reads.popleft()
        wait_s = self._not_before.get(workspace, now) - now
        if len(reads) >= READS_A_MINUTE:
            wait_s = max(wait_s, reads[0] + MINUTE_S - now)
        if wait_s > 0:
            raise Wait(
                "Messages that Slack has to be asked for are read in a while. It is tried again.",
                retry_after_s=wait_s,
            )
        reads.append(now)
