"""
What one model call costs this process in CPU, at 50 and at 200 deltas.

The server runs in a process of its own and spreads each reply over half a second, so that deltas
come one by one. Peers, in the same run: the SDK's default client with its accumulating stream
helper, and bare aiohttp reading the same bytes, which is what the transport alone costs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import aiohttp
import anthropic

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint import ClaudeModel
from bot.ports.model import ModelRequest
from tests.bench.figures import Figure
from tests.peers.sse_server import running

NAME = "client"

MODEL = "claude-sonnet-5"
IN_FLIGHT = 50
REPLY_S = 0.5
PEER = "anthropic default client, stream helper"
BARE = "aiohttp alone"

REQUEST = ModelRequest(
    model=MODEL,
    max_tokens=1000,
    system=({"type": "text", "text": "Rules. " * 300},),
    messages=({"role": "user", "content": "Do it."},),
)

Call = Callable[[], Awaitable[object]]
Maker = Callable[[AsyncExitStack, str], Awaitable[Call]]


class _WallClock:
    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def figures(full: bool) -> Iterator[Figure]:
    """CPU in ms a call; `full` makes three times as many calls."""
    rounds = 12 if full else 4
    with running() as url:
        for deltas in (50, 200):
            address = f"{url}/{deltas}/{REPLY_S}"
            ours, theirs, bare = (
                asyncio.run(_cpu_ms(maker, address, rounds)) for maker in (_ours, _theirs, _bare)
            )
            name = f"client_cpu_{deltas}_deltas"
            yield Figure(name, ours, "ms", PEER, theirs, ours / theirs)
            yield Figure(f"{name}_over_transport", ours - bare, "ms", BARE, bare, ours / bare)


async def _cpu_ms(maker: Maker, address: str, rounds: int) -> float:
    """CPU time of this process a call, over calls that run side by side."""

    async def worker(call: Call) -> None:
        for _ in range(rounds):
            await call()

    async with AsyncExitStack() as stack:
        call = await maker(stack, address)
        await asyncio.gather(*(call() for _ in range(IN_FLIGHT)))
        begin = time.process_time()
        await asyncio.gather(*(worker(call) for _ in range(IN_FLIGHT)))
        return 1000 * (time.process_time() - begin) / (IN_FLIGHT * rounds)


async def _ours(stack: AsyncExitStack, address: str) -> Call:
    endpoint = Endpoint(base_url=address, max_in_flight=1000)
    model = ClaudeModel(endpoint, model=MODEL, key=lambda: "key", clock=_WallClock())
    stack.push_async_callback(model.aclose)
    return lambda: model.call(REQUEST)


async def _theirs(stack: AsyncExitStack, address: str) -> Call:
    client = await stack.enter_async_context(
        anthropic.AsyncAnthropic(api_key="key", base_url=address)
    )

    async def call() -> object:
        async with client.messages.stream(
            model=MODEL,
            max_tokens=1000,
            system="Rules. " * 300,
            messages=[{"role": "user", "content": "Do it."}],
        ) as stream:
            return await stream.get_final_message()

    return call


async def _bare(stack: AsyncExitStack, address: str) -> Call:
    connector = aiohttp.TCPConnector(limit=1000)
    session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
    body = {"system": "Rules. " * 300}

    async def call() -> object:
        async with session.post(f"{address}/v1/messages", json=body) as response:
            return [chunk async for chunk in response.content.iter_chunked(16_384)]

    return call
