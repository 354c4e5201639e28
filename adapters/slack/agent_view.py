"""
The bot as Slack's agent view shows it: what is suggested, and what somebody looks at meanwhile.

Rule 1: what a workspace's plan or the app's scopes lack is not asked for twice, and nobody is told.
Rule 2: what somebody looks at goes along with what they say in private, by itself and named as such: it
        is what they had before them, not what they said. It is forgotten after a while.

https://docs.slack.dev/ai/agents: prompts are set without a thread, and every message roots one.
"""

import logging
from collections import OrderedDict
from dataclasses import replace
from typing import Final

from adapters.slack.calling import Calls
from adapters.slack.ear import Prompts
from adapters.slack.errors import NotPermitted
from adapters.slack.payloads import Json, channel_of, fields, rows, text_of, user_id
from adapters.slack.presses import cut
from bot.errors import HeadwayError, Wait
from bot.ports.chat import Incoming
from bot.ports.clock import Clock
from bot.ports.looking import LOOKED_AT

log = logging.getLogger(__name__)

KEPT_S: Final = 900.0
PEOPLE_MOST: Final = 10_000
PROMPTS_MOST: Final = 4
LABEL_MOST: Final = 75
MESSAGE_MOST: Final = 1_000
_CHANNEL: Final = "slack#/types/channel_id"
_MESSAGE: Final = "slack#/types/message_context"


class AgentView:
    """Suggestions, and what people look at."""

    def __init__(self, calls: Calls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock
        self._off: set[str] = set()
        self._looked: OrderedDict[tuple[str, str], tuple[float, str]] = OrderedDict()

    async def suggest(self, workspace: str, channel: str, prompts: Prompts) -> None:
        """Set the suggestions of a conversation. Raises Wait."""
        if workspace in self._off or not channel or not prompts.each:
            return
        each = [
            {"title": cut(label, LABEL_MOST), "message": cut(message, MESSAGE_MOST)}
            for label, message in prompts.each[:PROMPTS_MOST]
        ]
        try:
            await self._calls.call(
                workspace,
                "assistant.threads.setSuggestedPrompts",
                what="Nothing can be suggested",
                channel_id=channel,
                prompts=each,
                title=cut(prompts.title, LABEL_MOST) or None,
            )
        except Wait:
            raise
        except HeadwayError as error:
            if isinstance(error, NotPermitted) or getattr(error, "code", "") not in _PASSING:
                self._off.add(workspace)
            log.info("Nothing is suggested in %s: %s", workspace, error)

    def looks_at(self, workspace: str, user: str, context: Json) -> None:
        """Somebody looks at something; at nothing that has a channel: it is forgotten."""
        key, channel = (workspace, user), channel_in(context)
        self._looked.pop(key, None)
        if user and channel:
            self._looked[key] = (self._clock.now(), channel)
        while len(self._looked) > PEOPLE_MOST:
            self._looked.popitem(last=False)

    def with_context(self, message: Incoming, channel: str, name: str) -> Incoming:
        """A private message with the channel that its sender has before them; `name` where known."""
        if not channel or not message.place.room.startswith("D"):
            return message
        shown = f"{channel} #{name}" if name else channel
        return replace(message, form=(*message.form, (LOOKED_AT, shown)))

    def channel_before(self, event: Json, workspace: str) -> str:
        """The channel that the sender of a private message has before them; empty: none is known."""
        if "app_context" in event:
            return channel_in(fields(event.get("app_context")))
        at, channel = self._looked.get((workspace, user_id(event.get("user"))), (0.0, ""))
        return channel if self._clock.now() - at < KEPT_S else ""

    def forget(self, workspace: str) -> None:
        """The app was installed anew, or is no longer."""
        self._off.discard(workspace)


def channel_in(context: Json) -> str:
    """The channel that a context names; empty where it names none."""
    for entity in rows(context.get("entities"), 20):
        kind, value = text_of(entity.get("type")), entity.get("value")
        if kind == _CHANNEL and channel_of(value):
            return channel_of(value)
        if kind == _MESSAGE and channel_of(fields(value).get("channel_id")):
            return channel_of(fields(value).get("channel_id"))
    return ""


_PASSING: Final = frozenset({"channel_not_found", "invalid_thread_ts", "message_not_found"})
"""Of this conversation alone."""
