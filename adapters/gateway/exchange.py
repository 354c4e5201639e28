"""
One request of a client and its response, carried to the host and back.

Rule: a body is passed on in pieces, never held; it may be so long and no longer.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import h11

from adapters.gateway.bounds import Bounds
from adapters.gateway.messages import Asked, incoming, outgoing, without_compression
from adapters.gateway.placing import Placing
from adapters.gateway.scrubbing import Scrubber, Unpacking
from adapters.gateway.verdicts import Denied, Way
from adapters.gateway.wire import Wire

_BROKEN: Final = (OSError, TimeoutError, h11.RemoteProtocolError, EOFError)


class Exchange:
    """Carries one over a connection of its own."""

    def __init__(
        self,
        client: Wire,
        way: Way,
        placing: Placing | None,
        bounds: Bounds,
        encryption: ssl.SSLContext | None,
    ) -> None:
        """`placing`: the host's secrets, where its connection is encrypted and ours to open."""
        self._client, self._way, self._bounds = client, way, bounds
        self._placing, self._encryption = placing, encryption
        self._scrubber: Scrubber | None = None
        self._has_answered = False

    async def run(self, asked: Asked, allowed: Callable[[], None]) -> None:
        """Carry it; `allowed` is told when the host has been reached.

        Raises:
            Denied: it was not carried, and the client has heard nothing yet.
            ConnectionError: it broke in the middle.
        """
        request = self._request(asked)
        if self._placing is not None:
            self._scrubber = await asyncio.to_thread(Scrubber, self._placing.held)
        reader, writer = await reached(self._way, self._bounds, self._encryption)
        try:
            allowed()
            host = Wire(h11.CLIENT, reader, writer, self._bounds, self._client.quiet)
            await host.send(request)
            sending = asyncio.create_task(self._send_body(host))
            try:
                await self._receive(host, asked.method)
            finally:
                await _ended(sending)
        except _BROKEN as error:
            if self._has_answered:
                raise ConnectionError from error
            raise Denied(self._way.shown, "it broke the connection", status=502) from error
        finally:
            await closed(writer)

    def _request(self, asked: Asked) -> h11.Request:
        if self._placing is None:
            return self._written(asked)
        asked = without_compression(asked)
        headers = self._placing.headers(asked.headers)
        target = self._placing.target(asked.target)
        return self._written(replace(asked, target=target, headers=headers))

    def _written(self, asked: Asked) -> h11.Request:
        try:
            return outgoing(asked)
        except h11.LocalProtocolError as error:
            raise Denied(self._way.shown, "the request cannot be said so", status=400) from error

    async def _send_body(self, host: Wire) -> None:
        sent = 0
        while not isinstance(event := await self._client.event(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise ConnectionError
            sent += len(event.data)
            if sent > self._bounds.body:
                raise ConnectionError
            await host.send(h11.Data(data=bytes(event.data)))
        await host.send(h11.EndOfMessage())

    async def _receive(self, host: Wire, method: bytes) -> None:
        response = await host.event()
        while isinstance(response, h11.InformationalResponse):
            response = await host.event()
        if not isinstance(response, h11.Response):
            raise ConnectionError
        unpacking = self._unpacking(response)
        scrubbed = await asyncio.to_thread(self._scrubbed, response)
        told = incoming(scrubbed, method, is_changed=self._scrubber is not None)
        if unpacking is not None and unpacking.is_needed:
            told = _plain(told)
        self._has_answered = True
        await self._client.send(told)
        await self._pass_body(host, unpacking)

    async def _pass_body(self, host: Wire, unpacking: Unpacking | None) -> None:
        passed = 0
        try:
            while isinstance(event := await host.event(), h11.Data):
                data = bytes(event.data)
                for piece in unpacking.feed(data) if unpacking else (data,):
                    passed = await self._pass_piece(piece, passed)
            if unpacking is not None and isinstance(event, h11.EndOfMessage):
                for piece in unpacking.end():
                    passed = await self._pass_piece(piece, passed)
        except Denied as error:
            raise ConnectionError from error
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionError
        if self._scrubber is not None:
            await self._say(await asyncio.to_thread(self._scrubber.feed, b"", is_last=True))
        await self._client.send(h11.EndOfMessage())

    async def _pass_piece(self, piece: bytes, passed: int) -> int:
        """How much has been passed then."""
        passed += len(piece)
        if passed > self._bounds.body:
            raise ConnectionError
        if self._scrubber is not None:
            piece = await asyncio.to_thread(self._scrubber.feed, piece)
        await self._say(piece)
        return passed

    async def _say(self, piece: bytes) -> None:
        if piece:
            await self._client.send(h11.Data(data=piece))

    def _unpacking(self, response: h11.Response) -> Unpacking | None:
        if self._scrubber is None:
            return None
        codings = [value for name, value in response.headers if name == b"content-encoding"]
        return Unpacking(b",".join(codings).strip().lower(), self._way.shown)

    def _scrubbed(self, response: h11.Response) -> h11.Response:
        if self._scrubber is None:
            return response
        headers = [
            (name, self._scrubber.whole(value))
            for name, value in response.headers
            if not self._scrubber.is_in_name(name)
        ]
        reason = self._scrubber.whole(bytes(response.reason))
        return h11.Response(status_code=response.status_code, headers=headers, reason=reason)


def _plain(response: h11.Response) -> h11.Response:
    gone = (b"content-encoding", b"content-length")
    headers = [one for one in response.headers if one[0] not in gone]
    return h11.Response(status_code=response.status_code, headers=headers, reason=response.reason)


async def reached(
    way: Way, bounds: Bounds, encryption: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first of the host's addresses that answers. Raises Denied."""
    why = "it cannot be reached"
    name = way.name if encryption is not None else None
    for address in way.addresses:
        try:
            async with asyncio.timeout(bounds.connect_s):
                return await asyncio.open_connection(
                    address, way.connect_port, ssl=encryption, server_hostname=name
                )
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not good ({error.verify_message})"
        except (OSError, TimeoutError) as error:
            why = f"it cannot be reached ({_shortly(error)})"
    raise Denied(way.shown, why, status=502)


async def closed(writer: asyncio.StreamWriter) -> None:
    """End a connection at once, whatever the other end does."""
    with suppress(OSError, RuntimeError):
        writer.transport.abort() if writer.transport.is_closing() else writer.close()
    with suppress(OSError, TimeoutError, RuntimeError):
        async with asyncio.timeout(1):
            await writer.wait_closed()


async def _ended(sending: "asyncio.Task[None]") -> None:
    """The body needs no more to be sent; how that went, the response has shown."""
    sending.cancel()
    await asyncio.wait((sending,))
    with suppress(asyncio.CancelledError):
        sending.exception()


def _shortly(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return "it speaks no TLS that is spoken here"
    return (getattr(error, "strerror", None) or "no connection").lower()
