"""Sentences of profiles and permissions."""

from collections.abc import Mapping
from typing import Final

PERMISSIONS: Final[Mapping[str, str]] = {
    "verb.permissions": "what is allowed to all goals of this room for a time, by whom; taking it back",
    "verb.permissions.example": "permissions revoke 2",
    "verb.profile": "what its tools may do unasked: `read_only`, `workspace`, `networked`, `full`",
    "verb.profile.example": "profile G12 read_only",
    "permissions.none": (
        "Nothing is allowed to all goals of this room. Who approves a call with *Always here* allows it for "
        "a time."
    ),
    "permissions.head": "Allowed to all goals of this room:",
    "permissions.line": "{n}. {what} · by {by} · until {until} · {uses} · `{id}`",
    "permissions.uses": "used {n} times",
    "permissions.uses.one": "used once",
    "permissions.foot": "`permissions revoke 1` takes the first one back.",
    "permissions.of_which": (
        "Nothing is taken back: `{word}` is a number of a list, and none was shown to you lately. "
        "This is what is in force:"
    ),
    "permissions.revoked": "Taken back: {what}. From now on goals of this room ask again.",
    "bad.permission": (
        "{word} is none of this room's permissions, or it has ended. `permissions` lists those in force."
    ),
    "said.may_not.memory": "You may not take back what was allowed to the room: it takes an admin.",
    "said.may_not.profile": "You may not change what {goal} may do: it takes its owner or an admin.",
    "refused.profile": (
        "That is more than this room lets a goal do unasked, so it takes an admin. Up to the room's own "
        "profile {goal} is its owner's to set."
    ),
    "refused.no_permissions": "Permissions are not kept here.",
    "profile.is": "{goal} works as `{profile}`: {means}.",
    "profile.set": "{goal} works as `{profile}` from its next call on: {means}.",
    "profile.read_only": "it looks, and asks before it changes or runs anything",
    "profile.workspace": "it works in its own folder, without a network, and asks for anything beyond",
    "profile.networked": "it works in its own folder, reaches the room's hosts, and asks for anything beyond",
    "profile.full": (
        "it reaches any public host and uses every tool without asking; an operator's rules still hold"
    ),
    "blocked.needs_approval": "a call takes an approval, and nobody began this goal who would answer",
    "blocked.needs_approval.mend": (
        "Look at what it wants to do, then Resume: it is asked for again, and whoever may can approve it."
    ),
}
