"""
Of what kind a payload is, before anybody relies on its fields. Pure.

Rule: Bolt asks the fields of whatever it is given. What is not of the shape on which it relies is of no
kind, and never comes to it.
"""

from typing import Final, Literal

from adapters.slack.payloads import Json, fields, rows, text_of

Kind = Literal["event", "command", "press", "shortcut", "form", "closed", "check"]
_TYPES: Final[dict[str, Kind]] = {
    "event_callback": "event",
    "block_actions": "press",
    "message_action": "shortcut",
    "shortcut": "shortcut",
    "view_submission": "form",
    "view_closed": "closed",
    "url_verification": "check",
}
_OBJECTS: Final = ("event", "view", "container", "channel", "message")
_NAMED: Final = ("team", "enterprise", "user")
"""Given as an id, as an object, or not at all."""


def kind_of(body: Json) -> Kind | None:
    """What it is; None: nothing that Slack sends."""
    if "ssl_check" in body:
        return "check"
    kind = _TYPES.get(text_of(body.get("type")))
    if kind is None and text_of(body.get("command")):
        kind = "command"
    return kind if kind is not None and _is_sound(body, kind) else None


def _is_sound(body: Json, kind: Kind) -> bool:
    named = all(body.get(name) is None or _is_named(body[name]) for name in _NAMED)
    objects = all(body.get(name) is None or isinstance(body[name], dict) for name in _OBJECTS)
    lists = all(_is_rows(body.get(name)) for name in ("authorizations", "response_urls", "actions"))
    return named and objects and lists and _has_what_it_needs(body, kind)


def _has_what_it_needs(body: Json, kind: Kind) -> bool:
    match kind:
        case "event":
            event = fields(body.get("event"))
            return bool(text_of(event.get("type"))) and all(
                event.get(name) is None or _is_named(event[name]) for name in _NAMED
            )
        case "press":
            first = rows(body.get("actions"), 1)
            return bool(first) and isinstance(first[0].get("action_id"), str)
        case "shortcut":
            return isinstance(body.get("callback_id"), str)
        case "form" | "closed":
            view = fields(body.get("view"))
            return isinstance(view.get("callback_id"), str) and bool(text_of(view.get("type")))
        case "command" | "check":
            return True


def _is_named(value: object) -> bool:
    return isinstance(value, str | dict)


def _is_rows(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)
