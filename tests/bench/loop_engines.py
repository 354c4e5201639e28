"""
The same durable turn of two steps that do nothing: ours beside LangGraph and DBOS, all on SQLite.

Ours is a goal opened and worked at for one turn of one call: four commits, of which the last two
are the steps (the call started; the call settled and the turn ended), after the goal and its lease. Each is on the disk before
the next one starts.
"""

import asyncio
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from adapters.clock import WallClock
from adapters.console.parse import room
from adapters.store.open import open_store
from bot.goals.events import CallSettled, CallStarted, GoalOpened, TurnEnded, TurnStarted
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from bot.goals.money import Usage
from bot.ports.chat import Speaker
from bot.ports.journal import Content, Unit
from tests.bench.figures import Figure

Engine = Callable[[Path, int, int], Awaitable[Any]]


def figures(full: bool) -> Iterator[Figure]:
    """Milliseconds a turn, one after the other and a hundred at once; medians of three rounds."""
    from tests.bench import engines

    for at_once, turns in ((1, 60 if full else 30), (100, 400 if full else 200)):
        rounds: dict[str, list[tuple[float, float]]] = {}
        for _ in range(3):
            for name, engine in (
                ("headway", _headway),
                ("LangGraph", engines.langgraph),
                ("DBOS", engines.dbos),
            ):
                rounds.setdefault(name, []).append(_cost(engine, turns, at_once))
        costs = {name: _medians(found) for name, found in rounds.items()}
        ours = costs.pop("headway")
        for name, theirs in costs.items():
            for place, what in enumerate(("wall", "cpu")):
                yield Figure(
                    f"two_steps_{what}_{at_once}_at_once",
                    ours[place],
                    "ms",
                    name,
                    theirs[place],
                    ours[place] / theirs[place],
                )


def _cost(engine: Engine, turns: int, at_once: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        cost = asyncio.run(_awaited(engine(Path(folder), turns, at_once)))
        return cost.wall_ms, cost.cpu_ms


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def _medians(found: list[tuple[float, float]]) -> tuple[float, float]:
    walls, cpus = zip(*found, strict=True)
    return statistics.median(walls), statistics.median(cpus)


async def _headway(folder: Path, turns: int, at_once: int) -> Any:
    from tests.bench.engines import measured

    clock = WallClock()
    store = open_store("sqlite:///bench.db", clock=clock, limits=LIMITS, state_dir=folder)
    async with store as opened:
        owner = await opened.rooms.person("console", Speaker("bench", "bench"))
        sessions = {
            number: (await opened.rooms.begin(room(f"t{number}"))).session
            for number in range(-1, turns)
        }
        text = Content("Nothing.", owner)

        async def turn(number: int) -> None:
            goal = f"g{number}"
            await opened.journal.open(
                GoalOpened(goal, sessions[number], 0, owner, text.hash, DEFAULT_BUDGET), (text,)
            )
            lease = await opened.leases.claim_one("bench", goal)
            assert lease is not None
            call = CallStarted("c", "agent", "model", 1_000, None)
            await opened.journal.commit(Unit(goal, (TurnStarted(), call), epoch=lease.epoch))
            settled = CallSettled("c", Usage(input=500, output=500), None)
            await opened.journal.commit(Unit(goal, (settled, TurnEnded("done")), epoch=lease.epoch))

        return await measured(turn, turns, at_once)
