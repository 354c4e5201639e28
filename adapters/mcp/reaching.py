"""
How a room's server is reached: a program in its own folder, or an address with a secret in a header.

Rule: a secret goes to the hosts that it is bound to, over an encrypted connection or to a host that the
operator vouches for, and into no message.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adapters.mcp.addresses import Addresses
from adapters.mcp.losses import Lost
from bot.hosts import host_name, is_covered
from bot.ports.chat import Place
from bot.ports.mcp_servers import McpServer
from bot.ports.programs import Programs

if TYPE_CHECKING:
    from adapters.mcp.peer import Peer

SecretOf = Callable[[Place, str, str], Awaitable[tuple[str, tuple[str, ...]] | None]]
"""The value of a secret with its hosts, by the room, the name, and who has named it; or None."""


class Reaching:
    """Makes peers."""

    def __init__(
        self, programs: Programs | None, addresses: Addresses, secret_of: SecretOf
    ) -> None:
        """Without `programs` no command is run."""
        self._programs, self._addresses, self._secret_of = programs, addresses, secret_of

    async def __call__(self, session: str, server: McpServer) -> "Peer":
        """A server, not begun yet. Raises Lost."""
        # The package takes a second to load; meanwhile others go on.
        await asyncio.to_thread(importlib.import_module, "adapters.mcp.peer")
        from adapters.mcp.peer import Peer, by_address, by_command

        how = server.how
        if how.url:
            headers = await self._headers(server) if how.secret else {}
            return Peer(by_address(self._addresses, how.url, headers))
        if self._programs is None:
            raise Lost("no program is run here, as this machine has no working sandbox")
        return Peer(by_command(self._programs, server.name, how.command))

    async def _headers(self, server: McpServer) -> dict[str, str]:
        how = server.how
        host, port, is_sealed = where(how.url)
        kept = await self._secret_of(server.room, how.secret, server.set_by)
        if kept is None:
            raise Lost(f"the room has no secret {how.secret}: an admin keeps it first")
        value, hosts = kept
        if not is_covered(hosts, host, port):
            raise Lost(f"the secret {how.secret} is not bound to {host}")
        if not is_sealed and not self._addresses.is_vouched(host, port):
            raise Lost(f"the secret {how.secret} goes nowhere unencrypted: use https")
        if not value.isascii() or not value.isprintable():
            raise Lost(f"the secret {how.secret} cannot stand in a header")
        return {"Authorization": value if " " in value else f"Bearer {value}"}


def where(url: str) -> tuple[str, int, bool]:
    """Host, port, and whether it is encrypted. Raises Lost."""
    try:
        parts = urlsplit(url)
        named, port = parts.hostname or "", parts.port
        host = host_name(f"[{named}]" if ":" in named else named)
    except ValueError as error:
        raise Lost("its address cannot be read") from error
    is_sealed = parts.scheme == "https"
    return host, port or (443 if is_sealed else 80), is_sealed
