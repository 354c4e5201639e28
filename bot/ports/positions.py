"""
How far a network was read, and what came from it that cannot be read yet.

Rule 1: a position is written in the transaction that stores what came before it: never before that
        (a message would be lost), never after it (it would be answered twice).
Rule 2: an event whose key is missing is kept as it came, until the key comes or it is given up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bot.ports.chat import Network


@dataclass(frozen=True, slots=True)
class Sealed:
    """An event that came encrypted and whose key is not here. `body` is the event as it came, JSON."""

    id: str
    room: str
    key: str
    """What the network calls the key: of Matrix, the Megolm session."""
    body: str
    at: float
    is_told: bool = False
    """Whether its room has been told that it cannot be read."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far an account of a network has read. `token` is the network's own word for it."""

    network: "Network"
    workspace: str
    token: str
    sealed: tuple[Sealed, ...] = ()
    """What came before it and cannot be read yet."""
    opened: tuple[str, ...] = ()
    """Ids of sealed ones that were read meanwhile, or given up: they are kept no longer."""


class Positions(Protocol):
    """Where to go on reading. Positions are written by `Inbox.receive_all`."""

    async def position(self, network: "Network", workspace: str) -> str | None:
        """The token to go on from; None before the first look."""

    async def sealed(self, network: "Network", workspace: str) -> tuple[Sealed, ...]:
        """What cannot be read yet, oldest first."""

    async def told(self, ids: Sequence[str]) -> None:
        """Note that their rooms have been told of these."""
