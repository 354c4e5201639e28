"""Which events a process has heard since it started, by their names in the manifest. Pure."""

from adapters.slack.payloads import Json, fields, text_of

_MESSAGES = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
    "app_home": "message.im",
}


class Subscribed:
    """When each was heard last, in seconds since 1970 as Slack stamps them, or by our clock."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}

    def note(self, event: Json, now: float) -> None:
        """Note an event; one of a kind that the app did not ask for is noted, too."""
        if name := event_name(event):
            self.last[name] = now


def event_name(event: Json) -> str:
    """The event's name as the manifest has it; empty where it has none."""
    known = fields(event)
    kind = text_of(known.get("type"))
    if kind != "message":
        return kind[:50]
    return _MESSAGES.get(text_of(known.get("channel_type")), "")
