"""Requests in plain through the proxy: what passes, what does not, and what each side is told."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.gateway.gateway import ProxyGateway
from bot.ports.gateway import Reach
from bot.ports.sandbox import Line
from tests.adapters.gateway.world import (
    PLACE,
    Bounds,
    Hosts,
    asked,
    client,
    gateway,
    goal,
    got,
    hosts,
    reach,
)

HOST = "plain.example"
OPEN = Reach(is_open=True)


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Hosts]:
    async with hosts(tmp_path) as found:
        yield found


@pytest.fixture
async def opened(tmp_path: Path, made: Hosts) -> AsyncIterator[ProxyGateway]:
    async with gateway(tmp_path, made) as found:
        yield found


@pytest.fixture
async def line(opened: ProxyGateway) -> Line:
    return await opened.open(goal(), PLACE, reach(HOST))


def refusals(opened: ProxyGateway) -> list[tuple[str, str]]:
    return [(one.host, one.why) for one in opened.refused("g1")]


async def test_a_host_that_is_allowed_is_reached(line: Line, made: Hosts) -> None:
    status, text = await got(line, f"http://{HOST}/page?a=1")

    assert (status, text.endswith("GET 0")) == (200, True)
    assert made.seen[0].target == "/page?a=1"
    assert made.seen[0].headers["host"] == HOST


@pytest.mark.parametrize(
    "host", ["PLAIN.example", "plain.example.", "plain.example:80", "plain。example"]
)
async def test_one_host_has_many_spellings(line: Line, host: str) -> None:
    said = host.encode().decode("latin-1")

    status, _ = await got(line, f"http://{said}/")

    # Letters beyond ASCII stand in no address of HTTP.
    assert status == (200 if host.isascii() else 400)


async def test_a_host_that_is_not_is_refused_and_told(line: Line, opened: ProxyGateway) -> None:
    status, text = await got(line, "http://other.example/")

    assert status == 403
    assert "other.example:80: it is not among the hosts that this goal may reach" in text
    assert refusals(opened) == [
        ("other.example:80", "it is not among the hosts that this goal may reach")
    ]
    assert refusals(opened) == []


async def test_another_port_is_refused(line: Line) -> None:
    status, text = await got(line, f"http://{HOST}:8080/")

    assert (status, "port 8080 is not allowed there" in text) == (403, True)


async def test_a_port_that_the_entry_names_is_asked(opened: ProxyGateway) -> None:
    line = await opened.open(goal("g2"), PLACE, reach(f"{HOST}:8080"))

    status, text = await got(line, f"http://{HOST}:8080/")

    # The port is allowed; the address that the operator vouches for is that of 80 and 443 alone.
    assert (status, "cannot be resolved" in text) == (502, True)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "0.0.0.0",
        "192.168.1.1", "[fd00::1]", "[fe80::1]", "[64:ff9b::a00:1]", "224.0.0.1",
    ],
)  # fmt: skip
async def test_inside_nothing_is_reached_whatever_is_allowed(
    opened: ProxyGateway, host: str
) -> None:
    for allowed in (OPEN, reach(host)):
        line = await opened.open(goal(f"g{len(allowed.hosts)}"), PLACE, allowed)

        status, text = await got(line, f"http://{host}/latest/meta-data/")

        assert status in (403, 502)
        assert "a private or special address" in text or "cannot be resolved" in text


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "017700000001", "0"])
async def test_addresses_in_disguise_are_no_names(opened: ProxyGateway, host: str) -> None:
    line = await opened.open(goal(), PLACE, OPEN)

    status, _ = await got(line, f"http://{host}/")

    assert status == 400


async def test_a_name_that_leads_inside_is_refused(tmp_path: Path, made: Hosts) -> None:
    async def resolve(name: str) -> list[str]:
        return {"a.example": ["127.0.0.1"], "b.example": ["8.8.8.8", "10.1.2.3"]}[name]

    async with gateway(tmp_path, made, (), resolve=resolve) as opened:
        line = await opened.open(goal(), PLACE, OPEN)
        first, second = await got(line, "http://a.example/"), await got(line, "http://b.example/")

    assert (first[0], second[0]) == (403, 403)
    assert "it leads to a private or special address" in first[1]


async def test_a_private_host_is_reached_by_its_name_alone(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, OPEN)

    status, text = await got(line, f"http://{HOST}/")

    assert (status, "not among the hosts" in text) == (403, True)


async def test_each_redirect_is_decided_anew(line: Line, opened: ProxyGateway) -> None:
    status, text = await got(line, f"http://{HOST}/redirect?to=http://169.254.169.254/")
    after, _ = await got(line, "http://169.254.169.254/")

    assert (status, after) == (302, 403)
    assert "Location: http://169.254.169.254/" in text.replace("location", "Location")


@pytest.mark.parametrize(
    "text",
    [
        "GET / HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET https://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET ftp://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http://user:pw@plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http://plain.example@evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET http://plain.example\\@evil.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http://plain.example#@evil.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http://plain%2eexample/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http:///etc/passwd HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http://plain.example:99999/ HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "GET http://plain.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET http://plain.example/ HTTP/1.1\r\nHost: plain.example:81\r\n\r\n",
        "GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\nHost: evil.example\r\n\r\n",
        "GET http://plain.example/ HTTP/1.1\r\n\r\n",
        "GET http://plain.example/ HTTP/2.0\r\nHost: plain.example\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "nonsense\r\n\r\n",
        "CONNECT plain.example HTTP/1.1\r\nHost: plain.example\r\n\r\n",
        "CONNECT user@plain.example:443 HTTP/1.1\r\nHost: plain.example\r\n\r\n",
    ],
)
async def test_what_says_two_things_or_none_is_refused(line: Line, made: Hosts, text: str) -> None:
    status, _ = await asked(line, text)

    assert status in (400, 505)
    assert made.seen == []


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length: 5, 6",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Content-Length : 5",
        " Content-Length: 5",
        "X: y\rTransfer-Encoding: chunked",
    ],
)
async def test_a_request_whose_end_can_be_read_in_two_ways_is_not_passed_on(
    line: Line, made: Hosts, framing: str
) -> None:
    text = f"POST http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\n{framing}\r\n\r\n0\r\n\r\nGET http://{HOST}/x HTTP/1.1\r\n"

    status, _ = await asked(line, text)

    assert status in (400, 501)
    assert made.seen == []


async def test_a_body_is_framed_anew(line: Line, made: Hosts) -> None:
    hidden = f"GET http://{HOST}/hidden HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
    chunk = f"{len(hidden):x};ext=1\r\n{hidden}\r\n0\r\nTrailer: x\r\n\r\n"

    status, text = await got(
        line, f"http://{HOST}/", "Transfer-Encoding: chunked\r\n\r\n" + chunk, method="POST"
    )

    assert (status, f"POST {len(hidden)}" in text) == (200, True)
    assert [(one.method, one.target) for one in made.seen] == [("POST", "/")]


async def test_what_is_about_one_connection_stays_there(line: Line, made: Hosts) -> None:
    await got(
        line,
        f"http://{HOST}/",
        "Proxy-Authorization: Basic eDp5",
        "Proxy-Connection: keep-alive",
        "Connection: x-mine, host, authorization",
        "X-Mine: 1",
        "X-Other: 2",
        "Authorization: Bearer t",
        "Upgrade: websocket",
        "TE: trailers",
    )

    kept = made.seen[0].headers
    assert not {"proxy-authorization", "proxy-connection", "x-mine", "upgrade", "te"} & set(kept)
    assert (kept["x-other"], kept["authorization"], kept["connection"]) == (
        "2",
        "Bearer t",
        "close",
    )


async def test_one_connection_carries_many_requests_each_decided(line: Line) -> None:
    async with client(line) as one:
        statuses = []
        for host in (HOST, HOST, "other.example"):
            await one.say(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")
            head = await one.head()
            statuses.append(int(head.split()[1]))
            if statuses[-1] == 200:
                await one.reader.readexactly(len("GET 0"))

    assert statuses == [200, 200, 403]


async def test_who_waits_before_its_body_is_told_to_go_on(line: Line) -> None:
    async with client(line) as one:
        await one.say(
            f"POST http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
        )
        told = await one.head()
        await one.say("body")
        after = await one.head()

    assert ("100" in told, "200" in after) == (True, True)


async def test_a_refused_body_is_not_awaited(line: Line) -> None:
    async with client(line) as one:
        await one.say(
            "POST http://other.example/ HTTP/1.1\r\nHost: other.example\r\n"
            "Content-Length: 1000000\r\n\r\nxxx"
        )
        head = await one.head()

    assert " 403 " in head


async def test_much_passes_in_pieces(line: Line) -> None:
    size = 30_000_000

    status, text = await got(line, f"http://{HOST}/large?size={size}")

    assert (status, text.count("x")) == (200, size)


async def test_a_body_beyond_its_bound_is_cut(tmp_path: Path, made: Hosts) -> None:
    async with gateway(tmp_path, made, bounds=Bounds(body=100_000)) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST))
        async with client(line) as one:
            await one.say(f"GET http://{HOST}/large?size=200000 HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
            await one.head()
            body = await one.rest()

    assert len(body) < 200_000


async def test_a_head_without_end_is_refused(line: Line) -> None:
    status, _ = await got(line, f"http://{HOST}/", "X: " + "y" * 100_000)

    assert status in (400, 431)


async def test_too_many_connections_are_told_so(tmp_path: Path, made: Hosts) -> None:
    async with gateway(tmp_path, made, bounds=Bounds(connections=2)) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST))
        async with client(line) as one, client(line) as two, client(line) as three:
            told = await three.head()
            await one.say(f"GET http://{HOST}/ HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
            served = await one.head()
            del two

    assert ("503" in told, "200" in served) == (True, True)


async def test_a_silent_client_is_let_go(tmp_path: Path, made: Hosts) -> None:
    async with gateway(tmp_path, made, bounds=Bounds(idle_s=0.2)) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST))
        async with client(line) as one:
            await one.say("GET http://pl")

            assert await one.rest() == b""


async def test_what_may_no_longer_be_reached_is_cut(opened: ProxyGateway, line: Line) -> None:
    async with client(line) as one:
        await one.say(f"GET http://{HOST}/slow HTTP/1.1\r\nHost: {HOST}\r\n\r\n")
        await asyncio.sleep(0.3)
        opened.change("g1", Reach())

        assert await one.rest() == b""
    assert refusals(opened) == [(f"{HOST}:80", "it may no longer be reached")]


async def test_what_is_granted_is_reached_at_once(opened: ProxyGateway) -> None:
    line = await opened.open(goal(), PLACE, Reach())
    before, _ = await got(line, f"http://{HOST}/")

    opened.change("g1", reach(HOST))
    after, _ = await got(line, f"http://{HOST}/")

    assert (before, after) == (403, 200)


async def test_goals_do_not_share_what_they_reach(opened: ProxyGateway, line: Line) -> None:
    other = await opened.open(goal("g2"), PLACE, Reach())

    mine, theirs = await got(line, f"http://{HOST}/"), await got(other, f"http://{HOST}/")

    assert (mine[0], theirs[0]) == (200, 403)
    assert opened.refused("g1") == ()


async def test_a_name_is_asked_for_once_and_whole(tmp_path: Path, made: Hosts) -> None:
    asked_for: list[str] = []

    async def resolve(name: str) -> list[str]:
        asked_for.append(name)
        return ["10.0.0.1"] if len(asked_for) > 1 else ["192.0.2.1"]

    async with gateway(tmp_path, made, (), resolve=resolve) as opened:
        line = await opened.open(goal(), PLACE, OPEN)
        await got(line, "http://Rebind.example./")

    assert asked_for == ["rebind.example"]


async def test_a_host_that_is_down_is_said(tmp_path: Path, made: Hosts) -> None:
    made.plain = 1
    async with gateway(tmp_path, made) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST))
        status, text = await got(line, f"http://{HOST}/")

    assert (status, "it cannot be reached" in text) == (502, True)


async def test_everything_is_noted(tmp_path: Path, made: Hosts) -> None:
    noted: list[tuple[str, str, str, frozenset[str]]] = []

    async with gateway(tmp_path, made, noted=lambda *one: noted.append(one)) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST))
        await got(line, f"http://{HOST}/")
        await got(line, "http://other.example/")

    assert noted == [
        ("g1", f"{HOST}:80", "", frozenset()),
        (
            "g1",
            "other.example:80",
            "it is not among the hosts that this goal may reach",
            frozenset(),
        ),
    ]


async def test_a_closed_line_is_gone(opened: ProxyGateway, line: Line) -> None:
    await opened.close("g1")
    await opened.close("g1")

    with pytest.raises(FileNotFoundError):
        await asyncio.open_unix_connection(line.socket)


async def test_sockets_are_this_users_alone_and_their_paths_short(
    tmp_path: Path, made: Hosts
) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    async with gateway(deep, made) as opened:
        line = await opened.open(goal(), PLACE, reach(HOST))
        status, _ = await got(line, f"http://{HOST}/")
        folder, key = Path(line.socket).parent, deep / "lines.key"
        modes = [path.stat().st_mode & 0o777 for path in (folder, Path(line.socket), key)]

    assert (status, modes) == (200, [0o700, 0o600, 0o600])
    assert not folder.exists()
