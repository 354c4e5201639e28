"""
Tools that the model's endpoint runs by itself: a search of the web, a page of it, code in its own container.

Rule 1: the operator turns each on, a room may turn them off; a turn that only closes has none.
Rule 2: a page is fetched as the goal's own way to the network allows: from a room's hosts where the profile is
        `networked`, from anywhere where it is `full`, and else not at all. The endpoint knows domains alone:
        a room's host stands there for all below it, too.
Rule 3: what they read and cost counts: a call reserves for the most that they may bring, and one that the
        goal's budget covers only without them has none.

Names and versions as in the types of `anthropic` 2.14 (`web_search_tool_20250305_param` and its like): those that
every model takes. Prices: https://platform.claude.com/docs/en/about-claude/pricing, "Web search tool": 10 dollars
a thousand searches; a fetch costs its tokens; code is not counted by `usage`, and free up to 50 hours a day.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bot.goals.hands import Profile
from bot.goals.money import NANO

Json = Mapping[str, Any]

SEARCHES_MOST: Final = 3
"""In one call of the model; a turn has many."""
FETCHES_MOST: Final = 3
PAGE_TOKENS: Final = 8_000
SEARCH_TOKENS: Final = 4_000
"""What the results of one search hold, about."""
SEARCH_NANO: Final = NANO // 100
"""Nano-dollars of one search."""
DOMAINS_MOST: Final = 50

_TYPES: Final = {
    "web_search": "web_search_20250305",
    "web_fetch": "web_fetch_20250910",
    "code_execution": "code_execution_20250825",
}


def endpoint_tools(
    names: Iterable[str], profile: Profile, hosts: Iterable[str]
) -> tuple[Json, ...]:
    """The tools of a turn as Messages API JSON, always in the same order.

    Args:
        names: those that are on.
        profile: the goal's.
        hosts: entries as `bot.hosts` reads them, that a `networked` goal reaches.
    """
    wanted, found = frozenset(names), []
    for name, kind in _TYPES.items():
        if name not in wanted:
            continue
        tool: dict[str, Any] = {"type": kind, "name": name}
        if name == "web_search":
            tool["max_uses"] = SEARCHES_MOST
        if name == "web_fetch":
            tool |= {"max_uses": FETCHES_MOST, "max_content_tokens": PAGE_TOKENS}
            if profile not in ("networked", "full"):
                continue
            domains = _domains(hosts)
            if profile == "networked":
                if not domains:
                    continue
                tool["allowed_domains"] = domains
        found.append(tool)
    return tuple(found)


def without_endpoint_tools(tools: Sequence[Json]) -> tuple[Json, ...]:
    """The tools that are run here."""
    return tuple(tool for tool in tools if tool.get("type") not in _TYPES.values())


def most_tokens(tools: Sequence[Json]) -> int:
    """What the endpoint's own tools may bring into one call, about."""
    kinds = {tool.get("type") for tool in tools}
    searches = SEARCHES_MOST * SEARCH_TOKENS if _TYPES["web_search"] in kinds else 0
    pages = FETCHES_MOST * PAGE_TOKENS if _TYPES["web_fetch"] in kinds else 0
    return searches + pages


def most_nano(tools: Sequence[Json]) -> int:
    """What their use may cost in one call, beside its tokens; nano-dollars."""
    is_there = any(tool.get("type") == _TYPES["web_search"] for tool in tools)
    return SEARCHES_MOST * SEARCH_NANO if is_there else 0


def _domains(hosts: Iterable[str]) -> list[str]:
    """Entries as the endpoint takes them: a domain stands for all below it, and no port is named.

    An entry with a port is left out: the endpoint would take any.
    """
    plain = {host.removeprefix("*.") for host in hosts if ":" not in host}
    return sorted(plain)[:DOMAINS_MOST]
