"""
What networks reach from outside: paths that the main loop answers, while a listener's thread carries
requests to it and answers back.

Rule 1: a body has at most 1 MB and comes within seconds; so many requests are inside at once, and the
        next is told to come again.
Rule 2: what the main loop does not answer in time is cut short and answered 503: whoever asked tries
        again, and nothing of it may count twice.
Rule 3: a request that fails here says nothing of why; the log does.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from bot.errors import Wait
from bot.ports.web import Answer, Method, Request, Serve

log = logging.getLogger(__name__)

BODY_MOST: Final = 1024**2
"""Bytes. What Slack sends is far below: its largest payloads have some ten kilobytes."""
BODY_S: Final = 10.0
SERVED_S: Final = 10.0
"""Slack gives up after 3 s; what is being stored may still be, for the sake of the next try."""
INSIDE_MOST: Final = 100


class Doors:
    """Paths by method. Opened and closed on the main loop, asked from a listener's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._doors: dict[tuple[str, str], Serve] = {}
        self._inside = 0

    def open(self, method: Method, path: str, serve: Serve) -> None:
        """From now on `serve` answers there, on the main loop."""
        self._doors = {**self._doors, (method, path): serve}

    def close(self, method: Method, path: str) -> None:
        """Nothing is there any more."""
        self._doors = {at: serve for at, serve in self._doors.items() if at != (method, path)}

    async def handle(self, request: web.Request) -> web.Response:
        """What a path answers, on the listener's loop."""
        doors = self._doors
        serve = doors.get((request.method, request.path))
        if serve is None:
            allowed = [method for method, path in doors if path == request.path]
            if not allowed:
                return _refused(404)
            return _refused(405, {"Allow": ", ".join(allowed)})
        if self._inside >= INSIDE_MOST:
            return _refused(503, {"Retry-After": "1"})
        self._inside += 1
        try:
            return await self._answered(serve, request)
        finally:
            self._inside -= 1

    async def _answered(self, serve: Serve, request: web.Request) -> web.Response:
        if (request.content_length or 0) > BODY_MOST:
            return _refused(413, {"Connection": "close"})
        try:
            async with asyncio.timeout(BODY_S):
                body = await request.read()
        except TimeoutError:
            return _refused(408, {"Connection": "close"})
        except web.HTTPRequestEntityTooLarge:
            return _refused(413, {"Connection": "close"})
        try:
            answer = await self._on_the_main_loop(serve, _request(request, body))
        except TimeoutError:
            log.warning("%s was not answered within %g s.", request.path, SERVED_S)
            return _refused(503, {"Retry-After": "1"})
        except Wait as error:
            log.warning("%s cannot be answered now: %s", request.path, error)
            return _refused(503, {"Retry-After": "1"})
        except Exception:
            log.exception("Answering %s has failed.", request.path)
            return _refused(500)
        headers = CIMultiDict([("Content-Type", answer.kind), ("Cache-Control", "no-store")])
        headers.extend(answer.headers)
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    async def _on_the_main_loop(self, serve: Serve, request: Request) -> Answer:
        async def served() -> Answer:
            return await serve(request)

        work = served()
        try:
            asked = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            work.close()
            raise TimeoutError from error
        async with asyncio.timeout(SERVED_S):
            return await asyncio.wrap_future(asked)


def _request(request: web.Request, body: bytes) -> Request:
    method: Method = "POST" if request.method == "POST" else "GET"
    query = request.rel_url.raw_query_string
    return Request(method, request.path, query, _headers(request.headers), body)


def _headers(given: CIMultiDictProxy[str]) -> Mapping[str, str]:
    joined: dict[str, str] = {}
    for name, value in given.items():
        key = name.lower()
        between = "; " if key == "cookie" else ","
        joined[key] = f"{joined[key]}{between}{value}" if key in joined else value
    return joined


def _refused(status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, headers=headers, text=f"{status}\n")
