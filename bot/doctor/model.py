"""Checks of the model: one token from each of the two models, and what they cost."""

import asyncio
from typing import Final

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint import ClaudeModel
from adapters.clock import WallClock
from bot.doctor.finding import warning, wrong
from bot.errors import ModelBusy, ModelRefusesUs
from bot.settings import Settings

CONNECT_S: Final = 5.0
ANSWER_S: Final = 10.0
PASSING: Final = frozenset({"overload", "rate_limit"})


def answers(settings: Settings) -> str:
    """Whether the endpoint serves both models to this key."""
    if settings.provider == "anthropic" and not settings.key():
        raise wrong(
            "There is no key for the model. Set ANTHROPIC_API_KEY, HEADWAY_API_KEY or "
            "HEADWAY_API_KEY_FILE; `headway demo` needs none."
        )
    names = _names(settings)
    for name in names:
        try:
            asyncio.run(_asked(settings, name))
        except ModelBusy as busy:
            if busy.kind in PASSING:
                raise warning(f"{name}: {busy}") from busy
            raise wrong(f"{name} at {_where(settings)}: {busy}") from busy
        except ModelRefusesUs as refusal:
            raise wrong(f"{name} at {_where(settings)}: {refusal}") from refusal
    return f"{' and '.join(names)} answer at {_where(settings)}"


def prices(settings: Settings) -> str:
    """Whether the cost of both models is known."""

    async def unknown() -> list[str]:
        model = model_of(settings, settings.model)
        try:
            return [name for name in _names(settings) if model.price(name) is None]
        finally:
            await model.aclose()

    missing = asyncio.run(unknown())
    if missing:
        raise warning(
            f'The price of {" and ".join(missing)} is not known: costs are shown as "at least", '
            "and only budget_tokens limits them. Set it as low as you mean."
        )
    return f"known for {' and '.join(_names(settings))}"


def model_of(settings: Settings, name: str) -> ClaudeModel:
    """The endpoint of the settings, which `check` asks for `name`. Close it with `aclose`."""
    endpoint = Endpoint(
        provider=settings.provider,
        base_url=settings.base_url or None,
        connect_timeout_s=CONNECT_S,
        idle_timeout_s=ANSWER_S,
    )
    return ClaudeModel(endpoint, model=name, key=settings.key, clock=WallClock())


async def _asked(settings: Settings, name: str) -> None:
    model = model_of(settings, name)
    try:
        async with asyncio.timeout(ANSWER_S):
            await model.check()
    except TimeoutError as error:
        raise ModelBusy(
            f"No answer within {ANSWER_S:g} s. Check the network and `base_url`.", kind="timeout"
        ) from error
    finally:
        await model.aclose()


def _names(settings: Settings) -> tuple[str, ...]:
    return tuple(dict.fromkeys((settings.model, settings.audit_model)))


def _where(settings: Settings) -> str:
    return settings.base_url or settings.provider
