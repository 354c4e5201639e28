"""Sockets that break, are wanted back, go dead or do not open, and what comes meanwhile."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import aiohttp
import pytest
from aiohttp import web

from adapters.slack.asking import socket_address
from adapters.slack.payloads import Json
from adapters.slack.socket import Pulse, Sockets
from bot.errors import StoreUnusable
from tests.adapters.slack.hearing_bed import QUICK, Hearing, hearing
from tests.peers.localslack import APP_TOKEN, free_port
from tests.peers.slack_faults import Failed, Limited, Page
from tests.peers.slack_front import SlackFront, slack

OPEN = "apps.connections.open"


@pytest.fixture
def front() -> Iterator[SlackFront]:
    with slack(ack_s=1.0) as front:
        yield front
        assert front.violations == [], front.violations


async def says(bed: Hearing, text: str) -> None:
    await bed.does(lambda: bed.front.say("U01ALICE", "C01GEN", text))
    await bed.inbox.until(lambda: text in bed.inbox.texts(), text)


async def test_before_a_socket_that_is_wanted_back_is_closed_the_next_one_is_open(
    front: SlackFront,
) -> None:
    least = 9

    async def watch() -> None:
        nonlocal least
        while True:
            least = min(least, len(front.sockets.links))
            await asyncio.sleep(0.002)

    async with hearing(front) as bed:
        watching = asyncio.create_task(watch())
        await asyncio.to_thread(front.run, front.sockets.disconnect())
        for number in range(20):
            await says(bed, f"message {number}")
        await bed.inbox.until(lambda: len(front.of(OPEN)) == 2, "another socket")
        await bed.inbox.until(lambda: len(front.sockets.links) == 1, "the old one closed")
        watching.cancel()

    assert least >= 1
    assert sorted(bed.inbox.texts()) == sorted(f"message {n}" for n in range(20))
    assert all(one.sends == 1 for one in front.sockets.log)
    assert bed.troubles == []


async def test_a_socket_that_breaks_is_followed_by_another_and_nothing_is_lost(
    front: SlackFront,
) -> None:
    async with hearing(front) as bed:
        await says(bed, "before")
        await asyncio.to_thread(front.run, front.sockets.cut())
        await bed.does(lambda: front.say("U01ALICE", "C01GEN", "in between"))
        await bed.inbox.until(lambda: "in between" in bed.inbox.texts(), "what came in between")

    assert any("broke" in one for one in bed.troubles)
    assert bed.heard


async def test_with_two_sockets_one_that_breaks_makes_nobody_deaf(front: SlackFront) -> None:
    async with hearing(front, sockets=2) as bed:
        await asyncio.to_thread(front.run, _break_one(front))
        for number in range(6):
            await says(bed, f"message {number}")
        await bed.is_connected(2)

    assert bed.troubles == []


async def test_a_dead_socket_is_noticed_though_nothing_breaks() -> None:
    port, opened = free_port(), 0

    async def silent(request: web.Request) -> web.WebSocketResponse:
        nonlocal opened
        opened += 1
        link = web.WebSocketResponse(autoping=False)
        await link.prepare(request)
        await link.send_json({"type": "hello"})
        await asyncio.sleep(60)
        return link

    app = web.Application()
    app.router.add_get("/", silent)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    troubles: list[str] = []

    async def url() -> str:
        return f"ws://127.0.0.1:{port}/"

    sockets = Sockets(
        url, _Nobody(), Pulse(lambda: None, troubles.append), count=1,
        rhythm=replace(QUICK, ping_s=0.1, dead_s=0.4),
    )  # fmt: skip
    running = asyncio.create_task(sockets.run())
    try:
        end = time.monotonic() + 10
        while opened < 2:
            assert time.monotonic() < end
            await asyncio.sleep(0.02)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await runner.cleanup()

    assert troubles


async def _break_one(front: SlackFront) -> None:
    request = front.sockets.links[0]._req
    assert request is not None
    assert request.transport is not None
    request.transport.abort()


class _Nobody:
    """Takes nothing."""

    async def has_room(self) -> None:
        """Always."""

    async def begin(self, envelope: Json) -> Json | None:
        """Acknowledge it."""
        return {}


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        (Limited(1), "limits"),
        (Page(502), "Slack"),
        (Failed("invalid_auth"), "token"),
        (Failed("internal_error"), "failed"),
    ],
)
async def test_a_socket_that_does_not_open_is_told_and_tried_again(
    front: SlackFront, fault: Limited | Page | Failed, trouble: str
) -> None:
    front.faults.next_times(OPEN, fault)

    async with hearing(front) as bed:
        await says(bed, "in the end")

    assert trouble in bed.troubles[0]
    assert bed.heard


async def test_a_limit_is_waited_for_as_long_as_slack_says(front: SlackFront) -> None:
    front.faults.next_times(OPEN, Limited(1))
    began = time.monotonic()

    async with hearing(front):
        took = time.monotonic() - began

    assert took >= 1.0
    assert len(front.of(OPEN)) == 2


async def test_an_app_token_that_is_refused_is_told_until_it_is_mended(front: SlackFront) -> None:
    async with hearing(front, app_token="xapp-wrong") as bed:
        await bed.inbox.until(lambda: len(front.of(OPEN)) >= 2, "two tries")

    assert "Slack does not take slack_app_token (invalid_auth)" in bed.troubles[0]


async def test_sockets_that_another_process_has_are_told_of_and_so_is_their_end(
    front: SlackFront,
) -> None:
    async with hearing(front, sockets=2, rhythm=replace(QUICK, recount_s=0.3)) as bed:
        await bed.inbox.until(lambda: len(bed.others) >= 2, "counts of our own")
        alone = list(bed.others)
        address = await socket_address(front.api_url, APP_TOKEN)
        async with aiohttp.ClientSession() as session, session.ws_connect(address):
            await asyncio.to_thread(front.run, front.sockets.disconnect())
            await bed.inbox.until(lambda: bed.others[-1] == 1, "another process's")
        await bed.inbox.until(lambda: bed.others[-1] == 0, "its end")
        opened = len(front.of(OPEN))
        await asyncio.sleep(1)

    assert alone == [0, 0]
    assert len(front.of(OPEN)) == opened


async def test_who_was_there_first_counts_anew_now_and_then(front: SlackFront) -> None:
    rhythm = replace(QUICK, recount_s=0.2, count_s=0.4)
    async with hearing(front, sockets=2, rhythm=rhythm) as bed:
        await bed.inbox.until(lambda: len(bed.others) >= 2, "counts of our own")
        address = await socket_address(front.api_url, APP_TOKEN)
        async with aiohttp.ClientSession() as session, session.ws_connect(address):
            await bed.inbox.until(lambda: bed.others[-1] == 1, "another process's")

    assert bed.troubles == []


async def test_turned_off_socket_mode_is_told(front: SlackFront) -> None:
    async with hearing(front) as bed:
        await asyncio.to_thread(front.run, front.sockets.disconnect("link_disabled"))
        await bed.inbox.until(lambda: bed.troubles, "why it is deaf")

    assert "Socket Mode" in bed.troubles[0]


async def test_what_comes_while_the_store_is_unusable_comes_again_and_is_logged_once(
    front: SlackFront, caplog: pytest.LogCaptureFixture
) -> None:
    async with hearing(front) as bed:
        bed.inbox.is_broken = StoreUnusable("The disk is full.")
        for number in range(5):
            await bed.does(partial(front.say, "U01ALICE", "C01GEN", f"message {number}"))
        await bed.inbox.until(lambda: len(bed.inbox.tried) >= 5, "tries")
        assert not any(one.is_acked for one in front.sockets.log)
        bed.inbox.is_broken = None
        await bed.inbox.until(lambda: len(bed.inbox.texts()) == 5, "all of them")

    assert sorted(bed.inbox.texts()) == [f"message {n}" for n in range(5)]
    logged = [row for row in caplog.records if "The disk is full" in row.getMessage()]
    assert [row.levelname for row in logged if row.levelname != "DEBUG"] == ["WARNING"]


async def test_while_the_line_is_full_nothing_more_is_read(front: SlackFront) -> None:
    async with hearing(front) as bed:
        bed.inbox.slow_s = 0.05
        line = bed.listening._app._line  # type: ignore[union-attr]
        line._most = 3
        longest = 0
        await asyncio.gather(
            *(bed.does(partial(front.say, "U01ALICE", "C01GEN", f"message {n}")) for n in range(30))
        )
        while len(bed.inbox.texts()) < 30:
            longest = max(longest, len(line))
            await asyncio.sleep(0.005)

    assert longest <= 4


async def test_frames_that_are_no_envelopes_are_left(front: SlackFront) -> None:
    async def odd() -> None:
        for link in front.sockets.links:
            for text in ("no json", "[]", '{"type": "new"}', '{"envelope_id": 5}', "null"):
                await link.send_str(text)
            await link.send_bytes(b"\x00\x01")

    async with hearing(front) as bed:
        await asyncio.to_thread(front.run, odd())
        await says(bed, "still here")

    assert len(front.of(OPEN)) == 1


async def test_who_is_told_to_end_ends_at_once(front: SlackFront) -> None:
    async with hearing(front, sockets=2) as bed:
        began = time.monotonic()
        bed.task.cancel()  # type: ignore[union-attr]
        await asyncio.gather(bed.task, return_exceptions=True)  # type: ignore[arg-type]

    assert time.monotonic() - began < 2.0


async def test_while_slack_is_out_of_reach_it_is_tried_again(front: SlackFront) -> None:
    async with hearing(front) as bed:
        await says(bed, "before")
        front.is_down = True
        await asyncio.to_thread(front.run, front.sockets.cut())
        await bed.inbox.until(lambda: len(bed.troubles) >= 2, "why")
        front.is_down = False
        await says(bed, "after")

    assert bed.inbox.texts() == ["before", "after"]
