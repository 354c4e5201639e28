"""The methods of Slack's Web API that are of channels: who is where, and who comes and goes."""

from typing import TYPE_CHECKING

from tests.peers.localslack import Install
from tests.peers.slack_pages import Json, error, paged

if TYPE_CHECKING:
    from tests.peers.slack_core import Core


async def join(front: "Core", install: Install, args: Json) -> Json:
    """conversations.join: a public channel that is open."""
    channel = args.get("channel", "")
    why = front.world.closed(install, channel)
    if why not in ("", "not_in_channel"):
        return error(why)
    if front.world.kind(channel) != "channel":
        return error("method_not_supported_for_channel_type")
    if why:
        front.world.room(channel).has_bot = True
        front.tell(front.joined_event(channel, install.bot))
    return {"ok": True, "channel": channel_of(front, install, channel)}


async def leave(front: "Core", install: Install, args: Json) -> Json:
    """conversations.leave."""
    channel = args.get("channel", "")
    if front.world.closed(install, channel) == "channel_not_found":
        return error("channel_not_found")
    front.world.room(channel).has_bot = False
    kind = "group_left" if front.world.is_private(channel) else "channel_left"
    front.tell({
        "type": kind, "channel": channel, "actor_id": install.bot, "event_ts": front.stamp(),
    })  # fmt: skip
    return {"ok": True}


async def channel_info(front: "Core", install: Install, args: Json) -> Json:
    """conversations.info."""
    channel = args.get("channel", "")
    if front.world.closed(install, channel) == "channel_not_found":
        return error("channel_not_found")
    return {"ok": True, "channel": channel_of(front, install, channel)}


async def channels(front: "Core", install: Install, args: Json) -> Json:
    """conversations.list: those it may see."""
    return _listed(front, install, args, only_mine=False)


async def my_channels(front: "Core", install: Install, args: Json) -> Json:
    """users.conversations: those it is in."""
    return _listed(front, install, args, only_mine=True)


async def members(front: "Core", install: Install, args: Json) -> Json:
    """conversations.members, by pages."""
    channel = args.get("channel", "")
    if front.world.closed(install, channel) == "channel_not_found":
        return error("channel_not_found")
    found = sorted(front.world.people_of(channel))
    return paged("members", found, args, 100)


async def dm(front: "Core", install: Install, args: Json) -> Json:
    """conversations.open: with one person."""
    user = str(args.get("users") or "").split(",")[0]
    if not front.is_person(user):
        return error("user_not_found")
    return {"ok": True, "channel": {"id": await front.dm(user, install)}}


def channel_of(front: "Core", install: Install, channel: str) -> Json:
    """A channel as Slack describes it."""
    world = front.world
    room = world.room(channel)
    if channel in world.dms:
        return {
            "id": channel, "is_im": True, "user": world.dms[channel][0], "is_archived": False,
            "is_org_shared": False, "created": 1_700_000_000,
        }  # fmt: skip
    known = world.channels[channel]
    return {
        "id": channel, "name": known.name, "name_normalized": known.name,
        "is_channel": not known.is_private, "is_group": known.is_private, "is_im": False,
        "is_mpim": False, "is_private": known.is_private, "is_archived": room.is_archived,
        "is_general": channel == "C01GEN", "is_member": room.has_bot,
        "is_shared": room.is_shared, "is_ext_shared": room.is_shared, "is_org_shared": False,
        "created": 1_700_000_000, "creator": "U01ALICE", "context_team_id": install.team,
        "num_members": len(world.people_of(channel)),
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }  # fmt: skip


def _listed(front: "Core", install: Install, args: Json, *, only_mine: bool) -> Json:
    kinds = set(str(args.get("types") or "public_channel").split(","))
    if kinds - {"public_channel", "private_channel", "mpim", "im"}:
        return error("invalid_types")
    found = []
    for channel in (*front.world.channels, *front.world.dms):
        why = front.world.closed(install, channel)
        if why == "channel_not_found" or (only_mine and why == "not_in_channel"):
            continue
        if args.get("exclude_archived") and why == "is_archived":
            continue
        kind = {"im": "im", "group": "private_channel"}.get(
            front.world.kind(channel), "public_channel"
        )
        if kind in kinds:
            found.append(channel_of(front, install, channel))
    return paged("channels", found, args, 100)
