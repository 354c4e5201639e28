"""`room mcp`: an admin's alone, looked at before it is kept, told once, and no word of a server calls anybody."""

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.mcp_words import McpWords, read_mcp
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.chat import Place, Speaker
from bot.ports.mcp_servers import How, Listing, TakenTool
from tests.bot.chat.conftest import Bench

ROOM = Place("console", "", "console")
ADD = TakenTool("add", "mcp_calc_add", "Adds.", {"type": "object", "properties": {}})
SUB = TakenTool("sub", "mcp_calc_sub", "Subtracts.", {"type": "object", "properties": {}})


class Looking:
    """Looks at nothing: it has been told what to say."""

    def __init__(self, listing: Listing | BadInput) -> None:
        self.listing = listing
        self.looked: list[How] = []

    async def look(self, room: Place, name: str, how: How, *, by: str = "") -> Listing:
        self.looked.append(how)
        if isinstance(self.listing, BadInput):
            raise self.listing
        return self.listing


@pytest.fixture
def looking(bench: Bench) -> Looking:
    looking = Looking(Listing((ADD,), "d" * 64))
    desk: Any = replace(bench.desk, mcp_servers=bench.store.mcp_servers, looking=looking)
    bench.desk = desk
    bench.intake = type(bench.intake)(desk, bench.allow_list.of)
    return looking


async def test_a_server_is_looked_at_kept_and_told(bench: Bench, looking: Looking) -> None:
    await bench.say("/goal room mcp add calc npx -y 'calc server'")

    [server] = await bench.store.mcp_servers.of(ROOM)
    assert looking.looked == [How(("npx", "-y", "calc server"))]
    assert (server.name, server.digest, server.tools) == ("calc", "d" * 64, (ADD,))
    assert server.set_by
    assert bench.last() == (
        "The MCP server `calc` (`npx -y 'calc server'`) is this room's now, set by ann.\n"
        "Agents get `mcp_calc_add`; each call asks first, unless the goal's profile is `full`."
    )


async def test_a_change_in_a_thread_is_told_in_the_room_too(bench: Bench, looking: Looking) -> None:
    thread, _ = await bench.start()

    await bench.say("room mcp add calc calc-server", thread)

    assert "is this room's now" in bench.last(thread)
    assert "is this room's now" in bench.last()


async def test_a_server_by_address_names_its_secret(bench: Bench, looking: Looking) -> None:
    await bench.say("/goal room mcp add jira https://mcp.example.org/v1 secret JIRA_TOKEN")
    await bench.say("/goal room mcp")

    assert looking.looked == [How(url="https://mcp.example.org/v1", secret="JIRA_TOKEN")]
    assert (
        "- `jira` https://mcp.example.org/v1, secret `JIRA_TOKEN`: `mcp_calc_add`" in bench.last()
    )


async def test_a_server_that_cannot_be_looked_at_changes_nothing(
    bench: Bench, looking: Looking
) -> None:
    looking.listing = BadInput("it ended: There is no configuration.")

    await bench.say("/goal room mcp add calc calc-server")

    assert await bench.store.mcp_servers.of(ROOM) == ()
    assert "nothing is changed: it ended: There is no configuration. Mend it" in bench.last()


async def test_taking_a_server_again_says_what_is_different(bench: Bench, looking: Looking) -> None:
    await bench.say("/goal room mcp add calc calc-server")
    looking.listing = Listing(
        (replace(ADD, description="Adds, and sends."), SUB), "e" * 64, ("x: y",)
    )

    await bench.say("/goal room mcp take calc")

    [server] = await bench.store.mcp_servers.of(ROOM)
    assert server.digest == "e" * 64
    assert "New: `mcp_calc_sub`." in bench.last()
    assert "Said otherwise than before: `mcp_calc_add`." in bench.last()
    assert "Left out: x: y." in bench.last()


async def test_the_rooms_settings_name_its_servers(bench: Bench, looking: Looking) -> None:
    await bench.say("/goal room mcp add calc calc-server")

    await bench.say("/goal room")

    assert "MCP servers: `calc`; `room mcp` shows them." in bench.last()


async def test_a_server_is_removed_and_listed_no_more(bench: Bench, looking: Looking) -> None:
    await bench.say("/goal room mcp add calc calc-server")

    await bench.say("/goal room mcp remove calc")

    assert bench.last() == "The MCP server `calc` is no longer this room's, by ann."
    await bench.say("/goal room mcp remove calc")
    assert "has no MCP server `calc`" in bench.last()
    await bench.say("/goal room mcp list")
    assert bench.last().startswith("This room has no MCP servers.")


async def test_nobody_but_an_admin_changes_a_server(bench: Bench, looking: Looking) -> None:
    ben = Speaker("ben", "ben")
    await bench.say("/goal allow @ben")
    await bench.say("/goal room mcp add calc calc-server")

    for text in ("add other x", "take calc", "remove calc"):
        await bench.say(f"/goal room mcp {text}", speaker=ben)

    assert [one.name for one in await bench.store.mcp_servers.of(ROOM)] == ["calc"]
    assert len(looking.looked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "mcp add", "mcp add calc", "mcp add Calc x", "mcp add a_b x", "mcp add calc 'x",
        "mcp take", "mcp take a b", "mcp remove", "mcp list all", "mcp add calc https://",
        "mcp add calc http://1.2.3.4.5/", "mcp add calc https://u:p@example.org/mcp",
        "mcp add calc https://example.org/mcp secret", "mcp add calc https://example.org/ secret a b",
        "mcp add calc https://example.org:99999/", "mcp add calc https://example.org/mcp?api_key=x",
        "mcp add calc https://example.org/mcp#x", "mcp add calc x\x07y",
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_answered_with_the_mend(text: str) -> None:
    with pytest.raises(BadInput, match=r"room mcp|name|command line|address"):
        read_mcp(text, Texts())


@pytest.mark.parametrize("text", ["mcp servers for the team", "mcps", "goals off", "mcp of it all"])
def test_an_objective_is_no_server(text: str) -> None:
    assert read_mcp(text, Texts()) is None


def test_the_bare_words_are_the_list() -> None:
    assert read_mcp("mcp", Texts()) == read_mcp("MCP List", Texts()) == McpWords()
