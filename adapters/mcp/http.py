"""
A client for servers that are reached by an address: it goes where it may, and reads as much as it may.

The `mcp` package follows redirects within one origin only, and each goes through here again.

Rule: an answer comes as it is: of one that is compressed nobody knows how much it is before it is there.
"""

from collections.abc import AsyncIterator, Mapping

import httpx2

from adapters.mcp.addresses import Addresses, NotReached
from adapters.mcp.bounds import Allowance, TooMuch

_CONNECT_S = 10.0
_READ_S = 600.0


def a_client(
    addresses: Addresses, allowance: Allowance, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    """A client whose every request keeps the rules. Proxies of the environment are not used."""
    return httpx2.AsyncClient(
        transport=_Kept(addresses, allowance),
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
        trust_env=False,
        follow_redirects=False,
    )


class _Kept(httpx2.AsyncBaseTransport):
    """Connects to the address that was looked at, under the name that was asked for."""

    def __init__(self, addresses: Addresses, allowance: Allowance) -> None:
        self._addresses, self._allowance = addresses, allowance
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False, retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        url = request.url
        asked = url.port or (443 if url.scheme == "https" else 80)
        try:
            address, port = await self._addresses.of(url.host, asked)
        except NotReached as error:
            self._allowance.why = str(error)
            raise httpx2.ConnectError(str(error), request=request) from error
        sent = httpx2.Request(
            request.method,
            url.copy_with(host=address, port=port),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.host},
        )
        response = await self._inner.handle_async_request(sent)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            await response.aclose()
            self._allowance.why = "it answers compressed, though it was asked not to"
            raise httpx2.ReadError(self._allowance.why, request=request)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Bounded(response.stream, self._allowance, request),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """What comes back, as far as it may."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, allowance: Allowance, request: httpx2.Request
    ) -> None:
        self._stream, self._allowance, self._request = stream, allowance, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            try:
                self._allowance.take(len(piece))
                self._allowance.message()
            except TooMuch as error:
                raise httpx2.ReadError(str(error), request=self._request) from error
            yield piece

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()
