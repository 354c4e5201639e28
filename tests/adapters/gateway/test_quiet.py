"""Idle time is counted over both ways of a conversation, and what is revoked while a name is looked up is not reached."""

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from adapters.gateway.gateway import ProxyGateway
from bot.ports.sandbox import Line
from tests.adapters.gateway.world import PLACE, Bounds, client, gateway, goal, hosts, reach

IDLE = Bounds(idle_s=0.6)
PIECES = 15
PIECE = b"x" * 100
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def trickled(writer: asyncio.StreamWriter) -> None:
    for _ in range(PIECES):
        writer.write(PIECE)
        await writer.drain()
        await asyncio.sleep(0.1)


async def gives(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    await trickled(writer)
    writer.close()


async def takes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    got = await reader.readexactly(PIECES * len(PIECE))
    writer.write(f"{len(got)}".encode())
    writer.close()


async def takes_a_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(PIECES * len(PIECE))
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nall!")
    writer.close()


async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


@asynccontextmanager
async def at(folder: Path, serve: Serve, name: str = "git.example:22") -> AsyncIterator[Line]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    vouch = (f"{name}=127.0.0.1:{port}",)
    async with (
        hosts(folder) as made,
        gateway(folder, made, (), vouch=vouch, bounds=IDLE) as opened,
    ):
        yield await opened.open(goal(), PLACE, reach(name))
    server.close()


TUNNEL = "CONNECT git.example:22 HTTP/1.1\r\nHost: git.example:22\r\n\r\n"


async def test_a_tunnel_that_only_brings_is_not_idle(tmp_path: Path) -> None:
    async with at(tmp_path, gives) as line, client(line) as one:
        await one.say(TUNNEL)
        await one.head()
        await one.say("all of it\n")

        assert len(await one.rest()) == PIECES * len(PIECE)


async def test_a_tunnel_that_only_takes_is_not_idle(tmp_path: Path) -> None:
    async with at(tmp_path, takes) as line, client(line) as one:
        await one.say(TUNNEL)
        await one.head()
        await trickled(one.writer)

        assert await one.rest() == b"1500"


async def test_a_body_that_takes_its_time_is_not_idle(tmp_path: Path) -> None:
    async with at(tmp_path, takes_a_body, "plain.example") as line, client(line) as one:
        await one.say(
            "PUT http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n"
            f"Content-Length: {PIECES * len(PIECE)}\r\n\r\n"
        )
        await trickled(one.writer)
        head = await one.head()

        assert (" 200 " in head, await one.reader.readexactly(4)) == (True, b"all!")


async def test_a_tunnel_in_which_nobody_speaks_is_cut(tmp_path: Path) -> None:
    async with at(tmp_path, says_nothing) as line, client(line) as one:
        await one.say(TUNNEL)
        await one.head()

        async with asyncio.timeout(3):
            assert await one.reader.read() == b""


@pytest.mark.parametrize(
    "ask", [TUNNEL, "GET http://git.example:22/ HTTP/1.1\r\nHost: git.example:22\r\n\r\n"]
)
async def test_what_is_revoked_while_its_name_is_looked_up_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def resolve(name: str) -> Sequence[str]:
        asked.set()
        await may_answer.wait()
        return ["192.0.2.1"]

    monkeypatch.setattr("adapters.gateway.verdicts.why_none", lambda addresses: "")
    async with (
        hosts(tmp_path) as made,
        gateway(tmp_path, made, resolve=resolve, bounds=Bounds(connect_s=0.2)) as opened,
    ):
        line = await opened.open(goal(), PLACE, reach("git.example:22"))
        async with client(line) as one:
            await one.say(ask)
            await asked.wait()
            opened.change("g1", reach())
            may_answer.set()
            head = await one.head()

        refused = opened.refused("g1")

    assert " 403 " in head
    assert [one.why for one in refused] == ["it may no longer be reached"]


@pytest.mark.parametrize("steps", [3, 4, 5])
async def test_a_connection_that_came_as_its_line_was_closed_is_not_served(
    tmp_path: Path, steps: int
) -> None:
    async with hosts(tmp_path) as made, gateway(tmp_path, made) as opened:
        line = await opened.open(goal(), PLACE, reach("plain.example"))
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(line.socket)
            for _ in range(steps):
                await asyncio.sleep(0)
            await opened.close("g1")
            # Ended, or heard by nobody, however far it had come.
            one.settimeout(0.5)
            with suppress(OSError):
                one.send(b"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n")
                assert await asyncio.to_thread(one.recv, 1) == b""


async def nothing(name: str) -> str:
    raise KeyError(name)


def test_after_a_kill_no_folder_stays_beside_a_state_folder_with_a_long_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(near := Path(tempfile.mkdtemp())))
    state = tmp_path / ("long" * 25)
    state.mkdir()
    for _ in range(3):
        # None of them is stopped.
        ProxyGateway(state, nothing).start()

    (only,) = near.iterdir()
    assert only.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(near)


def test_a_folder_of_somebody_elses_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(near := Path(tempfile.mkdtemp())))
    state = tmp_path / ("long" * 25)
    state.mkdir()
    first = ProxyGateway(state, nothing)
    first.start()
    (theirs := first.certificate.parent / "theirs").touch()
    with monkeypatch.context() as other:
        other.setattr("os.getuid", lambda: 12345)
        second = ProxyGateway(state, nothing)
        second.start()

    assert (theirs.exists(), second.certificate.parent != theirs.parent) == (True, True)
    shutil.rmtree(near)
