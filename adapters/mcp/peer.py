"""
One server as it is spoken to: begun, asked for its tools, called, ended.

Rule 1: the package's contexts are entered and left by one task, which lives as long as the server.
Rule 2: a cancelled call is told to the server (`notifications/cancelled`), by the package.
Rule 3: whatever ends the connection ends it for all calls at once: `Lost`, with what is known of why.
Rule 4: a stranger's schema of results is not run: a result is read as it came.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from adapters.mcp.addresses import Addresses
from adapters.mcp.bounds import LINE_BYTES, Allowance
from adapters.mcp.http import a_client
from adapters.mcp.losses import CallFailed, Lost
from adapters.mcp.pipe import pipe
from bot.errors import NoSandbox
from bot.ports.programs import Programs
from bot.tools.untrusted import one_line

Streams = AbstractAsyncContextManager[Any]
Transport = Callable[[Allowance], Streams]

START_S: Final = 25.0
"""Until it has said who it is; the package waits 10 s for the newest way of asking."""
LISTING_S: Final = 15.0
_CLOSE_S: Final = 5.0
_PAGES_MOST: Final = 10
_WHY_CHARS: Final = 300
_RESULT: Final[TypeAdapter[Any]] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
_ENDED: Final = frozenset({types.CONNECTION_CLOSED})


class Peer:
    """One connection."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._allowance = Allowance()
        self._stopping = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._living: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self.has_changed = False
        """It said that its tools are others."""

    @property
    def is_alive(self) -> bool:
        """Whether it can be called."""
        is_begun = self._client is not None and self._living is not None
        return is_begun and not self._allowance.has_ended

    async def begin(self) -> None:
        """Start it and shake hands. Raises Lost; then nothing of it is left."""
        # What a server prints or answers is in no log of ours.
        for name in ("mcp", "client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._living = asyncio.create_task(self._live())
        try:
            async with asyncio.timeout(START_S):
                self._client = await asyncio.shield(self._ready)
        except TimeoutError:
            await self.close()
            raise Lost(f"it did not answer within {START_S:g} s") from None
        except BaseException:
            await self.close()
            raise

    async def tools(self) -> list[Mapping[str, Any]]:
        """What it says of its tools, as it came. Raises Lost, CallFailed."""
        said: list[Mapping[str, Any]] = []
        cursor = None
        with self._asking():
            async with asyncio.timeout(LISTING_S):
                for _ in range(_PAGES_MOST):
                    page = await self._session().list_tools(
                        params=types.PaginatedRequestParams(cursor=cursor)
                    )
                    said += [_as_said(tool) for tool in page.tools]
                    cursor = page.next_cursor
                    if not cursor:
                        break
        return said

    async def call(self, tool: str, args: Mapping[str, Any], timeout_s: float) -> Any:
        """A `CallToolResult`. Raises Lost, CallFailed."""
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=tool, arguments=dict(args))
        )
        with self._asking():
            result = await self._session().send_request(
                request, _RESULT, request_read_timeout_seconds=timeout_s
            )
        if isinstance(result, types.InputRequiredResult):
            raise CallFailed("it wants a person's input, which it cannot have here")
        return result

    async def close(self) -> None:
        """End it; idempotent."""
        self._stopping.set()
        self._client = None
        living = self._living
        if living is None:
            return
        await asyncio.wait({living}, timeout=_CLOSE_S)
        while not living.done():
            living.cancel()
            await asyncio.wait({living}, timeout=_CLOSE_S)
        with contextlib.suppress(asyncio.CancelledError, Exception):
            self._ready.exception()

    def _session(self) -> Any:
        if self._client is None or not self.is_alive:
            raise Lost(self._allowance.why or "it has ended")
        return self._client.session

    @contextlib.contextmanager
    def _asking(self) -> Any:
        self._allowance.renew()
        try:
            yield
        except MCPError as error:
            if error.code in _ENDED:
                raise self._lost() from error
            is_late = error.code == types.REQUEST_TIMEOUT
            raise CallFailed(one_line(error.message, _WHY_CHARS), is_late=is_late) from error
        except TimeoutError as error:
            raise CallFailed("it did not answer in time", is_late=True) from error
        except (ValidationError, ValueError, RuntimeError) as error:
            raise CallFailed("its answer cannot be read") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError) as error:
            raise self._lost() from error

    def _lost(self) -> Lost:
        self._allowance.has_ended = True
        return Lost(self._allowance.why or "it ended meanwhile")

    async def _live(self) -> None:
        try:
            async with Client(
                _as_transport(self._transport(self._allowance)),
                cache=None,
                client_info=types.Implementation(name="headway", version="0"),
                message_handler=self._heard,
            ) as client:
                self._ready.set_result(client)
                await self._stopping.wait()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a stranger's server brings about
            why = self._allowance.why or _why(error)
            if not self._ready.done():
                self._ready.set_exception(Lost(why))
        finally:
            self._client = None

    async def _heard(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.has_changed = True


def by_command(programs: Programs, folder: str, command: tuple[str, ...]) -> Transport:
    """A server that is a program."""

    @asynccontextmanager
    async def transport(allowance: Allowance) -> AsyncIterator[Any]:
        program = await programs.start(folder, command)
        try:
            async with pipe(program, allowance) as streams:
                yield streams
        except BaseException:
            told = one_line(program.told(), _WHY_CHARS)
            if told and not allowance.why:
                allowance.why = f"it ended: {told}"
            raise
        finally:
            await program.end()

    return transport


def by_address(addresses: Addresses, url: str, headers: Mapping[str, str]) -> Transport:
    """A server that is reached by streamable HTTP."""

    @asynccontextmanager
    async def transport(allowance: Allowance) -> AsyncIterator[Any]:
        async with (
            a_client(addresses, allowance, headers) as client,
            streamable_http_client(
                url, http_client=client, max_sse_event_size=LINE_BYTES
            ) as streams,
        ):
            yield streams

    return transport


def _as_transport(streams: Streams) -> Any:
    return streams


def _as_said(tool: types.Tool) -> Mapping[str, Any]:
    """What a tool is known by; what may differ each time (`_meta`, icons) is no part of it."""
    said: Mapping[str, Any] = tool.model_dump(
        by_alias=True,
        mode="json",
        exclude_none=True,
        include={"name", "title", "description", "input_schema", "annotations"},
    )
    return said


def _why(error: BaseException) -> str:
    """The first cause, in a line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        ended = error.code in _ENDED
        return "it ended at once" if ended else one_line(error.message, _WHY_CHARS)
    if isinstance(error, NoSandbox | OSError):
        return one_line(str(error), _WHY_CHARS)
    return one_line(f"{type(error).__name__}: {error}", _WHY_CHARS)
