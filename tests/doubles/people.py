"""The allow-list, claims, offers and notices in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from adapters.store.people import refuse_removal
from bot.ports.chat import Network, Place, Speaker
from bot.ports.clock import Clock
from bot.ports.doors import TRIES_MOST, Claimed, Heeded, Offered
from bot.ports.people import NOTHING, Answer, Entry, Register, Role, RoomName, Subject
from bot.ports.room_settings import Kept, Setting, read_kept, write_kept

if TYPE_CHECKING:
    from tests.doubles.store import MemoryStore


@dataclass(slots=True)
class _Claim:
    expires_at: float
    tries: int = 0
    used_at: float | None = None


@dataclass(slots=True)
class _Rows:
    entries: list[Entry] = field(default_factory=list)
    gone: set[tuple[str, str]] = field(default_factory=set)
    operators: dict[RoomName, str] = field(default_factory=dict)
    settings: dict[RoomName, str] = field(default_factory=dict)
    claims: dict[str, _Claim] = field(default_factory=dict)
    offers: dict[str, Offered] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)


class MemoryPeople:
    """Port People."""

    def __init__(self, store: "MemoryStore", clock: Clock) -> None:
        self._store, self._clock = store, clock
        self.rows = _Rows()

    async def register(self) -> Register:
        """Everything."""
        rooms = {name: read_kept(text) for name, text in self.rows.settings.items() if text != "{}"}
        entries = tuple(self._named(entry) for entry in self.rows.entries)
        operators = {(name[0], name[1], who) for name, who in self.rows.operators.items()}
        return Register(entries, frozenset(self.rows.gone), frozenset(operators), rooms)

    async def allow(self, entry: Entry, answer: Answer = NOTHING) -> bool:
        """Add an entry."""
        self._store.check(answer)
        subject, role, room = entry.subject, entry.role, entry.room
        is_new = not any(
            one.subject.is_same(subject) and one.role == role and _name(one.room) == _name(room)
            for one in self.rows.entries
        )
        if is_new:
            await self.write(entry)
        self._store.say(answer)
        return is_new

    async def write(self, entry: Entry) -> None:
        """A new line."""
        subject = entry.subject
        if subject.kind == "person":
            known = await self._store.rooms.known(subject.network, subject.id)
            speaker = Speaker(subject.id, known or subject.name or subject.id)
            await self._store.rooms.person(subject.network, speaker)
        subject = replace(subject, name="")
        room = entry.room and replace(entry.room, thread="")
        kept = replace(entry, subject=subject, room=room, given_at=self._clock.now())
        self.rows.entries.append(kept)

    async def remove(
        self,
        subject: Subject,
        *,
        role: Role | None = None,
        room: Place | None = None,
        answer: Answer = NOTHING,
    ) -> int:
        """Remove a subject's entries."""
        self._store.check(answer)
        gone = tuple(
            one
            for one in self.rows.entries
            if one.subject.is_same(subject)
            and role in (None, one.role)
            and (room is None or _name(one.room) == _name(room))
        )
        kept = [one for one in self.rows.entries if one not in gone]
        refuse_removal(tuple(kept), gone)
        self.rows.entries = kept
        self._store.say(answer)
        return len(gone)

    async def mark(self, network: Network, who: Speaker, *, is_gone: bool) -> bool:
        """Note that somebody is gone, or back."""
        known = await self._store.rooms.known(network, who.id)
        await self._store.rooms.person(network, Speaker(who.id, known or who.name))
        if ((network, who.id) in self.rows.gone) == is_gone:
            return False
        (self.rows.gone.add if is_gone else self.rows.gone.discard)((network, who.id))
        return True

    async def note_operator(self, room: Place, who: Speaker) -> bool:
        """Note whose console a room is."""
        name = (room.network, room.workspace, room.room)
        is_new = self.rows.operators.get(name) != who.id
        self.rows.operators[name] = who.id
        return is_new

    async def set_for_room(
        self, place: Place, key: str, value: Setting | None, *, by: str, answer: Answer = NOTHING
    ) -> None:
        """Set one of a room's settings."""
        self._store.check(answer)
        name = (place.network, place.workspace, place.room)
        kept = None if value is None else Kept(value, by, self._clock.now())
        self.rows.settings[name] = write_kept(self.rows.settings.get(name, "{}"), key, kept)
        self._store.say(answer)

    def _named(self, entry: Entry) -> Entry:
        if entry.subject.kind != "person":
            return entry
        name = self._store.rooms.name_of(entry.subject.network, entry.subject.id)
        return replace(entry, subject=replace(entry.subject, name=name))


class MemoryDoors:
    """Ports Claims, Offers and Notices."""

    def __init__(self, store: "MemoryStore", people: MemoryPeople, clock: Clock) -> None:
        self._store, self._people, self._clock = store, people, clock
        self._rows = people.rows

    async def open_claim(self, code_hash: str, *, lasts_s: float) -> None:
        """Keep a new code's hash."""
        for claim in self._open():
            claim.expires_at = self._clock.now()
        self._rows.claims[code_hash] = _Claim(self._clock.now() + lasts_s)

    async def is_claim_open(self) -> bool:
        """Whether there is a code that somebody could use now."""
        return any(True for _ in self._open())

    async def claim(
        self, code_hash: str, person: str, answer: Callable[[Claimed], Answer]
    ) -> Claimed:
        """Use a code."""
        outcome = self._outcome(code_hash)
        said = answer(outcome)
        self._store.check(said)
        if outcome == "wrong":
            self._count_try()
        if outcome == "taken":
            self._rows.claims[code_hash].used_at = self._clock.now()
            subject = self._store.rooms.subject(person)
            await self._people.write(Entry(subject, "admin", given_by=person))
        self._store.say(said)
        return outcome

    async def void_claim(self, code_hash: str) -> None:
        """End that code."""
        claim = self._rows.claims.get(code_hash)
        if claim in self._open():
            claim.expires_at = self._clock.now()

    async def offer(self, goal: str, *, to: str, by: str, answer: Answer) -> None:
        """Offer a goal."""
        self._store.check(answer)
        self._rows.offers[goal] = Offered(goal, to, by, self._clock.now())
        self._store.say(answer)

    async def offered(self, goal: str) -> Offered | None:
        """The goal's open offer."""
        found = self._rows.offers.get(goal)
        if found is None or (await self._store.journal.changed_hands(goal)) >= found.at:
            return None
        return found

    async def withdraw(self, goal: str, answer: Answer) -> None:
        """End the goal's offer."""
        self._store.check(answer)
        self._rows.offers.pop(goal, None)
        self._store.say(answer)

    async def say_once(self, key: str, *, every_s: float, answer: Answer) -> bool:
        """Say it unless it was said lately."""
        self._store.check(answer)
        now, told = self._clock.now(), self._rows.told.get(key)
        is_due = told is None or now - told >= every_s
        if is_due:
            self._rows.told[key] = now
        self._store.say(answer if is_due else Answer(handled=answer.handled))
        return is_due

    async def forget_said(self, key: str) -> None:
        """Say it again."""
        self._rows.told.pop(key, None)

    async def home(self, session: str) -> Place:
        """Where a session lives."""
        return self._store.rooms.place(session)

    async def heeded(self, message: str) -> Heeded | None:
        """A message that was taken in."""
        return next((one for one in self._store.inbox.all() if one.message.id == message), None)

    async def last_heeded(self, place: Place, person: str, before: str) -> Heeded | None:
        """The last message of a person in a place before another one."""
        found = None
        who = self._store.rooms.subject(person).id
        for one in self._store.inbox.all():
            if one.message.id == before:
                break
            if one.message.place == place and one.message.speaker.id == who:
                found = one
        return found

    def _open(self) -> list[_Claim]:
        now = self._clock.now()
        return [claim for claim in self._rows.claims.values() if claim.expires_at > now]

    def _outcome(self, code_hash: str) -> Claimed:
        claim = self._rows.claims.get(code_hash)
        if claim is not None:
            is_open = claim.expires_at > self._clock.now()
            return "used" if claim.used_at is not None else "taken" if is_open else "expired"
        if self._open():
            return "wrong"
        is_closed = any(one.tries >= TRIES_MOST for one in self._rows.claims.values())
        return "closed" if is_closed else "none"

    def _count_try(self) -> None:
        for claim in self._open():
            claim.tries += 1
            if claim.tries >= TRIES_MOST:
                claim.expires_at = self._clock.now()


def _name(place: Place | None) -> RoomName | None:
    return None if place is None else (place.network, place.workspace, place.room)
