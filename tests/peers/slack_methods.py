"""
The methods of Slack's Web API as the bot finds them: local-slack's where it has them, and what it lacks.

Each takes the front, the install whose token asked, and the arguments, and gives the answer.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from tests.peers.localslack import Install
from tests.peers.slack_pages import Json, error, history, paged, replies
from tests.peers.slack_rooms import (
    channel_info,
    channels,
    dm,
    join,
    leave,
    members,
    my_channels,
)
from tests.peers.slack_tokens import access, tested
from tests.peers.slack_views import opened, published, pushed, renewed

if TYPE_CHECKING:
    from tests.peers.slack_core import Core

Method = Callable[["Core", Install, Json], Awaitable[Json]]
METADATA: Final = 16_384


async def post(front: "Core", install: Install, args: Json) -> Json:
    """chat.postMessage."""
    channel = await front.resolved(args.get("channel", ""), install)
    if why := _closed(front, install, channel, args) or _misfit(args):
        return error(why)
    args = {**args, "channel": channel}
    answer = await front.pass_on("chat.postMessage", install, args)
    if answer.get("ok"):
        message = answer["message"]
        if args.get("metadata"):
            front.world.metadata[channel, message["ts"]] = args["metadata"]
            front.world.origins[channel, message["ts"]] = args["metadata"]
        front.mirror.put(message)
        front.tell(_own(front, install, message))
        answer["message"] = _shown(front, install, message)
    return answer


async def update(front: "Core", install: Install, args: Json) -> Json:
    """chat.update: of one's own; metadata stays unless there is other."""
    channel, ts = args.get("channel", ""), args.get("ts", "")
    if why := _closed(front, install, channel, {}):
        return error("channel_not_found" if why == "not_in_channel" else why)
    before = front.mirror.get(channel, ts)
    if before is None:
        return error("message_not_found")
    if before.get("user") != install.bot or before.get("subtype") == "ephemeral":
        return error("cant_update_message")
    if why := _misfit(args):
        return error(why)
    before = dict(before)
    answer = await front.pass_on("chat.update", install, {"text": before.get("text", ""), **args})
    if answer.get("ok"):
        if "metadata" in args:
            front.world.metadata[channel, ts] = args["metadata"]
        message = answer["message"]
        front.mirror.put(message)
        outer = {"channel": channel, "channel_type": front.world.kind(channel), "hidden": True}
        stamp = front.stamp()
        front.tell({
            "type": "message", "subtype": "message_changed", **outer, "ts": stamp,
            "event_ts": stamp, "message": _shown(front, install, message),
            "previous_message": _shown(front, install, before),
        })  # fmt: skip
        answer["message"] = _shown(front, install, message)
    return answer


async def delete(front: "Core", install: Install, args: Json) -> Json:
    """chat.delete: of one's own."""
    channel, ts = args.get("channel", ""), args.get("ts", "")
    if _closed(front, install, channel, {}) == "channel_not_found":
        return error("channel_not_found")
    before = front.mirror.get(channel, ts)
    if before is None or before.get("subtype") == "tombstone":
        return error("message_not_found")
    if before.get("user") != install.bot:
        return error("cant_delete_message")
    answer = await front.pass_on("chat.delete", install, args)
    if answer.get("ok"):
        front.deleted(channel, dict(before))
    return answer


async def post_unseen(front: "Core", install: Install, args: Json) -> Json:
    """chat.postEphemeral: to one who is in the channel."""
    channel = args.get("channel", "")
    if why := _closed(front, install, channel, args) or _misfit(args):
        return error(why)
    if args.get("user") not in front.world.people_of(channel):
        return error("user_not_in_channel")
    return await front.pass_on("chat.postEphemeral", install, args)


async def person(front: "Core", install: Install, args: Json) -> Json:
    """users.info."""
    answer = await front.pass_on("users.info", install, args)
    if not answer.get("ok"):
        return answer
    return {"ok": True, "user": front.profile(answer["user"])}


async def everyone(front: "Core", install: Install, args: Json) -> Json:
    """users.list, by pages."""
    answer = await front.pass_on("users.list", install, {})
    return paged("members", [front.profile(each) for each in answer["members"]], args, 200)


async def react(front: "Core", install: Install, args: Json) -> Json:
    """reactions.add: once each."""
    return await _reacted(front, install, args, present=True)


async def unreact(front: "Core", install: Install, args: Json) -> Json:
    """reactions.remove."""
    return await _reacted(front, install, args, present=False)


async def reactions(front: "Core", install: Install, args: Json) -> Json:
    """reactions.get."""
    channel, ts = args.get("channel", ""), args.get("timestamp", "")
    message = front.mirror.get(channel, ts)
    if message is None:
        return error("message_not_found")
    return {
        "ok": True, "type": "message", "channel": channel,
        "message": _shown(front, install, message),
    }  # fmt: skip


async def complete_upload(front: "Core", install: Install, args: Json) -> Json:
    """files.completeUploadExternal: into a channel that it is in."""
    channel = args.get("channel_id", "")
    if channel and (why := _closed(front, install, channel, args)):
        return error("posting_to_channel_denied" if why == "is_archived" else why)
    return await front.pass_on("files.completeUploadExternal", install, args)


async def file_info(front: "Core", install: Install, args: Json) -> Json:
    """files.info."""
    return await front.pass_on("files.info", install, args)


async def set_status(front: "Core", install: Install, args: Json) -> Json:
    """assistant.threads.setStatus, for a while."""
    channel, ts = args.get("channel_id", ""), args.get("thread_ts", "")
    if why := _no_assistant(front, install, channel):
        return why
    if front.mirror.get(channel, ts) is None:
        return error("invalid_thread_ts")
    front.world.statuses[channel, ts] = args.get("status", "")
    return {"ok": True}


async def set_prompts(front: "Core", install: Install, args: Json) -> Json:
    """assistant.threads.setSuggestedPrompts; the agent view has no thread."""
    why = _no_assistant(front, install, args.get("channel_id", ""))
    return why or {"ok": True}


async def usergroups(front: "Core", install: Install, args: Json) -> Json:
    """usergroups.list."""
    kept = [dict(each) for each in front.world.groups]
    if not args.get("include_users"):
        for each in kept:
            each.pop("users", None)
    return {"ok": True, "usergroups": kept}


async def group_members(front: "Core", install: Install, args: Json) -> Json:
    """usergroups.users.list."""
    for each in front.world.groups:
        if each["id"] == args.get("usergroup"):
            return {"ok": True, "users": each.get("users", [])}
    return error("no_such_subteam")


async def start_stream(front: "Core", install: Install, args: Json) -> Json:
    """chat.startStream: a message that grows; who it is for has to be said in a channel."""
    channel = args.get("channel", "")
    if why := _closed(front, install, channel, args):
        return error(why)
    if front.world.kind(channel) != "im":
        for needed in ("recipient_user_id", "recipient_team_id"):
            if not args.get(needed):
                return error(f"missing_{needed}")
    text = args.get("markdown_text") or "..."
    posted = await post(front, install, {
        "channel": channel, "text": text, "thread_ts": args.get("thread_ts"),
    })  # fmt: skip
    if posted.get("ok"):
        front.world.streams[channel, posted["ts"]] = text
        return {"ok": True, "channel": channel, "ts": posted["ts"]}
    return posted


async def append_stream(front: "Core", install: Install, args: Json) -> Json:
    """chat.appendStream."""
    return await _streamed(front, install, args)


async def stop_stream(front: "Core", install: Install, args: Json) -> Json:
    """chat.stopStream."""
    answer = await _streamed(front, install, args)
    front.world.streams.pop((args.get("channel", ""), args.get("ts", "")), None)
    return answer


async def revoke(front: "Core", install: Install, args: Json) -> Json:
    """auth.revoke and apps.uninstall."""
    front.world.revoked |= {token for token, its in front.world.tokens.items() if its == install}
    return {"ok": True, "revoked": True}


async def team(front: "Core", install: Install, args: Json) -> Json:
    """team.info."""
    found: Json = {"id": install.team, "name": install.name, "domain": install.domain}
    if install.enterprise:
        found |= {"enterprise_id": install.enterprise, "enterprise_name": "Org"}
    return {"ok": True, "team": found}


async def teams(front: "Core", install: Install, args: Json) -> Json:
    """auth.teams.list: the workspaces that an install reaches."""
    kin = [
        each for each in front.world.installs
        if each == install or (install.is_org_wide and each.enterprise == install.enterprise)
    ]  # fmt: skip
    return {"ok": True, "teams": [{"id": each.team, "name": each.name} for each in kin]}


async def _reacted(front: "Core", install: Install, args: Json, *, present: bool) -> Json:
    channel, ts, name = args.get("channel", ""), args.get("timestamp", ""), args.get("name", "")
    if why := front.world.closed(install, channel):
        return error("channel_not_found" if why == "not_in_channel" else why)
    message = front.mirror.get(channel, ts)
    if message is None:
        return error("message_not_found")
    has = any(
        each["name"] == name and install.bot in each["users"]
        for each in message.get("reactions", ())
    )
    if has == present:
        return error("already_reacted" if present else "no_reaction")
    method = "reactions.add" if present else "reactions.remove"
    answer = await front.pass_on(method, install, args)
    if answer.get("ok"):
        front.mirror.react(channel, ts, name, install.bot, present=present)
        front.tell({
            "type": "reaction_added" if present else "reaction_removed", "user": install.bot,
            "reaction": name, "item": {"type": "message", "channel": channel, "ts": ts},
            "item_user": message.get("user", ""), "event_ts": front.stamp(),
        })  # fmt: skip
    return answer


async def _streamed(front: "Core", install: Install, args: Json) -> Json:
    channel, ts = args.get("channel", ""), args.get("ts", "")
    if front.mirror.get(channel, ts) is None:
        return error("message_not_found")
    if (channel, ts) not in front.world.streams:
        return error("message_not_in_streaming_state")
    text = front.world.streams[channel, ts] + (args.get("markdown_text") or "")
    front.world.streams[channel, ts] = text
    wish = {"channel": channel, "ts": ts, "text": text[:4_000]}
    if args.get("blocks"):
        wish["blocks"] = args["blocks"]
    answer = await update(front, install, wish)
    return {"ok": True, "channel": channel, "ts": ts} if answer.get("ok") else answer


def _closed(front: "Core", install: Install, channel: str, args: Json) -> str:
    """The error that keeps a post from a channel or from a thread there."""
    if why := front.world.closed(install, channel):
        return why
    thread = args.get("thread_ts")
    if not thread:
        return ""
    if why := front.world.locked.get((channel, thread), ""):
        return why
    root = front.mirror.get(channel, thread)
    if root is None or root.get("subtype") == "ephemeral":
        return "cannot_reply_to_message"
    return ""


def _misfit(args: Json) -> str:
    """The error that Slack has for texts and blocks that it does not take."""
    if len(str(args.get("metadata") or "")) > METADATA:
        return "metadata_too_large"
    if not (args.get("text") or args.get("blocks") or args.get("markdown_text")):
        return "no_text"
    return ""


def _no_assistant(front: "Core", install: Install, channel: str) -> Json | None:
    if not front.world.has_assistant:
        return error("missing_scope", needed="assistant:write", provided="chat:write")
    if front.world.closed(install, channel):
        return error("channel_not_found")
    return None


def _own(front: "Core", install: Install, message: Json) -> Json:
    """The event by which an app hears of its own message."""
    channel = message["channel"]
    return {
        **_shown(front, install, message), "type": "message", "channel": channel,
        "channel_type": front.world.kind(channel), "event_ts": message["ts"],
    }  # fmt: skip


def _shown(front: "Core", install: Install, message: Json) -> Json:
    shown = {name: value for name, value in message.items() if name != "channel"}
    shown["team"] = install.team
    shown["bot_profile"] = {
        "id": install.bot_id, "app_id": install.app, "name": front.bot_name, "deleted": False,
        "icons": {}, "team_id": install.team, "updated": int(time.time()),
    }  # fmt: skip
    metadata = front.world.metadata.get((message["channel"], message["ts"]))
    if metadata:
        shown["metadata"] = metadata
    return shown


async def _as_it_is(front: "Core", install: Install, args: Json) -> Json:
    return {"ok": True}


def passed(method: str) -> Method:
    """What local-slack does as Slack does."""

    async def call(front: "Core", install: Install, args: Json) -> Json:
        return await front.pass_on(method, install, args)

    return call


METHODS: Final[dict[str, Method]] = {
    "assistant.threads.setStatus": set_status,
    "assistant.threads.setSuggestedPrompts": set_prompts,
    "assistant.threads.setTitle": set_prompts,
    "auth.test": tested,
    "auth.revoke": revoke,
    "auth.teams.list": teams,
    "apps.uninstall": revoke,
    "bots.info": passed("bots.info"),
    "chat.appendStream": append_stream,
    "chat.delete": delete,
    "chat.getPermalink": passed("chat.getPermalink"),
    "chat.postEphemeral": post_unseen,
    "chat.postMessage": post,
    "chat.startStream": start_stream,
    "chat.stopStream": stop_stream,
    "chat.update": update,
    "conversations.history": history,
    "conversations.info": channel_info,
    "conversations.join": join,
    "conversations.leave": leave,
    "conversations.list": channels,
    "conversations.members": members,
    "conversations.open": dm,
    "conversations.replies": replies,
    "files.completeUploadExternal": complete_upload,
    "files.getUploadURLExternal": passed("files.getUploadURLExternal"),
    "files.info": file_info,
    "files.delete": passed("files.delete"),
    "oauth.v2.access": access,
    "reactions.add": react,
    "reactions.get": reactions,
    "reactions.remove": unreact,
    "team.info": team,
    "usergroups.list": usergroups,
    "usergroups.users.list": group_members,
    "users.conversations": my_channels,
    "users.info": person,
    "users.list": everyone,
    "users.lookupByEmail": passed("users.lookupByEmail"),
    "views.open": opened,
    "views.publish": published,
    "views.push": pushed,
    "views.update": renewed,
}
