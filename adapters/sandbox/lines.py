"""
A line to the network as a confined process gets it: the socket at a place, the rest by its first call.

Nothing of it stands in a command line, which every user of the machine can read.
"""

import asyncio
from pathlib import Path

from adapters.sandbox.channel import Channel, Gone
from bot.errors import NoSandbox
from bot.ports.sandbox import Line

PORT = 3128
"""Of the proxy, on the loopback of a sandbox."""
SOCKET = "/run/proxy.sock"
"""Where a sandbox sees the proxy's socket."""
_BEGIN_S = 15.0

Key = tuple[str, str, tuple[tuple[str, str], ...]]


def key(line: Line | None) -> Key | None:
    """What tells two lines apart."""
    if line is None:
        return None
    return line.socket, line.certificate, tuple(sorted(line.environment.items()))


async def laid(channel: Channel, line: Line, *, socket: str, port: int) -> None:
    """Have the server open the way out; `socket` is where it sees the proxy. Ends what it cannot use.

    Raises:
        NoSandbox: it cannot, or the certificate cannot be read.
    """
    try:
        await _lay(channel, line, socket, port)
    except BaseException:
        await channel.end()
        raise


async def _lay(channel: Channel, line: Line, socket: str, port: int) -> None:
    args = {
        "socket": socket,
        "port": port,
        "certificate": await asyncio.to_thread(_certificate, line.certificate),
        "environment": dict(line.environment),
    }
    try:
        answer = await channel.call(0, {"tool": "line", "args": args, "timeout_s": 0}, _BEGIN_S)
    except (Gone, TimeoutError) as error:
        raise NoSandbox("The sandbox ended before its way to the network was open.") from error
    if answer.get("ok") is not True:
        raise NoSandbox(f"The sandbox's way to the network is closed: {answer.get('text')}")


def _certificate(place: str) -> str:
    if not place:
        return ""
    try:
        return Path(place).read_text("ascii")
    except (OSError, ValueError) as error:
        raise NoSandbox(f"The proxy's certificate cannot be read: {error}.") from error
