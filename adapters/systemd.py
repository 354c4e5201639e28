"""
What systemd is told of this process (sd_notify(3)): ready, alive, stopping.

Rule 1: without NOTIFY_SOCKET nothing happens, and what cannot be told is no reason to stop.
Rule 2: the sign of life comes from the event loop: one that hangs is silent, and is started again.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Final

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
ALIVE: Final = "WATCHDOG=1"


def tell(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Send a state to whoever started this process as a service; False where nobody did."""
    place = environ.get("NOTIFY_SOCKET", "")
    if not place.startswith(("/", "@")):
        return False
    address = "\0" + place[1:] if place.startswith("@") else place
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        # A manager that does not read must not hold the loop up.
        sender.setblocking(False)
        sender.sendto(state.encode(), address)
        return True
    return False


@contextlib.asynccontextmanager
async def signs_of_life(environ: Mapping[str, str] = os.environ) -> AsyncIterator[None]:
    """Say that this loop is alive, twice as often as the unit's WatchdogSec asks for."""
    every_s = _every_s(environ)
    if not every_s:
        yield
        return
    living = asyncio.create_task(_alive(every_s, environ), name="signs of life")
    try:
        yield
    finally:
        living.cancel()


async def _alive(every_s: float, environ: Mapping[str, str]) -> None:
    while True:
        tell(ALIVE, environ)
        await asyncio.sleep(every_s)


def _every_s(environ: Mapping[str, str]) -> float:
    """Seconds between two signs; 0 where none are asked of this process."""
    text, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not text.isdecimal() or pid not in ("", str(os.getpid())):
        return 0.0
    return int(text) / 1e6 / 2
