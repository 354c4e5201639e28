"""
What a step asks for. All but `StopTurn` become rows in the transaction of the step.

A turn, an audit or a wake-up is not an instruction: it is the goal's `due_at`, which the worker
claims.
"""

from dataclasses import dataclass
from typing import Literal

from bot.goals.goal import Decision, Wait
from bot.goals.hands import Grant

PostKind = Literal[
    "decision", "reminder", "blocked", "over_budget", "complete", "answer", "file", "notice"
]


@dataclass(frozen=True, slots=True)
class Post:
    """A new message in the goal's thread. `key` is unique in the goal: it is sent once.

    `reason` is a code, `content` the hash of a text (a final reply, a question).
    """

    kind: PostKind
    key: str
    reason: str = ""
    content: str = ""


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """The status message is out of date: one pending edit a goal, overwritten."""


@dataclass(frozen=True, slots=True)
class RemovePosts:
    """What was posted of the goal goes away: its status, and the cards of its decisions."""


@dataclass(frozen=True, slots=True)
class OpenWait:
    """Write the wait's row."""

    wait: Wait


@dataclass(frozen=True, slots=True)
class CloseWait:
    """The wait's row ends: `fired` or `withdrawn`."""

    wait: str
    how: Literal["fired", "withdrawn"]


@dataclass(frozen=True, slots=True)
class OpenDecision:
    """Write the decision's row; its card is a Post of its own."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class CloseDecision:
    """The decision's row ends, and its card is edited to say so."""

    decision: str
    how: Literal["answered", "expired", "withdrawn"]
    by: str = ""
    answer: str = ""
    """Content hash of the answer."""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Allow:
    """A standing permission of the goal's room: what a decision offered, given by a person."""

    grant: Grant
    by: str
    decision: str
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class DropPosts:
    """What has not been sent of the goal is superseded, but for its status."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A restorable point at the end of this turn."""

    turn: int


@dataclass(frozen=True, slots=True)
class StopTurn:
    """The running turn must abort at its next await. Not a row: the worker is told."""

    why: str


Instruction = (
    Post
    | ShowStatus
    | RemovePosts
    | OpenWait
    | CloseWait
    | OpenDecision
    | CloseDecision
    | Checkpoint
    | Allow
    | DropPosts
    | StopTurn
)
