"""
What a goal's hands may do, as values of its row: profiles, grants, gates. Pure.

Rule: texts are content hashes here, as everywhere in the journal: a purge empties the content.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Profile = Literal["read_only", "workspace", "networked", "full"]
"""Looks; works in its own folder; reaches allowed hosts too; asks for nothing."""
PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)

GrantKind = Literal["command", "host", "tool"]
Scope = Literal["once", "goal", "always"]
"""How far an approval goes: this call, this goal, or this room for 30 days."""
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person has allowed beyond the profile, for one goal.

    `what` is a content hash: of the words of a simple command, its exact prefix, as a JSON list; of a
    host's name; or of a tool's name.
    """

    kind: GrantKind
    what: str


@dataclass(frozen=True, slots=True)
class GateLine:
    """A check that somebody gave a goal: a shell command that must exit with 0 (`command`: its hash)."""

    number: int
    command: str
    by: str = ""
