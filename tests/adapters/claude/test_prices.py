"""Prices: the settings' own, the package's, or none."""

from datetime import UTC, datetime
from typing import get_args

import pytest
from anthropic.types.model import Model

from adapters.claude.prices import PriceTable, bare_name
from bot.goals.money import Price, Usage

NOW = datetime(2026, 11, 1, tzinfo=UTC).timestamp()


def table(provider: str = "anthropic", own: dict[str, Price] | None = None) -> PriceTable:
    return PriceTable(provider, own=own, now=lambda: NOW)


def test_a_price_is_nano_dollars_a_token_by_class() -> None:
    assert table().price("claude-sonnet-4-6") == Price(3_000, 3_750, 6_000, 300, 15_000)


def test_a_million_tokens_cost_what_the_list_says() -> None:
    price = table().price("claude-opus-5-5")

    assert price is not None
    assert price.of(Usage(input=1_000_000, output=1_000_000)) == 24 * 10**9


def test_a_price_that_is_not_known_is_none() -> None:
    assert table().price("claude-nobody-9") is None
    assert table().price("gpt-5") is None
    assert table("bedrock").price("eu.anthropic.claude-nobody-9-v1:0") is None


def test_the_settings_own_price_goes_first() -> None:
    own = Price(1, 2, 3, 4, 5)

    assert table(own={"claude-opus-5-5": own}).price("claude-opus-5-5") == own


def test_a_long_prompt_costs_the_price_of_its_tier_for_all_of_it() -> None:
    short = table().price("claude-sonnet-4-5", prompt_tokens=200_000)
    long = table().price("claude-sonnet-4-5", prompt_tokens=200_001)

    assert short is not None
    assert long is not None
    assert (short.input, long.input) == (3_000, 6_000)
    assert (short.output, long.output) == (15_000, 22_500)


def test_a_price_is_that_of_its_day() -> None:
    old = PriceTable("anthropic", now=lambda: datetime(2026, 3, 1, tzinfo=UTC).timestamp())

    before = old.price("claude-opus-4-6", prompt_tokens=300_000)
    after = table().price("claude-opus-4-6", prompt_tokens=300_000)

    assert before is not None
    assert after is not None
    assert before.input == 2 * after.input


def test_a_class_without_a_figure_costs_its_documented_multiple() -> None:
    price = table().price("claude-2")

    assert price == Price(8_000, 10_000, 16_000, 800, 24_000)


def test_a_fraction_of_a_nano_dollar_is_rounded_up() -> None:
    price = table("bedrock").price("eu.anthropic.claude-haiku-5-5")

    assert price is not None
    assert price.cache_write_5m == 138


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("bedrock", "global.anthropic.claude-sonnet-4-6-v1:0"),
        ("bedrock", "anthropic.claude-sonnet-4-6-v1:0"),
        ("bedrock", "anthropic.claude-sonnet-4-6"),
        ("vertex", "claude-sonnet-4-6"),
        ("vertex", "claude-sonnet-4-6@default"),
    ],
)
def test_a_model_is_known_by_the_name_its_cloud_gives_it(provider: str, model: str) -> None:
    price = table(provider).price(model)

    assert price is not None
    assert price.output in {15_000, 16_500}


@pytest.mark.parametrize(
    ("given", "bare"),
    [
        ("claude-opus-4-6", "claude-opus-4-6"),
        ("us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
        ("anthropic.claude-opus-5", "claude-opus-5"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-5",
            "claude-opus-5",
        ),
        ("claude-opus-4-5@20251101", "claude-opus-4-5-20251101"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
    ],
)
def test_a_bare_name_is_without_what_the_clouds_add(given: str, bare: str) -> None:
    assert bare_name(given) == bare


def test_the_models_that_the_sdk_names_mostly_have_a_price() -> None:
    named = get_args(get_args(Model)[0])

    unknown = [model for model in named if table().price(model) is None]

    assert len(unknown) <= 4, unknown
