"""
What a process can say of itself while it runs: for health, metrics and the operator's one look.

Rule: all of it is read from another thread, so that a loop that hangs can still be told of.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from bot.ports.figures import Commits, Now, Totals

Stage = Literal["starting", "running", "draining"]


@dataclass(frozen=True, slots=True)
class Connector:
    """One network as this process hears it. Times are seconds since 1970 UTC."""

    network: str
    is_up: bool
    heard_at: float | None = None
    """When it last heard anything at all, a message or a sign of life."""
    trouble: str = ""
    """Why it is not up."""


@dataclass(frozen=True, slots=True)
class EndpointSight:
    """A model endpoint. `kind` is empty while it takes calls."""

    name: str
    kind: str = ""
    closed_s: float = 0.0
    in_flight: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class ProcessSight:
    """One process at one moment."""

    stage: Stage
    started_at: float
    version: str
    today: str = ""
    """The local date, as the days of what was spent are called."""
    running: int = 0
    lag_s: float = 0.0
    takeovers: int = 0
    sandboxes: int = 0
    day_cap_usd: float | None = None
    disk_free: int = 0
    disk_size: int = 0
    commits: Commits = field(default_factory=Commits)
    sweeps: Mapping[str, float] = field(default_factory=dict)
    """How late each is, in seconds."""
    connectors: tuple[Connector, ...] = ()
    endpoints: tuple[EndpointSight, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """An answer to "are you well": the reasons are empty when it is yes."""

    reasons: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Read:
    """The database's figures as they were read last; None before the first time."""

    now: Now | None = None
    totals: Totals | None = None
    now_age_s: float = 0.0
    totals_age_s: float = 0.0
    now_took_s: float = 0.0
    totals_took_s: float = 0.0


class Sight(Protocol):
    """What a listener serves. Every call returns within about five seconds."""

    async def live(self) -> Health:
        """Whether the loop turns and the writer writes: if not, the process is to be restarted."""

    async def ready(self) -> Health:
        """Whether it takes work now."""

    async def figures(self) -> Read:
        """The database's figures, as fresh as they are worth."""

    def process(self) -> ProcessSight:
        """The process itself."""
