"""The server: /v1/messages, its token counter, the models list, and /control for tests.

It checks a request as the real API does, asks the script, books what was generated, and hands
the answer over to `delivery.py`.
"""

import asyncio
import hashlib
import inspect
import itertools
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from adapters.rehearsal import usage, validate
from adapters.rehearsal.compose import compose
from adapters.rehearsal.delivery import Delivery, Pace
from adapters.rehearsal.ledger import CallRecord, Faults, Keys, Ledger
from adapters.rehearsal.responses import Responses
from adapters.rehearsal.script import (
    BILLED_FAULTS,
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
from adapters.rehearsal.wire import Message

OPENING_CHARS = 200

_log = logging.getLogger(__name__)


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
        self.ledger = Ledger()
        self.faults = Faults()
        self.keys = Keys(self.options.keys)
        self.cache = usage.PromptCache()
        self.memory: Memory = {}
        self._responses = Responses()
        self.delivery = Delivery(self._responses, self.options.pace)
        self._started = time.monotonic()
        self._numbers = itertools.count()

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
            return self._refused(refused)
        record = self._record(http, request, key, body)
        try:
            return await self._answered(http, request, record, len(body), bool(headers.betas))
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
            return self._refused(refused)
        return self._responses.json({"input_tokens": usage.estimate(request)})

    async def models(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/models."""
        try:
            self._authenticated(http)
        except validate.Refused as refused:
            return self._refused(refused)
        listed = [_model(name) for name in self.options.models]
        first, last = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
        return self._responses.json(
            {"data": listed, "has_more": False, "first_id": first, "last_id": last}
        )

    async def model(self, http: web.Request) -> web.StreamResponse:
        """GET /v1/models/{model}."""
        name = http.match_info["model"]
        try:
            self._authenticated(http)
            self._check_model(name)
        except validate.Refused as refused:
            return self._refused(refused)
        return self._responses.json(_model(name))

    async def unknown(self, http: web.Request) -> web.StreamResponse:
        """Any other path of the API."""
        return self._responses.error(404, "not_found_error", "Not found")

    def _authenticated(self, http: web.Request) -> str:
        """The request's key, if it is good."""
        key = _key(http)
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
        now = self.now_s()
        self.ledger.open(
            CallRecord(
                index=next(self._numbers),
                role="refused",
                model="",
                key=self.keys.shown(_key(http)),
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
        fault, reply = await self._decided(request, record)
        if reply is None:
            return await self.delivery.failure(http, fault or Fault(), record)
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        prompt = self.cache.take(request, size)
        if prompt.total > self.options.context_window:
            most = self.options.context_window
            words = f"prompt is too long: {prompt.total} tokens > {most} maximum"
            record.status, record.error_type, record.delivered = 400, "invalid_request_error", True
            return self._responses.error(400, "invalid_request_error", words)
        message = compose(
            request,
            reply,
            prompt,
            id=self._responses.serial(),
            beta=beta,
            deltas=self.delivery.pace.deltas,
        )
        _book(record, message)
        if fault is not None:
            return await self.delivery.broken(http, fault, message, record)
        stream = bool(request.get("stream"))
        return await self.delivery.reply(http, message, reply, record, stream)

    async def _decided(
        self, request: Request, record: CallRecord
    ) -> tuple[Fault | None, Reply | None]:
        """The fault that happens, if any, and the reply that is generated, if any."""
        fault = self.faults.take(record.role, record.opening)
        if fault is not None and fault.kind not in BILLED_FAULTS:
            return fault, None
        if fault is not None and fault.reply is not None:
            return fault, fault.reply
        answer = await self._ask(request, record.index)
        if isinstance(answer, Reply):
            return fault, answer
        return answer, answer.reply if answer.kind in BILLED_FAULTS else None

    async def _ask(self, request: Request, number: int) -> Answer:
        try:
            answer = self.script(request, number, self.memory)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # noqa: BLE001 - a script is anybody's code
            _log.exception("the script failed")
            return Fault(status=500, message=f"The rehearsed script failed: {error!r}")
        return answer

    def _refused(self, refused: validate.Refused) -> web.Response:
        return self._responses.error(refused.status, refused.error_type, refused.message)


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


def _key(http: web.Request) -> str:
    """The key: `anthropic` 2.x sends a bearer token, older versions x-api-key."""
    bearer = http.headers.get("authorization", "")
    return http.headers.get("x-api-key") or bearer.removeprefix("Bearer ").strip()


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
    )


def _book(record: CallRecord, message: Message) -> None:
    """From here on the tokens are spent, whether or not anybody reads the reply."""
    record.served = True
    record.status = 200
    record.tokens = usage.billed(dict(message.usage))
    record.stop_reason = message.stop_reason
    record.message_id = message.id


def _model(name: str) -> Block:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2026-10-21T00:00:00Z",
    }
