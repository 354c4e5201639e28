"""
What a client asks for, read strictly, and the same as it is said to the host. Pure.

Rule 1: the host is that of the address (or of the tunnel) alone; a `Host` that says another is refused.
Rule 2: what is about one connection ends there (RFC 9110, section 7.6.1); an answer or a request whose length is
        said twice is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import h11

from adapters.gateway.verdicts import Denied, canonical, shown
from bot.hosts import split_port

Headers = Sequence[tuple[bytes, bytes]]
_ABSOLUTE: Final = re.compile(rb"http://([^/?#\\]*)([/?][^#\\]*)?", re.IGNORECASE)
_OF_ONE_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authorization",
        b"proxy-authenticate",
        b"proxy-authentication-info",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
        b"expect",
        b"alt-svc",
    }
)
_NEVER_OF_ONE: Final = frozenset(
    {b"host", b"content-length", b"authorization", b"content-encoding"}
)
"""What a `Connection` header does not take away: it would change what the message means."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, of whom and for what: `target` is the address below the host."""

    method: bytes
    host: str
    port: int
    target: bytes
    headers: Headers
    usual: int = 80
    """The port that is not named with the host: by whether it is asked in plain."""

    @property
    def shown(self) -> str:
        """`host:port`."""
        return shown(self.host, self.port)


def absolute(request: h11.Request) -> Asked:
    """A request to a proxy. Raises Denied: it is none, or says two things at once."""
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        why = "an address that begins with http:// is asked for whole; https:// takes CONNECT"
        raise Denied(_said(request.target), why, status=400)
    host, port = authority(found[1], 80)
    below = found[2] or b"/"
    target = below if below.startswith(b"/") else b"/" + below
    return _checked(Asked(request.method, host, port, target, tuple(request.headers)))


def inside(request: h11.Request, host: str, port: int) -> Asked:
    """A request in a tunnel to a host that is known already. Raises Denied."""
    if not request.target.startswith(b"/") and request.target != b"*":
        raise Denied(shown(host, port), "inside a tunnel only its own host is asked", status=421)
    return _checked(Asked(request.method, host, port, request.target, tuple(request.headers), 443))


def authority(said: bytes, usual: int | None = None) -> tuple[str, int]:
    """`host:port` as a canonical name and a port. Raises Denied."""
    text = said.decode("ascii", "replace")
    if "@" in text:
        raise Denied(_said(said), "an account does not stand in an address here", status=400)
    try:
        host, port = split_port(text)
    except ValueError as error:
        raise Denied(_said(said), "that is no host with a port", status=400) from error
    if port is None and usual is None:
        raise Denied(_said(said), "CONNECT names a host and a port", status=400)
    return canonical(host), port or usual or 0


def outgoing(asked: Asked) -> h11.Request:
    """The request as the host gets it."""
    host = f"[{asked.host}]" if ":" in asked.host else asked.host
    named = host if asked.port == asked.usual else f"{host}:{asked.port}"
    kept = [(b"Host", named.encode()), *passed_on(asked.headers, (b"host",))]
    if any(name == b"transfer-encoding" for name, _ in asked.headers):
        kept.append((b"Transfer-Encoding", b"chunked"))
    return h11.Request(
        method=asked.method, target=asked.target, headers=[*kept, (b"Connection", b"close")]
    )


def passed_on(headers: Headers, without: Sequence[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """The headers that are not about one connection."""
    said = b",".join(value for name, value in headers if name == b"connection")
    named = {word.strip().lower() for word in said.split(b",")} - _NEVER_OF_ONE
    gone = _OF_ONE_CONNECTION | named | set(without)
    return [(name, value) for name, value in headers if name not in gone]


def without_compression(asked: Asked) -> Asked:
    """The request, to be answered in plain."""
    kept = [one for one in asked.headers if one[0] != b"accept-encoding"]
    return replace(asked, headers=(*kept, (b"accept-encoding", b"identity")))


def incoming(response: h11.Response, method: bytes, *, is_changed: bool) -> h11.Response:
    """The response as the client gets it. `is_changed`: its body has another length than it says."""
    headers = tuple(response.headers)
    is_chunked = any(name == b"transfer-encoding" for name, _ in headers)
    has_body = method != b"HEAD" and response.status_code not in (204, 304)
    without = [b"content-length"] if is_chunked or (is_changed and has_body) else []
    kept = passed_on(headers, without)
    return h11.Response(status_code=response.status_code, reason=response.reason, headers=kept)


def _checked(asked: Asked) -> Asked:
    names = [name for name, _ in asked.headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        raise Denied(asked.shown, "the request says its length twice", status=400)
    for value in (value for name, value in asked.headers if name == b"host"):
        if authority(value, asked.usual) != (asked.host, asked.port):
            raise Denied(asked.shown, "the Host header names another host", status=400)
    return asked


def _said(text: bytes) -> str:
    return ascii(text[:60].decode("ascii", "replace"))
