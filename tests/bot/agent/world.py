"""A store, a model, a sandbox and the turns over them, in memory, for one goal."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bot.agent.filing import Shelves
from bot.agent.keeping import Kept
from bot.agent.request import build
from bot.agent.turn import AgentSettings, Turns
from bot.goals import events as e
from bot.goals.goal import Goal, State
from bot.goals.limits import ASK_BUDGET, DEFAULT_BUDGET, LIMITS
from bot.goals.machine import Entry, replay
from bot.goals.money import Budget
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Applied, Content, Lease, Line, Unit
from bot.ports.model import Json, Model, ModelRequest
from bot.ports.sandbox import Sandbox
from tests.bot.agent.validity import assert_valid
from tests.doubles.files import MemoryFiles
from tests.doubles.model import ScriptedModel
from tests.doubles.sandbox import MemorySandbox, MemorySession
from tests.doubles.store import MemoryStore

SETTINGS = AgentSettings("agent-model")


class StepClock:
    """A clock that only moves when it is looked at, or slept on."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def now(self) -> float:
        self.at += 0.001
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class CountingJournal:
    """The store's journal, counting units and reads, with a hook around each commit."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.units: list[Unit] = []
        self.reads = 0
        self.before: Callable[[Unit], Any] = lambda unit: None
        self.after: Callable[[Unit], Any] = lambda unit: None
        self.heard: Callable[[Applied], None] = lambda applied: None

    async def commit(self, unit: Unit) -> Applied:
        await asyncio.sleep(0)
        await _done(self.before(unit))
        applied = await self.inner.commit(unit)
        self.heard(applied)
        self.units.append(unit)
        await _done(self.after(unit))
        return applied

    async def history(self, session: str, after: int = 0) -> Any:
        self.reads += 1
        await asyncio.sleep(0)
        return await self.inner.history(session, after)

    async def contents(self, session: str, hashes: Sequence[str]) -> Any:
        self.reads += 1
        await asyncio.sleep(0)
        return await self.inner.contents(session, hashes)

    async def goal(self, goal: str) -> Goal:
        self.reads += 1
        await asyncio.sleep(0)
        return await self.inner.goal(goal)

    async def tasks(self, goal: str) -> Any:
        await asyncio.sleep(0)
        return await self.inner.tasks(goal)

    async def open(self, *args: Any, **more: Any) -> Applied:
        return await self.inner.open(*args, **more)


async def _done(result: Any) -> None:
    if hasattr(result, "__await__"):
        await result


@dataclass
class World:
    """One session with its goals."""

    model: Any
    sandbox: Any = field(default_factory=MemorySandbox)
    settings: AgentSettings = SETTINGS
    clock: StepClock = field(default_factory=StepClock)
    limits: Any = LIMITS
    told: list[str] = field(default_factory=list)
    store: Any = None
    files: Any = field(default_factory=MemoryFiles)
    rules: Any = None
    """What holds for its calls; None: what holds where nobody has said anything."""
    toolboxes: Any = ()
    lines: Any = None
    snapshots: Any = None
    hears: bool = True
    """What is written is told to the turns, as it is where no other process writes."""

    def __post_init__(self) -> None:
        self.store = self.store or MemoryStore(self.clock, self.limits)
        self.journal = CountingJournal(self.store.journal)
        self._ids = itertools.count(1)
        self.session = self.person = ""
        self.start_anew()

    def start_anew(self) -> None:
        """A new process: nothing is remembered."""
        model: Model = self.model
        sandbox: Sandbox | None = self.sandbox
        self.turns = Turns(
            self.journal,
            model,
            sandbox,
            self.clock,
            self.limits,
            lambda: f"id{next(self._ids)}",
            self.settings,
            lambda goal, text: self.told.append(text),
            Shelves(self.files, self.store.attachments),
            rules=self.rules,
            toolboxes=self.toolboxes,
            lines=self.lines,
            kept=Kept(self.snapshots, self.store.checkpoints) if self.snapshots else None,
        )
        if self.hears:
            self.journal.heard = self.turns.heard

    async def opens(
        self,
        objective: str,
        *,
        kind: Any = "goal",
        budget: Budget | None = None,
        id: str = "g1",
        **more: Any,
    ) -> Goal:
        """Open a goal in the one thread; `more`: of the event."""
        thread = await self.store.rooms.begin(Place("console", "w", "r", "t"))
        self.person = await self.store.rooms.person("console", Speaker("ada", "Ada"))
        self.session = thread.session
        text = Content(objective, self.person)
        opened = e.GoalOpened(
            id,
            self.session,
            0,
            self.person,
            text.hash,
            budget or (ASK_BUDGET if kind == "ask" else DEFAULT_BUDGET),
            kind=kind,
            **more,
        )
        return (await self.journal.open(opened, (text,))).goal

    async def leases(self, goal: str = "g1") -> Lease:
        """Claim the goal, as a worker does; a former holder's lease has lapsed."""
        self.clock.at += 31.0
        lease = await self.store.leases.claim_one("worker", goal)
        assert lease is not None, "the goal is not due"
        return lease

    async def runs(self, goal: str = "g1") -> Goal:
        """Claim the goal and run one turn of it."""
        return await self.turns.run(await self.leases(goal))

    async def happens(self, *events: Any, texts: Sequence[str] = (), goal: str = "g1") -> Goal:
        """What a person, a timer or an audit writes."""
        contents = tuple(Content(text, self.person) for text in texts)
        applied = await self.store.journal.commit(Unit(goal, events, contents))
        self.journal.heard(applied)
        return applied.goal

    async def says(self, text: str, goal: str = "g1") -> Goal:
        """A person writes in the thread."""
        content = Content(text, self.person)
        said = e.MessageReceived(f"m{next(self._ids)}", self.person, content.hash)
        return await self.happens(said, texts=(text,), goal=goal)

    async def audits(self, verdict: Any = "continue", note: str = "Go on.", **more: Any) -> Goal:
        """The audit's verdict on the turn that has ended."""
        goal = await self.journal.inner.goal("g1")
        text = Content(note, "audit")
        audited = e.Audited(
            goal.revision, goal.turn, goal.messages, verdict, note=text.hash, **more
        )
        return await self.happens(audited, texts=(note,))

    async def entries(self, goal: str = "g1") -> list[Entry]:
        """The goal's journal."""
        lines = await self.store.journal.history(self.session)
        return [line.entry for line in lines if line.goal == goal]

    async def events(self, *kinds: Any, goal: str = "g1") -> list[Any]:
        """The goal's events of these kinds, in order."""
        found = [entry.event for entry in await self.entries(goal)]
        return [event for event in found if isinstance(event, kinds)] if kinds else found

    async def text(self, hash: str) -> str:
        """The text of a content."""
        return (await self.store.journal.contents(self.session, [hash])).get(hash, "")

    async def built(self, goal: str = "g1") -> tuple[Json, ...]:
        """The request that the journal alone makes."""
        lines = await self.store.journal.history(self.session)
        return build(lines, await self._contents(lines), goal=goal)

    async def checks(self, *, was_killed: bool = False) -> None:
        """Whatever has happened: the journal folds to the row, and makes a valid request.

        Every request that was sent is the one that the journal makes up to its `CallStarted`.
        """
        lines = await self.store.journal.history(self.session)
        for goal in dict.fromkeys(line.goal for line in lines):
            assert replay(await self.entries(goal)) == await self.store.journal.goal(goal)
            assert_valid(await self.built(goal))
        if isinstance(self.model, ScriptedModel):
            for request in self.model.requests:
                assert_valid(request.messages)
            if not was_killed:
                await self._compare_requests()

    async def _contents(self, lines: Sequence[Line]) -> Any:
        """Every text that an event names."""
        named = [str(value) for line in lines for value in asdict(line.entry.event).values()]
        hashes = sorted({name for name in named if len(name) == 64})
        return await self.store.journal.contents(self.session, hashes)

    async def _compare_requests(self) -> None:
        sent = [request for request in self.model.requests if request.tool_choice is None]
        lines = await self.store.journal.history(self.session)
        contents = await self._contents(lines)
        ended = await self.events(e.CallReleased)
        released = {x.call for x in ended if x.reason == "not sent"}
        starts = [
            (place, line.goal)
            for place, line in enumerate(lines, 1)
            if isinstance(line.entry.event, e.CallStarted)
            if line.entry.rule == "call_started" and line.entry.event.role in ("agent", "wrap_up")
            if line.entry.event.call not in released
        ]
        assert len(starts) == len(sent)
        for (place, goal), request in zip(starts, sent, strict=True):
            assert request.messages == build(lines[:place], contents, goal=goal)


def said(request: ModelRequest) -> str:
    """Every text of the request's messages, tool results included."""
    return "\n".join(
        str(block.get("text") or block.get("content") or "")
        for message in request.messages
        for block in message["content"]
    )


def last_user(request: ModelRequest) -> list[Any]:
    """The blocks of the last message."""
    return list(request.messages[-1]["content"])


def is_audited(goal: Goal) -> bool:
    """The turn has ended and its audit is due."""
    return goal.state is State.AUDITING and not goal.turn_open


def changed(settings: AgentSettings, **more: Any) -> AgentSettings:
    """The settings with some values changed."""
    return replace(settings, **more)


def a_world(*answers: Any, hears: bool = True, **more: Any) -> World:
    """A world whose model answers these, in order."""
    return World(ScriptedModel(list(answers), **more), hears=hears)


def use(name: str, args: dict[str, Any], id: str) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": args}


def once(what: Any, kind: Any) -> Any:
    """A hook that acts at the first unit with an event of a kind."""
    left = [True]

    def hook(unit: Any) -> Any:
        if left[0] and any(isinstance(event, kind) for event in unit.events):
            left[0] = False
            return what(unit)
        return None

    return hook


def while_it_runs(world: World, what: Any) -> Any:
    """Something that happens while a tool runs, which takes a second."""
    call = MemorySession.call

    class Slow(MemorySandbox):
        async def open(self, workspace: str, access: Any, line: Any = None) -> Any:
            session = await super().open(workspace, access, line)

            async def slow(tool: str, args: Any, *, timeout_s: float) -> Any:
                world.clock.at += 1.0
                await what()
                return await call(session, tool, args, timeout_s=timeout_s)  # type: ignore[arg-type]

            session.call = slow  # type: ignore[method-assign]
            return session

    world.sandbox = Slow()
    world.start_anew()
