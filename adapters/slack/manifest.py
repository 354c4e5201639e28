"""
The app as Slack's manifest has it, and why it asks for what it asks. Pure.

Rule 1: each scope and each event is here for something that the bot does, and is missed when that is
        gone: `without` says what works no more, and whoever looks for a fault reads it from here.
Rule 2: what is printed, what `deploy/slack-manifest.yaml` holds and what the link to Slack carries are
        made of one structure.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from adapters.slack.paths import EVENTS_PATH, REDIRECT_PATH

CREATE_URL: Final = "https://api.slack.com/apps?new_app=1&manifest_yaml="
RUN_AS_GOAL: Final = "headway_run_as_goal"
NEW_GOAL: Final = "headway_new_goal"
"""Ids of the shortcuts; which kind each is of, Slack says besides."""
NAME_MOST: Final = 35
COMMENT_CHARS: Final = 90


@dataclass(frozen=True, slots=True)
class Need:
    """A scope or an event."""

    name: str
    why: str
    """The methods and events that take it, or what it brings."""
    without: str
    """What works no more where it is missing."""


SCOPES: Final = (
    Need("app_mentions:read", "event app_mention", "a mention in a channel starts no goal"),
    Need(
        "assistant:write",
        "agent_view, assistant.threads.setSuggestedPrompts",
        "no prompts are suggested in the bot's direct messages",
    ),
    Need(
        "channels:history",
        "event message.channels; conversations.replies and conversations.history, to look for a post "
        "whose outcome is not known",
        "nothing that is said in channels is heard",
    ),
    Need(
        "channels:join",
        "conversations.join, where a command is given and the bot is not in the channel",
        "the bot has to be invited to a channel before /goal works there",
    ),
    Need(
        "channels:read",
        "conversations.info and conversations.members, for who may see a goal; events "
        "member_left_channel, channel_left, channel_archive, channel_deleted",
        "goals of channels are shown to nobody, and a channel that is lost is not noticed",
    ),
    Need(
        "chat:write",
        "chat.postMessage, chat.update, chat.delete, chat.postEphemeral, assistant.threads.setStatus",
        "the bot can say nothing",
    ),
    Need("commands", "the slash command and both shortcuts", "there is no slash command"),
    Need(
        "files:read",
        "files.info, and the files that come with messages",
        "files that people send are not taken",
    ),
    Need(
        "files:write",
        "files.getUploadURLExternal, files.completeUploadExternal",
        "files, and long results, are not sent",
    ),
    Need("groups:history", "as channels:history, in private channels; event message.groups",
         "nothing that is said in private channels is heard"),
    Need("groups:read", "as channels:read, in private channels",
         "goals of private channels are shown to nobody"),
    Need("im:history", "as channels:history, in direct messages; event message.im",
         "direct messages to the bot are not heard, nor is `claim`"),
    Need("im:read", "conversations.info of direct messages",
         "goals of direct messages are shown to nobody"),
    Need("mpim:history", "as channels:history, in group messages; event message.mpim",
         "nothing that is said in group messages is heard"),
    Need("mpim:read", "as channels:read, in group messages",
         "goals of group messages are shown to nobody"),
    Need("reactions:read", "events reaction_added and reaction_removed",
         "a reaction (🎯) makes no goal and answers nothing"),
    Need("reactions:write", "reactions.add and reactions.remove, for 👀 and ✅",
         "messages that were taken are not marked"),
    Need("usergroups:read", "usergroups.users.list, for user groups on the allow-list",
         "user groups on the allow-list let nobody in"),
    Need("users:read", "users.info and bots.info, for names, guests and bots; event user_change",
         "people have no names, and guests and strangers cannot be told apart: nobody is let in"),
)  # fmt: skip
EVENTS: Final = (
    Need("agent_session_stopped", "Slack's own stop button", "Slack's own stop button stops nothing"),
    Need("app_context_changed", "the channel that somebody looks at", "it is not known which channel "
         "somebody looks at"),
    Need("app_home_opened", "the home, and prompts", "the app's home stays empty"),
    Need("app_mention", "mentions", "a mention may start no goal"),
    Need("app_uninstalled", "tokens are erased, goals parked", "goals of a workspace that removed the "
         "app wait without a word"),
    Need("channel_archive", "goals parked", "goals of an archived channel are not parked"),
    Need("channel_deleted", "goals parked", "goals of a deleted channel are not parked"),
    Need("channel_id_changed", "goals move along", "goals of a converted channel stay behind"),
    Need("channel_left", "goals parked", "goals of a channel that put the bot out are not parked"),
    Need("group_archive", "goals parked", "goals of an archived private channel are not parked"),
    Need("group_deleted", "goals parked", "goals of a deleted private channel are not parked"),
    Need("group_left", "goals parked", "goals of a private channel that put the bot out are not "
         "parked"),
    Need("member_left_channel", "goals parked", "goals of a channel that put the bot out are not "
         "parked"),
    Need("message.channels", "what is said in channels", "nothing that is said in channels is heard "
         "but mentions"),
    Need("message.groups", "what is said in private channels", "nothing that is said in private "
         "channels is heard but mentions"),
    Need("message.im", "direct messages", "direct messages to the bot are not heard"),
    Need("message.mpim", "group messages", "nothing that is said in group messages is heard but "
         "mentions"),
    Need("reaction_added", "🎯, and answers by reaction", "reactions count for nothing"),
    Need("reaction_removed", "🎯 taken away", "taking 🎯 away undoes nothing"),
    Need("tokens_revoked", "tokens are erased, goals parked", "goals of a workspace that revoked the "
         "token wait without a word"),
    Need("user_change", "departures", "goals of people who left go on"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """What people read of the app in Slack."""

    about: str
    agent: str
    command: str
    usage: str
    run_as_goal: str
    run_as_goal_about: str
    new_goal: str
    new_goal_about: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What may differ between apps."""

    name: str = "Headway"
    command: str = "goal"
    """Without its slash."""
    url: str = ""
    """Where the listener is from outside: for HTTP, and for installs by OAuth."""
    is_http: bool = False
    rotates: bool = False
    """Whether tokens run out; Slack never turns that off again."""


def manifest(wanted: Wanted, words: Words) -> Mapping[str, Any]:
    """The manifest as Slack's schema (2.0.0) has it."""
    url = wanted.url.rstrip("/")
    reached = {"request_url": f"{url}{EVENTS_PATH}"} if wanted.is_http else {}
    command = {"url": f"{url}{EVENTS_PATH}"} if wanted.is_http else {}
    redirects = {"redirect_urls": [f"{url}{REDIRECT_PATH}"]} if url else {}
    return {
        "display_information": {"name": wanted.name, "description": words.about},
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": wanted.name, "always_online": True},
            "agent_view": {"agent_description": words.agent},
            "shortcuts": [
                {
                    "name": words.run_as_goal,
                    "type": "message",
                    "callback_id": RUN_AS_GOAL,
                    "description": words.run_as_goal_about,
                },
                {
                    "name": words.new_goal,
                    "type": "global",
                    "callback_id": NEW_GOAL,
                    "description": words.new_goal_about,
                },
            ],
            "slash_commands": [
                {
                    "command": f"/{wanted.command}",
                    **command,
                    "description": words.command,
                    "usage_hint": words.usage,
                    "should_escape": True,
                }
            ],
        },
        "oauth_config": {**redirects, "scopes": {"bot": [scope.name for scope in SCOPES]}},
        "settings": {
            "event_subscriptions": {**reached, "bot_events": [event.name for event in EVENTS]},
            "interactivity": {"is_enabled": True, **reached},
            "org_deploy_enabled": True,
            "socket_mode_enabled": not wanted.is_http,
            "token_rotation_enabled": wanted.rotates,
        },
    }


def as_yaml(content: Mapping[str, Any], *, explained: bool = True) -> str:
    """The manifest as YAML, by default with why each scope and event is asked for."""
    why = {need.name: need.why for need in (*SCOPES, *EVENTS)} if explained else {}
    return "\n".join(_lines(content, "", why)) + "\n"


def create_link(content: Mapping[str, Any]) -> str:
    """Where Slack makes an app of it, after asking in which workspace."""
    return CREATE_URL + quote(as_yaml(content, explained=False), safe="")


def _lines(content: Mapping[str, Any], indent: str, why: Mapping[str, str]) -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ", why)
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            for one in value:
                yield from _item(one, f"{indent}  ", why)
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _item(one: Any, indent: str, why: Mapping[str, str]) -> Iterator[str]:
    if isinstance(one, Mapping):
        first, *further = _lines(one, f"{indent}  ", why)
        yield f"{indent}- {first.lstrip()}"
        yield from further
        return
    for line in textwrap.wrap(why.get(one, ""), COMMENT_CHARS, break_on_hyphens=False):
        yield f"{indent}# {line}"
    yield f"{indent}- {_scalar(one)}"


def _scalar(value: Any) -> str:
    """JSON's form, which is YAML's, too; without quotes where none are needed."""
    if isinstance(value, str) and re.fullmatch(r"[a-z]+([._:][a-z]+)+", value):
        return value
    return json.dumps(value, ensure_ascii=False)
