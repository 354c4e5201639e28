"""A host from which files are fetched: what it answers at each path, and with which token it was asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Reply:
    """What stands at a path. `announced`: a length that is not the body's; the connection ends early."""

    body: bytes = b""
    content_type: str = "application/octet-stream"
    status: int = 200
    location: str = ""
    announced: int | None = None


@dataclass
class FileHost:
    """One host, for as long as a `with` lasts."""

    url: str = ""
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and `Authorization` of each request."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """As `replies` say; 404 where nothing stands."""
        self.asked.append((request.path, request.headers.get("Authorization", "")))
        reply = self.replies.get(request.path)
        if reply is None:
            return web.Response(status=404, text="nothing here")
        headers = {"Content-Type": reply.content_type}
        if reply.location:
            headers["Location"] = reply.location
        if reply.announced is None:
            return web.Response(status=reply.status, body=reply.body, headers=headers)
        headers["Content-Length"] = str(reply.announced)
        response = web.StreamResponse(status=reply.status, headers=headers)
        await response.prepare(request)
        await response.write(reply.body)
        if request.transport is not None:
            request.transport.close()
        return response


@asynccontextmanager
async def file_host() -> AsyncIterator[FileHost]:
    """A host on a port of its own."""
    host, app = FileHost(), web.Application()
    app.router.add_route("*", "/{path:.*}", host.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield host
    finally:
        await runner.cleanup()
