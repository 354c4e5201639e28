"""The server: /v1/messages, its token counter, the models list, and /control for tests.

It checks a request as the real API does, asks the script, and writes the answer: at once, or
spread over time when a pace is asked for. A delta count is a count of events, not of writes:
events that are due within one tick are written together.
"""

import asyncio
import hashlib
import inspect
import itertools
import logging
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from adapters.rehearsal import usage, validate
from adapters.rehearsal.compose import compose
from adapters.rehearsal.ledger import CallRecord, Faults, Keys, Ledger
from adapters.rehearsal.script import (
    BILLED_FAULTS,
    ERROR_TYPES,
    Answer,
    Block,
    Fault,
    Memory,
    Reply,
    Request,
    Script,
    conversation_key,
    first_user_text,
    role_of,
    user_of,
)
from adapters.rehearsal.wire import Message, Stream, as_json, as_stream, dumps, event

HOLD_POLL_S = 0.1  # how often a held call looks whether its client is still there
OPENING_CHARS = 200
_CONNECTION_LOST = (ConnectionError, web.HTTPException)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How replies are spread when the script does not say: deltas a reply, seconds a reply."""

    deltas: int | None = None
    duration_s: float = 0.0
    tick_s: float = 0.04


@dataclass(frozen=True, slots=True)
class Options:
    """What the server accepts, and how it answers."""

    keys: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    pace: Pace = field(default_factory=Pace)
    context_window: int = 1_000_000


class Rehearsal:
    """The state of one server, and its handlers.

    `app()` makes the aiohttp application; `add_routes` of `control.py` puts /control beside it.
    """

    def __init__(self, script: Script, options: Options | None = None) -> None:
        self.script = script
        self.options = options or Options()
        self.pace = self.options.pace
        self.ledger = Ledger()
        self.faults = Faults()
        self.keys = Keys(self.options.keys)
        self.cache = usage.PromptCache()
        self.memory: Memory = {}
        self.released = asyncio.Event()
        self._started = time.monotonic()
        self._numbers = itertools.count()
        self._serial = itertools.count(1)
        self._prefix = secrets.token_hex(4)

    def app(self) -> web.Application:
        """The application, with the API's routes."""
        app = web.Application(client_max_size=0)
        app.router.add_post("/v1/messages", self.messages)
        app.router.add_post("/v1/messages/count_tokens", self.count_tokens)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/v1/models/{model}", self.model)
        app.router.add_route("*", "/v1/{rest:.*}", self.unknown)
        return app

    def now_s(self) -> float:
        """Seconds since the server started."""
        return time.monotonic() - self._started

    def release(self) -> None:
        """Let every held call go."""
        self.released.set()
        self.released = asyncio.Event()

    async def messages(self, http: web.Request) -> web.StreamResponse:
        """POST /v1/messages."""
        try:
            key = self._authenticated(http)
            body = await _body(http)
            request = validate.parse(body)
            headers = _headers(http)
            validate.check(request, headers)
            self._check_model(request["model"])
        except validate.Refused as refused:
            self._record_refusal(http, refused)
            return self._error(refused.status, refused.error_type, refused.message)
        record = self._record(http, request, key, body)
        try:
            return await self._answered(http, request, record, len(body), headers.beta_endpoint)
        finally:
            record.ended_s = self.now_s()

    async def count_tokens(self, http: web.Request) -> web.StreamResponse:
        """POST /v1/messages/count_tokens."""
        try:
            self._authenticated(http)
            request = validate.parse(await _body(http))
            validate.check(request, _headers(http), counting=True)
            self._check_model(request["model"])
        except validate.Refused as refused:
            return self._error(refused.status, refused.error_type, refused.message)
        return self._json({"input_tokens": usage.estimate(request)})

    async def models(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/models."""
        try:
            self._authenticated(http)
        except validate.Refused as refused:
            return self._error(refused.status, refused.error_type, refused.message)
        listed = [_model(name) for name in self.options.models]
        first, last = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
        return self._json({"data": listed, "has_more": False, "first_id": first, "last_id": last})

    async def model(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/models/{model}."""
        name = http.match_info["model"]
        try:
            self._authenticated(http)
            self._check_model(name)
        except validate.Refused as refused:
            return self._error(refused.status, refused.error_type, refused.message)
        return self._json(_model(name))

    async def unknown(self, http: web.Request) -> web.StreamResponse:
        """Any other path of the API."""
        return self._error(404, "not_found_error", "Not found")

    def _authenticated(self, http: web.Request) -> str:
        """The request's key. `anthropic` 2.x sends it as a bearer token, older ones as x-api-key."""
        bearer = http.headers.get("authorization", "")
        key = http.headers.get("x-api-key") or bearer.removeprefix("Bearer ").strip()
        if not key:
            raise validate.Refused("x-api-key header is required", 401, "authentication_error")
        if not self.keys.is_good(key):
            raise validate.Refused("invalid x-api-key", 401, "authentication_error")
        return key

    def _check_model(self, model: str) -> None:
        if self.options.models and model not in self.options.models:
            raise validate.Refused(f"model: {model}", 404, "not_found_error")

    def _record(self, http: web.Request, request: Request, key: str, body: bytes) -> CallRecord:
        record = CallRecord(
            index=next(self._numbers),
            role=role_of(request),
            model=request["model"],
            key=self.keys.shown(key),
            request_sha=hashlib.sha256(body).hexdigest(),
            conversation=conversation_key(request),
            user=user_of(request),
            opening=first_user_text(request)[:OPENING_CHARS],
            started_s=self.now_s(),
        )
        self.ledger.open(record)
        return record

    def _record_refusal(self, http: web.Request, refused: validate.Refused) -> None:
        bearer = http.headers.get("authorization", "").removeprefix("Bearer ").strip()
        key = http.headers.get("x-api-key") or bearer
        now = self.now_s()
        self.ledger.open(
            CallRecord(
                index=next(self._numbers),
                role="refused",
                model="",
                key=self.keys.shown(key),
                request_sha="",
                conversation="",
                user=None,
                opening=refused.message[:OPENING_CHARS],
                started_s=now,
                status=refused.status,
                error_type=refused.error_type,
                delivered=True,
                ended_s=now,
            )
        )

    async def _answered(
        self, http: web.Request, request: Request, record: CallRecord, size: int, beta: bool
    ) -> web.StreamResponse:
        fault = self.faults.take(record.role, record.opening)
        if fault is None or fault.kind in BILLED_FAULTS:
            answer = await self._ask(request, record.index)
            reply = answer if isinstance(answer, Reply) else None
            if isinstance(answer, Fault):
                fault, reply = answer, answer.reply
        else:
            reply = None
        if fault is not None and (fault.kind not in BILLED_FAULTS or reply is None):
            return await self._failed(http, fault, record)
        assert reply is not None
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        message = self._composed(request, reply, record, size, beta)
        if message is None:
            words = f"prompt is too long: more than {self.options.context_window} tokens"
            record.status, record.error_type = 400, "invalid_request_error"
            return self._error(400, "invalid_request_error", words)
        if fault is not None:
            return await self._broken(http, fault, message, record)
        if not request.get("stream"):
            return await self._whole(http, message, reply, record)
        return await self._streamed(http, as_stream(message), reply, record)

    async def _ask(self, request: Request, number: int) -> Answer:
        try:
            answer = self.script(request, number, self.memory)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # noqa: BLE001 - a script is anybody's code
            _log.exception("the script failed")
            return Fault(status=500, message=f"The rehearsed script failed: {error!r}")
        return answer

    def _composed(
        self, request: Request, reply: Reply, record: CallRecord, size: int, beta: bool
    ) -> Message | None:
        prompt = self.cache.take(request, size)
        if prompt.total > self.options.context_window:
            return None
        serial = f"{self._prefix}{next(self._serial):010d}"
        message = compose(request, reply, prompt, id=serial, beta=beta, deltas=self.pace.deltas)
        record.served = True
        record.status = 200
        record.tokens = usage.billed(dict(message.usage))
        record.stop_reason = message.stop_reason
        record.message_id = message.id
        return message

    async def _whole(
        self, http: web.Request, message: Message, reply: Reply, record: CallRecord
    ) -> web.StreamResponse:
        duration_s = self.pace.duration_s if reply.duration_s is None else reply.duration_s
        if duration_s:
            await asyncio.sleep(duration_s)
        response = web.Response(
            body=as_json(message), content_type="application/json", headers=self._request_id()
        )
        await _deliver(http, response, record)
        return response

    async def _streamed(
        self, http: web.Request, stream: Stream, reply: Reply, record: CallRecord
    ) -> web.StreamResponse:
        duration_s = self.pace.duration_s if reply.duration_s is None else reply.duration_s
        if not duration_s:
            response = self._event_stream()
            try:
                await response.prepare(http)
                await response.write(b"".join(stream.deltas) + stream.tail)
                await response.write_eof()
                record.delivered = True
            except _CONNECTION_LOST:
                pass
            return response
        return await self._paced(http, stream, duration_s, record)

    async def _paced(
        self, http: web.Request, stream: Stream, duration_s: float, record: CallRecord
    ) -> web.StreamResponse:
        response = self._event_stream()
        clock = asyncio.get_running_loop().time
        began = clock()
        step_s = duration_s / max(1, len(stream.deltas))
        try:
            await response.prepare(http)
            sent = 0
            while sent < len(stream.deltas):
                due = min(len(stream.deltas), int((clock() - began) / step_s) + 1)
                if due > sent:
                    await response.write(b"".join(stream.deltas[sent:due]))
                    sent = due
                next_s = began + sent * step_s
                await asyncio.sleep(max(self.pace.tick_s, next_s - clock()))
            rest_s = began + duration_s - clock()
            if rest_s > 0:
                await asyncio.sleep(rest_s)
            await response.write(stream.tail)
            await response.write_eof()
            record.delivered = True
        except _CONNECTION_LOST:
            pass
        return response

    async def _failed(
        self, http: web.Request, fault: Fault, record: CallRecord
    ) -> web.StreamResponse:
        record.fault = fault.kind
        match fault.kind:
            case "status":
                kind, words = _worded(fault)
                record.status, record.error_type = fault.status, kind
                record.delivered = True
                return self._error(
                    fault.status, kind, words, retry_after=fault.retry_after, details=fault.details
                )
            case "garbage":
                record.status = 200
                return web.Response(
                    text="<html>not what was asked for</html>",
                    content_type="text/html",
                    headers=self._request_id(),
                )
            case "cut_after_headers":
                record.status = 200
                response = self._event_stream()
                await response.prepare(http)
                return _cut(http, response)
            case "hang":
                await self._held(http, fault.hold_s)
                return _cut(http, web.Response(status=503))
            case _:
                return _cut(http, web.Response(status=503))

    async def _broken(
        self, http: web.Request, fault: Fault, message: Message, record: CallRecord
    ) -> web.StreamResponse:
        """A reply that was generated and does not arrive whole."""
        record.fault = fault.kind
        if fault.kind == "reply_lost":
            return _cut(http, web.Response(status=503))
        stream = as_stream(message)
        response = self._event_stream()
        try:
            await response.prepare(http)
            await response.write(b"".join(stream.deltas[: fault.after_deltas]))
            if fault.kind == "cut_mid_stream":
                return _cut(http, response)
            kind, words = _worded(fault)
            record.error_type = kind
            error = _error_body(kind, words, details=fault.details)
            await response.write(event("error", error))
            await response.write_eof()
        except _CONNECTION_LOST:
            pass
        return response

    async def _held(self, http: web.Request, hold_s: float | None) -> None:
        released = self.released
        ends_s = None if hold_s is None else self.now_s() + hold_s
        while not released.is_set() and http.transport and not http.transport.is_closing():
            if ends_s is not None and self.now_s() >= ends_s:
                return
            await asyncio.sleep(HOLD_POLL_S)

    def _event_stream(self) -> web.StreamResponse:
        headers = {**self._request_id(), "cache-control": "no-cache"}
        headers["content-type"] = "text/event-stream; charset=utf-8"
        return web.StreamResponse(headers=headers)

    def _request_id(self) -> dict[str, str]:
        return {"request-id": f"req_{self._prefix}{next(self._serial):010d}"}

    def _json(self, body: object) -> web.Response:
        return web.Response(
            text=dumps(body), content_type="application/json", headers=self._request_id()
        )

    def _error(
        self,
        status: int,
        kind: str,
        words: str,
        *,
        retry_after: float | None = None,
        details: Block | None = None,
    ) -> web.Response:
        headers = self._request_id()
        body = {**_error_body(kind, words, details=details), "request_id": headers["request-id"]}
        if retry_after is not None:
            headers["retry-after"] = f"{retry_after:g}"
        return web.Response(
            status=status, text=dumps(body), content_type="application/json", headers=headers
        )


@asynccontextmanager
async def serving(app: web.Application, *, port: int = 0) -> AsyncIterator[int]:
    """Serve an application on 127.0.0.1 while the block runs; yields the port."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _body(http: web.Request) -> bytes:
    """The request's body; one that is too long is read to its end, so that the 413 arrives."""
    if (http.content_length or 0) <= validate.MAX_REQUEST_BYTES:
        body = await http.read()
        if len(body) <= validate.MAX_REQUEST_BYTES:
            return body
    else:
        async for _ in http.content.iter_any():
            pass
    raise validate.Refused("Request exceeds the maximum size", 413, "request_too_large")


def _headers(http: web.Request) -> validate.Headers:
    named = http.headers.getall("anthropic-beta", [])
    betas = {name.strip() for line in named for name in line.split(",") if name.strip()}
    return validate.Headers(
        version=http.headers.get("anthropic-version"),
        betas=frozenset(betas),
        beta_endpoint=http.query.get("beta") == "true",
    )


async def _deliver(http: web.Request, response: web.Response, record: CallRecord) -> None:
    try:
        await response.prepare(http)
        await response.write_eof()
        record.delivered = True
    except _CONNECTION_LOST:
        pass


def _cut(http: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection as a dead peer does, without ending the response."""
    if http.transport is not None:
        http.transport.abort()
    return response


def _worded(fault: Fault) -> tuple[str, str]:
    kind, words = ERROR_TYPES.get(fault.status, ("api_error", "Internal server error"))
    return fault.error_type or kind, fault.message or words


def _error_body(kind: str, words: str, *, details: Block | None) -> Block:
    error: Block = {"type": kind, "message": words}
    if details is not None:
        error["details"] = details
    return {"type": "error", "error": error}


def _model(name: str) -> Block:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-10-21T00:00:00Z",
    }
