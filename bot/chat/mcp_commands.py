"""
`room mcp`: the servers of tools that a room's goals have.

Rule 1: an admin's alone. A change and its answer are one transaction, and the room is told once.
Rule 2: a server is looked at before it is kept or taken: what is kept is what it offered then. One that
        cannot be looked at changes nothing.
"""

from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.mcp_words import McpWords, listed, shown, taken
from bot.chat.secret_lending import refuse_foreign
from bot.errors import BadInput, Refused
from bot.ports.chat import Place
from bot.ports.mcp_servers import (
    SERVERS_MOST,
    How,
    Listing,
    Looking,
    McpServer,
    McpServers,
    TakenTool,
)
from bot.ports.people import Answer, Note
from bot.tools.untrusted import one_line

WHY_CHARS = 300


class McpCommands:
    """`mcp add NAME COMMAND|URL [secret NAME]`, `mcp take NAME`, `mcp remove NAME`, `mcp list`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def show(self, heard: Heard, place: Place) -> None:
        """The room's servers."""
        servers, _ = self._kept()
        found = await servers.of(place)
        await self._desk.answer(heard, listed(found, self._desk.manner.texts))

    async def brief(self, place: Place) -> str:
        """A line among the room's settings; empty where it has none."""
        servers = self._desk.mcp_servers
        found = await servers.of(place) if servers is not None else ()
        texts = self._desk.manner.texts
        names = texts("list_of").join(f"`{one.name}`" for one in found)
        return texts("said.mcp.brief", names=names) if found else ""

    async def change(self, heard: Heard, place: Place, words: McpWords) -> None:
        """Add, take or remove one. Raises BadInput, Refused."""
        match words.doing:
            case "add":
                await self._add(heard, place, words)
            case "take":
                await self._take(heard, place, words.name)
            case _:
                await self._remove(heard, place, words.name)
        self._desk.posted()

    async def _add(self, heard: Heard, place: Place, words: McpWords) -> None:
        servers, _ = self._kept()
        texts, known = self._desk.manner.texts, await servers.of(place)
        is_there = any(one.name == words.name for one in known)
        if len(known) >= SERVERS_MOST and not is_there:
            raise BadInput(texts("bad.mcp.many", most=SERVERS_MOST))
        listing = await self._looked(heard, place, words.name, words.how)
        told = texts(
            "said.mcp.added",
            name=words.name,
            how=shown(words.how, texts),
            by=heard.message.speaker.name,
        )
        await self._keep(heard, place, words.name, words.how, listing, told, ())

    async def _take(self, heard: Heard, place: Place, name: str) -> None:
        servers, _ = self._kept()
        known = {one.name: one for one in await servers.of(place)}
        texts = self._desk.manner.texts
        if name not in known:
            raise BadInput(texts("bad.mcp.unknown", name=_named(name)))
        listing = await self._looked(heard, place, name, known[name].how)
        told = texts("said.mcp.taken", name=name, by=heard.message.speaker.name)
        await self._keep(heard, place, name, known[name].how, listing, told, known[name].tools)

    async def _keep(
        self,
        heard: Heard,
        place: Place,
        name: str,
        how: How,
        listing: Listing,
        told: str,
        old: tuple[TakenTool, ...],
    ) -> None:
        servers, _ = self._kept()
        words = taken(name, listing, old, self._desk.manner.texts)
        server = McpServer(place, name, how, listing.tools, listing.digest, heard.person)
        await servers.put(server, await self._told(heard, place, f"{told}\n{words}"))

    async def _remove(self, heard: Heard, place: Place, name: str) -> None:
        texts = self._desk.manner.texts
        servers, _ = self._kept()
        told = texts("said.mcp.removed", name=_named(name), by=heard.message.speaker.name)
        if not await servers.remove(place, name, await self._told(heard, place, told)):
            raise BadInput(texts("bad.mcp.unknown", name=_named(name)))

    async def _looked(self, heard: Heard, place: Place, name: str, how: How) -> Listing:
        _, looking = self._kept()
        texts = self._desk.manner.texts
        await refuse_foreign(self._desk, heard, place, how.secret)
        try:
            listing = await looking.look(place, name, how, by=heard.person)
        except BadInput as error:
            why = one_line(str(error), WHY_CHARS).rstrip(".")
            raise BadInput(texts("bad.mcp.look", name=name, why=why)) from error
        if not listing.tools:
            why = "; ".join(listing.left_out[:5])
            raise BadInput(
                texts("bad.mcp.empty" if why else "bad.mcp.no_tools", name=name, why=why)
            )
        return listing

    async def _told(self, heard: Heard, place: Place, text: str) -> Answer:
        answer = await self._desk.reply(heard, text)
        if not heard.message.place.thread:
            return answer
        main = (await self._desk.rooms.begin(place)).session
        return Answer((*answer.notes, Note(main, f"room:{heard.id}", text)), answer.handled)

    def _kept(self) -> tuple[McpServers, Looking]:
        servers, looking = self._desk.mcp_servers, self._desk.looking
        if servers is None or looking is None:
            raise Refused("Servers of tools are not kept here.", code="no_mcp")
        return servers, looking


def _named(name: str) -> str:
    return one_line(name, 60).replace("`", " ")
