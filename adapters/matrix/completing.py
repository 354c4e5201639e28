"""
What an arrival needs that its event does not hold: a file, the text under a reaction, the room moved to.

Rule 1: what the homeserver can give in the end is waited for; what it refuses is left out, and said.
Rule 2: a file that does not come keeps no message back: the message says why it is not there.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import quote

import nio

from adapters.matrix import wire
from adapters.matrix.invites import join, server_of
from adapters.matrix.parse import (
    NETWORK,
    Hearer,
    Json,
    content_of,
    file_of,
    is_marked,
    moved_as,
    parse,
    thread_of,
    type_of,
)
from adapters.matrix.patience import LONGEST_S, Patience, pause_s
from adapters.matrix.reading import Read, Reader, events_of
from bot.errors import HeadwayError, Refused, StoreUnusable, Wait
from bot.ports.chat import (
    Arrival,
    Attachment,
    Changed,
    Incoming,
    Place,
    Reacted,
    RoomMoved,
    Speaker,
)
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

TARGET: Final = "\N{DIRECT HIT}"
"""The reaction that makes a goal of a message."""
FETCH_TRIES: Final = 4
FETCH_S: Final = 120.0
"""For all tries together: what is said after it waits."""
FETCHED_AT_ONCE: Final = 4
AUTHORS: Final = 5_000
"""Messages whose author is remembered, for edits of them."""

Fetch = Callable[[Json], Awaitable[Attachment | None]]
IsHeard = Callable[[Place, Speaker], Awaitable[bool]]
Unfetched = Callable[[str, str], str]
"""(name, why) as a note in the message's text."""


class Completing:
    """Asks the homeserver on behalf of arrivals."""

    def __init__(
        self,
        client: nio.AsyncClient,
        reader: Reader,
        patience: Patience,
        clock: Clock,
        *,
        fetch: Fetch,
        unfetched: Unfetched,
        is_heard: IsHeard,
    ) -> None:
        """`is_heard`: whether somebody's files are fetched at all."""
        self._client, self._reader, self._patience = client, reader, patience
        self._clock = clock
        self._fetch, self._unfetched, self._is_heard = fetch, unfetched, is_heard
        self._authors: OrderedDict[str, str] = OrderedDict()

    async def completed(self, arrival: Arrival, read: Read, hearer: Hearer) -> Arrival | None:
        """The arrival with what is asked for one by one; None where it does not count."""
        match arrival:
            case Incoming():
                self._remember(arrival.id, arrival.speaker.id)
            case Changed():
                author = await self._author(arrival)
                return arrival if author in ("", arrival.speaker.id) else None
            case Reacted():
                is_target = arrival.emoji.rstrip("\N{VARIATION SELECTOR-16}") == TARGET
                return await self._with_text(arrival, hearer) if is_target else arrival
            case RoomMoved():
                return await self._followed(arrival)
            case _:
                pass
        return arrival

    async def with_files(self, batch: Sequence[tuple[Arrival, Read]]) -> list[Arrival]:
        """The batch with its files, a few at a time."""
        turns = asyncio.Semaphore(FETCHED_AT_ONCE)

        async def filled(arrival: Arrival, read: Read) -> Arrival:
            content = file_of(read.source)
            if not isinstance(arrival, Incoming) or content is None:
                return arrival
            async with turns:
                return await self._with_file(arrival, content)

        return list(await asyncio.gather(*(filled(*one) for one in batch)))

    async def move_behind(self, room: str, info: Json, hearer: Hearer) -> RoomMoved | None:
        """The move that a room which we have just joined ends, where the old room says so, too."""
        state = [*events_of(info, "state"), *events_of(info, "timeline")]
        create = next((one for one in state if type_of(one) == "m.room.create"), None)
        before = content_of(create).get("predecessor")
        old = before.get("room_id") if isinstance(before, dict) else None
        if create is None or not isinstance(old, str):
            return None
        # Anybody can make a room that calls itself the next one.
        path = f"/rooms/{quote(old, safe='')}/state/m.room.tombstone"
        tombstone = await self._asked("GET", path, "The end of a room cannot be read")
        if tombstone is None or tombstone.get("replacement_room") != room:
            return None
        maker = str(create.get("sender", ""))
        place = Place(NETWORK, hearer.place.workspace, old)
        return RoomMoved(
            moved_as(old, room), place, Speaker(maker, hearer.name_of(maker)), room, hearer.now
        )

    async def _author(self, changed: Changed) -> str:
        """Who wrote what was changed; empty where that cannot be known."""
        known = self._authors.get(changed.id)
        if known is not None:
            return known
        event = await self._event(changed.place.room, changed.id)
        author = str(event.source.get("sender", "")) if event else ""
        self._remember(changed.id, author)
        return author

    async def _with_text(self, reacted: Reacted, hearer: Hearer) -> Reacted | None:
        event = await self._event(reacted.place.room, reacted.to)
        if event is None or event.is_shut:
            return reacted
        if is_marked(content_of(event.source)) and event.source.get("sender") != hearer.id:
            # It is another Headway that is asked to make a goal of what it said.
            return None
        said = parse(event.source, hearer, is_sealed=event.is_sealed)
        if not isinstance(said, Incoming):
            return reacted
        text = self._edited(event, said, hearer) or said.text
        thread = thread_of(content_of(event.source))
        return replace(reacted, text=text, place=replace(reacted.place, thread=thread))

    def _edited(self, event: Read, said: Incoming, hearer: Hearer) -> str:
        """What the message says since its last edit, which the homeserver gives with it."""
        unsigned = event.source.get("unsigned")
        relations = unsigned.get("m.relations") if isinstance(unsigned, dict) else None
        latest = relations.get("m.replace") if isinstance(relations, dict) else None
        read = self._reader.read(latest, said.place.room)
        if read is None or read.is_shut:
            return ""
        edit = parse(read.source, hearer, is_sealed=read.is_sealed)
        is_edit = isinstance(edit, Changed) and (edit.id, edit.speaker.id) == (
            said.id,
            said.speaker.id,
        )
        return edit.text if is_edit and isinstance(edit, Changed) else ""

    async def _followed(self, moved: RoomMoved) -> RoomMoved | None:
        via = (server_of(moved.speaker.id),)
        try:
            await self._patience.asked(
                lambda: join(self._client, moved.to, via=via), "The next room is joined"
            )
        except Refused as error:
            # Whoever runs the room has to invite us: its first event tells where it comes from.
            log.warning("%s was replaced by %s: %s", moved.place.room, moved.to, error)
            return None
        return moved

    async def _with_file(self, message: Incoming, content: Json) -> Incoming:
        if not await self._patience.stored(
            lambda: self._is_heard(message.place, message.speaker), "The list is read"
        ):
            return message
        name = next((content[key] for key in ("filename", "body") if content.get(key)), "")
        try:
            async with asyncio.timeout(FETCH_S):
                file = await self._fetched(content)
        except (HeadwayError, TimeoutError) as error:
            log.warning("The file of %s cannot be fetched: %s", message.id, error)
            note = self._unfetched(str(name), str(error) or f"It took more than {FETCH_S:.0f} s.")
            return replace(message, text=f"{message.text}\n\n{note}".strip())
        return message if file is None else replace(message, files=(file,))

    async def _fetched(self, content: Json) -> Attachment | None:
        failures = 0
        while True:
            try:
                return await self._fetch(content)
            except (Wait, StoreUnusable) as error:
                failures += 1
                if failures >= FETCH_TRIES:
                    raise
                await self._clock.sleep(min(pause_s(failures, error), LONGEST_S))

    async def _event(self, room: str, id: str) -> Read | None:
        path = f"/rooms/{quote(room, safe='')}/event/{quote(id, safe='')}"
        event = await self._asked("GET", path, "A message cannot be read")
        return self._reader.read(event, room) if event is not None else None

    async def _asked(self, method: str, path: str, what: str) -> Json | None:
        """The answer, or None where it is refused."""
        try:
            answer = await self._patience.asked(
                lambda: wire.call(self._client, method, path, what=what), what
            )
        except Refused as error:
            log.info("%s: %s", what, error)
            return None
        return answer.body

    def _remember(self, id: str, author: str) -> None:
        self._authors[id] = author
        while len(self._authors) > AUTHORS:
            self._authors.popitem(last=False)
