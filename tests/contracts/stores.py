"""What the contract suites of the store stand on: a bed with every port, and goals to put in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from hypothesis import HealthCheck

from bot.goals import machine
from bot.goals.events import CallSettled, CallStarted, Event, GoalOpened, TurnEnded, TurnStarted
from bot.goals.goal import Goal
from bot.goals.limits import DEFAULT_BUDGET
from bot.goals.money import Budget, Usage
from bot.ports.chat import Incoming, Network, Place, Speaker
from bot.ports.holds import Holds
from bot.ports.incidents import Incidents
from bot.ports.journal import Applied, Content, Journal, Leases, Unit
from bot.ports.mail import Inbox, Outbox, Rooms
from bot.ports.records import Records
from tests.doubles import store_folds as folds

SHARED = (HealthCheck.function_scoped_fixture, HealthCheck.differing_executors)
"""One bed serves every example, and one suite every kind of bed."""
ANN = Speaker("U1", "Ann")


class Ports(Protocol):
    """Every port of a store."""

    @property
    def journal(self) -> Journal: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def rooms(self) -> Rooms: ...
    @property
    def records(self) -> Records: ...
    @property
    def holds(self) -> Holds: ...
    @property
    def incidents(self) -> Incidents: ...


class Time(Protocol):
    """The store's clock, in a test's hand."""

    async def now(self) -> float: ...
    async def pass_by(self, seconds: float) -> None: ...


@dataclass
class Bed:
    """A store, its time, and ids that nobody has used."""

    ports: Ports
    time: Time
    ids: "count[int]" = field(default_factory=lambda: count(1))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ports, name)

    def place(self, network: Network = "console", room: str = "room", thread: str = "") -> Place:
        return Place(network, "w", room, thread or f"t{next(self.ids)}")

    def message(self, text: str = "hello", place: Place | None = None) -> Incoming:
        return Incoming(f"m{next(self.ids)}", place or self.place(), ANN, text, 5.0, "")

    async def open(
        self,
        session: str = "",
        *,
        place: Place | None = None,
        kind: Any = "goal",
        budget: Budget = DEFAULT_BUDGET,
        objective: str = "do it",
        handled: tuple[str, ...] = (),
    ) -> Goal:
        owner = await self.ports.rooms.person("console", ANN)
        if not session:
            session = (await self.ports.rooms.begin(place or self.place())).session
        content = Content(objective, owner)
        opened = GoalOpened(
            f"g{next(self.ids)}", session, 0, owner, content.hash, budget, kind=kind
        )
        return (await self.ports.journal.open(opened, [content], handled)).goal

    async def commit(self, goal: Goal | str, *events: Event, **more: Any) -> Applied:
        id = goal if isinstance(goal, str) else goal.id
        return await self.ports.journal.commit(Unit(id, events, **more))

    async def work(self, *, network: Network = "console", room: str = "room") -> Goal:
        """A goal whose first turn runs."""
        goal = await self.open(place=self.place(network, room))
        return (await self.commit(goal, TurnStarted())).goal

    async def turn(self, goal: Goal | str, *inside: Event) -> Applied:
        """One whole turn with one call and whatever else, up to the audit."""
        call = f"c{next(self.ids)}"
        reply = Content(f"reply {call}").hash
        return await self.commit(
            goal,
            TurnStarted(),
            CallStarted(call, "agent", "claude", 1_000, 5_000, messages=9, revision=9),
            CallSettled(call, Usage(input=100, output=20), 700, content=reply),
            *inside,
            TurnEnded("done", reply=reply, active_s=1.5),
        )

    async def keys(self, network: Network = "console", limit: int = 100) -> list[str]:
        return [due.key for due in await self.ports.outbox.claim(network, limit=limit)]

    async def check(self) -> None:
        """Whatever a test did: each journal folds to its row, and to the rows beside it."""
        for row in await self.ports.records.goals(with_asks=True):
            journal = await self.ports.records.journal(row.goal.id)
            trace = await self.ports.records.trace(row.goal.id)
            assert machine.replay(journal) == row.goal == trace.goal
            assert tuple(line.entry for line in trace.lines) == journal
            positions = [line.position for line in trace.lines]
            assert positions == sorted(set(positions))
            assert _by_ref(trace.steps) == _by_ref(folds.steps(journal))
            assert trace.audits == folds.audits(journal)
            assert await self.ports.records.spend(row.goal.id) == folds.spend(trace.steps)


def _by_ref(steps: Sequence[Any]) -> list[Any]:
    return sorted(steps, key=lambda step: step.ref)
