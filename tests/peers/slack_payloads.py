"""What Slack tells an app of what people do: events, commands, presses, shortcuts, windows. Pure but for ids."""

import time
from collections.abc import Mapping
from typing import Any, Final

from tests.peers.localslack import Install
from tests.peers.slack_world import WAY_BACK_S, WayBack, World, identity

Json = dict[str, Any]
_TOKEN: Final = "verification-token"


def wrapped(world: World, install: Install, event: Mapping[str, Any]) -> Json:
    """An event as Slack wraps it."""
    channel = str(event.get("channel") or "")
    return {
        "token": _TOKEN,
        "team_id": install.team,
        "enterprise_id": install.enterprise or None,
        "context_team_id": install.team,
        "context_enterprise_id": install.enterprise or None,
        "api_app_id": install.app,
        "event": dict(event),
        "type": "event_callback",
        "event_id": world.fresh("Ev"),
        "event_time": int(time.time()),
        "authorizations": [identity(install)],
        "is_ext_shared_channel": bool(channel) and world.room(channel).is_shared,
        "event_context": f"4-{world.fresh('ctx')}",
    }


def command(world: World, install: Install, user: str, channel: str, name: str, text: str) -> Json:
    """A slash command."""
    return {
        "token": _TOKEN,
        "team_id": world.team_of(user) if not install.is_org_wide else install.team,
        "team_domain": install.domain,
        **_enterprise(install),
        "channel_id": channel,
        "channel_name": _channel_name(world, channel),
        "user_id": user,
        "user_name": world.name_of(user),
        "command": name,
        "text": text,
        "api_app_id": install.app,
        "is_enterprise_install": str(install.is_org_wide).lower(),
        "response_url": way_back(world, WayBack(install, user, channel, 0.0)),
        "trigger_id": world.trigger(user),
    }


def press_on_message(
    world: World, install: Install, user: str, message: Mapping[str, Any], action: Mapping[str, Any]
) -> Json:
    """A press on a message's button. What only one person sees comes without the message."""
    channel, ts = message["channel"], message["ts"]
    unseen = message.get("subtype") == "ephemeral"
    thread = message.get("thread_ts", "")
    back = WayBack(install, user, channel, 0.0, ts, thread, is_ephemeral=unseen)
    container = {
        "type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": unseen,
    }  # fmt: skip
    if thread:
        container["thread_ts"] = thread
    made = {
        "type": "block_actions",
        **_who(world, install, user),
        "container": container,
        "trigger_id": world.trigger(user),
        "channel": {"id": channel, "name": _channel_name(world, channel)},
        "state": {"values": {}},
        "response_url": way_back(world, back),
        "actions": [_acted(action)],
    }
    if not unseen:
        made["message"] = seen(world, install, message)
    return made


def press_in_view(
    world: World, install: Install, user: str, view: Mapping[str, Any], action: Mapping[str, Any]
) -> Json:
    """A press on a button of a window or of the home."""
    return {
        "type": "block_actions",
        **_who(world, install, user),
        "container": {"type": "view", "view_id": view["id"]},
        "trigger_id": world.trigger(user),
        "view": dict(view),
        "actions": [_acted(action)],
    }


def submission(
    world: World, install: Install, user: str, view: Mapping[str, Any], values: Mapping[str, Any]
) -> Json:
    """A window that was filled in; `values` by block and action, as they are in its state."""
    state = {"values": {**_empty(view), **values}}
    return {
        "type": "view_submission",
        **_who(world, install, user),
        "trigger_id": world.trigger(user),
        "view": {**view, "state": state},
        "response_urls": [],
    }


def closing(world: World, install: Install, user: str, view: Mapping[str, Any]) -> Json:
    """A window that was closed."""
    return {
        "type": "view_closed", **_who(world, install, user), "view": dict(view), "is_cleared": False,
    }  # fmt: skip


def message_shortcut(
    world: World, install: Install, user: str, message: Mapping[str, Any], callback: str
) -> Json:
    """A shortcut from a message's menu."""
    channel = message["channel"]
    back = WayBack(install, user, channel, 0.0, message["ts"], message.get("thread_ts", ""))
    return {
        "type": "message_action",
        **_who(world, install, user),
        "action_ts": f"{time.time():.6f}",
        "callback_id": callback,
        "trigger_id": world.trigger(user),
        "response_url": way_back(world, back),
        "message_ts": message["ts"],
        "message": seen(world, install, message),
        "channel": {"id": channel, "name": _channel_name(world, channel)},
    }


def global_shortcut(world: World, install: Install, user: str, callback: str) -> Json:
    """A shortcut from wherever a person is."""
    return {
        "type": "shortcut",
        **_who(world, install, user),
        "action_ts": f"{time.time():.6f}",
        "callback_id": callback,
        "trigger_id": world.trigger(user),
    }


def seen(world: World, install: Install, message: Mapping[str, Any]) -> Json:
    """A message as Slack shows it within something else; channels are not in it."""
    shown = {name: value for name, value in message.items() if name not in ("channel", "metadata")}
    shown["team"] = world.team_of(str(message.get("user", "")))
    metadata = world.metadata.get((message["channel"], message["ts"]))
    if metadata:
        shown["metadata"] = metadata
    return shown


def way_back(world: World, back: WayBack) -> str:
    """The path of a new `response_url`; the front puts its address before it."""
    id = world.fresh("way")
    back.until = time.monotonic() + WAY_BACK_S
    world.ways[id] = back
    return f"/hooks/{id}"


def _who(world: World, install: Install, user: str) -> Json:
    team = world.team_of(user)
    return {
        "api_app_id": install.app,
        "token": _TOKEN,
        "team": {"id": install.team, "domain": install.domain},
        "enterprise": {"id": install.enterprise, "name": "Org"} if install.enterprise else None,
        "is_enterprise_install": install.is_org_wide,
        "user": {
            "id": user, "username": world.name_of(user), "name": world.name_of(user),
            "team_id": team,
        },
    }  # fmt: skip


def _enterprise(install: Install) -> Json:
    if not install.enterprise:
        return {}
    return {"enterprise_id": install.enterprise, "enterprise_name": "Org"}


def _channel_name(world: World, channel: str) -> str:
    if channel in world.dms:
        return "directmessage"
    return world.channels[channel].name if channel in world.channels else channel


def _acted(element: Mapping[str, Any]) -> Json:
    kept = {
        name: value for name, value in element.items()
        if name in ("action_id", "block_id", "type", "value", "text", "selected_option",
                    "selected_options", "selected_conversation", "selected_channel")
        and value is not None
    }  # fmt: skip
    return {"type": "button", **kept, "action_ts": f"{time.time():.6f}"}


def _empty(view: Mapping[str, Any]) -> Json:
    """The state of the inputs nobody has touched."""
    state: Json = {}
    for block in view.get("blocks", ()):
        element = block.get("element") or {}
        if block.get("type") != "input" or not element:
            continue
        kind = element.get("type")
        found: Json = {"type": kind}
        if kind == "plain_text_input" or kind in (
            "number_input",
            "email_text_input",
            "url_text_input",
        ):
            found["value"] = element.get("initial_value")
        elif kind in ("conversations_select", "channels_select"):
            name = kind.removesuffix("s_select")
            found[f"selected_{name}"] = element.get(f"initial_{name}")
        elif kind == "checkboxes":
            found["selected_options"] = element.get("initial_options", [])
        else:
            found["selected_option"] = element.get("initial_option")
        state[block["block_id"]] = {element["action_id"]: found}
    return state
