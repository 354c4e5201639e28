"""Servers that are reached by an address: only where that may lead, with a secret only where it is bound."""

import gzip
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.errors import BadInput
from bot.ports.mcp_servers import How
from tests.adapters.mcp.bed import ROOM, Bed, an_http_server


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with an_http_server(tmp_path_factory.mktemp("http") / "log") as port:
        yield port


@pytest.fixture
async def vouching(tmp_path: Path, port: int) -> AsyncIterator[Bed]:
    bed = Bed(tmp_path, private=(f"127.0.0.1:{port}=127.0.0.1",))
    yield bed
    await bed.box.close()


async def test_a_server_at_a_vouched_address_is_used(vouching: Bed, port: int) -> None:
    await vouching.take("web", How(url=f"http://127.0.0.1:{port}/mcp"))

    outcomes = [
        await vouching.call("mcp_web_add", a=20, b=22),
        await vouching.call("mcp_web_fail", why="not today"),
        await vouching.call("mcp_web_sleep", 1.0, seconds=30),
    ]

    assert [one.ok for one in outcomes] == [True, False, False]
    assert outcomes[0].text == "42"
    assert outcomes[2].timed_out


async def test_the_same_address_is_refused_where_nobody_vouches_for_it(bed: Bed, port: int) -> None:
    with pytest.raises(BadInput, match="private or special address"):
        await bed.take("web", How(url=f"http://127.0.0.1:{port}/mcp"))


async def test_another_port_of_a_vouched_host_is_refused(vouching: Bed, port: int) -> None:
    with pytest.raises(BadInput, match="private or special address"):
        await vouching.take("web", How(url=f"http://127.0.0.1:{port + 1}/mcp"))


async def test_what_is_no_such_server_says_so(vouching: Bed, port: int) -> None:
    with pytest.raises(BadInput):
        await vouching.take("web", How(url=f"http://127.0.0.1:{port}/other"))


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        (None, "the room has no secret"),
        (("v", ("api.example.org",)), "not bound"),
    ],
)
async def test_a_secret_goes_only_where_it_is_bound(
    vouching: Bed, port: int, secret: tuple[str, tuple[str, ...]] | None, why: str
) -> None:
    if secret is not None:
        vouching.secrets["token"] = secret

    with pytest.raises(BadInput, match=why):
        await vouching.box.look(
            ROOM, "web", How(url=f"http://127.0.0.1:{port}/mcp", secret="token")
        )


async def test_a_secret_goes_to_no_open_host_unencrypted(bed: Bed) -> None:
    bed.secrets["token"] = ("v", ("example.org",))

    with pytest.raises(BadInput, match="unencrypted"):
        await bed.box.look(ROOM, "web", How(url="http://example.org/mcp", secret="token"))


class Packed(BaseHTTPRequestHandler):
    """Answers with a little that becomes a lot."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":"' + bytes(64 * 1024 * 1024))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


async def test_an_answer_that_is_compressed_is_not_unpacked(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Packed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bed = Bed(tmp_path, private=(f"127.0.0.1:{server.server_port}=127.0.0.1",))
    try:
        with pytest.raises(BadInput, match="compressed"):
            await bed.take("web", How(url=f"http://127.0.0.1:{server.server_port}/mcp"))
    finally:
        await bed.box.close()
        server.shutdown()
        server.server_close()
