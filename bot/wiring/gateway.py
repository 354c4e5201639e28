"""
The proxy between sandboxes and the network.

Rule: without it goals work without a network; the log says so at the start, and the doctor.
"""

import logging
from contextlib import AsyncExitStack
from functools import partial

from adapters.gateway.gateway import ProxyGateway
from bot.errors import NoSandbox
from bot.hosts import vouched
from bot.ports.secrets import Secrets
from bot.settings import Settings

log = logging.getLogger(__name__)


async def open_gateway(
    stack: AsyncExitStack, settings: Settings, secrets: Secrets
) -> ProxyGateway | None:
    """The proxy, for the life of the stack; None where it cannot start."""
    gateway = ProxyGateway(
        settings.state_dir,
        partial(secrets.get, "secret"),
        vouched=vouched(settings.private_hosts),
        noted=_logged,
    )
    try:
        gateway.start()
    except NoSandbox as error:
        log.error("Goals have NO NETWORK: %s See `headway doctor`.", error)
        return None
    stack.push_async_callback(gateway.stop)
    return gateway


def _logged(goal: str, host: str, why: str, put_in: frozenset[str]) -> None:
    """Everything that goes out or is refused has a line, which names secrets and holds none."""
    with_secrets = f", with {', '.join(sorted(put_in))}" if put_in else ""
    verdict = f"refused: {why}" if why else f"passed{with_secrets}"
    log.info("Goal %s, %s: %s", goal, host, verdict, extra={"goal": goal})
