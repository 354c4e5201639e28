"""A goal in a store in memory, brought to its audit."""

import itertools
from collections.abc import Callable
from typing import Any

from bot.agent.audit import Audits, AuditSettings, Gates
from bot.goals.events import (
    CallSettled,
    CallStarted,
    Event,
    GoalOpened,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from bot.goals.money import Budget, Usage
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Applied, Content, Journal, Lease, Task, Unit
from bot.ports.model import Model
from tests.doubles.model import ScriptedModel
from tests.doubles.store import MemoryStore

NOW = 1_800_000_000.0


class StillClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class Scene:
    """One goal, its store, and the audit of its turns."""

    def __init__(self, script: Any = (), *, model: Model | None = None, gates: Any = None) -> None:
        self.clock = StillClock()
        self.store = MemoryStore(self.clock)
        self.journal: Journal = self.store.journal
        self.model = model or ScriptedModel(script)
        self.gates: Gates | None = gates
        self.ids: Callable[[], str] = map("id{}".format, itertools.count(1)).__next__
        self.audits = self._audits()
        self.goal: Goal
        self.lease: Lease

    def _audits(self) -> Audits:
        settings = AuditSettings("double")
        return Audits(self.journal, self.model, self.clock, LIMITS, self.ids, settings, self.gates)

    def restart(self, journal: Journal | None = None) -> None:
        """Another process: nothing is remembered. It may see the store through `journal`."""
        self.journal = journal or self.journal
        self.audits = self._audits()

    async def open(
        self, objective: str = "Write a report.", budget: Budget = DEFAULT_BUDGET
    ) -> None:
        """Open the goal and take its lease."""
        owner = await self.store.rooms.person("console", Speaker("ann", "Ann"))
        session = (await self.store.rooms.begin(Place("console", "w", "r", "t"))).session
        text = Content(objective, owner)
        opened = GoalOpened("g", session, 0, owner, text.hash, budget)
        self.goal = (await self.store.journal.open(opened, [text])).goal
        await self.claim()

    async def claim(self) -> None:
        """Take the lease anew."""
        lease = await self.store.leases.claim_one("worker", "g")
        assert lease is not None
        self.lease = lease

    async def take(
        self, *events: Event, texts: tuple[str, ...] = (), tasks: tuple[Task, ...] | None = None
    ) -> Applied:
        """Let those events happen, as their own writers."""
        contents = tuple(Content(text) for text in texts)
        applied = await self.store.journal.commit(Unit("g", events, contents, tasks=tasks))
        self.goal = applied.goal
        return applied

    async def turn(self, reply: str = "The report is written.", *tools: str) -> None:
        """A whole turn, up to its audit."""
        call = self.ids()
        await self.take(
            TurnStarted(),
            CallStarted(call, "agent", "double", 100, 100, self.goal.messages, self.goal.revision),
            CallSettled(call, Usage(input=10), 10),
        )
        for tool in tools:
            use = self.ids()
            await self.take(ToolStarted(use, tool, "workspace"), ToolEnded(use, "ok", "", True))
        text = Content(reply)
        await self.take(TurnEnded("done", text.hash if reply else ""), texts=(reply,))

    async def audit(self) -> Goal:
        """Claim the goal and audit it."""
        await self.claim()
        self.goal = await self.audits.run(self.lease)
        return self.goal

    async def events(self) -> list[Any]:
        """The goal's events so far."""
        return [line.entry.event for line in await self.store.journal.history(self.goal.session)]

    async def rules(self) -> list[str]:
        """The rules that fired so far."""
        return [line.entry.rule for line in await self.store.journal.history(self.goal.session)]

    async def text(self, hash: str) -> str:
        """A content."""
        return (await self.store.journal.contents(self.goal.session, [hash]))[hash]
