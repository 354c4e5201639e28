"""
The loop that reads: one answer of /sync after the other, each given on whole before the next is asked.

Rule 1: our own position counts, stored in the transaction of the last of what it covers. nio has written
        the keys that came before any of it is given on.
Rule 2: on the first look ever, history is history; only invitations count.
Rule 3: what cannot be stored is given again and nothing more is asked for: memory is bounded, and in an
        answer, too, it is given on a hundred at a time.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import nio

from adapters.matrix.asking import Asking
from adapters.matrix.completing import Completing
from adapters.matrix.gaps import page_of
from adapters.matrix.invites import Invites
from adapters.matrix.keys import keep_up
from adapters.matrix.members import RoomMembers, is_space
from adapters.matrix.mentions import Names
from adapters.matrix.parse import NETWORK, Hearer, Json, is_own_membership, parse, type_of
from adapters.matrix.patience import Patience
from adapters.matrix.reading import Read, Reader, Taken, events_of, position_of, rooms_of
from adapters.matrix.rooms import has_just_joined, heard
from adapters.matrix.sealed import SealedEvents
from bot.errors import HeadwayError, Refused
from bot.ports.chat import Arrival, Place, Receive, Removed, RoomLost, Speaker
from bot.ports.clock import Clock
from bot.ports.positions import Position, Positions, Sealed

log = logging.getLogger(__name__)

CHUNK: Final = 100
"""Arrivals given on at once."""
Overhear = Callable[[str, Read], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Parts:
    """What the loop joins."""

    asking: Asking
    reader: Reader
    patience: Patience
    members: RoomMembers
    invites: Invites
    sealed: SealedEvents
    completing: Completing


@dataclass(slots=True)
class _Batch:
    """What was read of an answer and is not given on yet."""

    arrivals: list[tuple[Arrival, Read]] = field(default_factory=list)
    sealed: list[Sealed] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.arrivals) + len(self.sealed) + len(self.opened)

    def clear(self) -> None:
        """It is given on."""
        self.arrivals, self.sealed, self.opened = [], [], []


class Syncing:
    """One account's ear."""

    def __init__(
        self,
        client: nio.AsyncClient,
        parts: Parts,
        positions: Positions,
        clock: Clock,
        heard: Callable[[], None],
    ) -> None:
        """`heard` is called with each answer."""
        self._client, self._parts = client, parts
        self._positions, self._clock = positions, clock
        self._heard = heard
        self.overhear_to_device: list[Callable[[Any], Awaitable[None]]] = []
        """Called with each to-device event, as nio has it."""
        self.overhear_in_room: list[Overhear] = []
        """Called with each new event of a room that can be read."""

    async def run(self, receive: Receive) -> None:
        """Read and give on until cancelled.

        Raises:
            SessionReplaced: there is another account now.
        """
        patience = self._parts.patience
        workspace = self._client.user_id
        since = await patience.stored(
            lambda: self._positions.position(NETWORK, workspace), "The position is read"
        )
        await patience.stored(self._parts.sealed.load, "What is sealed is read")
        invites: asyncio.Task[None] | None = None
        try:
            is_whole = True
            while True:
                # What ends the invitations ends this, too.
                if invites is not None and invites.done():
                    invites.result()
                answer, pause_s = await patience.asked(
                    partial(self._parts.asking.answer, since, is_whole=is_whole),
                    "The homeserver is listened to",
                    takes_no=True,
                )
                self._heard()
                since = await self._take(answer, since, receive)
                # Not before a first look: what is said in a room that is joined would be history.
                invites = invites or asyncio.create_task(self._parts.invites.run())
                is_whole = False
                await self._keep_up()
                if pause_s:
                    await self._clock.sleep(pause_s)
        finally:
            if invites is not None:
                invites.cancel()
                await asyncio.gather(invites, return_exceptions=True)

    async def _take(self, answer: Json, since: str | None, receive: Receive) -> str:
        """Give on all of an answer; returns its position, which is stored then."""
        token, parts = position_of(answer), self._parts
        taken = await parts.reader.take(answer)
        self._note_members(answer)
        parts.invites.see(answer)
        await self._overhear_to_device(taken)
        batch = _Batch()
        if since is not None:
            async for _ in self._read_all(answer, since, taken, batch):
                if len(batch) >= CHUNK:
                    await self._give(receive, batch, since)
        if token != since or len(batch):
            await self._give(receive, batch, token)
        return token

    async def _read_all(
        self, answer: Json, since: str, taken: Taken, batch: _Batch
    ) -> AsyncIterator[None]:
        """Put what was said into the batch; yields where the batch may be given on."""
        for opened in self._parts.sealed.openable(taken.keys):
            if opened.read is not None and not is_space(self._client, opened.room):
                await self._read_one(opened.read, opened.room, batch)
            batch.opened.append(opened.id)
            yield
        for kind in ("join", "leave"):
            for room, info in rooms_of(answer, kind):
                if is_space(self._client, room):
                    if kind == "leave":
                        self._client.rooms.pop(room, None)
                    continue
                async for _ in self._read_room(room, info, since, batch, is_left=kind == "leave"):
                    yield

    async def _read_room(
        self, room: str, info: Json, since: str, batch: _Batch, *, is_left: bool
    ) -> AsyncIterator[None]:
        user, hearer = self._client.user_id, self._hearer(room)
        if not is_left and has_just_joined(info, user):
            moved = await self._parts.completing.move_behind(room, info, hearer)
            if moved is not None:
                batch.arrivals.append((moved, Read({})))
                yield
        is_lost = False
        try:
            async for event in heard(info, user, partial(self._fetch, room, since), since=since):
                arrival = await self._read_event(event, room, batch)
                is_lost = is_lost or isinstance(arrival, RoomLost)
                yield
        except Refused as error:
            log.warning("What was said in %s cannot be read: %s", room, error)
        if is_left:
            if not is_lost and room in self._client.rooms:
                self._lose(room, info, hearer, since, batch)
            self._client.rooms.pop(room, None)
            batch.opened.extend(self._parts.sealed.of_room(room))
            yield

    async def _read_event(self, event: Json, room: str, batch: _Batch) -> Arrival | None:
        read = self._parts.reader.read(event, room)
        if read is None:
            return None
        if read.is_shut:
            if event.get("sender") != self._client.user_id:
                batch.sealed.append(self._parts.sealed.seal(event, room))
            return None
        return await self._read_one(read, room, batch)

    async def _read_one(self, read: Read, room: str, batch: _Batch) -> Arrival | None:
        for callback in self.overhear_in_room:
            await callback(room, read)
        hearer = self._hearer(room)
        arrival = parse(read.source, hearer, is_sealed=read.is_sealed)
        if arrival is not None:
            arrival = await self._parts.completing.completed(arrival, read, hearer)
        if arrival is not None:
            batch.arrivals.append((arrival, read))
        if isinstance(arrival, Removed):
            self._unseal(arrival.id, batch)
        return arrival

    def _unseal(self, id: str, batch: _Batch) -> None:
        """What was removed before it could be read is not waited for."""
        batch.sealed = [one for one in batch.sealed if one.id != id]
        if self._parts.sealed.is_kept(id):
            batch.opened.append(id)

    def _lose(self, room: str, info: Json, hearer: Hearer, since: str, batch: _Batch) -> None:
        """We are out of a room and its timeline does not say why: its state may."""
        for event in reversed(events_of(info, "state")):
            found = parse(event, hearer) if _is_own(event, hearer.id) else None
            if isinstance(found, RoomLost):
                batch.arrivals.append((found, Read({})))
                return
        us = Speaker(hearer.id, hearer.name_of(hearer.id))
        gone = RoomLost(f"{room}@{since}", hearer.place, us, "gone", hearer.now)
        batch.arrivals.append((gone, Read({})))

    async def _give(self, receive: Receive, batch: _Batch, token: str) -> None:
        parts, workspace = self._parts, self._client.user_id
        arrivals = await parts.completing.with_files(batch.arrivals)
        upto = Position(NETWORK, workspace, token, tuple(batch.sealed), tuple(batch.opened))
        await parts.patience.stored(
            lambda: receive(*arrivals, upto=upto), "What came cannot be stored"
        )
        parts.sealed.keep(batch.sealed)
        parts.sealed.let_go(batch.opened)
        batch.clear()

    async def _keep_up(self) -> None:
        try:
            if self._client.olm is not None:
                await keep_up(self._client)
        except HeadwayError as error:
            log.info("Keys are brought up to date later: %s", error)
        await self._parts.sealed.work()

    async def _overhear_to_device(self, taken: Taken) -> None:
        for event in taken.to_device:
            for callback in self.overhear_to_device:
                await callback(event)

    def _note_members(self, answer: Json) -> None:
        for kind in ("join", "leave"):
            for room, info in rooms_of(answer, kind):
                events = [*events_of(info, "state"), *events_of(info, "timeline")]
                if any(type_of(one) == "m.room.member" for one in events):
                    self._parts.members.forget(room)

    def _hearer(self, room: str) -> Hearer:
        user = self._client.user_id
        known = self._client.rooms.get(room)
        own = known.users.get(user) if known is not None else None
        shown: tuple[object, ...] = (own.display_name,) if own is not None else ()
        return Hearer(
            place=Place(NETWORK, user, room),
            names=Names(user, tuple(name for name in shown if isinstance(name, str) and name)),
            name_of=partial(name_of, self._client, room),
            now=self._clock.now(),
        )

    def _fetch(self, room: str, since: str) -> Callable[[str], Awaitable[Any]]:
        def fetch(start: str) -> Awaitable[Any]:
            return self._parts.patience.asked(
                lambda: page_of(self._client, room, start, since), "A gap is read"
            )

        return fetch


def name_of(client: nio.AsyncClient, room: str, user: str) -> str:
    """What somebody is called in a room; their id where that is not known."""
    known = client.rooms.get(room)
    name = known.user_name(user) if known is not None else None
    return name if isinstance(name, str) and name.strip() else user


def _is_own(event: object, user: str) -> bool:
    return isinstance(event, dict) and is_own_membership(event, user)
