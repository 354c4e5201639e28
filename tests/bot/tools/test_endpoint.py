"""The endpoint's own tools: which a goal has, what they may cost, and that the endpoint takes them."""

from typing import Any

import pytest

from adapters.rehearsal.validate import Headers, Refused, check
from bot.tools.endpoint import SEARCH_NANO, SEARCHES_MOST, endpoint_tools, most_nano, most_tokens

ALL = ("code_execution", "web_fetch", "web_search")
HOSTS = ("pypi.org", "*.example.org", "git.example.org:8443")


def names(profile: Any, on: tuple[str, ...] = ALL, hosts: tuple[str, ...] = HOSTS) -> list[str]:
    return [str(tool["name"]) for tool in endpoint_tools(on, profile, hosts)]


def test_a_page_is_fetched_only_by_goals_that_have_a_network() -> None:
    assert names("read_only") == names("workspace") == ["web_search", "code_execution"]
    assert names("networked") == names("full") == ["web_search", "web_fetch", "code_execution"]
    assert names("networked", hosts=()) == ["web_search", "code_execution"]


def test_a_networked_goal_fetches_from_its_rooms_hosts_alone() -> None:
    [fetch] = endpoint_tools(["web_fetch"], "networked", HOSTS)
    [free] = endpoint_tools(["web_fetch"], "full", HOSTS)

    assert fetch["allowed_domains"] == ["example.org", "pypi.org"]
    assert "allowed_domains" not in free


def test_what_is_not_on_is_not_there_and_costs_nothing() -> None:
    assert names("full", on=()) == []
    assert most_nano(()) == most_tokens(()) == 0
    code = endpoint_tools(["code_execution"], "full", ())
    assert most_nano(code) == most_tokens(code) == 0


def test_a_call_reserves_for_the_most_that_they_may_bring() -> None:
    tools = endpoint_tools(ALL, "full", ())

    assert most_nano(tools) == SEARCHES_MOST * SEARCH_NANO
    assert most_tokens(tools) > 20_000


def request(tools: Any) -> Any:
    return {
        "model": "claude-sonnet-5-5", "max_tokens": 100, "tools": tools,
        "messages": [{"role": "user", "content": "hello"}],
    }  # fmt: skip


def test_the_endpoint_takes_them() -> None:
    tools = [dict(tool) for tool in endpoint_tools(ALL, "networked", HOSTS)]

    check(request(tools), Headers("2026-10-21"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": "web_search_20990101"}, "expected tags"),
        ({"name": "search"}, "should be 'web_search'"),
        ({"url": "x"}, "Extra inputs"),
        ({"max_uses": 0}, "greater than 0"),
        ({"allowed_domains": ["https://a.org"]}, "no domain"),
        ({"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}, "only one"),
    ],
)
def test_the_rehearsed_endpoint_refuses_what_the_real_one_does(
    change: dict[str, Any], said: str
) -> None:
    [tool] = endpoint_tools(["web_search"], "full", ())

    with pytest.raises(Refused, match=said):
        check(request([{**tool, **change}]), Headers("2026-10-21"))
