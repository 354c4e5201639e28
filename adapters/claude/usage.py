"""
The endpoint's count of tokens, as `Usage`.

Rule 1: `usage.iterations`, where present, is the whole truth: compactions are counted there and not
        at the top (SDK, BetaUsage.iterations). Otherwise the top level is.
Rule 2: a cache write whose time to live is not told is of five minutes, the API's default.
Rule 3: whatever stands there, reading it gives counts that can be added up and kept; what is no
        count counts for nothing.
Rule 4: a reply that was not counted was not free: what is missing is estimated, from above.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bot.goals.estimate import estimate_tokens
from bot.goals.money import Usage
from bot.ports.model import ModelRequest

Json = Mapping[str, Any]

COUNT_MOST: Final = 1_000_000_000
"""No reply has as many tokens; the cost of more would not fit a column of the database."""


def usage_of(
    raw: Json, model: str, *, also: str = ""
) -> tuple[Usage, tuple[tuple[str, Usage], ...]]:
    """The sum of a reply's `usage` object, and its parts by the model that did them.

    Args:
        raw: the `usage` object of the message, running totals already folded in.
        model: the model that was asked, by the name that its price is known by.
        also: what the reply calls that model (a dated name, or one without its region).
    """
    server_tools = _server_tools(raw)
    listed = raw.get("iterations")
    iterations = [p for p in listed if isinstance(p, dict)] if isinstance(listed, list) else []
    if not iterations:
        only = _tokens(raw) + Usage(server_tools=server_tools)
        return only, ((model, only),)
    parts = [(_named(part, model, also), _tokens(part)) for part in iterations]
    total = Usage(server_tools=server_tools)
    for _, part in parts:
        total = total + part
    return total, tuple(parts)


def searches_of(raw: Json) -> int:
    """The searches of the web in a reply's `usage` object, which cost beside their tokens."""
    return _count(_object(raw, "server_tool_use"), "web_search_requests")


def uncounted(usage: Usage, request: ModelRequest, blocks: Iterable[Json]) -> Usage:
    """What `usage` does not count of a reply to `request`: the prompt, or what was said."""
    blocks = tuple(blocks)
    is_prompt_missing = usage.tokens == usage.output
    is_output_missing = usage.output == 0 and bool(blocks)
    return Usage(
        input=_prompt(request) if is_prompt_missing else 0,
        output=estimate_tokens(messages=({"content": blocks},)) if is_output_missing else 0,
    )


def _prompt(request: ModelRequest) -> int:
    return estimate_tokens(system=request.system, tools=request.tools, messages=request.messages)


def _named(part: Json, model: str, also: str) -> str:
    named = part.get("model")
    return model if not isinstance(named, str) or named in ("", also) else named


def _tokens(raw: Json) -> Usage:
    by_ttl = _object(raw, "cache_creation")
    one_hour = _count(by_ttl, "ephemeral_1h_input_tokens")
    five_minutes = _count(by_ttl, "ephemeral_5m_input_tokens")
    written = _count(raw, "cache_creation_input_tokens")
    return Usage(
        input=_count(raw, "input_tokens"),
        cache_write_5m=max(five_minutes, written - one_hour),
        cache_write_1h=one_hour,
        cache_read=_count(raw, "cache_read_input_tokens"),
        output=_count(raw, "output_tokens"),
    )


def _server_tools(raw: Json) -> int:
    used = _object(raw, "server_tool_use")
    return min(sum(_count(used, name) for name in used), COUNT_MOST)


def _object(raw: Json, name: str) -> Json:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _count(raw: Json, name: str) -> int:
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return 0
    return COUNT_MOST if value >= COUNT_MOST else int(value)
