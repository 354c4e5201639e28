"""
A model behind the Messages API: the real one, or anything that speaks as it does.

Rule 1: every call is streamed, by the SDK's streaming response, whose bytes are read here: no object
        is built for an event, no message is validated twice.
Rule 2: a reply without its `message_stop` is lost, and so is one that falls silent.
Rule 3: leaving a call in any way closes its stream at once.
Rule 4: the key is asked for at every attempt, so that a replaced one is seen without a restart.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

from adapters.claude.body import arguments
from adapters.claude.clients import COMPACTION_MODELS, Endpoint, timeout_of
from adapters.claude.endpoint_state import EndpointState, LimiterRules, Trouble
from adapters.claude.fallbacks import Fallbacks
from adapters.claude.fold import Event, Fold, Torn
from adapters.claude.late import LateClient
from adapters.claude.limiter import Limiter, Permit
from adapters.claude.prices import PriceTable, bare_name
from adapters.claude.sse import EventReader
from adapters.claude.usage import searches_of, uncounted, usage_of
from bot.errors import BadSettings, HeadwayError, ModelRefusesUs
from bot.goals.money import Price
from bot.ports.clock import Clock
from bot.ports.model import NOT_SENT, ModelReply, ModelRequest

DRAIN_S: Final = 1.0
"""How long the end of a whole reply's stream is awaited, so that its connection can be used again."""


class ClaudeModel:
    """One endpoint with one key, and its limiter: the port `Model`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str,
        key: Callable[[], str | None],
        clock: Clock,
        chance: random.Random | None = None,
        rules: LimiterRules | None = None,
        state: EndpointState | None = None,
        on_trouble: Callable[[Trouble], None] | None = None,
        on_recovery: Callable[[Trouble], None] | None = None,
        on_state: Callable[[EndpointState], None] | None = None,
    ) -> None:
        """Connect to nothing yet. Close with `aclose`.

        Args:
            endpoint: where, and how patiently.
            model: what `check` asks for.
            key: gives the key at every attempt; None where the provider has its own credentials.
            clock: time for the limiter; the network's time limits are always real.
            chance: where jitter is drawn from.
            rules: the limiter's numbers; `max_in_flight` is the endpoint's unless they are given.
            state: what the limiter of an earlier process exported.
            on_trouble, on_recovery, on_state: see `Limiter`.

        Raises:
            BadSettings: the endpoint cannot be used as it is written.
        """
        self._endpoint = endpoint
        self._model = model
        self._key = key
        self._clock = clock
        self._chance = chance or random.Random()
        self._rules = rules or LimiterRules(max_in_flight=endpoint.max_in_flight)
        self._tell: dict[str, Any] = {"on_trouble": on_trouble, "on_recovery": on_recovery}
        self._sdk = LateClient(endpoint)
        self._limiter = Limiter(
            endpoint.name,
            clock,
            rules=self._rules,
            chance=self._chance,
            state=state,
            on_state=on_state,
            **self._tell,
        )
        self._gates: dict[str, Limiter] = {}
        self._fallbacks = Fallbacks(endpoint)
        self._prices = PriceTable(endpoint.provider, own=endpoint.prices, now=clock.now)
        self._compacts: dict[str, bool] = {}
        self._waiting: dict[asyncio.Task[Any], str] = {}
        """Calls that are not sent, each with its goal."""

    @property
    def limiter(self) -> Limiter:
        """The endpoint's limiter."""
        return self._limiter

    async def aclose(self) -> None:
        """Close all connections."""
        await self._sdk.close()

    async def call(
        self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None
    ) -> ModelReply:
        """See `Model.call`. `on_text` must not raise. `timeout_s` is of one attempt, not of waiting."""

        task, waiting = asyncio.current_task(), self._waiting
        assert task is not None
        waiting[task] = request.goal

        async def attempt(permit: Permit) -> ModelReply:
            waiting.pop(task, None)
            try:
                return await self._ask(request, permit.begin, on_text)
            except HeadwayError:
                # Answered without being served; a reply lost in flight is not waited for here.
                waiting[task] = request.goal
                raise

        try:
            return await self._waited(request.model, attempt)
        except asyncio.CancelledError:
            if task not in waiting:
                raise
            raise asyncio.CancelledError(NOT_SENT) from None
        finally:
            waiting.pop(task, None)

    def withdraw(self, goal: str) -> None:
        """See `Model.withdraw`."""
        for task, of in list(self._waiting.items()):
            if of == goal:
                task.cancel()

    async def _waited(
        self, model: str, attempt: Callable[[Permit], Awaitable[ModelReply]]
    ) -> ModelReply:
        """Make attempts, each when the limiter lets it, until one is answered."""

        async def past_gate(_: Permit) -> ModelReply:
            return await self._limiter.run(attempt)

        # A model that is not found closes the gate of that model alone, not the endpoint.
        gate = self._gates.get(model)
        if gate is not None:
            return await gate.run(past_gate)
        try:
            return await self._limiter.run(attempt)
        except ModelRefusesUs:
            return await self._gate(model).run(past_gate)

    async def check(self) -> None:
        """See `Model.check`. Learns besides whether the model compacts by itself.

        A check that went well lets the next probe of a closed limiter go at once.
        """
        request = ModelRequest(
            model=self._model,
            max_tokens=1,
            messages=({"role": "user", "content": "ping"},),
            timeout_s=30.0,
            is_cached=False,
        )
        await self._stream(request, self._model, _nothing, None)
        self._limiter.probe_now()
        await self._learn(self._model)

    async def learn(self) -> None:
        """Ask the endpoint what the model can do; one that cannot say leaves it as documented."""
        sdk = await self._sdk.get()
        try:
            self._take_key(sdk.client)
        except ModelRefusesUs:
            return
        await self._learn(self._model)

    def price(self, model: str, *, prompt_tokens: int = 0) -> Price | None:
        """See `Model.price`."""
        return self._prices.price(model, prompt_tokens=prompt_tokens)

    def has_compaction(self, model: str) -> bool:
        """See `Model.has_compaction`: by the settings, else as the endpoint said, else as documented."""
        own = self._endpoint.compaction_models
        if own is not None:
            return model in own
        return self._compacts.get(model, bare_name(model) in COMPACTION_MODELS)

    def _gate(self, model: str) -> Limiter:
        gate = self._gates.get(model)
        if gate is None:
            gate = self._gates[model] = Limiter(
                f"{self._endpoint.name} {model}",
                self._clock,
                rules=LimiterRules(
                    operator_first_wait_s=self._rules.operator_first_wait_s,
                    longest_wait_s=self._rules.longest_wait_s,
                    spread_s=self._rules.spread_s,
                    max_in_flight=2**31,
                ),
                chance=self._chance,
                closed_by=frozenset({"not_found"}),
                **self._tell,
            )
        return gate

    async def _ask(
        self,
        request: ModelRequest,
        begin: Callable[[], None],
        on_text: Callable[[str], None] | None,
    ) -> ModelReply:
        """One attempt, at the first model of the list that is found."""
        while True:
            now = self._clock.now()
            model = self._fallbacks.pick(request.model, self._limiter.state, now=now)
            try:
                reply = await self._stream(request, model, begin, on_text)
            except ModelRefusesUs as refusal:
                if refusal.kind != "not_found":
                    raise
                if not self._fallbacks.missed(request.model, model, now=now):
                    raise
            else:
                self._fallbacks.served(request.model, model, now=self._clock.now())
                return reply

    async def _stream(
        self,
        request: ModelRequest,
        model: str,
        begin: Callable[[], None],
        on_text: Callable[[str], None] | None,
    ) -> ModelReply:
        """Send once, and read to the end."""
        sdk = await self._sdk.get()
        self._take_key(sdk.client)
        given = arguments(request, model=model, may_compact=self.has_compaction(model))
        messages = sdk.beta if "betas" in given else sdk.plain
        fold = Fold()
        try:
            async with (
                asyncio.timeout(request.timeout_s),
                messages.create(
                    **given, timeout=timeout_of(self._endpoint, request.timeout_s)
                ) as response,
            ):
                await _read(await self._events(response), fold, begin, on_text)
                return _reply(fold, request, model, response.request_id)
        except Exception as error:
            from adapters.claude.classify import classify, is_foreign

            is_clouds = self._endpoint.provider != "anthropic" and not fold.is_started
            if isinstance(error, HeadwayError) or not is_foreign(error, is_clouds=is_clouds):
                raise
            raise classify(error, now=self._clock.now(), is_begun=fold.is_started) from error

    async def _events(self, response: Any) -> AsyncGenerator[Sequence[Event], None]:
        """The events of a streaming response, as they come."""
        if self._endpoint.provider == "bedrock":
            import anthropic

            # Its frames are Amazon's; the SDK's decoder knows them, and yields each as JSON.
            return _one_by_one(await response.parse(to=anthropic.AsyncStream[object]))
        return _by_chunk(response.http_response.aiter_bytes())

    def _take_key(self, client: Any) -> None:
        try:
            key = self._key()
        except BadSettings as error:
            # A key file that is being replaced must not end anybody's call.
            raise ModelRefusesUs(str(error), kind="auth") from error
        if self._endpoint.provider == "anthropic":
            if not key:
                raise ModelRefusesUs(
                    "There is no key for the model endpoint. Put one in place; "
                    "it is read again without a restart.",
                    kind="auth",
                )
            client.api_key = key
        elif key and self._endpoint.provider == "vertex":
            client.access_token = key
        elif key:
            client.api_key = key

    async def _learn(self, model: str) -> None:
        """Ask the endpoint what the model can do. Not all that speak the Messages API can say."""
        if self._endpoint.provider != "anthropic":
            return
        client = (await self._sdk.get()).client
        import anthropic

        with suppress(anthropic.AnthropicError, AttributeError, TypeError):
            found = await client.models.retrieve(model, timeout=10.0)
            edit = found.capabilities.context_management.compact_20260112
            self._compacts[model] = bool(edit is not None and edit.supported)


async def _by_chunk(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Sequence[Event], None]:
    reader = EventReader()
    async for chunk in chunks:
        events = reader.feed(chunk)
        if events:
            yield events


async def _one_by_one(stream: AsyncIterator[Any]) -> AsyncGenerator[Sequence[Event], None]:
    async for event in stream:
        yield (event,)


async def _read(
    batches: AsyncGenerator[Sequence[Event], None],
    fold: Fold,
    begin: Callable[[], None],
    on_text: Callable[[str], None] | None,
) -> None:
    async with aclosing(batches):
        async for events in batches:
            for event in events:
                _take(event, fold, begin, on_text)
            if fold.is_whole:
                break
        if not fold.is_whole:
            raise Torn("the stream ended before its reply did")
        # The connection is used again only if the response was read to its end.
        with suppress(Exception):
            async with asyncio.timeout(DRAIN_S):
                async for _ in batches:
                    pass


def _take(
    event: Event, fold: Fold, begin: Callable[[], None], on_text: Callable[[str], None] | None
) -> None:
    try:
        text = fold.feed(event)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise Torn("an event of the stream is malformed") from error
    if text:
        if on_text is not None:
            on_text(text)
    elif event.get("type") == "message_start":
        begin()


def _reply(fold: Fold, request: ModelRequest, asked: str, request_id: str | None) -> ModelReply:
    usage, parts = usage_of(fold.usage, asked, also=fold.model)
    missing = uncounted(usage, request, fold.blocks)
    if missing.tokens:
        usage, parts = usage + missing, (*parts, (asked, missing))
    return ModelReply(
        content=tuple(fold.blocks),
        stop_reason=fold.stop_reason or "end_turn",
        usage=usage,
        model=fold.model or asked,
        request_id=request_id,
        container=fold.container,
        stop_details=fold.stop_details,
        service_tier=fold.usage.get("service_tier"),
        speed=fold.usage.get("speed"),
        searches=searches_of(fold.usage),
        parts=parts,
    )


def _nothing() -> None:
    """What `check` does when its answer begins."""
