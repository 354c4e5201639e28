"""What networks reach from outside, over real sockets: bodies, limits, and a loop that is slow or gone."""

import asyncio
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adapters.telemetry import doors as doors_module
from adapters.telemetry.doors import BODY_MOST, Doors
from adapters.telemetry.listener import listening
from adapters.telemetry.routes import public_routes
from bot.errors import Wait
from bot.ports.web import Answer, Request, Serve
from tests.adapters.telemetry.test_listener import Seen, where


@contextmanager
def main_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that turns on a thread of its own, as the process's main one does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


@contextmanager
def served(folder: Path, serve: Serve, method: str = "POST") -> Iterator[tuple[str, Doors]]:
    with main_loop() as loop:
        doors = Doors(loop)
        doors.open("POST" if method == "POST" else "GET", "/in", serve)
        with listening("public", "127.0.0.1:0", public_routes(Seen()), folder, doors):
            yield where(folder, "public"), doors


@contextmanager
def connected(at: str) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection(at, timeout=5)) as connection:
        yield connection


def ask(
    at: str, path: str = "/in", method: str = "POST", body: bytes | None = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection(at, timeout=5)) as connection:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=given)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


async def echo(request: Request) -> Answer:
    told = f"{request.query}|{request.headers['x-slack-signature']}|".encode()
    return Answer(202, told + request.body, "text/plain", (("X-Told", "yes"),))


async def thread_name(request: Request) -> Answer:
    return Answer(200, threading.current_thread().name.encode())


def test_a_request_comes_whole_and_its_answer_goes_whole(tmp_path: Path) -> None:
    with served(tmp_path, echo) as (at, _):
        status, headers, body = ask(at, "/in?a=1&b=%20", body=b"\xff{}", X_Slack_Signature="v0=1")

    assert (status, body) == (202, b"a=1&b=%20|v0=1|\xff{}")
    assert (headers["Content-Type"], headers["X-Told"]) == ("text/plain", "yes")
    assert headers["Cache-Control"] == "no-store"


def test_it_is_answered_on_the_main_loop_and_not_on_the_listeners(tmp_path: Path) -> None:
    with served(tmp_path, thread_name) as (at, _):
        _, _, name = ask(at)

    assert b"listener" not in name


def test_only_what_is_open_answers_and_only_in_its_way(tmp_path: Path) -> None:
    with served(tmp_path, echo) as (at, doors):
        statuses = [ask(at, "/in", "GET")[0], ask(at, "/other")[0], ask(at, "/livez", "GET")[0]]
        allowed = ask(at, "/in", "GET")[1]["Allow"]
        doors.close("POST", "/in")
        closed = ask(at)[0]

    assert statuses == [405, 404, 200]
    assert (allowed, closed) == ("POST", 404)


def test_a_body_of_a_megabyte_is_taken_and_one_byte_more_is_not(tmp_path: Path) -> None:
    async def size(request: Request) -> Answer:
        return Answer(200, str(len(request.body)).encode())

    with served(tmp_path, size) as (at, _):
        fits = ask(at, body=b"x" * BODY_MOST)
        over = ask(at, body=b"x" * (BODY_MOST + 1))

    assert (fits[0], fits[2]) == (200, str(BODY_MOST).encode())
    assert over[0] == 413


def test_a_body_without_an_announced_size_is_measured_as_it_comes(tmp_path: Path) -> None:
    chunks = [b"x" * 65_536] * 17

    with served(tmp_path, echo) as (at, _), connected(at) as connection:
        connection.request("POST", "/in", body=iter(chunks), encode_chunked=True)
        status = connection.getresponse().status

    assert status == 413


def test_a_body_that_does_not_come_is_not_awaited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors_module, "BODY_S", 0.1)

    with served(tmp_path, echo) as (at, _), connected(at) as connection:
        connection.putrequest("POST", "/in")
        connection.putheader("Content-Length", "10")
        connection.endheaders(b"x")
        status = connection.getresponse().status

    assert status == 408


def test_what_is_not_answered_in_time_is_cut_short_and_may_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors_module, "SERVED_S", 0.1)
    ended: list[str] = []

    async def slow(request: Request) -> Answer:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cut")
            raise
        return Answer(200, b"")

    with served(tmp_path, slow) as (at, _):
        status, headers, _ = ask(at)
        _until(lambda: bool(ended))

    assert (status, headers["Retry-After"], ended) == (503, "1", ["cut"])


def test_what_passes_by_itself_may_come_again_and_what_is_broken_is_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def busy(request: Request) -> Answer:
        raise Wait("The database is busy.")

    async def broken(request: Request) -> Answer:
        raise ValueError("a secret reason")

    with served(tmp_path, busy) as (at, doors):
        first = ask(at)
        doors.open("POST", "/in", broken)
        second = ask(at)

    assert (first[0], second[0]) == (503, 500)
    assert b"secret" not in second[2]
    assert "The database is busy." in caplog.text
    assert "ValueError: a secret reason" in caplog.text


def test_a_main_loop_that_is_gone_is_answered_for(tmp_path: Path) -> None:
    with main_loop() as loop:
        doors = Doors(loop)
    doors.open("POST", "/in", echo)

    with listening("public", "127.0.0.1:0", public_routes(Seen()), tmp_path, doors):
        status = ask(where(tmp_path, "public"))[0]

    assert status == 503


def test_so_many_are_inside_at_once_and_the_next_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors_module, "INSIDE_MOST", 1)
    goes_on = threading.Event()

    async def waits(request: Request) -> Answer:
        await asyncio.to_thread(goes_on.wait, 5)
        return Answer(200, b"")

    with served(tmp_path, waits) as (at, doors):
        answers: list[int] = []
        first = threading.Thread(target=lambda: answers.append(ask(at)[0]))
        first.start()
        _until(lambda: doors._inside == 1)
        second = ask(at)[0]
        goes_on.set()
        first.join(5)

    assert (answers, second) == ([200], 503)


def test_cookies_that_came_apart_are_one_header(tmp_path: Path) -> None:
    async def cookie(request: Request) -> Answer:
        return Answer(200, request.headers["cookie"].encode())

    with served(tmp_path, cookie, "GET") as (at, _), connected(at) as connection:
        connection.putrequest("GET", "/in")
        connection.putheader("Cookie", "a=1")
        connection.putheader("Cookie", "b=2")
        connection.endheaders()
        body = connection.getresponse().read()

    assert body == b"a=1; b=2"


def _until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
