"""A gateway, hosts that it reaches at ports of this machine, and a client that says what it likes."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from adapters.gateway.bounds import Bounds
from adapters.gateway.gateway import ProxyGateway
from bot.goals.goal import Goal, State
from bot.hosts import vouched
from bot.ports.chat import Place
from bot.ports.gateway import InUse, Reach
from bot.ports.sandbox import Line
from tests.adapters.sandbox.authority import Authority

PLACE = Place("console", "local", "console")
VALUE = "s3cr3t-Value/with+signs="


def goal(id: str = "g1") -> Goal:
    return Goal(id=id, session="s", number=1, objective="", owner="p", state=State.READY)


@dataclass
class Seen:
    """A request as it came to a host."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    encrypted: bool


@dataclass
class Hosts:
    """Servers in plain and over TLS, which answer for every host with what the path asks for."""

    plain: int
    sealed: int
    authority: Authority
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0


@asynccontextmanager
async def hosts(folder: Path, *names: str) -> AsyncIterator[Hosts]:
    authority = Authority(folder)
    made = Hosts(0, 0, authority)
    runners = []
    for name in ("plain", "sealed"):
        app = web.Application(client_max_size=1024**3)
        app.router.add_route("*", "/{tail:.*}", _answering(made, name == "sealed"))
        runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=0.1)
        await runner.setup()
        context = None
        if name == "sealed":
            context = authority.context(names[0] if names else "secret.example")
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        setattr(made, name, runner.addresses[0][1])
        runners.append(runner)
    try:
        yield made
    finally:
        for runner in runners:
            await runner.cleanup()


def _answering(made: Hosts, encrypted: bool) -> Any:
    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        made.seen.append(Seen(request.method, request.raw_path, headers, body, encrypted))
        if request.path == "/redirect":
            return web.Response(status=302, headers={"Location": request.query["to"]})
        if request.path == "/large":
            return web.Response(body=b"x" * int(request.query["size"]))
        if request.path == "/slow":
            await asyncio.sleep(60)
        if request.path == "/echo":
            response = web.Response(text=repr(headers) + request.raw_path)
            response.headers["X-Echo"] = headers.get("authorization", "")
            if name := request.query.get("name"):
                response.headers[f"X-{name}"] = "1"
            if "zipped" in request.query:
                response.enable_compression(web.ContentCoding.gzip)
            return response
        return web.Response(text=f"{request.method} {len(body)}")

    return answer


@asynccontextmanager
async def gateway(
    folder: Path,
    made: Hosts,
    names: Sequence[str] = ("plain.example",),
    sealed: Sequence[str] = (),
    **more: Any,
) -> AsyncIterator[ProxyGateway]:
    """`names` are at the plain server, `sealed` at the one with TLS."""
    private = [f"{name}=127.0.0.1:{made.plain}" for name in names]
    private += [f"{name}=127.0.0.1:{made.sealed}" for name in sealed]
    private += more.pop("vouch", ())
    context = ssl.create_default_context(cafile=made.authority.certificate)

    async def value(name: str) -> str:
        return {"TOKEN": VALUE, "BROKEN": "two\nlines-long"}[name]

    opened = ProxyGateway(
        folder,
        more.pop("value", value),
        vouched=vouched(private),
        upstream=more.pop("upstream", context),
        **more,
    )
    opened.start()
    try:
        yield opened
    finally:
        await opened.stop()


def reach(*names: str, secret: str = "", **more: Any) -> Reach:
    secrets = (InUse("TOKEN", (secret,), "API_TOKEN"),) if secret else ()
    return Reach(frozenset(names), secrets=secrets, **more)


class Client:
    """A connection to a line's socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, text: str | bytes) -> None:
        self.writer.write(text.encode("latin-1") if isinstance(text, str) else text)
        await self.writer.drain()

    async def head(self) -> str:
        """A response's head."""
        return (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")

    async def rest(self) -> bytes:
        async with asyncio.timeout(10):
            return await self.reader.read()

    async def sealed(self, line: Line, name: str, *, also: Path | None = None) -> None:
        """Speak TLS from here on, and trust the line's authority."""
        context = ssl.create_default_context(cafile=line.certificate)
        if also is not None:
            context.load_verify_locations(also)
        # A writer of a client's begins as a client.
        await self.writer.start_tls(context, server_hostname=name)

    async def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def client(line: Line) -> AsyncIterator[Client]:
    made = Client(*await asyncio.open_unix_connection(line.socket))
    try:
        yield made
    finally:
        await made.close()


async def asked(line: Line, text: str | bytes) -> tuple[int, str]:
    """The status and everything else of the answer to one request on a connection of its own."""
    async with client(line) as one:
        await one.say(text)
        head = await one.head()
        return int(head.split()[1]), head + (await one.rest()).decode("latin-1")


async def got(line: Line, url: str, *headers: str, method: str = "GET") -> tuple[int, str]:
    """What a well-behaved client gets from a URL in plain."""
    host = url.split("/")[2]
    lines = [f"{method} {url} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
    return await asked(line, "\r\n".join(lines))


__all__ = [
    "PLACE", "VALUE", "Bounds", "Client", "Hosts", "Line", "asked", "client",
    "gateway", "goal", "got", "hosts", "reach",
]  # fmt: skip
