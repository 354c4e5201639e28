"""What is asked of people and waited for: a part of `bot.goals.events`."""

from dataclasses import dataclass

from bot.goals.goal import DecisionKind, Wait
from bot.goals.hands import Grant, Scope


@dataclass(frozen=True, slots=True)
class DecisionAsked:
    """The agent asked a person. An approval suspends the turn at once; others when it ends."""

    decision: str
    kind: DecisionKind
    text: str
    tool_use: str
    at: float = 0.0
    call: str = ""
    """Of an approval: the hash of the call, and what may be allowed further."""
    grant: Grant | None = None


@dataclass(frozen=True, slots=True)
class DecisionAnswered:
    """A person who may answered. `accepted` is for approvals, plans and sign-offs."""

    decision: str
    by: str
    answer: str
    accepted: bool = True
    at: float = 0.0
    scope: Scope = "once"
    """Of an approval that is accepted. `edits`: of a plan: the answer says what to change."""
    edits: bool = False


@dataclass(frozen=True, slots=True)
class DecisionExpired:
    """Nobody answered in time."""

    decision: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class DecisionReminded:
    """Half of the time is gone: one reminder."""

    decision: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitAsked:
    """The agent asked to be parked; it takes effect when the turn ends."""

    wait: Wait
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitFired:
    """What the goal waited for came, or its back-stop did."""

    wait: str
    why: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitChecked:
    """A probe ran and was quiet; look again at `next_at`."""

    wait: str
    next_at: float
    at: float = 0.0
