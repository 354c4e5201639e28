"""Hosts of the web in a process of a test: in plain and over TLS, with an index of packages and an echo."""

import asyncio
import io
import ssl
import threading
import zipfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.adapters.sandbox.authority import Authority

WHEEL = "small_thing-1.0-py3-none-any.whl"


@dataclass
class WebHosts:
    """Where they listen, and what they were asked."""

    certificate: Path
    """Of the authority that signed for the host with TLS."""
    plain: int = 0
    sealed: int = 0
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """(`plain` or `sealed`, path with query, headers) of each request."""


@contextmanager
def web_hosts(folder: Path, sealed: str) -> Iterator[WebHosts]:
    """Serve them; `sealed` is the one name with TLS."""
    authority = Authority(folder)
    made = WebHosts(authority.certificate)
    loop, ready, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            made.plain = await _site(stack, made, "plain", None)
            made.sealed = await _site(stack, made, "sealed", authority.context(sealed))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(5)
        loop.close()


async def _site(
    stack: AsyncExitStack, made: WebHosts, kind: str, context: ssl.SSLContext | None
) -> int:
    async def answer(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        made.asked.append((kind, request.raw_path, headers))
        if request.path == "/simple/small-thing/":
            link = f'<a href="/files/{WHEEL}">{WHEEL}</a>'
            return web.Response(text=link, content_type="text/html")
        if request.path.startswith("/files/"):
            return web.Response(body=_wheel())
        return web.Response(text=f"echo {headers.get('authorization', '')}\n")

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    port: int = runner.addresses[0][1]
    return port


def _wheel() -> bytes:
    file, info = io.BytesIO(), "small_thing-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("small_thing.py", "THING = 1\n")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: small-thing\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file.getvalue()
