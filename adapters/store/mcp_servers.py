"""
The MCP servers of rooms, as rows.

Rule: a row that cannot be read any more is a server that nobody has taken: it is shown and not used.
"""

import json
from typing import Any, Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.journal import check_waiting
from adapters.store.people import write_notes
from adapters.store.places import find_room, see_room
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.ports.chat import Place
from bot.ports.mcp_servers import How, McpServer, TakenTool
from bot.ports.people import NOTHING, Answer

_M: Final = METADATA.tables["mcp_server"]
_COLUMNS: Final = (_M.c.name, _M.c.how, _M.c.tools, _M.c.digest, _M.c.set_by, _M.c.set_at)
_OF: Final = select(*_COLUMNS).where(_M.c.room == bindparam("of_room")).order_by(_M.c.name)
_PUT: Final = queries.upsert(
    queries.into(_M), ("room", "name"), "how", "tools", "digest", "set_by", "set_at"
)
_REMOVE: Final = delete(_M).where(
    _M.c.room == bindparam("of_room"), _M.c.name == bindparam("of_name")
)


class StoreMcpServers:
    """Port McpServers."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def of(self, room: Place) -> tuple[McpServer, ...]:
        """A room's servers by name."""

        def query(reader: Reader) -> tuple[McpServer, ...]:
            id = find_room(reader, room)
            rows = reader.all(_OF, of_room=id) if id is not None else ()
            return tuple(_server(room, row) for row in rows)

        return await self._readers.glance(query)

    async def put(self, server: McpServer, answer: Answer = NOTHING) -> None:
        """Keep a server, in the place of the room's one of that name."""

        def job(tx: Transaction) -> None:
            check_waiting(tx, answer.handled)
            tx.run(
                _PUT, room=see_room(tx, server.room), name=server.name, how=_how(server.how),
                tools=_tools(server.tools), digest=server.digest, set_by=server.set_by,
                set_at=tx.now(),
            )  # fmt: skip
            write_notes(tx, answer)

        await self._writer.do(job)

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Forget one; false where there is none of that name, and nothing is said then."""

        def job(tx: Transaction) -> bool:
            check_waiting(tx, answer.handled)
            id = find_room(tx, room)
            if id is None or not tx.run(_REMOVE, of_room=id, of_name=name):
                return False
            write_notes(tx, answer)
            return True

        return await self._writer.do(job)


def _how(how: How) -> str:
    return json.dumps({"command": how.command, "url": how.url, "secret": how.secret})


def _tools(tools: tuple[TakenTool, ...]) -> str:
    rows = [
        {
            "tool": one.tool,
            "name": one.name,
            "description": one.description,
            "schema": dict(one.schema),
        }
        for one in tools
    ]
    return json.dumps(rows)


def _server(room: Place, row: Row) -> McpServer:
    name, how, tools, digest, set_by, set_at = row
    place = Place(room.network, room.workspace, room.room)
    try:
        given: dict[str, Any] = json.loads(how)
        reached = How(tuple(given["command"]), given["url"], given["secret"])
        taken = tuple(TakenTool(**one) for one in json.loads(tools))
    except (ValueError, TypeError, LookupError):
        return McpServer(place, name, How(), (), "", set_by, set_at)
    return McpServer(place, name, reached, taken, digest, set_by, set_at)
