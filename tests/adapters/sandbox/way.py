"""
A proxy in miniature behind a Unix socket: it answers for every host itself, from a dict.

Encrypted connections it opens with a certificate of its own authority, as the real one may.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.ports.sandbox import Line
from tests.adapters.sandbox.authority import Authority


@dataclass
class Way:
    """A line, and what went through it."""

    line: Line
    stop: Callable[[], None] = lambda: None
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def way(folder: Path, pages: Mapping[str, bytes], **environment: str) -> AsyncIterator[Way]:
    """A proxy that knows these pages, by URL."""
    authority = Authority(folder)
    place = str(folder / "proxy.sock")
    opened = Way(Line(place, str(authority.certificate), environment))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _serve(reader, writer)
        except (OSError, EOFError, IndexError):
            pass
        finally:
            writer.close()

    async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        base = ""
        verb, target = await _head(reader)
        if verb == "CONNECT":
            base = f"https://{target.removesuffix(':443')}"
            context = authority.context(target.split(":")[0])
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await writer.start_tls(context)
            verb, target = await _head(reader)
        url = base + target
        opened.asked.append(f"{verb} {url}")
        page = pages.get(url)
        status = "404 Not Found" if page is None else "200 OK"
        body = page or b""
        kind = "text/html" if url.endswith("/") else "application/octet-stream"
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        await writer.drain()

    server = await asyncio.start_unix_server(serve, place)
    opened.stop = server.close
    try:
        yield opened
    finally:
        server.close()


async def _head(reader: asyncio.StreamReader) -> tuple[str, str]:
    text = await reader.readuntil(b"\r\n\r\n")
    verb, target, _ = text.decode().split(" ", 2)
    return verb, target
