"""
An HTTP listener on a thread of its own, so that it answers while the main loop hangs.

Rule 1: an address that is taken does not end the process: it is told in the log with the mend, and
        tried again.
Rule 2: where it listens is written to a file in the state folder for as long as it does: with port 0
        nobody knows it otherwise.
Rule 3: one that is bound to this machine answers to this machine's names only, whatever a browser
        was made to believe (DNS rebinding).
Rule 4: its routes are asked and change nothing; what takes more than a question stands behind `Doors`.
"""

import asyncio
import errno
import ipaddress
import logging
import os
import socket
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.telemetry.doors import BODY_MOST, Doors
from bot.ports.web import Answer

log = logging.getLogger(__name__)

RETRY_S: Final = 10.0
STOP_S: Final = 2.0
PATH_LIMIT: Final = 107
"""Bytes of a Unix socket's path on Linux."""

Route = Callable[[], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: `path` is a Unix socket's, else a host and a port (0: any free one)."""

    host: str = ""
    port: int = 0
    path: str = ""

    @classmethod
    def of(cls, text: str) -> "Address":
        """Read `HOST:PORT`, `[::1]:PORT`, `unix:/PATH` or `/PATH`, as the settings check it."""
        path = text.removeprefix("unix:")
        if path.startswith("/"):
            return cls(path=path)
        host, _, port = text.rpartition(":")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    @property
    def is_here(self) -> bool:
        """Whether only this machine reaches it."""
        return bool(self.path) or is_loopback(self.host)

    def takes(self, host: str | None) -> bool:
        """Whether a request with this `Host` header may be meant for it.

        One bound to every address does not know its names; one without the header is no browser.
        """
        if host is None or self.host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
            return True
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.removeprefix("[").removesuffix("]").rstrip(".").lower()
        return is_loopback(name) or name == self.host.lower()


def is_loopback(host: str) -> bool:
    """Whether a host's name or address means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextmanager
def listening(
    name: str,
    text: str,
    routes: Mapping[str, Route],
    state_dir: Path,
    doors: Doors | None = None,
) -> Iterator[None]:
    """Serve the routes, and what stands behind the doors, for the life of the context.

    Args:
        name: `private` or `public`; `NAME.addr` in the state folder holds where it listens.
        text: the setting; empty: nowhere.
    """
    if not text:
        yield
        return
    note = state_dir / f"{name}.addr"
    server = _Server(name, Address.of(text), text, routes, note, doors)
    thread = threading.Thread(target=server.run, name=f"{name}-listener", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join(STOP_S)


class _Requests(logging.LoggerAdapter[logging.Logger]):
    """What went wrong with a request. One that is no HTTP is its sender's to mend: it is told in a
    line, without what was sent, which may be long or secret."""

    def log(self, level: int, msg: object, *args: Any, **more: Any) -> None:
        """Log it, as an error only where it is ours."""
        error = more.get("exc_info")
        if isinstance(error, HttpProcessingError):
            super().log(logging.DEBUG, "A request was no HTTP: answered %s.", error.code)
        else:
            super().log(level, msg, *args, **more)


class _Server:
    def __init__(
        self,
        name: str,
        address: Address,
        text: str,
        routes: Mapping[str, Route],
        note: Path,
        doors: Doors | None,
    ) -> None:
        self._name, self._address, self._text = name, address, text
        self._routes, self._note, self._doors = routes, note, doors
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    def run(self) -> None:
        with suppress(RuntimeError), asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    def stop(self) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        runner = web.AppRunner(
            self._app(),
            access_log=None,
            handle_signals=False,
            shutdown_timeout=1,
            logger=_Requests(log),
        )
        await runner.setup()
        try:
            while not await self._bound(runner):
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_S):
                        await self._stopped.wait()
                        return
            self._tell(runner)
            await self._stopped.wait()
            for left in (self._address.path, str(self._note)):
                with suppress(OSError):
                    os.unlink(left)
        finally:
            await runner.cleanup()

    async def _bound(self, runner: web.AppRunner) -> bool:
        try:
            await self._site(runner).start()
            if self._address.path:
                # Not by the umask, which is the whole process's.
                os.chmod(self._address.path, 0o600)
        except OSError as error:
            log.error(
                "The %s listener is not up: %s (%s). It is tried again every %g s; or give "
                "%s_listen another address, such as 127.0.0.1:0 for any free port.",
                self._name, self._text, _why(error), RETRY_S, self._name,
            )  # fmt: skip
            return False
        return True

    def _site(self, runner: web.AppRunner) -> web.BaseSite:
        address = self._address
        if not address.path:
            return web.TCPSite(runner, address.host, address.port)
        if len(os.fsencode(address.path)) > PATH_LIMIT:
            raise OSError(errno.ENAMETOOLONG, f"a socket's path has at most {PATH_LIMIT} bytes")
        if _is_served(address.path):
            raise OSError(errno.EADDRINUSE, "another process listens there")
        return web.UnixSite(runner, address.path)

    def _tell(self, runner: web.AppRunner) -> None:
        where = self._address.path
        if not where:
            host, port, *_ = runner.addresses[0]
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if self._name == "private" and not self._address.is_here:
            log.warning("The private listener can be reached from other machines, at %s.", where)
        else:
            log.info("The %s listener is up at %s.", self._name, where)
        with suppress(OSError):
            fresh = self._note.with_suffix(".fresh")
            fresh.write_text(where + "\n", encoding="utf-8")
            fresh.replace(self._note)

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=BODY_MOST)
        for path, route in self._routes.items():
            app.router.add_get(path, _handler(route))
        if self._doors is not None:
            # Last: a path of its own goes before.
            app.router.add_route("*", "/{path:.*}", self._doors.handle)
        app.on_response_prepare.append(_unnamed)
        return app

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if self._name == "private" and not self._address.takes(request.headers.get("Host")):
            told = "This listener answers to localhost only: ask for it by that name.\n"
            return web.Response(status=403, text=told)
        return await handler(request)


def _handler(route: Route) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_: web.Request) -> web.Response:
        answer = await route()
        headers = {"Content-Type": answer.kind, "Cache-Control": "no-store"}
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    return handle


async def _unnamed(_: web.Request, response: web.StreamResponse) -> None:
    """What serves it is nobody's business."""
    response.headers["Server"] = "headway"


def _is_served(path: str) -> bool:
    """Whether a socket is there and somebody listens; what is no socket is left alone."""
    if not os.path.lexists(path):
        return False
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise OSError(errno.EEXIST, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(path) == 0


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another process listens there"
    return error.strerror or str(error)
