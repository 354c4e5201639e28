"""
The tools of a room's MCP servers, for the turns of its goals: port Toolbox.

Rule 1: a turn is offered what was taken and kept; no server is asked for it, so that none holds a turn up,
        and the prompt's beginning stays the same whether a server is there or not.
Rule 2: a server that does not start, has ended, is late or has other tools now is that call's result.
Rule 3: every call may have effects outside, whatever the server says of it (`annotations`).
Rule 4: a turn that only looks has none of them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from adapters.mcp.contents import text_of
from adapters.mcp.listing import listing
from adapters.mcp.losses import CallFailed, Lost
from adapters.mcp.pool import Changed, Pool
from bot.errors import BadInput, HeadwayError
from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.mcp_servers import How, Listing, McpServer, McpServers, TakenTool
from bot.ports.sandbox import Outcome
from bot.tools.tool import Tool

if TYPE_CHECKING:
    from adapters.mcp.peer import Peer

LONGEST_S: Final = 600.0
_UNKNOWN: Final = "What it had done by then is not known: check it before you call it again."


def _as_it_is(text: str) -> str:
    return text


class McpToolbox:
    """Port Toolbox, and port Looking."""

    def __init__(
        self, servers: McpServers, pool: Pool, *, redacted: Callable[[str], str] = _as_it_is
    ) -> None:
        """`redacted`: a text without the values of secrets."""
        self._servers, self._pool, self._redacted = servers, pool, redacted

    async def open(self, goal: Goal, place: Place, *, read_only: bool) -> "McpKit":
        """As in the port."""
        servers: Sequence[McpServer] = ()
        if not read_only and goal.kind == "goal":
            try:
                servers = await self._servers.of(Place(place.network, place.workspace, place.room))
            except HeadwayError:
                # The store says so itself, at the turn's next step.
                servers = ()
        return McpKit(goal.session, servers, self._pool, self._redacted)

    async def look(self, room: Place, name: str, how: How, *, by: str = "") -> Listing:
        """As in the port Looking."""
        server = McpServer(room, name, how, set_by=by)
        try:
            peer = await self._pool.reach(f"look.{room.network}.{name}", server)
            await peer.begin()
        except Lost as why:
            raise BadInput(str(why)) from why
        try:
            found = listing(name, await peer.tools())
            self._pool.is_there(server)
            return found
        except (Lost, CallFailed) as why:
            raise BadInput(str(why)) from why
        finally:
            await peer.close()

    async def close(self) -> None:
        """End every server."""
        await self._pool.close()


class McpKit:
    """Port Kit: the servers of one turn."""

    def __init__(
        self,
        session: str,
        servers: Sequence[McpServer],
        pool: Pool,
        redacted: Callable[[str], str],
    ) -> None:
        self._session, self._pool, self._redacted = session, pool, redacted
        taken = [server for server in servers if server.digest]
        self._known = {
            tool.name: (server, tool)
            for server in sorted(taken, key=lambda one: one.name)
            for tool in server.tools
        }
        self._peers: dict[str, Peer] = {}
        self._starting = asyncio.Lock()

    @property
    def tools(self) -> Sequence[Tool]:
        """As in the port."""
        return tuple(_tool(tool) for _, tool in self._known.values())

    async def about(self, name: str, args: Mapping[str, Any]) -> str:
        """As in the port."""
        server, tool = self._known[name]
        how = server.how.url or " ".join(server.how.command)
        return f"{tool.tool} of the MCP server {server.name} ({how})"

    async def call(
        self, name: str, args: Mapping[str, Any], *, tool_use: str, timeout_s: float
    ) -> Outcome:
        """As in the port."""
        server, tool = self._known[name]
        try:
            peer = await self._peer(server)
        except Changed:
            return Outcome(
                False,
                f"The server {server.name} offers other tools than those that an admin took. It is not "
                f"used until one takes it again: /goal room mcp take {server.name}",
            )
        except (Lost, CallFailed) as why:
            return self._failed(f"The server {server.name} is not there: {why}.")
        try:
            result = await peer.call(tool.tool, args, min(timeout_s, LONGEST_S))
        except Lost as why:
            self._leave(server.name)
            return self._failed(f"The server {server.name} was lost: {why}. {_UNKNOWN}")
        except CallFailed as why:
            more = f" {_UNKNOWN}" if why.is_late else ""
            return self._failed(f"The server {server.name} failed: {why}.{more}", why.is_late)
        # It may be megabytes: not on the loop's thread.
        text = await asyncio.to_thread(
            text_of, result.content, result.structured_content, self._redacted
        )
        return Outcome(not result.is_error, text)

    async def close(self) -> None:
        """As in the port: what runs waits a while for the goal's next turn."""
        for name in list(self._peers):
            self._leave(name)

    async def _peer(self, server: McpServer) -> "Peer":
        async with self._starting:
            known = self._peers.get(server.name)
            if known is not None and known.is_alive:
                return known
            if known is not None:
                self._leave(server.name)
            peer = self._peers[server.name] = await self._pool.take(self._session, server)
            return peer

    def _leave(self, name: str) -> None:
        peer = self._peers.pop(name, None)
        server = next((one for one, _ in self._known.values() if one.name == name), None)
        if peer is not None and server is not None:
            self._pool.give(self._session, server, peer)

    def _failed(self, text: str, is_late: bool = False) -> Outcome:
        return Outcome(False, self._redacted(text), timed_out=is_late)


def _tool(tool: TakenTool) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        effects="external",
        where="kit",
        reads_outside=True,
        is_foreign=True,
    )
