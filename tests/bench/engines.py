"""
The same durable turn of two steps that do nothing, on two other engines, each on SQLite.

Each step's outcome is on disk before the next one starts (`synchronous=FULL`, as ours).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from dbos import DBOS
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

Turn = Callable[[int], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one turn: milliseconds of wall time and of this process's CPU, over many turns."""

    wall_ms: float
    cpu_ms: float


class _Count(TypedDict):
    n: int


async def langgraph(folder: Path, turns: int, at_once: int) -> Cost:
    """LangGraph with its SQLite saver, `durability="sync"`."""

    async def increment(state: _Count) -> _Count:
        return {"n": state["n"] + 1}

    async with AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=FULL")
        graph = StateGraph(_Count)
        graph.add_node("one", increment)
        graph.add_node("two", increment)
        graph.add_edge(START, "one")
        graph.add_edge("one", "two")
        graph.add_edge("two", END)
        app = graph.compile(checkpointer=saver)

        async def turn(number: int) -> None:
            where: Any = {"configurable": {"thread_id": f"{at_once}.{number}"}}
            await app.ainvoke({"n": 0}, where, durability="sync")

        return await measured(turn, turns, at_once)


async def dbos(folder: Path, turns: int, at_once: int) -> Cost:
    """DBOS with its SQLite system database."""
    config: Any = {
        "name": "bench",
        "system_database_url": f"sqlite:///{folder / 'dbos.db'}",
        "run_admin_server": False,
        "log_level": "ERROR",
    }
    DBOS(config=config)

    @DBOS.step()
    async def increment(number: int) -> int:
        return number + 1

    @DBOS.workflow()
    async def turn(number: int) -> int:
        return await increment(await increment(number))

    DBOS.launch()
    try:
        return await measured(turn, turns, at_once)
    finally:
        DBOS.destroy(destroy_registry=True)


async def measured(turn: Turn, turns: int, at_once: int) -> Cost:
    """What a turn costs when `at_once` of them run side by side; one runs before, unmeasured."""
    await turn(-1)
    places = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with places:
            await turn(number)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one(number) for number in range(turns)))
    spent = time.perf_counter() - wall, time.process_time() - cpu
    return Cost(spent[0] / turns * 1000, spent[1] / turns * 1000)
