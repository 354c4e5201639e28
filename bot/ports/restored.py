"""
What a restored database holds that nobody can be sure of: told before it is released.

Rule: values only. After a restore nothing runs, fires or is sent, until somebody has read this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class InFlight:
    """A call of the model or of a tool that had begun; what became of it is unknown.

    `nano_usd` is what it is charged at most: None where the price is unknown, 0 for a tool.
    """

    goal: int
    name: str
    """`agent`, `audit`, ... or the tool's."""
    tokens: int = 0
    nano_usd: int | None = 0
    is_tool: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """Something of a goal that has a time: an open decision, or a wait. Seconds since 1970."""

    goal: int
    name: str
    """A decision's kind and number, or a wait's kind."""
    at: float


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What the restore found. Goals are named by their number."""

    at: float
    """When it was restored."""
    made_at: float
    """When the backup was made: what was said, done, posted and forgotten since is not known here.
    The clock of an open decision stands from then until the release."""
    made_by: str
    goals: Mapping[str, int] = field(default_factory=dict)
    """How many goals are in each state."""
    in_flight: tuple[InFlight, ...] = ()
    to_look_up: int = 0
    """Posts that were not known to be sent."""
    may_have_posted: tuple[int, ...] = ()
    """Goals that were at work: what they posted since the backup is looked up by its key."""
    decisions: tuple[Due, ...] = ()
    waits: tuple[Due, ...] = ()
    unhandled: int = 0
    """Messages that were taken in and not handled."""
    missed: int = 0
    """Occurrences whose time passed since the backup: they are not made up for."""
    sealed: int = 0
    """Secrets; they open with the key that sealed them, which is in no backup."""
    installs: tuple[str, ...] = ()
    """Workspaces in which an app is installed, by name and id: their tokens are those of the backup."""


class Restores(Protocol):
    """What a restore left behind."""

    async def report(self) -> RestoreReport | None:
        """What the last restore found, while its hold stands; None where there is none.

        Raises:
            StoreBusy, StoreUnusable: the rows cannot be read.
        """
