"""What posting needs to be tried: a bot that posts through the front, and no more."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from adapters.slack.calling import Calls
from adapters.slack.ids import message_id, parted
from adapters.slack.pace import Pace
from adapters.slack.people import Directory
from adapters.slack.posting import SlackPosting
from adapters.slack.render import Words
from bot.ports.chat import Outgoing, Place, Shape
from tests.doubles.files import MemoryFiles
from tests.peers.localslack import BOT_TOKEN, TEAM
from tests.peers.slack_front import SlackFront

WORDS = Words("The whole text is in `{name}`.", "Asked for here", "{name} cannot be sent here.")
ANN = f"{TEAM}:U01ALICE"
GENERAL = Place("slack", TEAM, "C01GEN")

Json = dict[str, Any]


@dataclass
class Poster:
    """A bot that posts."""

    front: SlackFront
    posting: SlackPosting
    calls: Calls
    files: MemoryFiles
    watch: Any
    """The clock that it was given."""
    ways: dict[str, str] = field(default_factory=dict)
    """Addresses by which messages can be answered."""

    def thread(self, text: str = "Somebody began a thread.", room: str = "C01GEN") -> Place:
        """A new thread in a channel."""
        ts = self.front.say("U01ALICE", room, text)
        return Place("slack", TEAM, room, message_id(room, ts))

    def message(self, id: str) -> Json:
        """A message as Slack has it."""
        found = self.front.mirror.get(*parted(id))
        assert found is not None, id
        return found

    def replies(self, place: Place) -> list[Json]:
        """What the bot said in a thread."""
        _, ts = parted(place.thread)
        return [one for one in self.front.mirror.thread(place.room, ts) if _is_ours(one)]

    def posted(self, room: str = "C01GEN") -> list[Json]:
        """All that the bot said in a channel."""
        return [one for one in self.front.mirror.of(room) if _is_ours(one)]


@asynccontextmanager
async def poster(
    front: SlackFront, clock: Any = time.monotonic, timeout_s: float = 5.0
) -> AsyncIterator[Poster]:
    """A bot of the front's first workspace."""

    async def token_for(workspace: str) -> str:
        return BOT_TOKEN

    pace = Pace(clock)
    calls = Calls(token_for, api_url=front.api_url, budget=pace, timeout_s=timeout_s)
    files, ways = MemoryFiles(), dict[str, str]()

    async def way_back(message: str) -> str:
        return ways.get(message, "")

    people = Directory(calls, clock)
    posting = SlackPosting(calls, people, WORDS, files, clock, way_back, pace)
    try:
        yield Poster(front, posting, calls, files, clock, ways)
    finally:
        await calls.close()


def says(body: str, place: Place = GENERAL, key: str = "k1", **further: Any) -> Outgoing:
    """A message that says a text."""
    return Outgoing(key, place, Shape("", "", body=body), **further)


def _is_ours(message: Json) -> bool:
    return message.get("user") == "U0BOT"
