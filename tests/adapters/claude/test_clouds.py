"""The adapter over the wire formats of Bedrock and Vertex."""

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint import ClaudeModel
from bot.errors import ModelBusy
from tests.adapters.claude.clocks import FastClock
from tests.adapters.claude.serving import asked

EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "model": "claude-x",
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def amazon_frame(event: dict[str, Any]) -> bytes:
    """One frame of `application/vnd.amazon.eventstream` (AWS SDK, event stream encoding)."""
    body = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    given = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + struct.pack("!BH", 7, len(value))
        + value.encode()
        for name, value in given.items()
    )
    prelude = struct.pack("!II", len(headers) + len(body) + 16, len(headers))
    prelude += struct.pack("!I", zlib.crc32(prelude))
    whole = prelude + headers + body
    return whole + struct.pack("!I", zlib.crc32(whole))


@dataclass
class Cloud:
    url: str = ""
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@asynccontextmanager
async def cloud(
    kind: str, encode: Callable[[dict[str, Any]], bytes], events: list[dict[str, Any]]
) -> AsyncIterator[Cloud]:
    state = Cloud()

    async def answer(http: web.Request) -> web.StreamResponse:
        await http.read()
        state.paths.append(http.path)
        state.keys.append(http.headers.get("authorization", ""))
        response = web.StreamResponse(headers={"content-type": kind})
        await response.prepare(http)
        for event in events:
            await response.write(encode(event))
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    state.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield state
    finally:
        await runner.cleanup()


def model_of(provider: Any, state: Cloud) -> ClaudeModel:
    endpoint = Endpoint(provider=provider, base_url=state.url, region="eu-west-1", project="p")
    return ClaudeModel(endpoint, model="claude-x", key=lambda: "cloud-key", clock=FastClock())


CLOUDS = [
    ("bedrock", "application/vnd.amazon.eventstream", amazon_frame),
    ("vertex", "text/event-stream", sse),
]


@pytest.mark.parametrize(("provider", "kind", "encode"), CLOUDS, ids=[c[0] for c in CLOUDS])
async def test_a_reply_of_a_cloud_is_folded_the_same_way(
    provider: str, kind: str, encode: Callable[[dict[str, Any]], bytes]
) -> None:
    told: list[str] = []

    async with cloud(kind, encode, EVENTS) as state:
        model = model_of(provider, state)
        reply = await model.call(asked(model="eu.anthropic.claude-x"), on_text=told.append)
        await model.aclose()

    assert reply.content == ({"type": "text", "text": "Hello"},)
    assert "".join(told) == "Hello"
    assert (reply.usage.input, reply.usage.output) == (3, 2)
    assert reply.parts[0][0] == "eu.anthropic.claude-x"
    assert state.keys == ["Bearer cloud-key"]


@pytest.mark.parametrize(("provider", "kind", "encode"), CLOUDS, ids=[c[0] for c in CLOUDS])
async def test_a_cut_reply_of_a_cloud_is_lost(
    provider: str, kind: str, encode: Callable[[dict[str, Any]], bytes]
) -> None:
    async with cloud(kind, encode, EVENTS[:4]) as state:
        model = model_of(provider, state)
        with pytest.raises(ModelBusy) as caught:
            await asyncio.wait_for(model.call(asked()), 10)
        await model.aclose()

    assert caught.value.maybe_served
