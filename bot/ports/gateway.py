"""
The way of a sandbox to the network: a proxy of ours behind a socket that is bound into it.

Rule 1: a host is allowed by the goal's profile, by a bundle or host that its room has, or by a person;
        every request is decided anew, and an unknown one waits for nobody: it is refused and told.
Rule 2: a name is resolved here, once; loopback, private, link-local, metadata and our own addresses are
        refused after that, and the connection goes to that very address. So for each redirect.
Rule 3: secrets are put into requests to their hosts here; inside there are placeholders alone.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.sandbox import Line

Mode = Literal["proxied", "given"]
"""A secret is put into requests to its hosts, or lies readable in the environment."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was not let through: when, the host with its port, and why."""

    at: float
    host: str
    why: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Requests or connections that went to a host, how many, and which secrets were put into them."""

    host: str
    count: int
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InUse:
    """A secret that a goal has: the variable that holds its placeholder, or (`given`) its value."""

    name: str
    hosts: tuple[str, ...]
    """Entries as `bot.hosts` reads them: where a `proxied` one is put into requests."""
    variable: str
    mode: Mode = "proxied"


@dataclass(frozen=True, slots=True)
class Reach:
    """What a goal may reach: entries as `bot.hosts` reads them, or every public host."""

    hosts: frozenset[str] = frozenset()
    is_open: bool = False
    secrets: tuple[InUse, ...] = ()


class Gateway(Protocol):
    """Opens lines."""

    async def open(self, goal: Goal, place: Place, reach: Reach) -> Line:
        """A line for a goal's sandbox, which has the same one while the gateway lives.

        Raises:
            NoSandbox: it cannot be opened.
        """

    def change(self, goal: str, reach: Reach) -> None:
        """From now on the goal may reach this; what is under way to other hosts is cut."""

    def refused(self, goal: str) -> tuple[Refusal, ...]:
        """What was refused to the goal since this was asked last."""

    def passed(self, goal: str) -> tuple[Passed, ...]:
        """What went where since this was asked last, by host."""

    async def close(self, goal: str) -> None:
        """End the goal's line; idempotent."""
