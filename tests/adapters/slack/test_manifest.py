"""The manifest: as Slack's own schema has it, no more scopes than are used, and no fewer."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from jsonschema import Draft7Validator

from adapters.slack.manifest import EVENTS, SCOPES, Wanted, as_yaml, create_link
from bot.chat.verbs import served
from bot.wiring.slack_app import manifest_of

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads(
    Path(__file__).with_name("data").joinpath("manifest.schema.2.0.0.json").read_text()
)
SOURCE = "\n".join(
    path.read_text("utf-8")
    for path in sorted((ROOT / "adapters/slack").glob("*.py"))
    if path.name not in ("manifest.py", "pace.py")
)
KINDS = ("channels", "groups", "im", "mpim")
METHODS: dict[str, tuple[str, ...]] = {
    "assistant.threads.setStatus": ("chat:write",),
    "assistant.threads.setSuggestedPrompts": ("assistant:write",),
    "assistant.threads.setTitle": ("assistant:write",),
    "bots.info": ("users:read",),
    "chat.appendStream": ("chat:write",),
    "chat.delete": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.startStream": ("chat:write",),
    "chat.stopStream": ("chat:write",),
    "chat.update": ("chat:write",),
    "conversations.history": tuple(f"{kind}:history" for kind in KINDS),
    "conversations.info": tuple(f"{kind}:read" for kind in KINDS),
    "conversations.join": ("channels:join",),
    "conversations.list": tuple(f"{kind}:read" for kind in KINDS),
    "conversations.members": tuple(f"{kind}:read" for kind in KINDS),
    "conversations.open": ("im:write",),
    "conversations.replies": tuple(f"{kind}:history" for kind in KINDS),
    "files.completeUploadExternal": ("files:write",),
    "files.getUploadURLExternal": ("files:write",),
    "files.info": ("files:read",),
    "reactions.add": ("reactions:write",),
    "reactions.get": ("reactions:read",),
    "reactions.remove": ("reactions:write",),
    "team.info": ("team:read",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "users.conversations": tuple(f"{kind}:read" for kind in KINDS),
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "users.lookupByEmail": ("users:read.email",),
}
"""Scopes by method, as docs.slack.dev/reference/methods has them."""
FREE = {
    "apps.connections.open", "auth.test", "chat.getPermalink", "oauth.v2.access", "views.open",
    "views.publish", "views.push", "views.update",
}  # fmt: skip
OF_EVENTS: dict[str, tuple[str, ...]] = {
    "app_mention": ("app_mentions:read",),
    "channel_archive": ("channels:read",),
    "channel_deleted": ("channels:read",),
    "channel_left": ("channels:read",),
    "group_archive": ("groups:read",),
    "group_deleted": ("groups:read",),
    "group_left": ("groups:read",),
    "member_left_channel": ("channels:read", "groups:read"),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "message.mpim": ("mpim:history",),
    "reaction_added": ("reactions:read",),
    "reaction_removed": ("reactions:read",),
    "user_change": ("users:read",),
}
ALL = [
    Wanted(),
    Wanted(name="D" * 35, command="g" * 31, url="https://bot.example.org"),
    Wanted(name='"Quoted": #1 \u00e9', url="https://bot.example.org/headway/", is_http=True),
    Wanted(url="https://bot.example.org", is_http=True, rotates=True),
    Wanted(name="yes", command="null"),
]


def methods_called() -> set[str]:
    kinds = "assistant|auth|bots|chat|conversations|files|reactions|team|usergroups|users|views"
    return set(re.findall(rf'"((?:{kinds}|apps|oauth)\.[a-zA-Z0-9.]+[a-z])"', SOURCE))


@pytest.mark.parametrize("wanted", ALL)
def test_slacks_own_schema_takes_it(wanted: Wanted) -> None:
    Draft7Validator.check_schema(SCHEMA)

    errors = [error.message for error in Draft7Validator(SCHEMA).iter_errors(manifest_of(wanted))]

    assert errors == []


@pytest.mark.parametrize("wanted", ALL)
def test_what_is_printed_is_the_same_as_what_is_meant(wanted: Wanted) -> None:
    content = manifest_of(wanted)

    explained, plain = as_yaml(content), as_yaml(content, explained=False)

    assert yaml.safe_load(explained) == yaml.safe_load(plain) == content
    assert "#" in explained


@pytest.mark.parametrize("wanted", ALL)
def test_the_link_to_slack_carries_it_whole(wanted: Wanted) -> None:
    parts = urlsplit(create_link(manifest_of(wanted)))

    asked = parse_qs(parts.query)

    assert (parts.netloc, parts.path, asked["new_app"]) == ("api.slack.com", "/apps", ["1"])
    assert yaml.safe_load(asked["manifest_yaml"][0]) == manifest_of(wanted)
    assert len(create_link(manifest_of(wanted))) < 8_000


def test_the_file_is_what_the_command_prints() -> None:
    file = (ROOT / "deploy/slack-manifest.yaml").read_text("utf-8")

    assert file == as_yaml(manifest_of(Wanted())), (
        "run `headway slack manifest > deploy/slack-manifest.yaml`"
    )


def test_every_method_that_is_called_is_allowed_by_a_scope() -> None:
    asked_for = {scope.name for scope in SCOPES}

    called = methods_called()

    assert called <= METHODS.keys() | FREE, "say which scope it takes"
    lacking = {name: METHODS[name] for name in called - FREE if not {*METHODS[name]} <= asked_for}
    assert lacking == {}


def test_no_scope_is_asked_for_that_nothing_takes() -> None:
    used = {scope for name in methods_called() - FREE for scope in METHODS[name]}
    used |= {scope for event in EVENTS for scope in OF_EVENTS.get(event.name, ())}
    of_features = {"commands", "files:read", "assistant:write"}

    assert {scope.name for scope in SCOPES} - used - of_features == set()


def test_every_event_has_the_scope_that_lets_it_through() -> None:
    asked_for = {scope.name for scope in SCOPES}

    lacking = [event.name for event in EVENTS if not {*OF_EVENTS.get(event.name, ())} <= asked_for]

    assert lacking == []


def test_every_event_is_one_that_is_listened_to() -> None:
    unheard = [event.name for event in EVENTS if f'"{event.name.partition(".")[0]}"' not in SOURCE]

    assert unheard == []


def test_events_and_scopes_are_in_order_each_once_and_say_what_is_missed() -> None:
    for needs in (SCOPES, EVENTS):
        names = [need.name for need in needs]
        assert names == sorted(set(names))
        assert all(need.why and need.without for need in needs)


def test_the_command_hints_at_every_verb() -> None:
    [command] = manifest_of(Wanted(command="deputy"))["features"]["slash_commands"]

    assert command["command"] == "/deputy"
    assert all(verb.name in command["usage_hint"] for verb in served())


def test_over_http_everything_comes_to_one_address_and_no_socket_is_opened() -> None:
    content = manifest_of(Wanted(url="https://bot.example.org/", is_http=True))
    settings = content["settings"]

    addresses = {
        settings["event_subscriptions"]["request_url"],
        settings["interactivity"]["request_url"],
        content["features"]["slash_commands"][0]["url"],
    }

    assert addresses == {"https://bot.example.org/slack/events"}
    assert settings["socket_mode_enabled"] is False
    assert content["oauth_config"]["redirect_urls"] == [
        "https://bot.example.org/slack/oauth_redirect"
    ]


def test_over_a_socket_no_address_is_named() -> None:
    text = json.dumps(manifest_of(Wanted()))

    assert "http" not in text
    assert manifest_of(Wanted())["settings"]["socket_mode_enabled"] is True


def test_the_agent_view_is_there_and_the_closed_assistant_view_is_not() -> None:
    features: dict[str, Any] = manifest_of(Wanted())["features"]

    assert "agent_view" in features
    assert "assistant_view" not in features


def test_tokens_run_out_only_where_that_is_asked_for() -> None:
    kept = manifest_of(Wanted())["settings"]["token_rotation_enabled"]
    asked = manifest_of(replace(Wanted(), rotates=True))["settings"]["token_rotation_enabled"]

    assert (kept, asked) == (False, True)
