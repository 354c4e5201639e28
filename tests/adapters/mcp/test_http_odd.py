"""Servers by address that misbehave: endless answers, silence, redirects, sessions that are forgotten."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.errors import BadInput
from bot.ports.mcp_servers import How
from tests.adapters.mcp.bed import ROOM, Bed, until

TOOL = {"name": "look", "description": "Look.", "inputSchema": {"type": "object"}}


class Odd:
    """A server that speaks well until it is called."""

    def __init__(self) -> None:
        self.kind = "good"
        self.paths: list[str] = []
        self.cancelled = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        if request.method != "POST" or self.kind == "refuses":
            return web.Response(status=405)
        if self.kind == "redirects":
            raise web.HTTPTemporaryRedirect("http://169.254.169.254/latest/meta-data/")
        asked = json.loads(await request.text())
        method, id = asked.get("method"), asked.get("id")
        self.cancelled += method == "notifications/cancelled"
        if id is None:
            return web.Response(status=202)
        if method == "initialize":
            return _json(id, {
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"},
            })  # fmt: skip
        if method == "tools/list":
            return _json(id, {"tools": [TOOL]})
        if method != "tools/call":
            return _json(id, error={"code": -32601, "message": "?"})
        return await self._called(request, id)

    async def _called(self, request: web.Request, id: Any) -> web.StreamResponse:
        match self.kind:
            case "hangs":
                await asyncio.sleep(30)
            case "endless body":
                return await _endless(request, "application/json", b'{"a": "' + b"x" * 65_000)
            case "endless stream":
                event = b"event: message\ndata: " + b"x" * 65_000 + b"\n\n"
                return await _endless(request, "text/event-stream", event)
            case "one endless event":
                return await _endless(request, "text/event-stream", b"x" * 65_000)
            case "no json":
                return web.Response(text="<html>", content_type="text/html")
            case "an error":
                return web.Response(status=500, text="Traceback: secret things")
            case "redirects in a call":
                raise web.HTTPTemporaryRedirect("http://169.254.169.254/latest/meta-data/")
            case _:
                pass
        return _json(id, {"content": [{"type": "text", "text": "seen"}]})


@pytest.fixture
async def odd() -> AsyncIterator[tuple[Odd, int]]:
    odd = Odd()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", odd.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield odd, runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def vouching(tmp_path: Path, odd: tuple[Odd, int]) -> AsyncIterator[Bed]:
    bed = Bed(tmp_path, private=(f"127.0.0.1:{odd[1]}=127.0.0.1",))
    yield bed
    await bed.box.close()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("hangs", "not known"),
        ("endless body", "odd"),
        ("endless stream", "odd"),
        ("one endless event", "odd"),
        ("no json", "failed"),
        ("an error", "failed"),
        ("redirects in a call", "failed"),
    ],
)
async def test_a_call_of_a_server_that_misbehaves_is_that_calls_error(
    vouching: Bed, odd: tuple[Odd, int], kind: str, said: str
) -> None:
    server, port = odd
    await vouching.take("odd", How(url=f"http://127.0.0.1:{port}/mcp"))
    assert (await vouching.call("mcp_odd_look")).text == "seen"
    server.kind, began = kind, time.monotonic()

    outcome = await vouching.call("mcp_odd_look", 2.0)

    assert not outcome.ok
    assert said in outcome.text
    assert "169.254" not in outcome.text or "not followed" in outcome.text
    assert time.monotonic() - began < 10
    server.kind = "good"
    assert (await vouching.call("mcp_odd_look")).text == "seen"


@pytest.mark.parametrize("kind", ["redirects", "refuses"])
async def test_a_server_that_leads_elsewhere_is_not_taken(
    vouching: Bed, odd: tuple[Odd, int], kind: str
) -> None:
    server, port = odd
    server.kind = kind

    with pytest.raises(BadInput):
        await vouching.box.look(ROOM, "odd", How(url=f"http://127.0.0.1:{port}/mcp"))

    assert set(server.paths) == {"/mcp"}


async def test_a_late_call_is_cancelled_at_the_server(vouching: Bed, odd: tuple[Odd, int]) -> None:
    server, port = odd
    await vouching.take("odd", How(url=f"http://127.0.0.1:{port}/mcp"))
    server.kind = "hangs"

    outcome = await vouching.call("mcp_odd_look", 1.0)

    assert outcome.timed_out
    await until(lambda: server.cancelled == 1)


def _json(id: Any, result: Any = None, error: Any = None) -> web.Response:
    body = {"jsonrpc": "2.0", "id": id}
    body |= {"error": error} if error is not None else {"result": result}
    return web.json_response(body)


async def _endless(request: web.Request, kind: str, piece: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": kind})
    await response.prepare(request)
    while True:
        await response.write(piece)
