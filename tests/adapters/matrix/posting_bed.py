"""What posting needs to be tried: a bot with a client that syncs when it is told to, and rooms."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import nio

from adapters.matrix.posting import Posting
from adapters.matrix.render import Words
from bot.ports.chat import Button, Outgoing, Place, Shape
from tests.adapters.matrix.encrypted_bot import client_of
from tests.doubles.files import MemoryFiles
from tests.peers.synapse import Account, Json, Synapse

WORDS = Words(whole="The whole text is in {name}.", origin="about this", lost="{name} is lost.")
ENCRYPTED: Json = {"algorithm": "m.megolm.v1.aes-sha2"}


@dataclass
class Poster:
    """A bot that posts; `ann` is a person in its rooms, played by plain calls."""

    synapse: Synapse
    account: Account
    ann: Account
    client: nio.AsyncClient
    posting: Posting
    files: MemoryFiles = field(default_factory=MemoryFiles)

    async def sync(self) -> None:
        """One round."""
        response = await self.client.sync(timeout=0, full_state=self.client.next_batch == "")
        assert isinstance(response, nio.SyncResponse), response
        if self.client.should_upload_keys:
            await self.client.keys_upload()
        if self.client.should_query_keys:
            await self.client.keys_query()

    async def room(self, *, encrypted: bool = False, by: Account | None = None) -> Place:
        """A new room of the person's with the bot in it, known to the client."""
        state = [{"type": "m.room.encryption", "state_key": "", "content": ENCRYPTED}]
        wish: Json = {
            "preset": "private_chat",
            "invite": [self.account.user_id],
            "initial_state": state if encrypted else [],
        }
        made = self.synapse.done(
            "POST", "/_matrix/client/v3/createRoom", wish, (by or self.ann).token
        )
        room = str(made["room_id"])
        await self.join(room)
        return Place("matrix", self.account.user_id, room)

    async def join(self, room: str) -> None:
        """Join, and know it."""
        path = f"/_matrix/client/v3/join/{quote(room)}"
        self.synapse.done("POST", path, {}, self.account.token)
        await self.sync()

    def say(self, room: str, text: str) -> str:
        """The person says something."""
        return self.put(room, "m.room.message", {"msgtype": "m.text", "body": text})

    def put(self, room: str, type: str, content: Json) -> str:
        """The person sends an event in clear."""
        path = f"/_matrix/client/v3/rooms/{quote(room)}/send/{type}/{time.monotonic_ns()}"
        return str(self.synapse.done("PUT", path, content, self.ann.token)["event_id"])

    def set_state(self, room: str, type: str, content: Json) -> None:
        """The person sets a state."""
        path = f"/_matrix/client/v3/rooms/{quote(room)}/state/{type}/"
        self.synapse.done("PUT", path, content, self.ann.token)

    def events(self, room: str, sender: str = "") -> list[Json]:
        """What is in the room as the server has it, oldest first; of the bot unless said."""
        found: list[Json] = []
        start, path = "", f"/_matrix/client/v3/rooms/{quote(room)}/messages?dir=b&limit=100"
        for _ in range(20):
            page = self.synapse.done("GET", path + start, token=self.ann.token)
            found += page["chunk"]
            if not page.get("end"):
                break
            start = f"&from={page['end']}"
        wanted = sender or self.account.user_id
        found = [event for event in found if event["sender"] == wanted]
        return [event for event in reversed(found) if "state_key" not in event]


@asynccontextmanager
async def poster(synapse: Synapse, folder: Path) -> AsyncIterator[Poster]:
    """A new bot and a new person."""
    account, ann = synapse.register("headway"), synapse.register("ann")
    async with again(synapse, folder, account, ann) as there:
        yield there


@asynccontextmanager
async def again(
    synapse: Synapse, folder: Path, account: Account, ann: Account
) -> AsyncIterator[Poster]:
    """A process of a bot that was there before."""
    client, files = client_of(synapse, account, folder), MemoryFiles()
    posting = Posting(client, WORDS, files, time.monotonic)
    there = Poster(synapse, account, ann, client, posting, files)
    try:
        await there.sync()
        yield there
    finally:
        await posting.close()
        await client.close()
        await asyncio.sleep(0)


def in_thread(place: Place, root: str) -> Place:
    return Place(place.network, place.workspace, place.room, root)


def a_result(place: Place, key: str, body: str, *mentions: str) -> Outgoing:
    shape = Shape(
        "✅", "Complete", ("G1", "9 turns"), body=body, mentions=mentions, state="complete"
    )
    return Outgoing(key, place, shape)


def a_status(place: Place, key: str, now: str, edits: str = "", word: str = "Working") -> Outgoing:
    shape = Shape(
        "⏳", word, ("G1", "turn 1 of 20"), body="Mend the build", now=now,
        tasks=(("Look", "done"), ("Mend", "doing")), buttons=(Button("pause", "Pause"),),
        goal="g1", state="working",
    )  # fmt: skip
    return Outgoing(key, place, shape, silent=True, edits=edits)
