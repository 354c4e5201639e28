"""The model's endpoint: built from the settings, with its trouble kept as a row."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

from adapters.claude.endpoint_state import OPERATOR_KINDS, EndpointState, Trouble
from adapters.claude.prices import PriceTable
from adapters.store.open import Store
from bot.errors import BadSettings, HeadwayError
from bot.goals.money import Price
from bot.known import bare_address
from bot.ports.clock import Clock
from bot.ports.journal import EndpointRow
from bot.redaction import Redactor
from bot.settings import ModelPrice, Settings
from bot.wiring.operations import EndpointWatch
from bot.wiring.program import program

if TYPE_CHECKING:
    from adapters.claude.endpoint import ClaudeModel

log = logging.getLogger(__name__)

REHEARSED: Final = "rehearsed"
REPLY_S: Final = 0.4
"""How long the rehearsed model takes for a reply, so that one can watch."""


def build_model(
    settings: Settings, clock: Clock, *, learn: Callable[[str], str] = str, **more: Any
) -> "ClaudeModel":
    """The model's endpoint as the settings name it; connects to nothing yet.

    `learn` is told the key each time that it is read, and gives it back.

    Raises:
        BadSettings: there is no key, or the endpoint cannot be used as written.
    """
    if settings.provider == "anthropic" and not settings.key():
        raise BadSettings(
            "There is no key for the model. Set ANTHROPIC_API_KEY or HEADWAY_API_KEY, "
            f"let `{program()} init` ask for one, or see `{program()} demo`, which needs none."
        )
    if settings.provider == REHEARSED:
        raise BadSettings(
            "The model is rehearsed, a script that only `chat` and `run` start: there is nothing to "
            f"ask it. Let `{program()} init` set a real one."
        )
    # Loading the SDK takes a second, and whoever only reads needs none.
    from adapters.claude.clients import Endpoint
    from adapters.claude.endpoint import ClaudeModel

    endpoint = Endpoint(
        name=endpoint_name(settings),
        provider=settings.provider,
        base_url=settings.base_url or None,
        max_in_flight=settings.calls_at_once,
        fallback_models=settings.fallback_models,
        region=settings.region or None,
        project=settings.project or None,
        prices=_own_prices(settings),
    )
    return ClaudeModel(
        endpoint,
        model=settings.model,
        key=lambda: learn(settings.key()) or None,
        clock=clock,
        **more,
    )


def endpoint_name(settings: Settings) -> str:
    """What the endpoint is called in rows and lines: its bare address, or its provider."""
    return bare_address(settings.base_url) or settings.provider


def price_table(settings: Settings) -> PriceTable:
    """The prices that hold now, the settings' own before those of the provider."""
    return PriceTable(settings.provider, own=_own_prices(settings), now=time.time)


async def open_model(
    stack: AsyncExitStack,
    settings: Settings,
    clock: Clock,
    store: Store,
    redactor: Redactor,
    watch: EndpointWatch,
) -> "ClaudeModel":
    """The endpoint, going on from what an earlier process knew of its trouble."""
    if settings.provider == REHEARSED:
        settings = await rehearsed(stack, settings)
    rows = {row.name: row for row in await store.leases.endpoints()}
    keeper = _EndpointKeeper(store)
    model = build_model(
        settings,
        clock,
        learn=lambda key: redactor.learn("api_key", key),
        on_trouble=lambda trouble: _trouble(trouble, watch),
        on_recovery=lambda trouble: _recovery(trouble, watch),
        on_state=keeper.keep,
        state=_state(rows.get(endpoint_name(settings))),
    )
    for row in rows.values():
        is_operators = row.kind in OPERATOR_KINDS
        watch.troubled(row.name, row.kind, row.since, is_operators=is_operators)
    stack.push_async_callback(model.aclose)
    stack.push_async_callback(keeper.close)
    return model


async def rehearsed(stack: AsyncExitStack, settings: Settings) -> Settings:
    """Serve the rehearsed model from this process; the settings that reach it, at no cost."""
    from adapters.rehearsal.delivery import Pace
    from adapters.rehearsal.server import Options, Rehearsal, serving
    from adapters.rehearsal.tryout import script

    # Not a word that may stand in a text: what is a key is taken out of every text.
    key = f"{REHEARSED}-{secrets.token_hex(8)}"
    rehearsal = Rehearsal(script, Options(keys=(key,), pace=Pace(duration_s=REPLY_S)))
    port = await stack.enter_async_context(serving(rehearsal.app()))
    stack.callback(rehearsal.delivery.release)
    log.warning("The model is REHEARSED: a script answers. Nothing is sent or charged.")
    free = ModelPrice(input=0, output=0)
    return settings.model_copy(
        update={
            "provider": "anthropic",
            "base_url": f"http://127.0.0.1:{port}",
            "api_key": SecretStr(key),
            "api_key_file": None,
            "fallback_models": (),
            "prices": {settings.model: free, settings.audit_model: free},
        }
    )


class _EndpointKeeper:
    """Writes the endpoint's row when its state changes, in order, off the caller's way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._latest: EndpointState | None = None
        self._writing: asyncio.Task[None] | None = None

    def keep(self, state: EndpointState) -> None:
        self._latest = state
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def close(self) -> None:
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        while (state := self._latest) is not None:
            self._latest = None
            try:
                await self._store.leases.save_endpoint(_row(state), name=state.name)
            except HeadwayError as error:
                log.warning("The endpoint's row could not be written: %s", error)


def _row(state: EndpointState) -> EndpointRow | None:
    if state.kind is None or state.since is None:
        return None
    return EndpointRow(state.name, state.kind, state.since, state.attempts, state.closed_until)


def _state(row: EndpointRow | None) -> EndpointState | None:
    if row is None:
        return None
    return EndpointState(
        name=row.name,
        kind=row.kind,
        since=row.since,
        closed_at=row.since,
        attempts=row.attempts,
        closed_until=row.closed_until,
    )


def _trouble(trouble: Trouble, watch: EndpointWatch) -> None:
    is_operators = trouble.is_operators
    watch.troubled(trouble.endpoint, trouble.kind, trouble.since, is_operators=is_operators)
    if trouble.is_operators:
        log.error(
            "The model endpoint %s refuses us (%s). Goals wait; mend the key or the bill.",
            trouble.endpoint,
            trouble.kind,
        )
    else:
        log.warning("The model endpoint %s is in trouble (%s).", trouble.endpoint, trouble.kind)


def _recovery(trouble: Trouble, watch: EndpointWatch) -> None:
    watch.recovered(trouble.endpoint)
    log.warning("The model endpoint %s answers again.", trouble.endpoint)


def _own_prices(settings: Settings) -> dict[str, Price]:
    return {model: price.price() for model, price in settings.prices.items()}
