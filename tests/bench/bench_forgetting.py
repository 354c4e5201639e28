"""
Forget a person with many goals while another goal works on: how long a transaction of it holds the
writer, and how long the other one waits.

One who owned 1,000 goals (10,000 in full), each with twelve texts of 1,500 characters, in a database
with as many of somebody else's.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from adapters.store.open import Store, open_store
from bot.goals.events import BudgetSet, Cancelled, GoalOpened
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from bot.ports.chat import Place, Speaker
from bot.ports.forgetting import Step, Trail, Wanted
from bot.ports.journal import Content, Unit
from scheduler.forgetting import Forgetter, Parts
from tests.bench.figures import Figure
from tests.bench.store_load import WallClock

NAME = "forgetting"
GOALS = {False: 1_000, True: 10_000}
TEXTS = 12
CHARS = 1_500
AT_ONCE = 200
_ids = count(1)


class Timing:
    """A database that notes how long each of its transactions took, in seconds."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.took: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def transact(self, jobs: Sequence[Any]) -> Any:
        began = time.perf_counter()
        try:
            return self._database.transact(jobs)
        finally:
            self.took.append(time.perf_counter() - began)


class Nothing:
    """No folders and no room."""

    async def names(self) -> tuple[str, ...]:
        return ()

    async def remove(self, name: str) -> None:
        return

    async def take(self, trail: Trail, *, is_dry: bool = False) -> Sequence[Step]:
        return ()


def figures(full: bool) -> Iterator[Figure]:
    """Transactions of forgetting, the whole of it, and what another goal noticed."""
    folder = os.environ.get("HEADWAY_BENCH_DIR") or str(Path(__file__).parents[2] / ".bench")
    Path(folder).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        yield from asyncio.run(_measured(Path(place), GOALS[full]))


async def _measured(folder: Path, goals: int) -> list[Figure]:
    opening = open_store(
        "sqlite:///h.db", clock=WallClock(), limits=LIMITS, state_dir=folder
    )  # fmt: skip
    async with opening as store:
        person = await _fill(store, Speaker("u-bench-ann", "Ann Bench-Person"), goals)
        await _fill(store, Speaker("u-bench-ben", "Ben"), goals)
        [other] = await _open(store, await _person(store, Speaker("u-c", "Cy")), 1)
        writer: Any = store.writer
        timing = writer._database = Timing(writer._database)
        scrubs: list[float] = []
        waits: list[float] = []
        waited: list[float] = []

        async def scrub() -> None:
            waited.extend(sorted(waits))
            began = time.perf_counter()
            await store.scrub()
            scrubs.append(time.perf_counter() - began)

        meanwhile = asyncio.create_task(_work(store, other, waits))
        began = time.perf_counter()
        counts = await Forgetter(_parts(store, scrub), texts_days=90, workspaces_days=30).forget(
            Wanted(person)
        )
        took = time.perf_counter() - began
        meanwhile.cancel()
    held = sorted(timing.took)[:-1]
    name = f"{goals} goals, {counts['text']} texts"
    return [
        Figure(f"forgetting {name}: the whole", took, "s"),
        Figure(f"{name}: longest transaction but the last", 1e3 * held[-1], "ms"),
        Figure(f"{name}: half of the transactions within", 1e3 * median(held), "ms"),
        Figure(f"{name}: 99th of 100 transactions", 1e3 * held[int(0.99 * len(held))], "ms"),
        Figure(f"{name}: longest wait of another goal's commit", 1e3 * waited[-1], "ms"),
        Figure(f"{name}: writing the file anew", scrubs[0], "s"),
    ]


def _parts(store: Store, scrub: Any) -> Parts:
    nothing = Nothing()
    return Parts(store.journal, store.forgetting, store.retention, scrub, nothing, (nothing,))


async def _person(store: Store, who: Speaker) -> str:
    return await store.rooms.person("console", who)


async def _fill(store: Store, who: Speaker, goals: int) -> str:
    person = await _person(store, who)
    for first in range(0, goals, AT_ONCE):
        await _open(store, person, min(AT_ONCE, goals - first), ends=True)
    return person


async def _open(store: Store, person: str, many: int, *, ends: bool = False) -> list[str]:
    return await asyncio.gather(*(_one(store, person, ends) for _ in range(many)))


async def _one(store: Store, person: str, ends: bool) -> str:
    n = next(_ids)
    session = (await store.rooms.begin(Place("console", "", "console", f"t{n}"))).session
    objective = Content(f"objective {n}", person)
    opened = GoalOpened(f"g{n}", session, 0, person, objective.hash, DEFAULT_BUDGET)
    await store.journal.open(opened, [objective])
    if ends:
        texts = tuple(Content(f"{n}.{k} " + "a text of the agent " * (CHARS // 20), "agent")
                      for k in range(TEXTS))  # fmt: skip
        await store.journal.commit(Unit(f"g{n}", (Cancelled(person),), texts))
    return f"g{n}"


async def _work(store: Store, goal: str, waits: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await store.journal.commit(Unit(goal, (BudgetSet("p", DEFAULT_BUDGET),)))
        waits.append(time.perf_counter() - began)
        await asyncio.sleep(0.01)
