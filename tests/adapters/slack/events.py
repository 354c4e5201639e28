"""Payloads as Slack's documentation shows them, and whoever hears them."""

from dataclasses import dataclass
from typing import Any

from adapters.slack.mentions import Names
from adapters.slack.parse import Hearer

US = "U0BOT"
ROOM = "C01GEN"
TS = "1700000000.000100"
Json = dict[str, Any]


@dataclass(frozen=True)
class Someone:
    """What is known of a user."""

    home: str = "T01TEST"
    name: str = ""
    is_bot: bool = False


PEOPLE = {
    "U01ALICE": Someone(name="Alice"),
    "U02BOB": Someone(name="Bob <b|c>"),
    "U07FORGN": Someone("E09FAR", "Fay"),
    "U08ROBOT": Someone(name="Robot", is_bot=True),
}
HEARER = Hearer(
    "T01TEST",
    Names(frozenset({US}), "T01TEST", PEOPLE, lambda id: {"C02RND": "random"}.get(id, "")),
    "T01TEST",
    frozenset({"T01TEST"}),
    "A01APP",
)


def body(event: Json, **further: Any) -> Json:
    """An event as it is wrapped."""
    return {
        "type": "event_callback", "team_id": "T01TEST", "api_app_id": "A01APP", "event": event,
        "event_id": "Ev1", "event_time": 1_700_000_000,
        "authorizations": [
            {"enterprise_id": None, "team_id": "T01TEST", "user_id": US, "is_bot": True,
             "is_enterprise_install": False}
        ],
        **further,
    }  # fmt: skip


def message(text: str = "hello", **further: Any) -> Json:
    """A message event."""
    return {
        "type": "message", "channel": ROOM, "channel_type": "channel", "user": "U01ALICE",
        "text": text, "ts": TS, "event_ts": TS, "team": "T01TEST", **further,
    }  # fmt: skip


def changed(before: Json, after: Json, **further: Any) -> Json:
    """A message that was edited."""
    return {
        "type": "message", "subtype": "message_changed", "channel": ROOM, "hidden": True,
        "ts": "1700000009.000200", "event_ts": "1700000009.000200",
        "message": after, "previous_message": before, **further,
    }  # fmt: skip
