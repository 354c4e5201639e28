"""
What the store's measurement writes, and the same rows for a bare driver.

A goal's turn is eleven commits: start, two model calls with a file-reading tool between them, end, and
the audit that lets it go on. Recording keeps the very statements and parameters that the store ran.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from adapters.store.open import Store
from adapters.store.statements import Compiler, Statement
from adapters.store.transaction import Transaction
from bot.goals.events import (
    Audited,
    CallSettled,
    CallStarted,
    GoalOpened,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.money import Budget, Usage
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Content, Unit

REPLY_CHARS = 1_500
RESULT_CHARS = 1_000
_USAGE = Usage(input=900, cache_read=12_000, output=240)
_names = count(1)


class WallClock:
    """The machine's time."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Recorded:
    """Statements with their parameters: what was there before, then commit by commit."""

    before: list[tuple[Statement, dict[str, Any]]] = field(default_factory=list)
    units: list[list[tuple[Statement, dict[str, Any]]]] = field(default_factory=list)

    def for_driver(self, compiler: Compiler) -> tuple[list[Any], list[list[Any]]]:
        """The same as SQL text and parameters."""
        return (
            [_bound(compiler, *one) for one in self.before],
            [[_bound(compiler, *one) for one in unit] for unit in self.units],
        )


async def open_goal(store: Store) -> Goal:
    """A goal in a thread of its own, with room for many turns."""
    n = next(_names)
    owner = await store.rooms.person("console", Speaker("bench", "Bench"))
    thread = await store.rooms.begin(Place("console", "", "bench", f"t{time.time_ns()}.{n}"))
    objective = Content(f"Objective {n}: " + "x" * 200, owner)
    opened = GoalOpened(
        f"g{time.time_ns()}.{n}", thread.session, 0, owner, objective.hash, Budget(None, None, None)
    )
    return (await store.journal.open(opened, [objective])).goal


async def live(store: Store, goal: Goal, units: int) -> list[float]:
    """Commit that many units of the goal's turns, one after another; seconds of each."""
    taken: list[float] = []
    async for unit in _units(store, goal):
        if len(taken) == units:
            break
        begun = time.perf_counter()
        await store.journal.commit(unit)
        taken.append(time.perf_counter() - begun)
    return taken


async def live_at_once(store: Store, goals: int, units: int) -> float:
    """Seconds a commit while `goals` goals commit `units` units each, all at once."""
    opened = [await open_goal(store) for _ in range(goals)]
    begun = time.perf_counter()
    await asyncio.gather(*(live(store, goal, units) for goal in opened))
    return (time.perf_counter() - begun) / (goals * units)


async def record(store: Store, goals: int, units: int) -> Recorded:
    """Write goals one unit at a time, in turn, and keep every statement that wrote."""
    recorded = Recorded()
    with _listening() as heard:
        opened = [await open_goal(store) for _ in range(goals)]
        recorded.before = list(heard)
        lives = [_units(store, goal) for goal in opened]
        for n in range(goals * units):
            heard.clear()
            await store.journal.commit(await anext(lives[n % goals]))
            recorded.units.append(list(heard))
    return recorded


async def _units(store: Store, goal: Goal) -> AsyncIterator[Unit]:
    for turn in count(1):
        name = f"{goal.id}.{turn}"
        reply = Content(f"{name} done " + "r" * REPLY_CHARS, "agent")
        thought = Content(f"{name} reads " + "t" * REPLY_CHARS, "agent")
        result = Content(f"{name} result " + "f" * RESULT_CHARS, "tool")
        yield Unit(goal.id, (TurnStarted(),))
        yield Unit(goal.id, (CallStarted(f"{name}.1", "agent", "m", 9_000, 90_000, 0, 1),))
        yield _settled(goal, f"{name}.1", thought)
        yield Unit(goal.id, (ToolStarted(f"{name}.t", "read", "none"),))
        ended = ToolEnded(f"{name}.t", "ok", result.hash, touched=True)
        yield Unit(goal.id, (ended,), (result,))
        yield Unit(goal.id, (CallStarted(f"{name}.2", "agent", "m", 9_000, 90_000, 0, 1),))
        yield _settled(goal, f"{name}.2", reply)
        yield Unit(goal.id, (TurnEnded("done", reply=reply.hash, progress=True, active_s=2.0),))
        yield Unit(goal.id, (CallStarted(f"{name}.a", "audit", "m", 3_000, 9_000),))
        yield Unit(goal.id, (CallSettled(f"{name}.a", _USAGE, 9_000),))
        yield Unit(goal.id, (Audited(1, turn, 0, "continue"),))


def _settled(goal: Goal, call: str, content: Content) -> Unit:
    event = CallSettled(call, _USAGE, 80_000, content.hash, "end_turn")
    return Unit(goal.id, (event,), (content,))


@contextmanager
def _listening() -> Iterator[list[tuple[Statement, dict[str, Any]]]]:
    heard: list[tuple[Statement, dict[str, Any]]] = []
    plain = Transaction.execute

    def execute(self: Transaction, statement: Statement, parameters: Any) -> Any:
        if not statement.is_select:
            heard.append((statement, dict(parameters)))
        return plain(self, statement, parameters)

    Transaction.execute = execute  # type: ignore[method-assign, assignment]
    try:
        yield heard
    finally:
        Transaction.execute = plain  # type: ignore[method-assign]


def _bound(compiler: Compiler, statement: Statement, parameters: dict[str, Any]) -> Any:
    sql, constants = compiler(statement)
    return sql, {**constants, **parameters}
