"""How permissions and profiles are written: `permissions revoke 2`, `profile read_only`. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.chat.facts import Manner
from bot.chat.offers import allows
from bot.chat.times import moment
from bot.goals.hands import PROFILES
from bot.ports.permissions import Permission

_REVOKE: Final = re.compile(r"(?:revoke|remove)\s+([A-Za-z0-9.]{1,40})", re.IGNORECASE)
OPEN: Final = "default"
"""The word that leaves a goal's profile to its room again."""
ID_CHARS: Final = 6


@dataclass(frozen=True, slots=True)
class PermissionWords:
    """What is to be taken back: a number of the list, or the beginning of an id; empty: show the list."""

    revoke: str = ""


def read_permissions(text: str) -> PermissionWords | None:
    """What follows `permissions`; None where it is rather an objective."""
    if not text or text.lower() == "list":
        return PermissionWords()
    found = _REVOKE.fullmatch(text)
    return PermissionWords(found[1]) if found else None


def read_profile(text: str) -> str | None:
    """The profile that is named, or `default`; empty: to be shown; None: it is rather an objective."""
    word = text.lower().replace("-", "_")
    return word if word in ("", OPEN, *PROFILES) else None


def is_number(word: str) -> bool:
    """Whether it is a number of a list, and no id's beginning."""
    return word.isascii() and word.isdigit() and len(word) < ID_CHARS


def meant(word: str, listed: Sequence[Permission]) -> Permission | None:
    """The permission of a list that a number or the beginning of an id means, where it is one alone."""
    if word.isascii() and word.isdigit() and 1 <= int(word) <= len(listed):
        return listed[int(word) - 1]
    # A number that is none of the list's may be the beginning of an id.
    found = [one for one in listed if len(word) >= ID_CHARS and one.id.startswith(word)]
    return found[0] if len(found) == 1 else None


def list_text(
    listed: Sequence[Permission],
    names: Mapping[str, str],
    now: float,
    manner: Manner,
) -> str:
    """The standing permissions of a room; `names` of people by their ids."""
    texts = manner.texts
    if not listed:
        return texts("permissions.none")
    lines = [
        texts(
            "permissions.line",
            n=number,
            what=allows(one.kind, one.what, texts),
            by=names.get(one.by) or texts("somebody"),
            until=moment(one.expires_at, now, manner.zone, texts),
            uses=texts("permissions.uses.one" if one.uses == 1 else "permissions.uses", n=one.uses),
            id=one.id[:ID_CHARS],
        )
        for number, one in enumerate(listed, 1)
    ]
    return "\n".join([texts("permissions.head"), *lines, "", texts("permissions.foot")])
