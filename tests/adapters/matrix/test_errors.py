"""What a homeserver, a proxy or the network answers comes out as one of our errors."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

import nio
import pytest

from adapters.matrix.errors import (
    LONGEST_S,
    AccountClosed,
    LoggedOut,
    NotMatrix,
    refusal,
    translated,
    unwrap,
)
from bot.errors import Refused, Wait
from tests.peers.synapse import Synapse

CONFIG = nio.AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, request_timeout=2)
PAGE = b"<html><body>502 Bad Gateway</body></html>"


async def test_what_synapse_refuses_is_told_by_its_code(synapse: Synapse) -> None:
    person, other = synapse.register(), synapse.register()
    room = synapse.done("POST", "/_matrix/client/v3/createRoom", {}, other.token)["room_id"]

    async with _client(synapse.url, person.token) as client:
        with pytest.raises(Refused) as joined:
            unwrap(await client.join(room))
        with pytest.raises(Refused) as sent:
            unwrap(await client.room_send(room, "m.room.message", _text("x")))
    async with _client(synapse.url, other.token) as client:
        with pytest.raises(Refused) as too_large:
            unwrap(await client.room_send(room, "m.room.message", _text("x" * 70_000)))

    assert [each.value.code for each in (joined, sent, too_large)] == [
        "M_FORBIDDEN",
        "M_FORBIDDEN",
        "M_TOO_LARGE",
    ]


async def test_a_token_that_synapse_does_not_know_is_a_session_that_ended(synapse: Synapse) -> None:
    async with _client(synapse.url, "syt_unknown") as client:
        with pytest.raises(LoggedOut) as ended:
            unwrap(await client.whoami())

    assert not ended.value.is_soft
    assert "headway matrix login" in str(ended.value)


async def test_a_token_that_ran_out_ends_softly_and_then_nio_has_none(synapse: Synapse) -> None:
    person = synapse.register()
    synapse.forget_token(person.token, soft=True)

    async with _client(synapse.url, person.token) as client:
        with pytest.raises(LoggedOut) as ended:
            unwrap(await client.whoami())
        with pytest.raises(LoggedOut) as without, translated("It cannot be sent"):
            await client.joined_rooms()

    assert ended.value.is_soft
    assert "It cannot be sent" in str(without.value)


async def test_limits_of_synapse_say_how_long_to_wait(stock_synapse: Synapse) -> None:
    person = stock_synapse.register()
    room = stock_synapse.done("POST", "/_matrix/client/v3/createRoom", {}, person.token)["room_id"]

    async with _client(stock_synapse.url, person.token) as client:
        with pytest.raises(Wait) as limited:
            await _send_many(client, room)

    assert limited.value.retry_after_s is not None
    assert 0 < limited.value.retry_after_s < 60


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind"),
    [
        (502, {"Content-Type": "text/html"}, PAGE, Wait),
        (503, {}, b"", Wait),
        (500, {}, b'{"errcode": "M_UNKNOWN", "error": "Internal"}', Wait),
        (200, {"Content-Type": "text/html"}, b"<html>Log in to this network</html>", NotMatrix),
        (200, {}, b"{not json", NotMatrix),
        (200, {}, b"[1, 2]", NotMatrix),
        (200, {}, b"null", NotMatrix),
        (200, {}, b"\xff\xfe", Wait),
        (200, {}, b"[" * 100_000, Wait),
        (404, {"Content-Type": "text/html"}, b"no such page", NotMatrix),
        (403, {}, b'{"errcode": 7, "error": []}', NotMatrix),
        (401, {}, b'{"errcode": "M_USER_LOCKED", "error": "x", "soft_logout": true}', Wait),
        (403, {}, b'{"errcode": "M_USER_DEACTIVATED", "error": "gone"}', AccountClosed),
    ],
)
async def test_what_is_no_answer_is_waited_for_and_never_parsed(
    status: int, headers: dict[str, str], body: bytes, kind: type[Exception]
) -> None:
    async with _server(_answering(status, headers, body)) as url, _client(url) as client:
        with pytest.raises(kind), translated("The rooms cannot be listed"):
            unwrap(await client.joined_rooms())


async def test_a_page_in_place_of_a_file_or_of_an_empty_answer_is_none() -> None:
    html = {"Content-Type": "text/html"}

    async with _server(_answering(502, html, PAGE)) as url, _client(url) as client:
        with pytest.raises(Wait):
            unwrap(await client.download("mxc://localhost/file"))
    async with _server(_answering(502, {}, b"{}")) as url, _client(url) as client:
        with pytest.raises(Wait):
            unwrap(await client.room_typing("!room"))
    async with _server(_answering(200, html, b"log in first")) as url, _client(url) as client:
        with pytest.raises(NotMatrix):
            unwrap(await client.room_typing("!room"))


async def test_a_file_that_is_a_page_is_a_file() -> None:
    answer = _answering(200, {"Content-Type": "text/html"}, PAGE)

    async with _server(answer) as url, _client(url) as client:
        got = unwrap(await client.download("mxc://localhost/page.html"))

    assert got.body == PAGE


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
async def test_a_connection_that_is_cut_is_waited_for(sent: bytes) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    async with _server(cut) as url, _client(url) as client:
        with pytest.raises(Wait), translated("Nothing can be sent"):
            unwrap(await client.joined_rooms())


async def test_nobody_who_listens_is_waited_for_and_named() -> None:
    async with _client("http://127.0.0.1:1") as client:
        with pytest.raises(Wait, match="cannot be reached"), translated("Nothing can be sent"):
            unwrap(await client.joined_rooms())


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
async def test_a_server_that_hangs_is_waited_for_no_longer_than_the_limit(sent: bytes) -> None:
    held = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await held.wait()
        writer.close()

    config = nio.AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, request_timeout=0.2)
    async with _server(hang) as url, _client(url, config=config) as client:
        began = time.monotonic()
        with pytest.raises(Wait, match="in time"), translated("Nothing can be sent"):
            unwrap(await client.joined_rooms())
        took = time.monotonic() - began
        held.set()

    assert took < 5


@pytest.mark.parametrize(
    ("body", "header", "wait_s"),
    [
        ({"retry_after_ms": 1813}, "", 1.813),
        ({"retry_after_ms": 1813}, "2", 1.813),
        ({}, "2", 2.0),
        ({}, "", 5.0),
        ({"retry_after_ms": "soon"}, "soon", 5.0),
        ({"retry_after_ms": -5}, "", 0.0),
        ({"retry_after_ms": 10**15}, "", LONGEST_S),
        ({}, "inf", 5.0),
        ({}, "nan", 5.0),
    ],
)
async def test_a_limit_waits_as_the_body_says_or_else_the_header(
    body: dict[str, Any], header: str, wait_s: float
) -> None:
    said = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", **body}
    headers = {"Retry-After": header} if header else {}
    answer = _answering(429, headers, json.dumps(said).encode())

    async with _server(answer) as url, _client(url) as client:
        with pytest.raises(Wait) as limited:
            unwrap(await client.joined_rooms())

    assert limited.value.retry_after_s == pytest.approx(wait_s)


def test_a_date_in_the_header_is_read() -> None:
    headers = {"Retry-After": formatdate(time.time() + 30, usegmt=True)}

    limited = refusal(429, None, headers)

    assert isinstance(limited, Wait)
    assert limited.retry_after_s == pytest.approx(30, abs=3)


def test_a_defect_inside_is_seen() -> None:
    with pytest.raises(KeyError), translated("It cannot be sent"):
        raise KeyError("ours")


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _text(body: str) -> dict[str, str]:
    return {"msgtype": "m.text", "body": body}


async def _send_many(client: nio.AsyncClient, room: str) -> None:
    for _ in range(40):
        unwrap(await client.room_send(room, "m.room.message", _text("x")))


@asynccontextmanager
async def _client(
    url: str, token: str = "token", config: nio.AsyncClientConfig = CONFIG
) -> AsyncIterator[nio.AsyncClient]:
    client = nio.AsyncClient(url, "@bot:localhost", config=config)
    client.access_token, client.user_id = token, "@bot:localhost"
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _server(handler: Handler) -> AsyncIterator[str]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _answering(status: int, headers: dict[str, str], body: bytes) -> Handler:
    shown = {"Content-Type": "application/json", "Connection": "close", **headers}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in shown.items())]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + body)
        await writer.drain()
        writer.close()

    return answer
