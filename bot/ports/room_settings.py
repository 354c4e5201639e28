"""
What a room's admins may set for it, as a value, and how it is kept. Pure.

Rule 1: what a room leaves open is its workspace's (the row of the empty room name), then the default.
Rule 2: a key that is unknown here, or a value that does not fit, is as if it were not set: a newer
        Headway may have written it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args

from bot.goals.hands import PROFILES

Mention = Literal["goal", "ask", "always"]
MENTIONS: Final[tuple[Mention, ...]] = get_args(Mention)
Approvals = Literal["ask", "deny"]
Unattended = Literal["deny", "park"]
Setting = bool | int | float | str


@dataclass(frozen=True, slots=True)
class RoomSettings:
    """A room's settings, resolved. None and the empty text: as the process's settings have it."""

    goals: bool = True
    """Whether goals may be started."""
    mention: Mention = "goal"
    """A mention starts a goal, or an ordinary turn; `always`: in threads, too, nothing but a mention,
    a command or the lone words `stop` and `pause` is for the bot."""
    model: str = ""
    audit_model: str = ""
    budget_usd: float | None = None
    """Of a new goal."""
    cap_usd: float | None = None
    """Of all goals of the room in a day."""
    cap_live_goals: int | None = None
    zone: str = ""
    """IANA name of the zone in which times are shown, and in which the room's day begins."""
    self_approve: bool = False
    """Whether a goal's owner may approve its calls."""
    four_eyes: bool = False
    """Whether a goal's owner may never be the one who approves, accepts or signs off."""
    retention_days: int | None = None
    """How long texts live after their goal ended."""
    workspace_days: int | None = None
    """How long workspaces live after their goal ended."""
    threads: bool = True
    """Whether each goal has a thread; else the room's one live goal is in its main timeline."""
    reactions: bool = False
    """Whether a reaction approves a call where messages are encrypted."""
    acks: bool = True
    """Whether what was taken is marked with a reaction."""
    profile: str = ""
    """What tools may do: `read_only`, `workspace`, `networked` or `full`."""
    approvals: str = ""
    """What becomes of a call that the profile does not allow: people are asked, or it is denied."""
    unattended: str = ""
    """The same of a goal that nobody began: it is denied, or the goal rests until somebody looks."""
    plan_first: bool = False
    """Whether a goal begins with a plan that somebody approves."""
    hosts: str = ""
    """What a networked goal reaches: bundles and hosts, with commas between (`pypi,api.example.org`)."""

    server_tools: bool = True
    """Whether goals may use the endpoint's own tools, of those that the operator has on."""


DEFAULTS: Final = RoomSettings()
KEYS: Final = tuple(field.name for field in fields(RoomSettings))
KINDS: Final[Mapping[str, type[Setting]]] = {
    "goals": bool, "mention": str, "model": str, "audit_model": str, "budget_usd": float,
    "cap_usd": float, "cap_live_goals": int, "zone": str, "self_approve": bool, "four_eyes": bool,
    "retention_days": int, "workspace_days": int, "threads": bool, "reactions": bool, "acks": bool,
    "profile": str, "approvals": str, "unattended": str, "plan_first": bool, "hosts": str,
    "server_tools": bool,
}  # fmt: skip
"""Of each key's value."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "mention": MENTIONS, "profile": PROFILES, "approvals": get_args(Approvals),
    "unattended": get_args(Unattended),
}  # fmt: skip
"""Of keys that take one of a few words."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One setting as it was set: its value, by whom (a person id, or who the system says), when."""

    value: Setting
    by: str
    at: float


def read_kept(text: str) -> dict[str, Kept]:
    """The settings in a row's `settings`, those that are known here."""
    try:
        rows = json.loads(text or "{}")
    except ValueError:
        return {}
    found = {}
    for key, row in rows.items() if isinstance(rows, dict) else ():
        kept = _kept(key, row)
        if kept is not None:
            found[key] = kept
    return found


def write_kept(text: str, key: str, kept: Kept | None) -> str:
    """The row's `settings` with one key set, or (None) left open again; unknown keys stay."""
    try:
        rows = json.loads(text or "{}")
    except ValueError:
        rows = {}
    rows = dict(rows) if isinstance(rows, dict) else {}
    rows.pop(key, None)
    if kept is not None:
        rows[key] = {"value": kept.value, "by": kept.by, "at": kept.at}
    return json.dumps(rows)


def resolved(*levels: Mapping[str, Kept], defaults: RoomSettings = DEFAULTS) -> RoomSettings:
    """The settings in force: the first level that has a key wins, then the default."""
    values: dict[str, Any] = {}
    for level in reversed(levels):
        values |= {key: kept.value for key, kept in level.items()}
    return replace(defaults, **values)


def _kept(key: str, row: Any) -> Kept | None:
    try:
        value, by, at = row["value"], str(row["by"]), float(row["at"])
    except (LookupError, TypeError, ValueError):
        return None
    kind = KINDS.get(key)
    if kind is float and type(value) is int:
        value = float(value)
    if kind is None or type(value) is not kind or value not in CHOICES.get(key, (value,)):
        return None
    return Kept(value, by, at)
