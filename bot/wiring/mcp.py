"""The MCP servers of rooms: behind the sandbox's wall or an address, with the secrets that they are bound to."""

import shlex
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from adapters.gateway.addresses import why_none
from adapters.gateway.verdicts import THREADS, SystemResolve
from adapters.mcp.addresses import Addresses
from adapters.mcp.pool import Pool
from adapters.mcp.reaching import Reaching
from adapters.mcp.toolbox import McpToolbox
from adapters.sandbox.programs import WalledPrograms
from adapters.store.open import Store
from bot.hosts import vouched
from bot.settings import Settings
from bot.wiring.room_secrets import RoomSecrets

FOLDER: Final = "mcp"
"""In the state folder: the folders of programs that run."""


async def open_mcp(
    stack: AsyncExitStack,
    settings: Settings,
    store: Store,
    redacted: Callable[[str], str],
    lent: RoomSecrets,
) -> McpToolbox:
    """The tools of rooms' servers. Nothing is started, and nothing loaded, until one is called."""
    programs = WalledPrograms(
        folder_of(settings),
        trusted=[tuple(shlex.split(line)) for line in settings.mcp_trusted],
        shown=tuple(str(one) for one in settings.mcp_folders),
        hidden=(str(settings.state_dir), str(settings.key_file.parent)),
    )
    await programs.sweep()
    resolve = SystemResolve()
    stack.callback(resolve.close)
    addresses = Addresses(vouched(settings.private_hosts), why_none, resolve.of_one(THREADS))
    reach = Reaching(programs, addresses, lent)
    box = McpToolbox(store.mcp_servers, Pool(reach), redacted=redacted)
    stack.push_async_callback(box.close)
    return box


def folder_of(settings: Settings) -> Path:
    """Where programs have their folders."""
    return settings.state_dir / FOLDER
