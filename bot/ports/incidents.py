"""
Incidents: what the operator should mend, told once, and once when it is over.

Rule 1: of one kind and subject at most one is open. Opening it, and what is said of it, are one
        transaction: a crash repeats neither. So are recovery and its line.
Rule 2: they are said in the operations room and nowhere else; without one they are in the log.
"""

from dataclasses import dataclass
from typing import Protocol

from bot.ports.chat import Place


@dataclass(frozen=True, slots=True)
class Alert:
    """What is wrong, or over, and what is said of it in `place` (None: nothing is posted).

    Kinds: `key` `endpoint` `disk` `database` `post` `message` `sweeps` `sandbox` `cap` ...; the
    subject says of what (an endpoint's name, a key of the outbox).
    """

    kind: str
    subject: str
    detail: str = ""
    text: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident, open or over. Times are seconds since 1970."""

    id: str
    kind: str
    subject: str
    detail: str
    at: float
    recovered_at: float | None = None

    @property
    def is_open(self) -> bool:
        """True until it is over."""
        return self.recovered_at is None


class Incidents(Protocol):
    """What is wrong now, and what was."""

    async def open(self, alert: Alert) -> bool:
        """Open it and queue its text; False where one is open, and nothing is said.

        Raises:
            StoreBusy, StoreUnusable.
        """

    async def recovered(self, alert: Alert) -> bool:
        """Close the one that is open and queue the text; False where none is. Raises as `open`."""

    async def listed(self, *, limit: int = 50) -> tuple[Incident, ...]:
        """Those that are open, newest first, then those that are over."""
