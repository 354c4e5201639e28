"""Intake and delivery over the in-memory store, with a console in a temporary folder."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from adapters.console.connection import ConsoleChat
from adapters.console.parse import Edited, Posted, Taken
from adapters.console.room import RoomFile, room_path
from adapters.store.open import open_store
from bot.chat.allow_list import AllowList
from bot.chat.delivery import Delivery
from bot.chat.departures import Departures
from bot.chat.desk import Desk
from bot.chat.facts import Manner
from bot.chat.intake import Intake
from bot.chat.secret_keeping import Keeping
from bot.goals.events import Event
from bot.goals.goal import Goal
from bot.goals.instructions import Instruction
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from bot.ports.chat import Shape, Speaker
from bot.ports.journal import Content, Task, Unit
from bot.ports.people import Register
from bot.ports.plain import plain
from bot.wiring.people import ConsoleMembers
from tests.bot.chat.network import Net
from tests.bot.chat.slack_net import SlackNet
from tests.doubles.clock import HandClock
from tests.doubles.store import MemoryStore

ANN = Speaker("ann", "ann")


@dataclass
class Bench:
    """A whole chat without agent or worker: events of those are given by the test."""

    folder: Path
    clock: HandClock = field(default_factory=HandClock)
    woken: list[tuple[str, tuple[Instruction, ...]]] = field(default_factory=list)
    recalled: int = 0

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self.console = ConsoleChat(self.folder, self.clock)
        self.manner = Manner(zone=ZoneInfo("Europe/Berlin"))
        self.allow_list = AllowList(
            self.store.people,
            self.store.doors,
            self.store.rooms,
            ConsoleMembers(),
        )
        # What the process notes at its start.
        operators = frozenset({("console", "", "ann")})
        self.store.people.rows.operators["console", "", "console"] = "ann"
        self.allow_list.take(Register(operators=operators))
        self.departures = Departures(
            self.allow_list,
            self.store.journal,
            self.store.rooms,
            self.store.doors,
            self.manner,
            self._wake,
        )
        self.allow_list.changed = self.departures.look
        self.desk = Desk(
            self.store.inbox,
            self.store.journal,
            self.store.rooms,
            self.store.outbox,
            self.clock,
            budget=DEFAULT_BUDGET,
            wake=self._wake,
            manner=self.manner,
            allow_list=self.allow_list,
            doors=self.store.doors,
            holds=self.store.holds,
            repositories=self.store.repositories,
            secrets=Keeping(self.store.secret_uses),
            permissions=self.store.permissions,
            recall=self._recall,
        )
        self.intake = Intake(self.desk, self.allow_list.of)
        self.delivery = Delivery(
            self.store.outbox,
            self.store.journal,
            self.store.rooms,
            (self.console,),
            self.manner,
            self.clock,
            manner_in=self.desk.manner_in,
        )
        self.delivery.holds = self.store.holds
        self._file = RoomFile(room_path(self.folder))
        self.posts: dict[str, Shape] = {}
        self.threads: dict[str, str] = {}

    async def say(self, text: str, thread: str = "", speaker: Speaker = ANN) -> str:
        """Somebody says it at the console; it is handled and answered."""
        id = await self.console.say(speaker, text, thread)
        await self.deliver()
        return id

    async def deliver(self) -> None:
        """Take in what was said, handle it, send what there is to send."""
        self.console._catch_up()
        for message in list(self.console._open.values()):
            await self.intake.receive(message)
            await self.console._append(Taken(message.id))
            self.console._open.pop(message.id)
        await self.intake.drain()
        await self.delivery.drain()
        for line in self._file.news():
            if isinstance(line, Posted | Edited):
                self.posts[line.id] = line.shape
                self.threads[line.id] = line.thread

    async def start(self, objective: str = "write a haiku about tides") -> tuple[str, Goal]:
        """A goal in its thread."""
        thread = await self.say(f"/goal {objective}")
        return thread, await self.goal(thread)

    async def goal(self, thread: str) -> Goal:
        """The newest goal of a thread."""
        from adapters.console.parse import room

        session = await self.store.rooms.thread(room(thread))
        assert session is not None
        goal = await self.store.rooms.last_goal(session.session)
        assert goal is not None
        return goal

    async def happens(
        self,
        goal: Goal,
        *events: Event,
        contents: Sequence[str] = (),
        tasks: tuple[Task, ...] | None = None,
    ) -> Goal:
        """What agent, audit or timer do."""
        unit = Unit(goal.id, events, tuple(Content(text) for text in contents), tasks=tasks)
        return (await self.store.journal.commit(unit)).goal

    def answers(self, thread: str = "") -> list[str]:
        """All that Headway says in a thread, as text, oldest first."""
        shown = [plain(s) for id, s in self.posts.items() if self.threads[id] == thread]
        return [text.replace("  \n", "\n") for text in shown]

    def last(self, thread: str = "") -> str:
        """The last that Headway said in a thread."""
        return self.answers(thread)[-1]

    async def _recall(self) -> None:
        self.recalled += 1

    def _wake(self, goal: str, instructions: Sequence[Instruction]) -> None:
        self.woken.append((goal, tuple(instructions)))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(params=["memory", "sqlite"])
async def stored(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Net]:
    """A network over the double of a store, and over a real one."""
    clock = HandClock()
    if request.param == "memory":
        yield Net(clock=clock)
        return
    async with open_store(
        "sqlite:///headway.db", clock=clock, limits=LIMITS, state_dir=tmp_path
    ) as store:
        yield Net(store, clock)


@pytest.fixture(params=["memory", "sqlite"])
async def slack(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SlackNet]:
    """A network as Slack is, over the double of a store, and over a real one."""
    clock = HandClock()
    if request.param == "memory":
        yield SlackNet(clock=clock)
        return
    async with open_store(
        "sqlite:///headway.db", clock=clock, limits=LIMITS, state_dir=tmp_path
    ) as store:
        yield SlackNet(store, clock)
