"""What is said in each channel, as the front sees it on local-slack's page; and what the page is shown."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.peers.slack_drawing import drawn, shown

Json = dict[str, Any]

CHOOSERS: Final = {"conversations_select", "channels_select"}
"""Elements in which a channel is chosen."""


class Mirror:
    """Messages by channel, oldest first."""

    def __init__(self) -> None:
        self._messages: dict[str, dict[str, Json]] = {}

    def put(self, message: Json) -> None:
        """A message is there, or reads otherwise now; its reactions stay."""
        kept = self._messages.setdefault(message["channel"], {})
        before = kept.get(message["ts"], {})
        kept[message["ts"]] = {**before, **message}

    def drop(self, channel: str, ts: str) -> None:
        """A message is gone."""
        self._messages.get(channel, {}).pop(ts, None)

    def get(self, channel: str, ts: str) -> Json | None:
        """A message, or None."""
        return self._messages.get(channel, {}).get(ts)

    def of(self, channel: str) -> list[Json]:
        """All of a channel."""
        return list(self._messages.get(channel, {}).values())

    def thread(self, channel: str, ts: str) -> list[Json]:
        """The replies under a message."""
        return [
            each for each in self._messages.get(channel, {}).values()
            if each.get("thread_ts") == ts and each["ts"] != ts
        ]  # fmt: skip

    def all(self) -> Iterator[Json]:
        """Every message."""
        for channel in list(self._messages.values()):
            yield from list(channel.values())

    def react(self, channel: str, ts: str, name: str, user: str, *, present: bool) -> None:
        """Someone has reacted, or no longer."""
        message = self.get(channel, ts)
        if message is None:
            return
        users = {each["name"]: list(each["users"]) for each in message.get("reactions", ())}
        mine = [each for each in users.get(name, []) if each != user] + [user] * present
        users[name] = mine
        message["reactions"] = [
            {"name": each, "users": its, "count": len(its)} for each, its in users.items() if its
        ]


def for_page(part: Any, channels: Sequence[tuple[str, str]] = ()) -> Any:
    """The same with every block that the page cannot draw as one that it can.

    Args:
        channels: id and name of each, for inputs in which one is chosen.
    """
    if isinstance(part, list):
        return [for_page(each, channels) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") in CHOOSERS:
        options = [
            {"text": {"type": "plain_text", "text": f"#{name}"}, "value": id}
            for id, name in channels
        ]
        first = part.get("initial_conversation") or part.get("initial_channel")
        named = dict(channels).get(str(first), "")
        hint = {"type": "plain_text", "text": f"#{named}" if named else "Choose"}
        return {
            "type": "static_select", "action_id": part["action_id"], "options": options,
            "placeholder": hint,
        }  # fmt: skip
    if part.get("type") == "checkboxes":
        # The page has no boxes: one of them is chosen from a list instead.
        return {
            "type": "static_select", "action_id": part["action_id"], "options": part["options"],
            "placeholder": {"type": "plain_text", "text": "☑" if part.get("initial_options") else "☐"},
        }  # fmt: skip
    if part.get("type") == "mrkdwn":
        return {**part, "text": shown(str(part.get("text", "")))}
    return {
        name: [each for block in value for each in _drawn(block, channels)]
        if name == "blocks" and isinstance(value, list)
        else for_page(value, channels)
        for name, value in part.items()
    }  # fmt: skip


def _drawn(block: Any, channels: Sequence[tuple[str, str]]) -> list[Any]:
    instead = drawn(block)
    return [for_page(block, channels)] if instead is None else instead
