"""
The way out: the proxy's socket as a port of the loopback, and what programs must know of it.

Rule 1: the port is the server's own and stays open; whoever ends the child that serves it gets another.
Rule 2: the certificate of the proxy's authority is added to those of the system, never put in their place.
"""

import os
import select
import socket
from collections.abc import Mapping

from adapters.sandbox.inside import forward

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems keep the authorities they trust; the first that is there counts."""
_PROXY = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_NO_PROXY = "localhost,127.0.0.1,::1"
_TRUST = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
)
"""Variables that name the only bundle a program reads."""


class Way:
    """The open port, and the child that serves it."""

    def __init__(self, place: str, port: int) -> None:
        """Port 0 takes a free one.

        Raises:
            OSError: the port is taken.
        """
        self._place = place
        self._listener = socket.create_server(("127.0.0.1", port), backlog=forward.CONNECTIONS)
        self._child = 0
        self._watch = -1

    @property
    def port(self) -> int:
        """Where it listens on the loopback."""
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def child(self) -> int:
        """The pid of the child that serves it; 0 before there is one."""
        return self._child

    def keep(self) -> None:
        """Have a child that serves the port."""
        if self._child and not select.select([self._watch], [], [], 0)[0]:
            return
        if self._watch >= 0:
            os.close(self._watch)
        self._child = forward.start(self._listener, self._place)
        self._watch = os.pidfd_open(self._child)


def environment(port: int, bundle: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """The variables by which programs find the way, with those that were given."""
    url = f"http://127.0.0.1:{port}"
    found = dict.fromkeys(_PROXY, url)
    found |= {"no_proxy": _NO_PROXY, "NO_PROXY": _NO_PROXY, "NODE_USE_ENV_PROXY": "1"}
    if bundle is not None:
        found |= dict.fromkeys(_TRUST, bundle)
        # This one is read beside those that Node brings along.
        found["NODE_EXTRA_CA_CERTS"] = bundle
    return {**found, **given}


def write_bundle(place: str, certificate: str) -> None:
    """A file with the system's authorities and this one."""
    known = b""
    for bundle in _BUNDLES:
        try:
            with open(bundle, "rb") as file:
                known = file.read()
            break
        except OSError:
            continue
    with open(place, "wb") as file:
        file.write(known.rstrip(b"\n") + b"\n" + certificate.encode("ascii", "replace"))
