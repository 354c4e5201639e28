"""What every book of MCP servers does."""

from dataclasses import replace

import pytest

from bot.errors import IllegalMove
from bot.ports.chat import Place
from bot.ports.mcp_servers import How, McpServer, TakenTool
from bot.ports.people import Answer, Note
from tests.contracts.stores import Bed

ROOM = Place("matrix", "hs", "!room")
TOOL = TakenTool(
    "a.b \u2028", "mcp_calc_a_b_123456", "Adds.\nAnd more ü.", {"type": "object", "properties": {}}
)
SERVER = McpServer(
    ROOM, "calc", How(("npx", "calc server", "--x=ü")), (TOOL,), "d" * 64, "person-1"
)
WEB = McpServer(ROOM, "web", How(url="https://tools.example.org/mcp", secret="TOKEN"))


class McpServersContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_server_comes_back_as_it_was_kept(self, bed: Bed) -> None:
        for one in (WEB, SERVER, replace(SERVER, room=Place("matrix", "hs", "!other"))):
            await bed.mcp_servers.put(one)

        found = await bed.mcp_servers.of(replace(ROOM, thread="$t"))

        assert [replace(one, set_at=0.0) for one in found] == [SERVER, WEB]
        assert all(one.set_at > 0 for one in found)
        assert await bed.mcp_servers.of(Place("matrix", "hs", "!unseen")) == ()

    async def test_a_server_takes_the_place_of_the_one_of_its_name(self, bed: Bed) -> None:
        await bed.mcp_servers.put(SERVER)

        await bed.mcp_servers.put(replace(SERVER, how=How(("other",)), tools=(), digest=""))

        [found] = await bed.mcp_servers.of(ROOM)
        assert (found.how, found.tools, found.digest) == (How(("other",)), (), "")

    async def test_a_server_is_removed_once_and_no_other_with_it(self, bed: Bed) -> None:
        for one in (SERVER, WEB):
            await bed.mcp_servers.put(one)

        removed = [await bed.mcp_servers.remove(ROOM, "calc") for _ in range(2)]

        assert removed == [True, False]
        assert [one.name for one in await bed.mcp_servers.of(ROOM)] == ["web"]
        assert not await bed.mcp_servers.remove(Place("matrix", "hs", "!unseen"), "web")

    async def test_what_is_said_of_a_change_is_written_with_it(self, bed: Bed) -> None:
        main = (await bed.rooms.begin(ROOM)).session
        message = bed.message(place=ROOM)
        await bed.inbox.receive_all((message,))
        answer = Answer((Note(main, "mcp:1", "calc is a server here."),), (message.id,))

        await bed.mcp_servers.put(SERVER, answer)

        assert "mcp:1" in await bed.keys("matrix")
        with pytest.raises(IllegalMove):
            await bed.mcp_servers.put(replace(SERVER, digest="e" * 64), answer)
        [found] = await bed.mcp_servers.of(ROOM)
        assert found.digest == "d" * 64

    async def test_nothing_is_said_of_a_server_that_there_is_not(self, bed: Bed) -> None:
        main = (await bed.rooms.begin(ROOM)).session
        answer = Answer((Note(main, "mcp:2", "calc is gone."),))

        assert not await bed.mcp_servers.remove(ROOM, "calc", answer)
        assert "mcp:2" not in await bed.keys("matrix")

    async def test_the_servers_of_a_room_that_was_replaced_come_along(self, bed: Bed) -> None:
        await bed.rooms.begin(ROOM)
        for one in (SERVER, WEB, replace(WEB, room=Place("matrix", "hs", "!new"), how=How(("x",)))):
            await bed.mcp_servers.put(one)

        await bed.rooms.move(ROOM, "!new", lambda goal: "")

        found = await bed.mcp_servers.of(Place("matrix", "hs", "!new"))
        assert [(one.name, one.how) for one in found] == [
            ("calc", SERVER.how),
            ("web", How(("x",))),
        ]
        assert await bed.mcp_servers.of(ROOM) == ()
