"""
One client's connection: requests with whole addresses, or a tunnel.

Rule 1: each request is decided when it comes, by what the goal may reach then.
Rule 2: a tunnel is passed on unread, once its client has greeted the very host that it was opened to; one to a
        host with secrets is opened here, and its requests are decided one by one.
Rule 3: whatever is refused is answered with the reason.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import h11

from adapters.gateway.authority import Authority
from adapters.gateway.bounds import Bounds
from adapters.gateway.exchange import Exchange, closed, reached
from adapters.gateway.hello import NoHello, is_tls, server_name
from adapters.gateway.messages import Asked, absolute, authority, inside
from adapters.gateway.placing import Held, Placing
from adapters.gateway.verdicts import Denied, Verdicts, Way, is_address
from adapters.gateway.wire import BLOCK, Wire, write
from bot.hosts import PORTS
from bot.ports.gateway import InUse, Reach

_HEARD_OUT: Final = 64
"""Blocks of a body that is not wanted."""
_HEARD_OUT_S: Final = 2.0
_BROKEN: Final = (OSError, TimeoutError, h11.ProtocolError, ssl.SSLError, EOFError)


@dataclass(frozen=True, slots=True)
class House:
    """What the lines of all goals share."""

    verdicts: Verdicts
    authority: Authority
    upstream: ssl.SSLContext
    bounds: Bounds


class Owner(Protocol):
    """The goal whose connection it is."""

    reach: Reach

    async def held(self, secrets: tuple[InUse, ...]) -> tuple[Held, ...]:
        """Those secrets with their values. Raises Denied."""

    def allowed(self, host: str, secrets: frozenset[str] = frozenset()) -> None:
        """Note that something went to a host, and with which secrets."""

    def refused(self, host: str, why: str) -> None:
        """Note that something was not let through."""

    def entered(self, way: Way | None) -> None:
        """This connection is under way to a host, or to none: it is cut when that is no more allowed."""


class Caller:
    """Serves one connection until it ends."""

    def __init__(
        self,
        owner: Owner,
        house: House,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._owner, self._house, self._bounds = owner, house, house.bounds
        self._client = Wire(h11.SERVER, reader, writer, house.bounds)

    async def serve(self) -> None:
        """Raises nothing but cancellation."""
        try:
            async with asyncio.timeout(self._bounds.whole_s):
                await self._requests(absolute)
        except _BROKEN:
            pass
        except Denied as error:
            await self._refuse(error)
        finally:
            await closed(self._client.writer)

    async def _requests(
        self, read: Callable[[h11.Request], Asked], tunnel: Way | None = None
    ) -> None:
        """One request after the other, while both want it so."""
        while True:
            request = await self._heard()
            if request is None:
                return
            try:
                if request.method == b"CONNECT" and tunnel is None:
                    await self._connect(request)
                    return
                await self._carry(read(request), tunnel)
            except Denied as error:
                await self._refuse(error)
            self._owner.entered(None)
            if not _is_whole(self._client):
                return
            self._client.state.start_next_cycle()

    async def _heard(self) -> h11.Request | None:
        """The next request; None where there is none. Raises Denied: it is no HTTP."""
        try:
            event = await self._client.event()
        except h11.RemoteProtocolError as error:
            raise Denied(
                "a request", "it is no HTTP/1.1", status=error.error_status_hint
            ) from error
        if not isinstance(event, h11.Request):
            return None
        if event.http_version not in (b"1.0", b"1.1"):
            raise Denied("a request", "it is no HTTP/1.1", status=505)
        return event

    async def _carry(self, asked: Asked, tunnel: Way | None) -> None:
        way = await self._entered(asked.host, asked.port)
        placing = None
        if tunnel is not None:
            # As it is bound now: what was taken away meanwhile is put in no more.
            placing = Placing(await self._owner.held(way.secrets), way.shown)
        encryption = self._house.upstream if tunnel is not None else None
        exchange = Exchange(self._client, way, placing, self._bounds, encryption)

        def allowed() -> None:
            self._owner.allowed(way.shown, frozenset(placing.used) if placing else frozenset())

        await exchange.run(asked, allowed)

    async def _connect(self, request: h11.Request) -> None:
        if not isinstance(await self._client.event(), h11.EndOfMessage):
            raise Denied("a tunnel", "CONNECT has no body", status=400)
        host, port = authority(request.target)
        way = await self._entered(host, port)
        if way.secrets:
            await self._opened(way)
            return
        await self._passed(way)

    async def _entered(self, host: str, port: int) -> Way:
        """The way to a host, by what may be reached once its name is resolved. Raises Denied."""
        verdicts, owner = self._house.verdicts, self._owner
        found = await verdicts.way(owner.reach, host, port)
        # Nothing is awaited from here until it is entered: what is revoked later cuts it.
        way = verdicts.still(owner.reach, found)
        owner.entered(way)
        return way

    async def _opened(self, way: Way) -> None:
        """A tunnel that ends here, and is a conversation with the host from here on."""
        await self._say_ready()
        writer = self._client.writer
        context = self._house.authority.context(way.name)
        async with asyncio.timeout(self._bounds.hello_s):
            await writer.start_tls(context)
        self._client = Wire(h11.SERVER, self._client.reader, writer, self._bounds)
        await self._requests(lambda request: inside(request, way.name, way.port), way)

    async def _passed(self, way: Way) -> None:
        """A tunnel to the host."""
        reader, writer = await reached(way, self._bounds)
        try:
            await self._say_ready()
            if way.port in PORTS:
                first = await self._greeting(way, b"")
                self._owner.allowed(way.shown)
                await write(writer, first, self._client.quiet)
                await self._both_ways(way, reader, writer, is_greeted=True)
            else:
                self._owner.allowed(way.shown)
                await self._both_ways(way, reader, writer, is_greeted=False)
        finally:
            await closed(writer)

    async def _both_ways(
        self,
        way: Way,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        is_greeted: bool,
    ) -> None:
        client = self._client
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._copied(reader, client.writer))
                both.create_task(self._outward(way, writer, is_greeted=is_greeted))
        except* (*_BROKEN, Denied) as group:
            for error in group.exceptions:
                if isinstance(error, Denied):
                    self._owner.refused(error.host, error.why)

    async def _outward(self, way: Way, writer: asyncio.StreamWriter, *, is_greeted: bool) -> None:
        if not is_greeted:
            async with self._client.quiet.limit():
                first = await self._client.reader.read(BLOCK)
            if is_tls(first):
                first = await self._greeting(way, first)
            await write(writer, first, self._client.quiet)
        await self._copied(self._client.reader, writer)

    async def _greeting(self, way: Way, seen: bytes) -> bytes:
        """The client's first words, once they are whole and mean this host. Raises Denied."""
        try:
            async with asyncio.timeout(self._bounds.hello_s):
                while (name := server_name(seen)) is None:
                    more = await self._client.reader.read(BLOCK)
                    if not more:
                        raise NoHello if seen else ConnectionError
                    seen += more
        except (NoHello, TimeoutError) as error:
            raise Denied(way.shown, "a tunnel there carries TLS and nothing else") from error
        named = name.lower().removesuffix(".")
        if named != way.name and not (not named and is_address(way.name)):
            whom = named[:80] or "no host"
            raise Denied(way.shown, f"the TLS in its tunnel asks for {whom}")
        return seen

    async def _copied(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        copied = 0
        while True:
            async with self._client.quiet.limit():
                piece = await reader.read(BLOCK)
            if not piece:
                break
            copied += len(piece)
            if copied > self._bounds.body:
                raise ConnectionError
            await write(writer, piece, self._client.quiet)
        if writer.can_write_eof():
            writer.write_eof()

    async def _say_ready(self) -> None:
        """The answer to CONNECT, after which nothing more of HTTP is said."""
        state = self._client.state
        early, _ = state.trailing_data
        if early:
            raise Denied("a tunnel", "its client spoke before it was open", status=400)
        ready = state.send(
            h11.Response(status_code=200, headers=[], reason=b"Connection established")
        )
        await write(self._client.writer, ready or b"", self._client.quiet)

    async def _refuse(self, error: Denied) -> None:
        """Note it, and answer with the reason where an answer can be given."""
        self._owner.refused(error.host, error.why)
        text = f"Headway's proxy does not pass this on. {error.host}: {error.why}.\n".encode()
        headers = [
            (b"Content-Type", b"text/plain; charset=utf-8"),
            (b"Content-Length", str(len(text)).encode()),
            (b"X-Headway", b"refused"),
            (b"Connection", b"close"),
        ]
        with suppress(*_BROKEN):
            if self._client.state.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
                return
            response = h11.Response(status_code=error.status, headers=headers)
            for event in (response, h11.Data(data=text), h11.EndOfMessage()):
                await self._client.send(event)
            # Who is cut off while they speak does not hear the answer.
            async with asyncio.timeout(_HEARD_OUT_S):
                for _ in range(_HEARD_OUT):
                    if self._client.state.their_state is not h11.SEND_BODY:
                        return
                    await self._client.event()


def _is_whole(client: Wire) -> bool:
    """Whether another request can follow."""
    state = client.state
    return state.our_state is h11.DONE and state.their_state is h11.DONE
