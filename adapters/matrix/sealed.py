"""
Events whose key is missing: kept, asked for, told of once, and opened when the key comes.

Rule 1: what is kept is stored with the position that covers it, and let go with the one after: a crash
        loses nothing and gives nothing twice.
Rule 2: opened, they come in the order in which they were said, as if they were new.
Rule 3: after a minute one notice for each sender and session, where it was said; after seven days they
        are given up.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import nio

from adapters.matrix.parse import NETWORK, content_of, is_id, said_at, thread_of
from adapters.matrix.reading import Json, Read, Reader
from bot.errors import HeadwayError
from bot.ports.chat import Place, Speaker
from bot.ports.clock import Clock
from bot.ports.positions import Positions, Sealed

log = logging.getLogger(__name__)

TOLD_AFTER_S: Final = 60.0
KEPT_S: Final = 7 * 24 * 3600.0
KEPT_MOST: Final = 2_000
"""Beyond it the oldest are given up: somebody fills our store."""
ASKED_AT_ONCE: Final = 50

AskForKey = Callable[[nio.MegolmEvent], Awaitable[object]]


class TellUnreadable(Protocol):
    """Says in a room that a message there cannot be read yet."""

    async def __call__(self, place: Place, speaker: Speaker, key: str) -> None:
        """Queue the notice; `key` is the same for the same sender and session, and told once.

        Raises:
            HeadwayError: it is not queued, and is told again later.
        """


@dataclass(frozen=True, slots=True)
class Opened:
    """One that can be read now, or never (`read` is None)."""

    id: str
    room: str
    read: Read | None


@dataclass(slots=True)
class _Kept:
    sealed: Sealed
    sender: str
    thread: str
    since: float
    """When this process began to wait for its key."""


class SealedEvents:
    """Those of one account."""

    def __init__(
        self,
        reader: Reader,
        positions: Positions,
        clock: Clock,
        workspace: str,
        *,
        ask_for_key: AskForKey,
        tell: TellUnreadable,
        name_of: Callable[[str, str], str],
    ) -> None:
        """`name_of` gives a user's name in a room."""
        self._reader, self._positions, self._clock = reader, positions, clock
        self._workspace = workspace
        self._ask_for_key, self._tell, self._name_of = ask_for_key, tell, name_of
        self._kept: dict[str, _Kept] = {}
        self._due: set[str] = set()
        """Sessions that are worth a try: their key came, or may have come."""
        self._unasked: list[Sealed] = []

    async def load(self) -> None:
        """Take up what a former process kept. Raises as the store does."""
        kept = await self._positions.sealed(NETWORK, self._workspace)
        self._kept.clear()
        self.keep(kept)
        self._due = {one.key for one in kept}

    def seal(self, event: Json, room: str) -> Sealed:
        """One that cannot be read, as it is to be stored."""
        session = content_of(event).get("session_id")
        return Sealed(
            id=str(event["event_id"]),
            room=room,
            key=session if isinstance(session, str) else "",
            body=json.dumps(event),
            at=said_at(event, self._clock.now()),
        )

    def keep(self, sealed: Iterable[Sealed]) -> None:
        """Those are stored now."""
        for one in sealed:
            if one.id not in self._kept:
                event = _event(one)
                sender, thread = event.get("sender"), thread_of(content_of(event))
                sender = sender if is_id(sender) else ""
                self._kept[one.id] = _Kept(one, str(sender), thread, self._clock.now())
                self._unasked.append(one)

    def let_go(self, ids: Iterable[str]) -> None:
        """Those are stored no longer."""
        for id in ids:
            self._kept.pop(id, None)

    def is_kept(self, id: str) -> bool:
        """Whether it is one of them."""
        return id in self._kept

    def of_room(self, room: str) -> list[str]:
        """The ids of those of a room."""
        return [id for id, one in self._kept.items() if one.sealed.room == room]

    def openable(self, keys: frozenset[str]) -> list[Opened]:
        """What can be read now, in order, and what is given up; `keys` came lately.

        It stays kept until it is let go.
        """
        due, self._due = self._due | keys, set()
        kept = sorted(self._kept.values(), key=lambda one: (one.sealed.at, one.sealed.id))
        over, found = len(kept) - KEPT_MOST, list[Opened]()
        for place, one in enumerate(kept):
            opened = self._opened(one.sealed) if one.sealed.key in due else None
            if opened is None and (place < over or self._is_over(one)):
                log.warning("An event of %s could not be read and is given up", one.sealed.room)
                opened = Opened(one.sealed.id, one.sealed.room, None)
            if opened is not None:
                found.append(opened)
        return found

    async def work(self) -> None:
        """Ask for keys, and tell what is unread for a minute. Fails quietly: it comes again."""
        await self._ask()
        await self._tell_all()

    def _is_over(self, one: _Kept) -> bool:
        """Too old, and this process has waited for its key: the event may have come only now."""
        now = self._clock.now()
        return now - one.sealed.at > KEPT_S and now - one.since > TOLD_AFTER_S

    def _opened(self, one: Sealed) -> Opened | None:
        event = _event(one)
        if event and not self._reader.has_key(one.room, event):
            return None
        read = self._reader.read(event, one.room) if event else None
        return None if read is not None and read.is_shut else Opened(one.id, one.room, read)

    async def _ask(self) -> None:
        asked, self._unasked = self._unasked[:ASKED_AT_ONCE], self._unasked[ASKED_AT_ONCE:]
        sessions: set[str] = set()
        for one in asked:
            event = _megolm(_event(one), one.room)
            if one.key in sessions or one.id not in self._kept or event is None:
                continue
            sessions.add(one.key)
            try:
                await self._ask_for_key(event)
            except HeadwayError as error:
                log.info("A key cannot be asked for: %s", error)

    async def _tell_all(self) -> None:
        groups: dict[tuple[str, str, str], list[_Kept]] = {}
        for one in self._kept.values():
            groups.setdefault((one.sealed.room, one.sender, one.sealed.key), []).append(one)
        for group in groups.values():
            untold = [one for one in group if not one.sealed.is_told]
            waited_s = max((self._clock.now() - one.since for one in untold), default=0.0)
            if waited_s < TOLD_AFTER_S or not group[0].sender:
                continue
            try:
                if len(untold) == len(group):
                    await self._tell_of(untold[0])
                await self._positions.told([one.sealed.id for one in untold])
            except HeadwayError as error:
                log.info("It cannot be told yet that a message is unread: %s", error)
                continue
            for one in untold:
                one.sealed = replace(one.sealed, is_told=True)

    async def _tell_of(self, one: _Kept) -> None:
        room = one.sealed.room
        place = Place(NETWORK, self._workspace, room, one.thread)
        speaker = Speaker(one.sender, self._name_of(room, one.sender))
        await self._tell(place, speaker, f"{room}:{one.sender}:{one.sealed.key}")


def _event(one: Sealed) -> dict[str, Any]:
    """The event as it came; empty where it is none."""
    try:
        event = json.loads(one.body)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _megolm(event: dict[str, Any], room: str) -> nio.MegolmEvent | None:
    parsed = nio.Event.parse_event(event)
    if not isinstance(parsed, nio.MegolmEvent):
        return None
    parsed.room_id = room
    return parsed
