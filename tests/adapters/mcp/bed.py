"""What the tests of MCP servers stand on: servers that run, kept tools, a goal's kit."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.gateway.addresses import why_none
from adapters.gateway.verdicts import SystemResolve
from adapters.mcp.addresses import Addresses
from adapters.mcp.pool import Pool
from adapters.mcp.reaching import Reaching
from adapters.mcp.toolbox import McpKit, McpToolbox
from adapters.sandbox.programs import WalledPrograms
from bot.goals.goal import Goal
from bot.hosts import vouched
from bot.ports.chat import Place
from bot.ports.mcp_servers import How, McpServer
from bot.ports.people import NOTHING, Answer
from bot.ports.sandbox import Outcome
from tests.peers.messages_api import ROOT

ROOM = Place("console", "w", "room")
ODD = Path(ROOT) / "tests" / "peers" / "mcp_odd.py"


class MemoryServers:
    """Port McpServers, of one room."""

    def __init__(self) -> None:
        self.kept: dict[str, McpServer] = {}

    async def of(self, room: Place) -> Sequence[McpServer]:
        """A room's servers."""
        return [self.kept[name] for name in sorted(self.kept)]

    async def put(self, server: McpServer, answer: Answer = NOTHING) -> None:
        """Keep one."""
        self.kept[server.name] = server

    async def remove(self, room: Place, name: str, answer: Answer = NOTHING) -> bool:
        """Forget one."""
        return self.kept.pop(name, None) is not None


@dataclass
class Bed:
    """A toolbox over a folder. `now` is the pool's clock."""

    folder: Path
    secrets: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    redacted: Any = str
    now: float = 0.0

    def __post_init__(self) -> None:
        self.servers = MemoryServers()
        self.log = self.folder / "log"
        self.trusted = trusted_command(self.log)
        programs = WalledPrograms(
            self.folder / "programs", trusted=[self.trusted], shown=(str(ODD.parent),)
        )
        reaching = Reaching(
            programs,
            Addresses(vouched(self.private), why_none, SystemResolve().of_one()),
            self._secret,
        )
        self.pool = Pool(reaching, now=lambda: self.now)
        self.box = McpToolbox(self.servers, self.pool, redacted=self.redacted)

    async def take(self, name: str, how: How) -> McpServer:
        """Add a server and take its tools."""
        listing = await self.box.look(ROOM, name, how)
        server = McpServer(ROOM, name, how, listing.tools, listing.digest)
        await self.servers.put(server)
        return server

    async def odd(self, kind: str, name: str = "odd", *, looked_at: str = "good") -> McpServer:
        """A server that misbehaves, taken while it was well (`looked_at`)."""
        taken = await self.take(name, How(("python3", str(ODD), looked_at)))
        server = replace(taken, how=How(("python3", str(ODD), kind)))
        await self.servers.put(server)
        return server

    async def kit(self, session: str = "s1", *, read_only: bool = False) -> McpKit:
        """The tools of a turn."""
        goal = Goal("g1", session, 1, "ada", "o")
        return await self.box.open(goal, replace(ROOM, thread="t"), read_only=read_only)

    async def call(self, name: str, timeout_s: float = 20.0, **args: Any) -> Outcome:
        """One call of a turn of its own."""
        kit = await self.kit()
        try:
            return await kit.call(name, args, tool_use="toolu_1", timeout_s=timeout_s)
        finally:
            await kit.close()

    async def _secret(self, room: Place, name: str, by: str) -> tuple[str, tuple[str, ...]] | None:
        return self.secrets.get(name)


def trusted_command(log: Path) -> tuple[str, ...]:
    """The package's own server, as an operator would trust it."""
    env = ("/usr/bin/env", f"PYTHONPATH={ROOT}", f"MCP_LOG={log}")
    return (*env, sys.executable, "-m", "tests.peers.mcp_server")


@contextlib.contextmanager
def an_http_server(log: Path) -> Iterator[int]:
    """The package's own server over HTTP; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.peers.mcp_server", "http", str(port)],
        cwd=ROOT, env={**os.environ, "MCP_LOG": str(log)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _until_listening(port)
        yield port
    finally:
        process.kill()
        process.wait()


async def until(holds: Any, within_s: float = 10.0) -> None:
    """Look again and again until something holds."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def _until_listening(port: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("The server does not listen.")
