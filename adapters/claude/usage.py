"""
The endpoint's count of tokens, as `Usage`.

Rule 1: `usage.iterations`, where present, is the whole truth: compactions are counted there and not
        at the top (SDK, BetaUsage.iterations). Otherwise the top level is.
Rule 2: a cache write whose time to live is not told is of five minutes, the API's default.
"""

from collections.abc import Mapping
from typing import Any

from bot.goals.money import Usage

Json = Mapping[str, Any]


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
    iterations = raw.get("iterations")
    if not isinstance(iterations, list) or not iterations:
        only = _tokens(raw) + Usage(server_tools=server_tools)
        return only, ((model, only),)
    parts = [(_named(part, model, also), _tokens(part)) for part in iterations]
    total = Usage(server_tools=server_tools)
    for _, part in parts:
        total = total + part
    return total, tuple(parts)


def _named(part: Json, model: str, also: str) -> str:
    named = part.get("model")
    return model if not named or named == also else str(named)


def _tokens(raw: Json) -> Usage:
    by_ttl = raw.get("cache_creation") or {}
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
    used = raw.get("server_tool_use") or {}
    return sum(value for value in used.values() if isinstance(value, int))


def _count(raw: Json, name: str) -> int:
    value = raw.get(name)
    return value if isinstance(value, int) and value > 0 else 0
