"""
What a token costs: the settings' own table first, then `genai-prices` as it was installed.

Rule 1: nothing is fetched; the price data is the package's own.
Rule 2: a price that is not known is None, never zero and never that of a model with a similar name.
Rule 3: nano-dollars are whole and rounded up, so that a sum is never below the bill.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any, Final

from bot.goals.money import Price

NANO_PER_TOKEN: Final = 1_000
"""One USD a million tokens is 1,000 nano-dollars a token."""

PRICE_LISTS: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "bedrock": "aws",
    "vertex": "google",
}
"""Our providers, and what genai-prices calls them."""

WRITE_5M: Final = Decimal("1.25")
WRITE_1H: Final = Decimal(2)
READ: Final = Decimal("0.1")
"""Multiples of the input price, where the package has no own figure for a model: the price page's
prompt caching table (https://platform.claude.com/docs/en/about-claude/pricing)."""


class PriceTable:
    """Prices of one provider's models."""

    def __init__(
        self,
        provider: str,
        *,
        own: Mapping[str, Price] | None = None,
        now: Callable[[], float],
    ) -> None:
        """Look up nothing yet.

        Args:
            provider: `anthropic`, `bedrock` or `vertex`.
            own: prices by model name that go before all others.
            now: seconds since the epoch; prices change by date.
        """
        self._list = PRICE_LISTS[provider]
        self._own = dict(own or {})
        self._now = now

    def price(self, model: str, *, prompt_tokens: int = 0) -> Price | None:
        """The price of a token by class, for a call whose whole prompt has `prompt_tokens`."""
        if model in self._own:
            return self._own[model]
        day = int(self._now() // 86_400)
        found = _known(self._list, model, day) or _known("anthropic", bare_name(model), day)
        return None if found is None else _at_size(found, prompt_tokens)


def bare_name(model: str) -> str:
    """The model's own name without what Bedrock and Vertex put around it.

    Bedrock: `[region.]anthropic.<name>[-v1:0]`, or an ARN that ends so; Vertex: `<name>@<date>`.
    """
    name = model.rpartition("/")[2].lower()
    name = name.rpartition("anthropic.")[2]
    stem, _, version = name.rpartition("-v")
    if stem and version.replace(":", "").isdigit():
        name = stem
    return name.replace("@", "-").removesuffix("-default").removesuffix("-latest")


@lru_cache(maxsize=256)
def _known(price_list: str, model: str, day: int) -> Any:
    """The package's `ModelPrice` for a model on a day (since the epoch), or None."""
    # Its data is 1.6 MB of Python: loaded when the first price is asked for.
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, price_list, None)
    except LookupError:
        return None
    return info.get_prices(datetime.fromtimestamp(day * 86_400 + 43_200, UTC))


def _at_size(prices: Any, prompt_tokens: int) -> Price | None:
    base = _usd(prices.input_mtok, prompt_tokens)
    output = _usd(prices.output_mtok, prompt_tokens)
    if base is None or output is None:
        return None
    write = _first(prices, ("cache_write_5m_mtok", "cache_write_mtok"), prompt_tokens)
    hour = _first(prices, ("cache_write_1h_mtok",), prompt_tokens)
    read = _first(prices, ("cache_read_mtok",), prompt_tokens)
    return Price(
        input=_nano(base),
        cache_write_5m=_nano(base * WRITE_5M if write is None else write),
        cache_write_1h=_nano(base * WRITE_1H if hour is None else hour),
        cache_read=_nano(base * READ if read is None else read),
        output=_nano(output),
    )


def _first(prices: Any, names: tuple[str, ...], prompt_tokens: int) -> Decimal | None:
    for name in names:
        found = _usd(getattr(prices, name), prompt_tokens)
        if found is not None:
            return found
    return None


def _usd(price: Any, prompt_tokens: int) -> Decimal | None:
    """USD a million tokens. A tier's price holds for the whole call once its start is passed."""
    if price is None or isinstance(price, Decimal):
        return price
    applicable: Decimal = price.base
    for tier in price.tiers:
        if prompt_tokens > tier.start:
            applicable = tier.price
    return applicable


def _nano(usd_per_million: Decimal) -> int:
    exact = usd_per_million * NANO_PER_TOKEN
    return int(exact.to_integral_value(rounding=ROUND_CEILING))
