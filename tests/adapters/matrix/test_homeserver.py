"""A homeserver is found by its name, and what answers in its place is told apart."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.matrix.homeserver import Homeserver, discover
from bot.errors import Refused, Wait
from tests.peers.odd_servers import that_nobody_vouches_for, that_serves
from tests.peers.synapse import Synapse

ROOT = Path(__file__).resolve().parents[3]
WELL_KNOWN = "/.well-known/matrix/client"
VERSIONS = "/_matrix/client/versions"
FIND = """
import asyncio, sys
from adapters.matrix.homeserver import discover
from bot.errors import HeadwayError
try:
    print(asyncio.run(discover(sys.argv[1])))
except HeadwayError as error:
    print(type(error).__name__, error)
"""


def page(body: object, status: int = 200) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps(body).encode()


def found(folder: Path, name: str) -> str:
    """What a process that trusts the server of the folder finds under a name."""
    environment = {**os.environ, "SSL_CERT_FILE": str(folder / "certificate.pem")}
    done = subprocess.run(
        [sys.executable, "-c", FIND, name], env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_a_server_says_where_its_homeserver_is(synapse: Synapse, tmp_path: Path) -> None:
    pages = {WELL_KNOWN: page({"m.homeserver": {"base_url": f"{synapse.url}/"}})}

    with that_serves(tmp_path, pages) as url:
        assert found(tmp_path, url.removeprefix("https://")) == synapse.url


@pytest.mark.parametrize("pages", [{}, {WELL_KNOWN: (503, "text/html", b"<html>busy</html>")}])
def test_a_server_that_says_nothing_may_be_the_homeserver_itself(
    tmp_path: Path, pages: dict[str, tuple[int, str, bytes]]
) -> None:
    itself = {VERSIONS: page({"versions": ["v1.15"]})}

    with that_serves(tmp_path, pages | itself) as url:
        assert found(tmp_path, url.removeprefix("https://")) == url


def test_what_a_server_says_wrongly_is_told(tmp_path: Path) -> None:
    wrong = (
        (page({"m.homeserver": {}}), "BadInput"),
        (page({"m.homeserver": {"base_url": 7}}), "BadInput"),
        (page({"m.homeserver": {"base_url": "ftp://elsewhere"}}), "BadInput"),
        (page({"m.homeserver": {"base_url": "http://127.0.0.1:1"}}), "Wait"),
        ((200, "text/html", b"<html>our company</html>"), "NotMatrix"),
        (page([1]), "NotMatrix"),
    )

    for answer, kind in wrong:
        with that_serves(tmp_path, {WELL_KNOWN: answer}) as url:
            assert found(tmp_path, url.removeprefix("https://")).startswith(kind), answer


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    with that_nobody_vouches_for(tmp_path) as url, pytest.raises(Wait, match="cannot be reached"):
        await discover(url)


async def test_ways_in_and_whose_token_it_is(synapse: Synapse) -> None:
    user = synapse.register()

    async with Homeserver.at(synapse.url) as server:
        ways, who = await server.ways_in(), await server.whoami(user.token)
        with pytest.raises(Refused) as wrong:
            await server.login(user.user_id, "wrong", "D", "x")
        none = await server.device_keys(user.token, user.user_id, user.device_id)

    assert "m.login.password" in ways
    assert (who.user_id, who.device_id) == (user.user_id, user.device_id)
    assert wrong.value.code == "M_FORBIDDEN"
    assert none is None


async def test_a_password_follows_no_redirect(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async def redirects(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        to = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/login"
        writer.write(f"HTTP/1.1 307 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with (
        await asyncio.start_server(elsewhere, "127.0.0.1", 0) as other,
        await asyncio.start_server(redirects, "127.0.0.1", 0) as first,
    ):
        url = f"http://127.0.0.1:{first.sockets[0].getsockname()[1]}"
        async with Homeserver.at(url) as server:
            with pytest.raises(Wait):
                await server.login("@bot:x", "password", "D", "x")

    assert not seen
