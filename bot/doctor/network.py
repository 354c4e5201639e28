"""The check of the proxy between sandboxes and the network: it is started, in a folder that is thrown away."""

import asyncio
import tempfile
from pathlib import Path

from adapters.gateway.gateway import ProxyGateway
from bot.doctor.finding import warning, wrong
from bot.errors import NoSandbox
from bot.goals.goal import Goal
from bot.hosts import vouched
from bot.ports.chat import Place
from bot.ports.gateway import Reach
from bot.settings import Settings

_ASKED = (
    b"GET http://refused.invalid/ HTTP/1.1\r\nHost: refused.invalid\r\nConnection: close\r\n\r\n"
)
_HERE = Place("console", "", "doctor")
_GOAL = Goal("doctor", "doctor", 1, "", "")


def answers(settings: Settings) -> str:
    """Whether the proxy starts and refuses, and what goals reach by default.

    Raises:
        Found: it does not, and the mend.
    """
    with tempfile.TemporaryDirectory(prefix="headway-doctor-") as folder:
        try:
            told = asyncio.run(_asked(Path(folder)))
        except NoSandbox as error:
            raise wrong(f"Goals have no network: {error}") from error
    if not told.startswith(b"HTTP/1.1 403"):
        raise wrong("The proxy does not answer as it should. Goals have no network: report it.")
    own = f", {len(vouched(settings.private_hosts))} of your own" if settings.private_hosts else ""
    hosts = ", ".join(settings.hosts) or "none"
    if settings.profile == "full":
        raise warning(
            "Goals reach every public host by default (profile is full). Set profile to networked, and let "
            "rooms that need more say so."
        )
    return f"the proxy answers; networked goals reach {hosts}{own}"


async def _asked(folder: Path) -> bytes:
    """What the proxy answers to a request for a host that nobody may reach."""
    gateway = ProxyGateway(folder, _nothing)
    gateway.start()
    try:
        line = await gateway.open(_GOAL, _HERE, Reach())
        reader, writer = await asyncio.open_unix_connection(line.socket)
        writer.write(_ASKED)
        told = await reader.read()
        writer.close()
        return told
    finally:
        await gateway.stop()


async def _nothing(name: str) -> str:
    raise KeyError(name)
