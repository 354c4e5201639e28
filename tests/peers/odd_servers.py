"""HTTP servers with one thing wrong: a date that is off, a certificate that nobody trusts."""

import datetime
import email.utils
import ipaddress
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@contextmanager
def whose_clock_is_off(by_s: float) -> Iterator[str]:
    """A server that dates its answers `by_s` seconds from now; yields its address."""

    class Handler(_Quiet):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return email.utils.formatdate(time.time() + by_s, usegmt=True)

    with _serving(Handler) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def that_nobody_vouches_for(folder: Path) -> Iterator[str]:
    """A server with a certificate that it signed itself; yields its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_self_signed(folder))
    with _serving(_Quiet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield f"https://127.0.0.1:{server.server_address[1]}"


@contextmanager
def that_serves(folder: Path, pages: Mapping[str, tuple[int, str, bytes]]) -> Iterator[str]:
    """A server of pages (status, media type, body) over TLS; yields its address.

    Who trusts the file `certificate.pem` in the folder trusts it.
    """

    class Handler(_Quiet):
        def do_GET(self) -> None:
            status, kind, body = pages.get(self.path, (404, "text/plain", b"nothing here"))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_self_signed(folder))
    with _serving(Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield f"https://127.0.0.1:{server.server_address[1]}"


class _Quiet(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    do_POST = do_GET = do_HEAD  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that breaks off is what is wanted here."""


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[ThreadingHTTPServer]:
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)


def _self_signed(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nobody")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / "certificate.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
