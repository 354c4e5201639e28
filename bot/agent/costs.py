"""What a call may cost before it is sent, and what it did cost."""

from collections.abc import Iterable

from bot.ports.model import Model, ModelReply
from bot.tools.endpoint import SEARCH_NANO


def dearest(
    model: Model, names: Iterable[str], prompt: int, max_tokens: int, besides: int = 0
) -> int | None:
    """The most that a call may cost, nano-dollars; None where the first model has no price.

    Args:
        model: who knows the prices.
        names: the model that is asked, then those that may be asked in its place.
        prompt: tokens, all of which may be written to the cache.
        max_tokens: of output.
        besides: what is not of tokens, nano-dollars.
    """
    costs = []
    for place, name in enumerate(names):
        price = model.price(name, prompt_tokens=prompt)
        if price is not None:
            token = max(price.input, price.cache_write_5m)
            costs.append(prompt * token + max_tokens * price.output + besides)
        elif place == 0:
            return None
    return max(costs, default=None)


def cost_of(model: Model, reply: ModelReply) -> int | None:
    """What the reply cost, nano-dollars; None where a part of it has no known price."""
    total = 0
    for name, usage in reply.parts or ((reply.model, reply.usage),):
        price = model.price(name, prompt_tokens=usage.tokens - usage.output)
        if price is None:
            return None
        total += price.of(usage)
    return total + reply.searches * SEARCH_NANO
