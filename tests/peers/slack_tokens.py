"""Who a token is: `auth.test`, and how a workspace's token is had and renewed (`oauth.v2.access`)."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.peers.localslack import Install
from tests.peers.slack_pages import Json, error
from tests.peers.slack_world import World

if TYPE_CHECKING:
    from tests.peers.slack_core import Core

CLIENT_ID: Final = "111.222"
CLIENT_SECRET: Final = "client-secret-of-tests"
_HISTORY: Final = ("channels:history", "groups:history", "im:history", "mpim:history")
_READ: Final = ("channels:read", "groups:read", "im:read", "mpim:read")
NEEDED: Final[dict[str, tuple[str, ...]]] = {
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
    "conversations.history": _HISTORY,
    "conversations.info": _READ,
    "conversations.join": ("channels:join",),
    "conversations.list": _READ,
    "conversations.members": _READ,
    "conversations.open": ("im:write", "mpim:write", "groups:write", "channels:manage"),
    "conversations.replies": _HISTORY,
    "files.completeUploadExternal": ("files:write",),
    "files.getUploadURLExternal": ("files:write",),
    "files.info": ("files:read",),
    "reactions.add": ("reactions:write",),
    "reactions.get": ("reactions:read",),
    "reactions.remove": ("reactions:write",),
    "team.info": ("team:read",),
    "usergroups.list": ("usergroups:read",),
    "usergroups.users.list": ("usergroups:read",),
    "users.conversations": _READ,
    "users.info": ("users:read",),
    "users.list": ("users:read",),
    "users.lookupByEmail": ("users:read.email",),
}
"""Scopes of a bot's token, one of which each method asks for, as Slack documents them."""
ALL_SCOPES: Final = frozenset(
    {scope for needed in NEEDED.values() for scope in needed}
    | {"app_mentions:read", "commands", "channels:join"}
)


def scopes_of(world: World, token: str) -> frozenset[str]:
    """What a token may do."""
    return world.scopes.get(token, ALL_SCOPES)


def lacking(world: World, token: str, method: str) -> Json | None:
    """The answer to a token that may not call a method."""
    needed, has = NEEDED.get(method, ()), scopes_of(world, token)
    if not needed or has & set(needed):
        return None
    return error("missing_scope", needed=needed[0], provided=",".join(sorted(has)))


async def tested(front: "Core", install: Install, args: Json) -> Json:
    """auth.test."""
    answer: Json = {
        "ok": True, "url": f"https://{install.domain}.slack.com/", "team": install.name,
        "user": front.bot_name, "team_id": install.team, "user_id": install.bot,
        "bot_id": install.bot_id, "is_enterprise_install": install.is_org_wide,
    }  # fmt: skip
    if install.enterprise:
        answer["enterprise_id"] = install.enterprise
    return answer


async def access(front: "Core", install: Install, args: Json) -> Json:
    """oauth.v2.access: a code, or a token to renew, for a token."""
    if args.get("client_id") != CLIENT_ID:
        return error("invalid_client_id")
    if args.get("client_secret") != CLIENT_SECRET:
        return error("bad_client_secret")
    if args.get("grant_type") == "refresh_token":
        known = front.renewals.pop(args.get("refresh_token", ""), None)
        if known is None:
            return error("invalid_refresh_token")
        return granted(front, known, expires_in=front.token_lasts_s)
    found = front.codes.pop(args.get("code", ""), None)
    if found is None:
        return error("invalid_code")
    return granted(front, found, expires_in=front.token_lasts_s)


def granted(front: "Core", install: Install, *, expires_in: int | None) -> Json:
    """A new token of an install, with one to renew it where it runs out."""
    world = front.world
    token = f"xoxb-{world.fresh('granted')}-token"
    if expires_in is not None:
        token = f"xoxe.{token}"
    for old in [each for each, its in world.tokens.items() if its.bot == install.bot]:
        world.scopes.setdefault(token, scopes_of(world, old))
    world.tokens[token] = replace(install)
    answer: Json = {
        "ok": True, "app_id": install.app, "authed_user": {"id": "U01ALICE"},
        "scope": ",".join(sorted(scopes_of(world, token))), "token_type": "bot",
        "access_token": token, "bot_user_id": install.bot,
        "team": None if install.is_org_wide else {"id": install.team, "name": install.name},
        "enterprise": {"id": install.enterprise, "name": "Org"} if install.enterprise else None,
        "is_enterprise_install": install.is_org_wide,
    }  # fmt: skip
    if expires_in is not None:
        renewal = f"xoxe-1-{world.fresh('renewal')}"
        front.renewals[renewal] = install
        answer |= {"expires_in": expires_in, "refresh_token": renewal}
    return answer
