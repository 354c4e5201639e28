"""Pages of what Slack lists: cursors, and the history of a channel and of a thread."""

import base64
import binascii
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from tests.peers.localslack import Install

if TYPE_CHECKING:
    from tests.peers.slack_core import Core

Json = dict[str, Any]


def error(code: str, **further: Any) -> Json:
    """What Slack says where it does not do a thing."""
    return {"ok": False, "error": code, **further}


def paged(name: str, items: Sequence[Any], args: Json, default: int) -> Json:
    """A page of `items`, with the cursor of the next."""
    start = 0
    if cursor := args.get("cursor"):
        try:
            start = int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
        except (ValueError, binascii.Error):
            return error("invalid_cursor")
    limit = int(args.get("limit") or default)
    end = start + max(1, limit)
    further = base64.b64encode(f"next:{end}".encode()).decode() if end < len(items) else ""
    return {
        "ok": True, name: list(items[start:end]), "response_metadata": {"next_cursor": further},
    }  # fmt: skip


async def history(front: "Core", install: Install, args: Json) -> Json:
    """conversations.history: the channel's own timeline, newest first."""
    channel = args.get("channel", "")
    if why := _closed(front, install, channel):
        return error(why)
    roots = [
        each for each in front.mirror.of(channel)
        if each.get("thread_ts", each["ts"]) == each["ts"] and each.get("subtype") != "ephemeral"
    ]  # fmt: skip
    return _told(front, channel, [*reversed(roots)], args)


async def replies(front: "Core", install: Install, args: Json) -> Json:
    """conversations.replies: the root, whatever the bounds, and the replies, oldest first."""
    channel, ts = args.get("channel", ""), args.get("ts", "")
    if why := _closed(front, install, channel):
        return error(why)
    if front.mirror.get(channel, ts) is None:
        return error("thread_not_found")
    thread = [
        each for each in front.mirror.of(channel)
        if ts in (each["ts"], each.get("thread_ts")) and each.get("subtype") != "ephemeral"
    ]  # fmt: skip
    return _told(front, channel, thread, args, root=ts)


def _closed(front: "Core", install: Install, channel: str) -> str:
    why = front.world.closed(install, channel)
    return "" if why == "is_archived" else why


def _told(
    front: "Core", channel: str, messages: Sequence[Json], args: Json, root: str = ""
) -> Json:
    try:
        oldest = Decimal(str(args.get("oldest") or 0))
        latest = Decimal(str(args.get("latest") or "99999999999"))
    except InvalidOperation:
        return error("invalid_ts_oldest")
    inclusive = bool(args.get("inclusive"))

    def is_within(ts: str) -> bool:
        at = Decimal(ts)
        return oldest < at < latest or (inclusive and at in (oldest, latest))

    kept = [each for each in messages if each["ts"] == root or is_within(each["ts"])]
    answer = paged("messages", kept, args, 1_000 if root else 100)
    if not answer["ok"]:
        return answer
    with_metadata = bool(args.get("include_all_metadata"))
    answer["messages"] = [
        _shown(front, channel, each, with_metadata) for each in answer["messages"]
    ]
    answer["has_more"] = bool(answer["response_metadata"]["next_cursor"])
    return answer


def _shown(front: "Core", channel: str, message: Json, with_metadata: bool) -> Json:
    shown = {name: value for name, value in message.items() if name != "channel"}
    shown["team"] = front.world.team_of(str(message.get("user", "")))
    metadata = front.world.metadata.get((channel, message["ts"]))
    if metadata:
        # Without the wish only the kind is told.
        shown["metadata"] = metadata if with_metadata else {"event_type": metadata["event_type"]}
    answers = [
        each for each in front.mirror.thread(channel, message["ts"])
        if each.get("subtype") != "ephemeral"
    ]  # fmt: skip
    if answers and message.get("thread_ts", message["ts"]) == message["ts"]:
        people = list(dict.fromkeys(str(each.get("user")) for each in answers))
        shown |= {
            "thread_ts": message["ts"], "reply_count": len(answers), "reply_users": people,
            "reply_users_count": len(people), "latest_reply": answers[-1]["ts"],
        }  # fmt: skip
    return shown
