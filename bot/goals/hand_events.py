"""What happens to a goal's permissions, gates and restorable points: a part of `bot.goals.events`."""

from dataclasses import dataclass

from bot.goals.goal import Goal
from bot.goals.hands import GateLine


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """A person set what its tools may do. Empty: as the room has it. The revision stays."""

    by: str
    profile: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class GatesSet:
    """A person changed its checks: these are all of them now. The revision stays.

    `over`: the numbers of those that it was made from; where there are others now, it does not fit.
    """

    by: str
    gates: tuple[GateLine, ...]
    at: float = 0.0
    over: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReviewSettled:
    """What somebody answered to a review was carried out, or could not be: `content` tells."""

    decision: str
    content: str
    ok: bool = True
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Rewound:
    """A person put it back to the checkpoint at journal entry `to_seq`: the goal as it was there.

    `tree` is the workspace's snapshot of that point; without one there is no going back.
    """

    by: str
    to_seq: int
    point: Goal
    tree: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class WorkspaceRestored:
    """The workspace holds what `Goal.restore` names.

    `lacking`: content hash of the paths that could not be put back as they were; empty: none.
    """

    tree: str
    at: float = 0.0
    lacking: str = ""
