"""The rehearsed Messages API for tests: in the test's own loop, or in a process of its own.

async with in_loop(linear([say("Done.")])) as api:
    client = api.client()

async with in_process("tests.peers.scripts:by_objective") as api:
    await api.fault({"status": 529}, count=3)

with started() as api:          # for tests without a loop
    totals = api.totals()
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from anthropic import AsyncAnthropic, DefaultAioHttpClient

from adapters.rehearsal.control import add_routes
from adapters.rehearsal.script import Script
from adapters.rehearsal.server import Options, Rehearsal, serving

ROOT = Path(__file__).resolve().parents[2]
KEY = "rehearsed-key"
BY_OBJECTIVE = "tests.peers.scripts:by_objective"
READY_S = 20.0


@dataclass(frozen=True)
class MessagesApi:
    """A running server, spoken to from a loop."""

    port: int
    key: str = KEY
    pid: int | None = None

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, **more: Any) -> AsyncAnthropic:
        """The SDK's client as the product makes it; close it with `async with`."""
        given = {"base_url": self.url, "api_key": self.key, "max_retries": 0, **more}
        return AsyncAnthropic(http_client=DefaultAioHttpClient(), **given)

    async def calls(self, **filters: Any) -> list[dict[str, Any]]:
        """The calls served, filtered as /control/calls does."""
        found: list[dict[str, Any]] = await self._ask("GET", "calls", filters)
        return found

    async def totals(self, **filters: Any) -> dict[str, Any]:
        """Tokens and counts of the calls served."""
        found: dict[str, Any] = await self._ask("GET", "totals", filters)
        return found

    async def fault(
        self,
        fault: dict[str, Any],
        *,
        count: int | None = 1,
        role: str | None = None,
        contains: str | None = None,
    ) -> None:
        """Queue a fault for the next `count` calls; None is until cleared."""
        body = {"fault": fault, "count": count, "role": role, "contains": contains}
        await self._ask("POST", "faults", body=body)

    async def clear_faults(self) -> None:
        """Drop the waiting faults and let held calls go."""
        await self._ask("DELETE", "faults")

    async def keys(self, *, accept: tuple[str, ...] = (), revoke: tuple[str, ...] = ()) -> None:
        """Accept and revoke keys."""
        await self._ask("POST", "keys", body={"accept": accept, "revoke": revoke})

    async def pace(self, **pace: Any) -> None:
        """Change the server's pace: `deltas`, `duration_s`, `tick_s`."""
        await self._ask("POST", "pace", body=pace)

    async def reset(self) -> None:
        """Forget every call, fault, cached prefix and memory."""
        await self._ask("POST", "reset")

    async def _ask(
        self, method: str, path: str, filters: dict[str, Any] | None = None, body: Any = None
    ) -> Any:
        query = {name: str(value) for name, value in (filters or {}).items()}
        where = f"{self.url}/control/{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, where, params=query, json=body) as response,
        ):
            response.raise_for_status()
            return await response.json()


@dataclass(frozen=True)
class BlockingMessagesApi:
    """A running server, spoken to without a loop."""

    port: int
    pid: int
    key: str = KEY

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self.port}"

    def calls(self, **filters: Any) -> list[dict[str, Any]]:
        """The calls served, filtered as /control/calls does."""
        found: list[dict[str, Any]] = self.ask("GET", "calls", filters)
        return found

    def totals(self, **filters: Any) -> dict[str, Any]:
        """Tokens and counts of the calls served."""
        found: dict[str, Any] = self.ask("GET", "totals", filters)
        return found

    def fault(
        self,
        fault: dict[str, Any],
        *,
        count: int | None = 1,
        role: str | None = None,
        contains: str | None = None,
    ) -> None:
        """Queue a fault for the next `count` calls; None is until cleared."""
        body = {"fault": fault, "count": count, "role": role, "contains": contains}
        self.ask("POST", "faults", body=body)

    def clear_faults(self) -> None:
        """Drop the waiting faults and let held calls go."""
        self.ask("DELETE", "faults")

    def keys(self, *, accept: tuple[str, ...] = (), revoke: tuple[str, ...] = ()) -> None:
        """Accept and revoke keys."""
        self.ask("POST", "keys", body={"accept": accept, "revoke": revoke})

    def pace(self, **pace: Any) -> None:
        """Change the server's pace: `deltas`, `duration_s`, `tick_s`."""
        self.ask("POST", "pace", body=pace)

    def reset(self) -> None:
        """Forget every call, fault, cached prefix and memory."""
        self.ask("POST", "reset")

    def ask(
        self, method: str, path: str, filters: dict[str, Any] | None = None, body: Any = None
    ) -> Any:
        """One request to /control."""
        query = urllib.parse.urlencode(filters or {})
        request = urllib.request.Request(
            f"{self.url}/control/{path}?{query}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)


@asynccontextmanager
async def in_loop(
    script: Script, *, keys: tuple[str, ...] = (KEY,), options: Options | None = None
) -> AsyncIterator[MessagesApi]:
    """A server in the test's own loop, playing a script that may be any callable."""
    rehearsal = Rehearsal(script, options or Options(keys=keys))
    app = rehearsal.app()
    add_routes(app, rehearsal)
    async with serving(app) as port:
        try:
            yield MessagesApi(port)
        finally:
            rehearsal.delivery.release()


@asynccontextmanager
async def in_process(
    script: str = BY_OBJECTIVE, *arguments: str, key: str = KEY
) -> AsyncIterator[MessagesApi]:
    """A server in a process of its own, ended with the block (and with this process)."""
    process = await asyncio.create_subprocess_exec(
        *_command(script, key, arguments),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), READY_S)
        yield MessagesApi(json.loads(line)["port"], key, process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
        await asyncio.sleep(0)


@contextmanager
def started(
    script: str = BY_OBJECTIVE, *arguments: str, key: str = KEY
) -> Iterator[BlockingMessagesApi]:
    """A server in a process of its own, for tests without a loop."""
    with subprocess.Popen(
        _command(script, key, arguments),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            yield BlockingMessagesApi(json.loads(process.stdout.readline())["port"], process.pid)
        finally:
            process.terminate()
            process.wait(10)


def _command(script: str, key: str, arguments: tuple[str, ...]) -> list[str]:
    served = ["--script", script, "--key", key, "--control", "--until-eof"]
    return [sys.executable, "-m", "adapters.rehearsal", *served, *arguments]
