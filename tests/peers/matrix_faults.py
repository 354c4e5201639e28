"""
A proxy in front of a homeserver that does to its clients what real ones and their networks do.

Faults come from a schedule (`next_times`), which is used up in order, and from a seeded lottery
(`lottery`), which never hits the same kind of request more than a few times running, so that a
client that tries again always gets through. A watcher (`watch`) is told of a request before it is
passed on, after it was answered there, and after the answer was given, and may end a process at it.

with faults(server.url) as proxy:
    proxy.next_times("send", Limited(retry_after_ms=800), Page(502), Cut("after"))
"""

import asyncio
import random
import re
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

import aiohttp
from aiohttp import web

START_S: Final = 20.0
LOOK_S: Final = 0.05
LAST_S: Final = 0.1
KEPT_CALLS: Final = 50_000
MOST_RUNNING: Final = 3
"""Faults of the lottery in a row on one kind of request."""
PAGE: Final = (
    "<html>\r\n<head><title>{0} Bad Gateway</title></head>\r\n<body>\r\n<center><h1>{0}</h1>"
    "</center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
_HOP_BY_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}

Kind = Literal["send", "sync", "login", "keys", "media", "read", "other"]
Moment = Literal["request", "done", "answered"]


@dataclass(frozen=True, slots=True)
class Limited:
    """429, which says how long to wait in its body, in a header, or not at all."""

    retry_after_ms: int | None = None
    header_s: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page of whatever stands before the server; `passes` it on first."""

    status: int = 502
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is gone before the request is passed on, after it was, or in the answer."""

    when: Literal["before", "after", "middle"] = "before"


@dataclass(frozen=True, slots=True)
class Slow:
    """The answer comes so much later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stale:
    """The answer before is given again; a sync's, to the same login. Without one: as it comes."""


@dataclass(frozen=True, slots=True)
class Revoked:
    """401: this token is unknown, from now on and for every request."""

    soft: bool = True


Fault = Limited | Page | Cut | Slow | Stale | Revoked


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came by."""

    kind: Kind
    method: str
    path: str
    token: str
    fault: Fault | None = None
    status: int = 0
    """What was answered; 0: nothing was."""
    since: str = ""
    """A sync's token."""
    said: bytes = b""
    """For who watches: the request's body, and once it is done the answer's."""


Watcher = Callable[[Moment, Call], None]


class Lottery:
    """Draws a fault for a share of the requests, the same for the same seed and order."""

    def __init__(self, seed: int, share: float, faults: Sequence[Fault], most: int) -> None:
        self._chance = random.Random(seed)
        self._share, self._faults, self._left = share, tuple(faults), most
        self._running: Counter[Kind] = Counter()

    def draw(self, kind: Kind) -> Fault | None:
        """A fault, or none."""
        hits = self._chance.random() < self._share and self._running[kind] < MOST_RUNNING
        if not hits or self._left <= 0 or kind == "login":
            self._running[kind] = 0
            return None
        self._running[kind] += 1
        self._left -= 1
        fault = self._chance.choice(self._faults)
        return None if isinstance(fault, Stale) and kind != "sync" else fault


class MatrixFaults:
    """The proxy. Everything but the serving may be called from any thread."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.calls: deque[Call] = deque(maxlen=KEPT_CALLS)
        self.is_down = False
        """Refuse every connection, as a server that is being restarted does."""
        self.port = 0
        self.watcher: Watcher | None = None
        self._scheduled: dict[Kind, deque[Fault]] = defaultdict(deque)
        self._lottery: Lottery | None = None
        self._revoked: dict[str, bool] = {}
        self._last_sync: dict[str, web.Response] = {}

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}"

    def next_times(self, kind: Kind, *faults: Fault) -> None:
        """What happens to the next requests of a kind, in order."""
        self._scheduled[kind].extend(faults)

    def lottery(
        self, seed: int, share: float, faults: Sequence[Fault], *, most: int = 100_000
    ) -> None:
        """From now on a `share` of all requests but logins meets one of `faults`, at most so many."""
        self._lottery = Lottery(seed, share, faults, most)

    def calm(self) -> None:
        """No more faults; tokens that were revoked stay it."""
        self._lottery = None
        self._scheduled.clear()

    def revoke(self, token: str, *, soft: bool = True) -> None:
        """This token is unknown from now on; the server itself still knows it, and its device."""
        self._revoked[token] = soft

    def watch(self, watcher: Watcher | None) -> None:
        """Tell `watcher` of every request, in the proxy's own thread, before it goes on."""
        self.watcher = watcher

    def faulted(self) -> Counter[str]:
        """How often which fault happened, by its name."""
        return Counter(type(call.fault).__name__ for call in list(self.calls) if call.fault)

    def of(self, kind: Kind) -> list[Call]:
        """The requests of a kind so far."""
        return [call for call in list(self.calls) if call.kind == kind]

    def choose(self, call: Call) -> Fault | None:
        """What happens to a request."""
        if call.token in self._revoked:
            return Revoked(self._revoked[call.token])
        if scheduled := self._scheduled[call.kind]:
            return scheduled.popleft()
        fault = self._lottery.draw(call.kind) if self._lottery else None
        if isinstance(fault, Revoked):
            self._revoked[call.token] = fault.soft
        return fault

    def note(self, call: Call, moment: Moment, said: bytes = b"") -> None:
        """A request has come so far."""
        if moment == "answered":
            self.calls.append(call)
        if self.watcher is not None:
            self.watcher(moment, replace(call, said=said))

    def remembered(self, call: Call, answer: web.Response, fault: Fault | None) -> web.Response:
        """The answer to give: the one before where it is to be stale."""
        if call.kind != "sync" or answer.status != 200:
            return answer
        before = self._last_sync.get(call.token)
        if isinstance(fault, Stale) and before is not None:
            return _copy(before)
        self._last_sync[call.token] = _copy(answer)
        return answer


@contextmanager
def faults(upstream: str) -> Iterator[MatrixFaults]:
    """A proxy in front of `upstream`, with a thread of its own, for as long as a `with` lasts."""
    proxy = MatrixFaults(upstream)
    up, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(_serve(proxy, up, over),))
    thread.start()
    try:
        assert up.wait(START_S), "The proxy did not start."
        yield proxy
    finally:
        over.set()
        thread.join()


async def _serve(proxy: MatrixFaults, up: threading.Event, over: threading.Event) -> None:
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        timeout=timeout, connector=connector, auto_decompress=False
    ) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            return await _handled(proxy, session, request)

        app = web.Application(client_max_size=200_000_000)
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        proxy.port = runner.addresses[0][1]
        up.set()
        while not over.is_set():
            await asyncio.sleep(LOOK_S)
        await runner.cleanup()
    # Connections end a moment after they are closed.
    await asyncio.sleep(LAST_S)


async def _handled(
    proxy: MatrixFaults, session: aiohttp.ClientSession, request: web.Request
) -> web.StreamResponse:
    call = _call(request)
    if proxy.is_down:
        return _cut(request)
    fault = proxy.choose(call)
    call = replace(call, fault=fault)
    body = await request.read()
    proxy.note(call, "request", body)
    if (early := _instead(request, fault)) is not None:
        proxy.note(replace(call, status=early.status if _is_said(fault) else 0), "answered")
        return early
    try:
        answer = await _passed(proxy.upstream, session, request, body)
    except (aiohttp.ClientError, OSError):
        proxy.note(call, "answered")
        return _cut(request)
    answer = proxy.remembered(call, answer, fault)
    call = replace(call, status=answer.status)
    proxy.note(call, "done", answer.body if isinstance(answer.body, bytes) else b"")
    given = await _given(request, fault, answer)
    proxy.note(call, "answered")
    return given


def _instead(request: web.Request, fault: Fault | None) -> web.Response | None:
    """What is answered without asking the server."""
    match fault:
        case Limited(retry_after_ms, header_s):
            body: dict[str, object] = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests"}
            headers = {} if header_s is None else {"Retry-After": str(header_s)}
            if retry_after_ms is not None:
                body["retry_after_ms"] = retry_after_ms
            return web.json_response(body, status=429, headers=headers)
        case Page(status, False):
            return _page(status)
        case Cut("before"):
            return _cut(request)
        case Revoked(soft):
            said = {"errcode": "M_UNKNOWN_TOKEN", "error": "Unknown token", "soft_logout": soft}
            return web.json_response(said, status=401)
        case _:
            return None


async def _passed(
    upstream: str, session: aiohttp.ClientSession, request: web.Request, body: bytes
) -> web.Response:
    headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP_BY_HOP}
    async with session.request(
        request.method, upstream + request.raw_path, data=body or None, headers=headers,
        allow_redirects=False,
    ) as answer:  # fmt: skip
        kept = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP_BY_HOP}
        return web.Response(status=answer.status, body=await answer.read(), headers=kept)


async def _given(
    request: web.Request, fault: Fault | None, answer: web.Response
) -> web.StreamResponse:
    """Give an answer that is there, or spoil it."""
    match fault:
        case Page(status):
            return _page(status)
        case Cut("after"):
            return _cut(request)
        case Cut("middle"):
            return await _half(request, answer)
        case Slow(seconds):
            await asyncio.sleep(seconds)
            return answer
        case _:
            return answer


async def _half(request: web.Request, answer: web.Response) -> web.StreamResponse:
    whole = answer.body if isinstance(answer.body, bytes) else b""
    half = web.StreamResponse(status=answer.status, headers=answer.headers)
    half.content_length = len(whole)
    with suppress(ConnectionError):
        await half.prepare(request)
        await half.write(whole[: len(whole) // 2])
        await asyncio.sleep(0.01)
    _cut(request)
    return half


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)


def _page(status: int) -> web.Response:
    return web.Response(status=status, text=PAGE.format(status), content_type="text/html")


def _copy(answer: web.Response) -> web.Response:
    return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


def _is_said(fault: Fault | None) -> bool:
    return isinstance(fault, Limited | Page | Revoked)


_KINDS: Final[tuple[tuple[str, str, Kind], ...]] = (
    ("PUT", r"/rooms/[^/]+/(send|redact)/", "send"),
    ("GET", r"/sync$", "sync"),
    ("*", r"/(login|refresh|logout)$", "login"),
    ("*", r"/keys/|/sendToDevice/", "keys"),
    ("*", r"/media/", "media"),
    ("GET", r"", "read"),
)


def _call(request: web.Request) -> Call:
    path, method = request.path, request.method
    kind: Kind = next(
        (kind for verb, where, kind in _KINDS if verb in ("*", method) and re.search(where, path)),
        "other",
    )
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    token = bearer or request.query.get("access_token", "")
    return Call(kind, method, path, token, since=request.query.get("since", ""))
