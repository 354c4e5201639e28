"""Getting an answer to the client, or not: whole, streamed, paced, broken, held.

A call is *delivered* once its last byte was handed to the connection. A client that goes away is
no error here: the call stays served, and undelivered. A delta count is a count of events, not of
writes: events that are due within one tick are written together.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from adapters.rehearsal.ledger import CallRecord
from adapters.rehearsal.responses import Responses, error_body, worded
from adapters.rehearsal.script import Fault, Reply
from adapters.rehearsal.wire import Message, Stream, as_json, as_stream, event

HOLD_POLL_S = 0.1  # how often a held call looks whether its client is still there


@dataclass(frozen=True, slots=True)
class Pace:
    """How replies are spread when the script does not say: deltas a reply, seconds a reply."""

    deltas: int | None = None
    duration_s: float = 0.0
    tick_s: float = 0.04


class Delivery:
    """Writes answers at the server's pace."""

    def __init__(self, responses: Responses, pace: Pace) -> None:
        self._responses = responses
        self._released = asyncio.Event()
        self.pace = pace

    def set_pace(self, change: Mapping[str, Any]) -> None:
        """Change parts of the pace, for the calls that come."""
        self.pace = replace(self.pace, **change)

    def release(self) -> None:
        """Let every held call go."""
        self._released.set()
        self._released = asyncio.Event()

    async def reply(
        self, http: web.Request, message: Message, reply: Reply, record: CallRecord, stream: bool
    ) -> web.StreamResponse:
        """The whole message, as JSON or as events, over its duration."""
        duration_s = self.pace.duration_s if reply.duration_s is None else reply.duration_s
        try:
            if not stream:
                await asyncio.sleep(duration_s)
                return await self._whole(http, message, record)
            if not duration_s:
                return await self._at_once(http, as_stream(message), record)
            return await self._paced(http, as_stream(message), duration_s, record)
        except ConnectionError:
            return web.Response(status=499)  # nobody is there to read it

    async def failure(
        self, http: web.Request, fault: Fault, record: CallRecord
    ) -> web.StreamResponse:
        """A fault for which nothing was generated."""
        record.fault = fault.kind
        match fault.kind:
            case "status":
                record.status, record.error_type = fault.status, worded(fault)[0]
                record.delivered = True
                return self._responses.fault(fault)
            case "garbage":
                record.status = 200
                return self._responses.garbage()
            case "cut_after_headers":
                record.status = 200
                response = self._responses.event_stream()
                await response.prepare(http)
                return _hang_up(http, response)
            case "hang":
                await self._held(http, fault.hold_s)
                return _reset(http)
            case _:
                return _reset(http)

    async def broken(
        self, http: web.Request, fault: Fault, message: Message, record: CallRecord
    ) -> web.StreamResponse:
        """A reply that was generated, and does not arrive whole."""
        record.fault = fault.kind
        if fault.kind == "reply_lost":
            return _reset(http)
        response = self._responses.event_stream()
        try:
            await response.prepare(http)
            await response.write(b"".join(as_stream(message).deltas[: fault.after_deltas]))
            if fault.kind == "cut_mid_stream":
                return _hang_up(http, response)
            kind, words = worded(fault)
            record.error_type = kind
            await response.write(event("error", error_body(kind, words, fault.details)))
            await response.write_eof()
        except ConnectionError:
            pass
        return response

    async def _whole(
        self, http: web.Request, message: Message, record: CallRecord
    ) -> web.StreamResponse:
        response = self._responses.raw_json(as_json(message))
        await response.prepare(http)
        await response.write_eof()
        record.delivered = True
        return response

    async def _at_once(
        self, http: web.Request, stream: Stream, record: CallRecord
    ) -> web.StreamResponse:
        response = self._responses.event_stream()
        await response.prepare(http)
        await response.write_eof(b"".join(stream.deltas) + stream.tail)
        record.delivered = True
        return response

    async def _paced(
        self, http: web.Request, stream: Stream, duration_s: float, record: CallRecord
    ) -> web.StreamResponse:
        response = self._responses.event_stream()
        clock = asyncio.get_running_loop().time
        began_s, count = clock(), len(stream.deltas)
        step_s = duration_s / max(1, count)
        await response.prepare(http)
        sent = 0
        while sent < count:
            due = min(count, int((clock() - began_s) / step_s) + 1)
            if due > sent:
                await response.write(b"".join(stream.deltas[sent:due]))
                sent = due
            next_s = max(clock() + self.pace.tick_s, began_s + sent * step_s)
            await asyncio.sleep(min(next_s, began_s + duration_s) - clock())
        await response.write_eof(stream.tail)
        record.delivered = True
        return response

    async def _held(self, http: web.Request, hold_s: float | None) -> None:
        clock = asyncio.get_running_loop().time
        released, began_s = self._released, clock()
        while not released.is_set() and http.transport and not http.transport.is_closing():
            if hold_s is not None and clock() - began_s >= hold_s:
                return
            await asyncio.sleep(HOLD_POLL_S)


def _hang_up(http: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection after what was written, without ending the response."""
    if http.transport is not None:
        http.transport.close()
    return response


def _reset(http: web.Request) -> web.StreamResponse:
    """Break the connection as a dead peer does."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response(status=503)
