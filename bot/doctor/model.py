"""Checks of the model: one token from each of the two models, and what they cost."""

import asyncio
from typing import Final

from adapters.clock import WallClock
from bot.doctor.finding import warning, wrong
from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from bot.settings import Settings
from bot.wiring import build_model
from bot.wiring.endpoint import REHEARSED, endpoint_name, price_table
from bot.wiring.program import program

ANSWER_S: Final = 10.0
PASSING: Final = frozenset({"overload", "rate_limit"})


def answers(settings: Settings) -> str:
    """Whether the endpoint serves both models to this key.

    Raises:
        BadSettings: there is no key, or the endpoint cannot be used as it is written.
    """
    names = _names(settings)
    if settings.provider == REHEARSED:
        raise warning(
            "It is rehearsed: a script answers in a model's place, and nothing is charged. "
            f"Let `{program()} init` set a real one when you have seen enough."
        )
    for name in names:
        try:
            asyncio.run(_asked(settings.model_copy(update={"model": name})))
        except ModelBusy as busy:
            if busy.kind in PASSING:
                raise warning(f"{name}: {busy}") from busy
            raise wrong(f"{name} at {endpoint_name(settings)}: {busy}") from busy
        except (ModelRefusesUs, BadRequest) as refusal:
            raise wrong(f"{name} at {endpoint_name(settings)}: {refusal}") from refusal
    return f"{' and '.join(names)} answer at {endpoint_name(settings)}"


def prices(settings: Settings) -> str:
    """Whether the cost of both models is known."""
    if settings.provider == REHEARSED:
        return "nothing is charged by the rehearsed model"
    table = price_table(settings)
    missing = [name for name in _names(settings) if table.price(name) is None]
    if missing:
        raise warning(
            f'The price of {" and ".join(missing)} is not known: costs are shown as "at least", '
            "and only budget_tokens limits them. Set `prices`, or budget_tokens as low as you mean."
        )
    return f"known for {' and '.join(_names(settings))}"


async def _asked(settings: Settings) -> None:
    """One token of the settings' model."""
    model = build_model(settings, WallClock())
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
