"""MCP servers of rooms in memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.ports.chat import Place
from bot.ports.clock import Clock
from bot.ports.mcp_servers import McpServer
from bot.ports.people import NOTHING, Answer

if TYPE_CHECKING:
    from tests.doubles.store import MemoryStore

Key = tuple[str, str, str, str]


class MemoryMcpServers:
    """Port McpServers. `rows` are open to tests."""

    def __init__(self, store: "MemoryStore", clock: Clock) -> None:
        self.rows: dict[Key, McpServer] = {}
        self._store, self._clock = store, clock

    async def of(self, room: Place) -> Sequence[McpServer]:
        """A room's servers by name."""
        return tuple(self.rows[key] for key in sorted(self.rows) if key[:3] == _of(room))

    async def put(self, server: McpServer, answer: Answer = NOTHING) -> None:
        """Keep a server."""
        self._store.check(answer)
        room = Place(*_of(server.room))  # type: ignore[arg-type]
        kept = replace(server, room=room, set_at=self._clock.now())
        self.rows[(*_of(room), server.name)] = kept
        self._store.say(answer)

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Forget one."""
        self._store.check(answer)
        if self.rows.pop((*_of(room), name), None) is None:
            return False
        self._store.say(answer)
        return True

    def move(self, old: Place, new: Place) -> None:
        """A room was replaced."""
        for key in [key for key in self.rows if key[:3] == _of(old)]:
            server = replace(self.rows.pop(key), room=new)
            self.rows.setdefault((*_of(new), server.name), server)


def _of(room: Place) -> tuple[str, str, str]:
    return room.network, room.workspace, room.room
