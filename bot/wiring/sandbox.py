"""The sandbox: built from the settings, proved to work, and discreet."""

import logging
from contextlib import AsyncExitStack
from typing import Final, cast

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.docker import Containers
from adapters.sandbox.none import Unconfined
from bot.errors import NoSandbox
from bot.ports.sandbox import Sandbox
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.discreet import DiscreetSandbox

log = logging.getLogger(__name__)

Built = Bubblewrap | Containers | Unconfined

SANDBOX_RESTS_S: Final = 60.0
"""How long the idle process of a goal's sandbox waits for its next turn."""
LEAST_SANDBOXES: Final = 64


def build_sandbox(settings: Settings) -> Built:
    """The sandbox that the settings name, not tried yet."""
    workspaces = settings.workspaces_dir
    if settings.sandbox == "none":
        log.warning("Tools run UNCONFINED: the sandbox is `none` by the settings.")
        return Unconfined(workspaces)
    most = max(LEAST_SANDBOXES, settings.turns_at_once)
    # What a goal's turn leaves is there for its next one.
    rest_s = SANDBOX_RESTS_S
    if settings.sandbox == "docker":
        image = settings.sandbox_image
        return Containers(workspaces, image, rest_s=rest_s, max_sessions=most)
    hidden = (str(settings.state_dir), str(settings.key_file.parent))
    return Bubblewrap(workspaces, hidden=hidden, rest_s=rest_s, max_sessions=most)


def discreet_sandbox(sandbox: Sandbox | None, redactor: Redactor) -> Sandbox | None:
    """The sandbox, if there is one, with tools that give no known secret."""
    return None if sandbox is None else cast(Sandbox, DiscreetSandbox(sandbox, redactor))


async def open_sandbox(stack: AsyncExitStack, settings: Settings) -> Built | None:
    """The sandbox if it works; without one the tools are off."""
    sandbox = build_sandbox(settings)
    stack.push_async_callback(sandbox.close)
    try:
        await sandbox.check()
    except NoSandbox as error:
        log.error("The agent's tools are OFF: %s See `headway doctor`.", error)
        return None
    return sandbox
