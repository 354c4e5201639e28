"""A network with reactions, rooms of two and encryption: intake and delivery over a store."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.chat.allow_list import AllowList
from bot.chat.delivery import Delivery
from bot.chat.desk import Desk
from bot.chat.facts import Manner
from bot.chat.intake import Intake
from bot.chat.secret_keeping import Keeping
from bot.goals.events import Event
from bot.goals.goal import Goal
from bot.goals.instructions import Instruction
from bot.goals.limits import DEFAULT_BUDGET
from bot.ports.chat import Arrival, Incoming, Place, Reacted, Removed, Speaker
from bot.ports.journal import Content, Unit
from bot.ports.people import Entry, Role, Subject
from bot.ports.plain import plain
from tests.doubles.chat import MemoryChat
from tests.doubles.clock import HandClock
from tests.doubles.store import MemoryStore

BOT = "@headway:example.org"
ANN, BEN = Speaker("@ann:example.org", "ann"), Speaker("@ben:example.org", "ben")
EVE = Speaker("@eve:example.org", "eve")


def room(thread: str = "", name: str = "!room") -> Place:
    """A room of the bot's, or a thread in it."""
    return Place("matrix", BOT, name, thread)


@dataclass
class MemoryMembers:
    """Port Members."""

    direct: set[str] = field(default_factory=set)
    encrypted: set[str] = field(default_factory=set)
    outside: set[tuple[str, str]] = field(default_factory=set)
    """(person, room) of who is not in a room."""
    closed: set[str] = field(default_factory=set)
    """Rooms in which the bot is not, and which it may not join."""
    will_raise: list[Exception] = field(default_factory=list)
    """Raised as it next enters a room."""
    guests: set[str] = field(default_factory=set)
    """Who is a guest wherever they are."""

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Everybody is everywhere, but for whom the test says."""
        return (who.id, room.room) not in self.outside

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """As the test says."""
        return who.id not in self.guests

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """There are no groups."""
        return False

    async def is_direct(self, place: Place) -> bool:
        """As the test says."""
        return place.room in self.direct

    async def is_encrypted(self, place: Place) -> bool:
        """As the test says."""
        return place.room in self.encrypted

    async def enter(self, room: Place) -> bool:
        """As the test says."""
        if self.will_raise:
            raise self.will_raise.pop(0)
        return room.room not in self.closed


class MemorySigns:
    """Port Signs: what stands under each message."""

    def __init__(self) -> None:
        self.under: dict[str, list[str]] = {}
        self.will_raise: list[Exception] = []
        self.asked = 0
        self.working: list[frozenset[Place]] = []

    async def react(self, place: Place, message: str, emoji: str) -> str:
        """Put it there."""
        self.asked += 1
        if self.will_raise:
            raise self.will_raise.pop(0)
        self.under.setdefault(message, []).append(emoji)
        return f"{message} {emoji}"

    async def take_reaction(self, place: Place, reaction: str) -> None:
        """Take it away."""
        message, emoji = reaction.split(" ")
        self.under[message].remove(emoji)

    async def show_working(self, places: frozenset[Place]) -> None:
        """Note where."""
        if self.will_raise:
            raise self.will_raise.pop(0)
        self.working.append(places)


class Net:
    """A chat without agent or worker: events of those are given by the test."""

    def __init__(
        self, store: Any = None, clock: HandClock | None = None, chat: MemoryChat | None = None
    ) -> None:
        """`store`: a real one on that clock, in place of the double."""
        self.clock = clock or HandClock()
        self.store: Any = store or MemoryStore(self.clock)
        self.chat, self.members = chat or MemoryChat("matrix"), MemoryMembers()
        self.manner = Manner()
        self.allow_list = AllowList(
            self.store.people, self.store.doors, self.store.rooms, self.members
        )
        self.woken: list[tuple[str, tuple[Instruction, ...]]] = []
        self.desk = Desk(
            self.store.inbox, self.store.journal, self.store.rooms, self.store.outbox, self.clock,
            budget=DEFAULT_BUDGET, wake=self._wake, manner=self.manner, allow_list=self.allow_list,
            doors=self.store.doors, holds=self.store.holds,
            secrets=Keeping(self.store.secret_uses, "https://bot.example.org/"),
            permissions=self.store.permissions,
        )  # fmt: skip
        self.intake = Intake(self.desk, self.allow_list.of)
        self.delivery = Delivery(
            self.store.outbox, self.store.journal, self.store.rooms, (self.chat,), self.manner,
            self.clock, manner_in=self.desk.manner_in,
        )  # fmt: skip
        self._count = 0

    async def allow(self, who: Speaker, role: Role = "user") -> None:
        """Somebody is on the list."""
        await self.allow_list.allow(Entry(Subject("person", "matrix", who.id), role))

    async def say(
        self, text: str, who: Speaker = ANN, place: Place | None = None, **more: object
    ) -> str:
        """Somebody says it; it is handled and answered."""
        said = Incoming(self._id("m"), place or room(), who, text, self.clock.now())
        await self.take(replace(said, **more))  # type: ignore[arg-type]
        return said.id

    async def react(
        self, emoji: str, to: str, who: Speaker = ANN, text: str = "", place: Place | None = None
    ) -> str:
        """Somebody reacts to a message; returns the reaction's id."""
        id = self._id("e")
        await self.take(Reacted(id, place or room(), who, emoji, to, self.clock.now(), text))
        return id

    async def remove(self, id: str, who: Speaker = ANN) -> None:
        """Somebody takes back a message or a reaction."""
        await self.take(Removed(id, room(), who, self.clock.now()))

    async def take(self, *arrivals: Arrival) -> None:
        """It comes; it is handled and answered."""
        await self.intake.receive(*arrivals)
        await self.intake.drain()
        await self.delivery.drain()

    async def happens(self, goal: Goal, *events: Event, contents: Sequence[str] = ()) -> Goal:
        """What agent, audit or timer do."""
        unit = Unit(goal.id, events, tuple(Content(text) for text in contents))
        goal = (await self.store.journal.commit(unit)).goal
        self.clock.move(6)
        await self.delivery.drain()
        return goal

    async def goals(self) -> list[Goal]:
        """All goals, oldest first."""
        return list(reversed(await self.store.rooms.goals()))

    async def objective(self, goal: Goal) -> str:
        """What it is to reach."""
        return await self.desk.objective(goal)

    def said(self, thread: str = "", name: str = "!room") -> list[str]:
        """What stands in a thread of ours, oldest first."""
        posts = self.chat.posts.values()
        return [plain(post.shape) for post in posts if post.place == room(thread, name)]

    def post(self, kind: str) -> str:
        """The remote id of the last post whose key has that part."""
        return [id for id, post in self.chat.posts.items() if f":{kind}:" in post.key][-1]

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"${kind}{self._count}"

    def _wake(self, goal: str, instructions: Sequence[Instruction]) -> None:
        self.woken.append((goal, tuple(instructions)))
