"""
A Slack for the bot and for people: local-slack, and before it what it lacks or does more loosely.

Bot and page speak to the front alone. It holds the one socket to local-slack, takes what happens from
there, and brings it to the bot as Slack does (`slack_delivery`): each event to one socket, again until
it is acknowledged, or by HTTP. Calls of the bot are checked against Slack's own types, against tokens,
scopes and membership, may meet a fault, and go on to local-slack where that does as Slack does.

Rule 1: nothing goes through unrecorded: `calls` holds every call with its answer, `violations` what
        Slack would not have taken, or what this stand-in says as Slack would not. A test fails on any.
Rule 2: what local-slack's page cannot draw (`plan`, `markdown`, `rich_text`, `table`) is drawn there as
        sections and context; what is kept and given back stays as it was sent.

with slack() as front:
    front.faults.next_times("chat.postMessage", Limited(1))
    front.say("U01ALICE", "C01GEN", "<@U0BOT> hello")
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import aiohttp
from aiohttp import web

from tests.peers.localslack import CHANNELS, Channel, Install, local_slack
from tests.peers.slack_core import Mode, Moment
from tests.peers.slack_delivery import ACK_S, Posts
from tests.peers.slack_elements import buttons, found
from tests.peers.slack_faults import Call
from tests.peers.slack_people import Reply, SlackFront
from tests.peers.slack_server import Handlers

START_S: Final = 30.0
LAST_S: Final = 0.1
LOOK_S: Final = 0.05


@contextmanager
def slack(
    channels: Sequence[Channel] = CHANNELS, installs: Sequence[Install] = (Install(),), *,
    mode: Mode = "socket", request_url: str = "", ack_s: float = ACK_S,
    retry_factor: float = 1 / 60, most_retries: int = 3, bot_name: str = "headway",
) -> Iterator[SlackFront]:  # fmt: skip
    """A Slack of its own, for as long as a `with` lasts.

    Args:
        request_url: where the bot listens, in mode `http`.
        retry_factor: by what Slack's times between deliveries over HTTP are shortened.
    """
    with ExitStack() as stack:
        server = stack.enter_context(local_slack(channels, installs, bot_name))
        front = SlackFront(
            server, mode=mode, request_url=request_url, ack_s=ack_s, retry_factor=retry_factor,
            most_retries=most_retries,
        )  # fmt: skip
        up, over = threading.Event(), threading.Event()
        failed: list[BaseException] = []

        def serve() -> None:
            try:
                asyncio.run(_serve(front, up, over))
            except BaseException as error:
                failed.append(error)
                up.set()
                raise

        thread = threading.Thread(target=serve, name="slack front")
        thread.start()
        try:
            assert up.wait(START_S), "The front did not start."
            assert not failed, failed
            yield front
        finally:
            over.set()
            thread.join()


async def _serve(front: SlackFront, up: threading.Event, over: threading.Event) -> None:
    front.loop = asyncio.get_running_loop()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        if front.mode == "http":
            front.http = Posts(
                front.request_url, session, ack_s=front.ack_s, factor=front.factor,
                most=front.most,
            )  # fmt: skip
        app = web.Application(client_max_size=1_100_000_000)
        Handlers(front, session).route(app)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", front.port).start()
        listening = [asyncio.create_task(each) for each in await front.upstream.begin(session)]
        up.set()
        while not over.is_set():
            await asyncio.sleep(LOOK_S)
        await front.upstream.end()
        tasks = [*listening, *front.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for link in tuple(front.sockets.links):
            with suppress(ConnectionError):
                await link.close()
        await runner.cleanup()
    # Connections end a moment after they are closed.
    await asyncio.sleep(LAST_S)


def plain_text(message: Mapping[str, Any]) -> str:
    """All that can be read of a message: its text and every text in its blocks."""
    return "\n".join([str(message.get("text", "")), *_texts(message.get("blocks") or [])])


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for each in part:
            yield from _texts(each)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name in ("text", "title") and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)


__all__ = [
    "Call",
    "Mode",
    "Moment",
    "Reply",
    "SlackFront",
    "buttons",
    "found",
    "plain_text",
    "slack",
]
