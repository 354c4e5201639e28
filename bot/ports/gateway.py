"""
The way of a sandbox to the network: a proxy of ours behind a socket that is bound into it.

Rule 1: a host is allowed by the goal's profile, by a bundle or host that its room has, or by a person;
        every request is decided anew, and an unknown one waits for nobody: it is refused and told.
Rule 2: a name is resolved here, once; loopback, private, link-local, metadata and our own addresses are
        refused after that, and the connection goes to that very address. So for each redirect.
Rule 3: secrets are put into requests to their hosts here; inside there are placeholders alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.sandbox import Line


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was not let through: when, the host with its port, and why."""

    at: float
    host: str
    why: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What a goal may reach: names of hosts (`*.example.org` for all below), or every public host."""

    hosts: frozenset[str] = frozenset()
    is_open: bool = False
    secrets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of secrets that may be put into requests, with the hosts of each."""


class Gateway(Protocol):
    """Opens lines."""

    async def open(self, goal: Goal, place: Place, reach: Reach) -> Line:
        """A line for a goal's sandbox; the same goal and reach have the same one.

        Raises:
            NoSandbox: it cannot be opened.
        """

    def change(self, goal: str, reach: Reach) -> None:
        """From now on the goal may reach this; what is under way to other hosts is cut."""

    def refused(self, goal: str) -> tuple[Refusal, ...]:
        """What was refused to the goal since this was asked last."""

    async def close(self, goal: str) -> None:
        """End the goal's line; idempotent."""
