"""A process that parks goals and lets them go until it is killed: `python -m tests.crash.held FOLDER SEED`.

It prints a line after each commit that has returned.
"""

import asyncio
import random
import sys
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC
from pathlib import Path
from typing import Final

from adapters.clock import WallClock
from adapters.store.open import Store, open_store
from adapters.store.tallies import Guard
from bot.errors import IllegalMove, Refused
from bot.goals.caps import Caps
from bot.goals.events import (
    CallLost,
    CallReleased,
    CallSettled,
    CallStarted,
    Cancelled,
    Event,
    GoalOpened,
    Paused,
    Resumed,
    TurnResumed,
    TurnStarted,
)
from bot.goals.goal import Goal, State
from bot.goals.limits import LIMITS
from bot.goals.money import NANO, Budget, Usage
from bot.ports.chat import Place, Speaker
from bot.ports.journal import Content, Unit

LIVE: Final = 2
CAP: Final = NANO
CALL: Final = NANO // 4
GUARD: Final = Guard(Caps({"person": CAP, "room": CAP}, live={"person": LIVE}), UTC)
AMPLE: Final = Budget(1_000 * NANO, 100_000_000, None)
GOALS: Final = 5


def opened_store(folder: Path, guard: Guard = GUARD) -> AbstractAsyncContextManager[Store]:
    """The store of the folder."""
    return open_store(
        "sqlite:///h.db", clock=WallClock(), limits=LIMITS, state_dir=folder, guard=guard
    )


async def work(folder: Path, seed: int) -> None:
    """Do this and that to a few goals, for ever."""
    chance = random.Random(seed)
    async with opened_store(folder) as store:
        owner = await store.rooms.person("console", Speaker("ann", "ann"))
        for number in range(10_000):
            if number < GOALS:
                await _open(store, owner, f"g{seed}.{number}")
            elif number % 7 == 0:
                await store.spending.sweep()
            else:
                await _move(store, chance, f"c{seed}.{number}")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


async def _open(store: Store, owner: str, goal: str) -> None:
    session = (await store.rooms.begin(Place("console", "", "den", goal))).session
    content = Content(goal, owner)
    await store.journal.open(GoalOpened(goal, session, 0, owner, content.hash, AMPLE), [content])


async def _move(store: Store, chance: random.Random, call: str) -> None:
    goals = [row.goal for row in await store.records.goals() if not row.goal.is_final]
    if not goals:
        return
    goal = chance.choice(goals)
    with suppress(IllegalMove, Refused):
        await store.journal.commit(Unit(goal.id, _next(goal, chance, call)))


def _next(goal: Goal, chance: random.Random, call: str) -> tuple[Event, ...]:
    match goal.state:
        case State.READY:
            return (TurnStarted(),)
        case State.WORKING:
            if goal.ledger.open:
                one = goal.ledger.open[0].call
                settled = CallSettled(one, Usage(input=50), CALL // 3)
                ends: list[Event] = [settled, settled, CallLost(one), CallReleased(one)]
                return (chance.choice(ends),)
            started = CallStarted(call, "agent", "m", 1_000, CALL, messages=9, revision=9)
            return (TurnResumed(), started)
        case State.PAUSED:
            return (Resumed(goal.owner),)
        case _:
            kinds: list[type[Paused] | type[Cancelled]] = [Paused, Paused, Cancelled]
            return (chance.choice(kinds)(goal.owner),)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), int(sys.argv[2])))
