"""The demo's view of the database: the thread is begun by it, the journal only read."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adapters.clock import WallClock
from adapters.store.open import open_store
from adapters.store.reading import Reading as StoreReading
from bot import wiring
from bot.demo.story import Story
from bot.goals.goal import Goal
from bot.goals.machine import Entry
from bot.ports.chat import Place
from bot.settings import Settings


@dataclass(slots=True)
class Reading:
    """The journal of the one goal of a session; there may be none yet."""

    store: StoreReading
    session: str
    _position: int = 0

    async def news(self) -> list[tuple[Entry, Mapping[str, str]]]:
        """The goal's entries since the last time, each with the texts that are told of it."""
        lines = await self.store.journal.history(self.session, self._position)
        self._position = max([self._position, *(line.position for line in lines)])
        entries = [line.entry for line in lines]
        hashes = [each for entry in entries for each in Story.wanted(entry)]
        texts = await self.store.journal.contents(self.session, hashes) if hashes else {}
        return [(entry, texts) for entry in entries]

    async def whole(self) -> tuple[Goal, tuple[Entry, ...]]:
        """The goal as it is now, and its journal."""
        [row] = [each for each in await self.store.records.goals() if each.goal.number]
        return row.goal, await self.store.records.journal(row.goal.id)


async def begun(settings: Settings, place: Place) -> str:
    """The session of a thread that begins here, in a database that is made here.

    Raises:
        HeadwayError: the database cannot be made.
    """
    async with open_store(
        settings.database_url,
        clock=WallClock(),
        limits=settings.limits,
        state_dir=settings.state_dir,
    ) as store:
        return (await store.rooms.begin(place)).session


@asynccontextmanager
async def reading(settings: Settings, session: str) -> AsyncIterator[Reading]:
    """The session's journal, read only."""
    async with wiring.reading(settings) as store:
        yield Reading(store, session)
