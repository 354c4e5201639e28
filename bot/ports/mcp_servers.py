"""
Servers of tools that speak MCP, of rooms: how each is reached, and the tools that an admin has taken from it.

Rule 1: what a server says of its tools is a stranger's word. It is kept as it was when an admin took it,
        cleaned and bounded, and that alone is offered to agents.
Rule 2: a server whose tools are others now (`digest`) is not used until an admin takes it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from bot.ports.chat import Place
from bot.ports.people import NOTHING, Answer

SERVERS_MOST: Final = 8
"""Of one room."""


@dataclass(frozen=True, slots=True)
class How:
    """A command line, or an address with the name of the secret that it takes."""

    command: tuple[str, ...] = ()
    url: str = ""
    secret: str = ""


@dataclass(frozen=True, slots=True)
class TakenTool:
    """One tool as agents get it; `tool` is what the server calls it."""

    tool: str
    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offered: the tools that can be used, the hash of all it said, and what was left out."""

    tools: tuple[TakenTool, ...] = ()
    digest: str = ""
    left_out: tuple[str, ...] = ()
    """Names, each with why; for the admin."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server of a room. Without a digest nobody has taken its tools."""

    room: Place
    name: str
    how: How
    tools: tuple[TakenTool, ...] = ()
    digest: str = ""
    set_by: str = ""
    """A person id; empty: the operator, by the command line."""
    set_at: float = 0.0


class McpServers(Protocol):
    """Those of rooms."""

    async def of(self, room: Place) -> Sequence[McpServer]:
        """A room's servers by name."""

    async def put(self, server: McpServer, answer: Answer = NOTHING) -> None:
        """Keep a server, in the place of the room's one of that name; `set_at` is the store's to say."""

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Forget one; false where there is none of that name, and nothing is said then."""


class Looking(Protocol):
    """Looks at a server."""

    async def look(self, room: Place, name: str, how: How, *, by: str = "") -> Listing:
        """What it offers now, within a bounded time; the server is ended after it.

        `by`: the person who names its secret.

        Raises:
            BadInput: it cannot be reached or is no such server, and why.
        """
