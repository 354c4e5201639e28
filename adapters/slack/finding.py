"""
Our own messages of a thread or a channel, looked through for the one that was sent with a key.

Rule 1: Slack knows no key of ours; each post carries its own in its metadata.
Rule 2: where it was to be said is gone, or the bot may not read there: nothing of it is there.

https://docs.slack.dev/messaging/message-metadata
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.slack.calling import Calls
from adapters.slack.ids import message_id, ts_of
from adapters.slack.payloads import METADATA, fields, rows, text_of
from adapters.slack.payloads import ts as ts_in
from adapters.slack.people import Home
from bot.errors import Refused, Wait
from bot.ports.chat import Place

PAGES: Final = 10
"""Pages that are looked through where nobody says since when."""
PAGES_MOST: Final = 100
"""Pages since then; who posts more in that time is asked again later."""
SKEW_S: Final = 120.0
"""So much may our clock be ahead of Slack's."""
GONE: Final = frozenset({"thread_not_found", "message_not_found"})


@dataclass(frozen=True, slots=True)
class Found:
    """A message that was sent with a key. `of`: it and the files that go with it."""

    id: str
    of: int = 1


def mark(key: str, of: int = 1) -> dict[str, Any]:
    """The metadata of a message."""
    return {"event_type": METADATA, "event_payload": {"key": key, "part": 0, "of": of}}


def mark_of(message: Mapping[str, Any]) -> tuple[str, int]:
    """The key that a message was sent with, and how many parts it has; empty for what is none of ours."""
    metadata = fields(message.get("metadata"))
    if text_of(metadata.get("event_type")) != METADATA:
        return "", 0
    payload = fields(metadata.get("event_payload"))
    of = payload.get("of", 1)
    return text_of(payload.get("key")), of if isinstance(of, int) else 1


def is_ours(message: Mapping[str, Any], home: Home) -> bool:
    """Whether our own bot posted it."""
    by_user = bool(home.bot_user) and message.get("user") == home.bot_user
    return by_user or (bool(home.bot) and message.get("bot_id") == home.bot)


async def found(
    calls: Calls, home: Home, place: Place, key: str, since: float, *, but: str = ""
) -> Found | None:
    """The message that was sent with `key`, not before `since`; None: there is none.

    Args:
        home: who we are: another Headway has keys like ours.
        but: id of one that does not count.

    Raises:
        Wait: Slack cannot be asked at the moment, or there is too much to look through.
        Refused: the bot may not read there.
    """
    root = ts_of(place)
    where: dict[str, Any] = {"channel": place.room, "ts": root or None}
    where["oldest"] = f"{max(since - SKEW_S, 0.0):.6f}" if since > SKEW_S else None
    method = "conversations.replies" if root else "conversations.history"
    what, number, is_whole = "What was said there cannot be looked up", 0, False
    try:
        async for page in calls.pages(
            place.workspace, method, what=what, include_all_metadata=True, **where
        ):
            for message in rows(page.get("messages"), 1_000):
                id = message_id(place.room, ts_in(message.get("ts")))
                of_key, of = mark_of(message)
                if of_key == key and id != but and is_ours(message, home):
                    return Found(id, of)
            number += 1
            if number >= (PAGES if since <= SKEW_S else PAGES_MOST):
                break
        else:
            is_whole = True
    except Refused as error:
        if error.code not in GONE:
            raise
        is_whole = True
    if is_whole and root:
        # What its thread did not take, though it may be read still, was said in the channel.
        return await found(calls, home, replace(place, thread=""), key, since, but=but)
    if is_whole or since <= SKEW_S:
        return None
    raise Wait(f"{what}: too much was said since. It is tried again.")
