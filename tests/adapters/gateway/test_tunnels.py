"""Tunnels: passed on unread where the client greets their host, and opened where secrets go."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.gateway.gateway import ProxyGateway
from bot.ports.gateway import InUse, Reach
from bot.ports.sandbox import Line
from tests.adapters.gateway.test_hello import hello
from tests.adapters.gateway.world import (
    PLACE,
    VALUE,
    Client,
    Hosts,
    client,
    gateway,
    goal,
    hosts,
    reach,
)

HOST = "secret.example"
OTHER = "other.example"


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Hosts]:
    async with hosts(tmp_path, HOST) as found:
        yield found


@pytest.fixture
async def opened(tmp_path: Path, made: Hosts) -> AsyncIterator[ProxyGateway]:
    async with gateway(tmp_path, made, ("plain.example",), (HOST, OTHER)) as found:
        yield found


def refusals(opened: ProxyGateway) -> list[str]:
    return [one.why for one in opened.refused("g1")]


async def connected(one: Client, to: str = f"{HOST}:443") -> str:
    await one.say(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")
    return await one.head()


async def secured(one: Client, line: Line, made: Hosts, name: str = HOST) -> Client:
    """A tunnel with TLS in it, checked by both authorities."""
    assert " 200 " in await connected(one)
    await one.sealed(line, name, also=made.authority.certificate)
    return one


def issuer(one: Client) -> str:
    peer = one.writer.get_extra_info("ssl_object").getpeercert()
    return dict(item[0] for item in peer["issuer"])["commonName"]


async def page(one: Client, path: str, *headers: str) -> tuple[str, str]:
    lines = [f"GET {path} HTTP/1.1", f"Host: {HOST}", *headers, "Connection: close", "", ""]
    await one.say("\r\n".join(lines))
    return await one.head(), (await one.rest()).decode("latin-1")


async def test_a_host_without_secrets_is_passed_on_unread(
    opened: ProxyGateway, made: Hosts
) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST))
    async with client(line) as one:
        await secured(one, line, made)
        head, body = await page(one, "/")

        assert issuer(one) == "authority of a test"
    assert ("200" in head, body) == (True, "GET 0")


async def test_a_host_that_is_not_allowed_gets_no_tunnel(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, reach(OTHER))
    async with client(line) as one:
        head = await connected(one)

    assert " 403 " in head


@pytest.mark.parametrize(
    "to", ["127.0.0.1:443", "[::1]:443", "169.254.169.254:80", "localhost:443"]
)
async def test_no_tunnel_leads_inside(opened: ProxyGateway, to: str) -> None:
    line = await opened.open(goal(), PLACE, Reach(is_open=True))
    async with client(line) as one:
        head = await connected(one, to)

    assert " 403 " in head or " 502 " in head


async def test_a_tunnel_that_greets_another_host_is_cut(opened: ProxyGateway, made: Hosts) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST))
    async with client(line) as one:
        await connected(one)
        await one.say(hello("evil.example"))

        assert await one.rest() == b""
    assert refusals(opened) == ["the TLS in its tunnel asks for evil.example"]
    assert made.seen == []


async def test_a_tunnel_that_greets_nobody_is_cut(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST))
    async with client(line) as one:
        await connected(one)
        await one.say(hello(None))

        assert await one.rest() == b""
    assert refusals(opened) == ["the TLS in its tunnel asks for no host"]


async def test_a_tunnel_carries_no_other_words_than_tls(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, "plain.example"))
    for to in (f"{HOST}:443", "plain.example:80"):
        async with client(line) as one:
            await connected(one, to)
            await one.say(f"GET http://evil.example/ HTTP/1.1\r\nHost: {HOST}\r\n\r\n")

            assert await one.rest() == b""
    assert refusals(opened) == ["a tunnel there carries TLS and nothing else"] * 2


async def test_a_greeting_in_pieces_is_awaited(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST))
    async with client(line) as one:
        await connected(one)
        words = hello(HOST)
        for at in range(0, len(words), 100):
            await one.say(words[at : at + 100])
            await asyncio.sleep(0)
        answered = await one.reader.read(1)

    assert answered == b"\x16"


async def test_who_speaks_before_the_tunnel_is_open_is_refused(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
    async with client(line) as one:
        await one.say(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}\r\n\r\nGET / HTTP/1.1\r\n")

        said = await one.rest()

    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"its client spoke before it was open" in said


async def test_a_tunnel_to_a_port_of_its_own_carries_any_words(tmp_path: Path, made: Hosts) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-server\r\n")
        writer.write(await reader.readline())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with gateway(tmp_path, made, (), vouch=(f"git.example:22=127.0.0.1:{port}",)) as opened:
        line = await opened.open(goal(), PLACE, reach("git.example:22"))
        async with client(line) as one:
            head = await connected(one, "git.example:22")
            first = await one.reader.readline()
            await one.say("SSH-2.0-client\r\n")
            second = await one.reader.readline()
        async with client(line) as one:
            await connected(one, "git.example:22")
            await one.reader.readline()
            await one.say(hello("evil.example"))
            cut = await one.rest()
    server.close()

    assert (" 200 " in head, first, second) == (True, b"SSH-2.0-server\r\n", b"SSH-2.0-client\r\n")
    assert cut == b""


async def test_a_tunnel_to_what_may_no_longer_be_reached_is_cut(
    opened: ProxyGateway, made: Hosts
) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST))
    async with client(line) as one:
        await secured(one, line, made)
        opened.change("g1", reach(OTHER))

        assert await one.rest() == b""


async def test_a_tunnel_to_a_host_that_gets_a_secret_is_cut(
    opened: ProxyGateway, made: Hosts
) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST))
    async with client(line) as one:
        await secured(one, line, made)
        opened.change("g1", reach(HOST, secret=HOST))

        assert await one.rest() == b""


async def test_a_secret_is_put_into_requests_to_its_host(opened: ProxyGateway, made: Hosts) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
    word = line.environment["API_TOKEN"]
    basic = base64.b64encode(f"x-token:{word}".encode()).decode()
    async with client(line) as one:
        await secured(one, line, made)
        assert issuer(one) == "Headway: secrets of a goal"
        await page(one, f"/a?key={word}", f"Authorization: Bearer {word}", f"X-Api-Key: {word}")
    async with client(line) as one:
        await secured(one, line, made)
        await page(one, "/b", f"Authorization: basic {basic}")

    first, second = made.seen
    assert VALUE not in line.environment["API_TOKEN"]
    assert first.headers["authorization"] == f"Bearer {VALUE}"
    assert first.headers["x-api-key"] == VALUE
    assert first.target == "/a?key=s3cr3t-Value%2Fwith%2Bsigns%3D"
    kind, account = second.headers["authorization"].split()
    assert (kind, base64.b64decode(account).decode()) == ("basic", f"x-token:{VALUE}")


async def test_what_comes_back_holds_no_value(opened: ProxyGateway, made: Hosts) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
    word = line.environment["API_TOKEN"]
    basic = base64.b64encode(f"x:{word}".encode()).decode()
    texts = []
    for path, header in (
        ("/echo", f"Bearer {word}"),
        ("/echo?zipped=1", f"Bearer {word}"),
        (f"/echo?k={word}", f"Basic {basic}"),
    ):
        async with client(line) as one:
            await secured(one, line, made)
            head, body = await page(one, path, f"Authorization: {header}", "Accept-Encoding: gzip")
            texts.append(head + body)

    real = base64.b64encode(f"x:{VALUE}".encode()).decode()
    assert all(word in text for text in texts)
    assert not any(VALUE in text or real in text or "s3cr3t" in text for text in texts)


async def test_no_header_is_named_by_a_value(tmp_path: Path, made: Hosts) -> None:
    async def value(name: str) -> str:
        return "Tok-9f8e7d6c5b4a"

    async with gateway(tmp_path, made, (), (HOST,), value=value) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
        word = line.environment["API_TOKEN"]
        async with client(line) as one:
            await secured(one, line, made)
            head, _ = await page(one, f"/echo?name={word}")

    assert made.seen[0].target == "/echo?name=Tok-9f8e7d6c5b4a"
    assert "x-echo" in head.lower()
    assert "9f8e7d6c5b4a" not in head


async def test_other_hosts_see_the_word_alone(opened: ProxyGateway, made: Hosts) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, "plain.example", secret=HOST))
    word = line.environment["API_TOKEN"]
    async with client(line) as one:
        await one.say(
            f"GET http://plain.example/?{word} HTTP/1.1\r\nHost: plain.example\r\nX-Key: {word}\r\n"
            "Connection: close\r\n\r\n"
        )
        await one.head()

    assert (made.seen[0].target, made.seen[0].headers["x-key"]) == (f"/?{word}", word)


async def test_in_plain_not_even_its_host_gets_it(tmp_path: Path, made: Hosts) -> None:
    async with gateway(tmp_path, made, (HOST,)) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
        word = line.environment["API_TOKEN"]
        async with client(line) as one:
            await one.say(f"GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\nX-Key: {word}\r\n\r\n")
            await one.head()

    assert made.seen[0].headers["x-key"] == word


async def test_each_goal_has_a_word_of_its_own_that_stays(tmp_path: Path, made: Hosts) -> None:
    words = []
    for _ in range(2):
        async with gateway(tmp_path, made) as opened:
            for id in ("g1", "g2"):
                line = await opened.open(goal(id), PLACE, reach(HOST, secret=HOST))
                words.append(line.environment["API_TOKEN"])

    assert words[:2] == words[2:]
    assert len(set(words)) == 2


async def test_another_goals_word_is_nothing(opened: ProxyGateway, made: Hosts) -> None:
    mine = await opened.open(goal("g1"), PLACE, reach(HOST, secret=HOST))
    other = await opened.open(goal("g2"), PLACE, reach(HOST, secret=HOST))
    async with client(mine) as one:
        await secured(one, mine, made)
        await page(one, "/", f"X-Key: {other.environment['API_TOKEN']}")

    assert made.seen[0].headers["x-key"] == other.environment["API_TOKEN"]


async def test_a_given_secret_lies_in_the_environment(opened: ProxyGateway) -> None:
    given = Reach(secrets=(InUse("TOKEN", (), "TOKEN", "given"),))

    line = await opened.open(goal(), PLACE, given)

    assert line.environment == {"TOKEN": VALUE}


async def test_a_secret_that_is_gone_is_said(opened: ProxyGateway, made: Hosts) -> None:
    gone = Reach(frozenset({HOST}), secrets=(InUse("GONE", (HOST,), "GONE"),))
    line = await opened.open(goal(), PLACE, gone)
    async with client(line) as one:
        await secured(one, line, made)
        head, body = await page(one, "/")

    assert (" 502 " in head, "it is not there any more" in body) == (True, True)


async def test_a_value_that_fits_no_header_is_said(opened: ProxyGateway, made: Hosts) -> None:
    broken = Reach(frozenset({HOST}), secrets=(InUse("BROKEN", (HOST,), "BROKEN"),))
    line = await opened.open(goal(), PLACE, broken)
    async with client(line) as one:
        await secured(one, line, made)
        head, body = await page(one, "/", f"X-Key: {line.environment['BROKEN']}")

    assert (" 400 " in head, "cannot stand in a header" in body) == (True, True)
    assert made.seen == []


async def test_an_opened_tunnel_asks_its_own_host_alone(opened: ProxyGateway, made: Hosts) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, OTHER, secret=HOST))
    word = line.environment["API_TOKEN"]
    heads = []
    for target, host in (
        ("/", OTHER),
        (f"http://{OTHER}/", HOST),
        (f"https://{HOST}/", HOST),
        (f"{OTHER}:443", HOST),
    ):
        async with client(line) as one:
            await secured(one, line, made)
            method = "CONNECT" if target.endswith(":443") else "GET"
            await one.say(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nX: {word}\r\n\r\n")
            heads.append((await one.head()).split()[1])

    assert heads == ["400", "421", "421", "421"]
    assert made.seen == []


async def test_an_opened_tunnel_that_greets_another_host_has_no_connection(
    opened: ProxyGateway, made: Hosts
) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
    async with client(line) as one:
        await connected(one)

        with pytest.raises((ssl.SSLError, OSError)):
            await one.sealed(line, OTHER)


async def test_a_host_whose_certificate_is_not_good_gets_nothing(
    tmp_path: Path, made: Hosts
) -> None:
    async with gateway(tmp_path, made, (), (HOST, OTHER), upstream=None) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
        async with client(line) as one:
            await secured(one, line, made)
            head, body = await page(one, "/", f"X: {line.environment['API_TOKEN']}")

    assert (" 502 " in head, "its certificate is not good" in body) == (True, True)
    assert made.seen == []


async def test_another_hosts_certificate_is_not_good_either(
    opened: ProxyGateway, made: Hosts
) -> None:
    line = await opened.open(goal(), PLACE, reach(OTHER, secret=OTHER))
    async with client(line) as one:
        await connected(one, f"{OTHER}:443")
        await one.sealed(line, OTHER)
        await one.say(f"GET / HTTP/1.1\r\nHost: {OTHER}\r\n\r\n")
        head = await one.head()

    assert " 502 " in head
    assert made.seen == []


async def test_in_an_opened_tunnel_each_request_is_decided(
    opened: ProxyGateway, made: Hosts
) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
    async with client(line) as one:
        await secured(one, line, made)
        await one.say(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
        first = await one.head()
        while (await one.reader.readline()) != b"0\r\n":
            pass
        await one.reader.readline()
        while any(opened._lines["g1"]._under_way.values()):
            await asyncio.sleep(0.01)
        opened.change("g1", reach(OTHER))
        await one.say(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
        second = await one.head()

    assert (" 200 " in first, " 403 " in second) == (True, True)


async def test_what_was_put_in_is_noted_by_name(tmp_path: Path, made: Hosts) -> None:
    noted: list[tuple[str, frozenset[str]]] = []

    async with gateway(
        tmp_path, made, (), (HOST,), noted=lambda goal, host, why, put: noted.append((host, put))
    ) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
        async with client(line) as one:
            await secured(one, line, made)
            await page(one, "/", f"X: {line.environment['API_TOKEN']}")

    assert noted == [(f"{HOST}:443", frozenset({"TOKEN"}))]


async def test_the_authoritys_key_is_nowhere_on_the_disk(
    opened: ProxyGateway, made: Hosts, tmp_path: Path
) -> None:
    line = await opened.open(goal(), PLACE, reach(HOST, secret=HOST))
    async with client(line) as one:
        await secured(one, line, made)

    files = sorted(path.name for path in (tmp_path / "lines").iterdir() if path.is_file())
    assert files == ["authority.pem"]
    assert b"PRIVATE" not in (tmp_path / "lines" / "authority.pem").read_bytes()
