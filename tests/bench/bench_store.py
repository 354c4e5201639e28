"""
Time a commit of the store, beside the bare driver that commits the same rows one unit at a time.

SQLite's files lie on a disk (`HEADWAY_BENCH_DIR`, else beside this checkout), never in memory;
PostgreSQL's cluster is in the system's temporary folder, where its account can reach it.
Ours and the peer's take turns in the same run; every figure is the median of the rounds.
"""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median

from adapters.store.open import Store, open_store
from bot.goals.limits import LIMITS
from tests.bench.figures import Figure
from tests.bench.store_load import Recorded, WallClock, live, live_at_once, open_goal, record
from tests.bench.store_peers import fill, replay_on_postgres, replay_on_sqlite
from tests.peers.postgres import Postgres, private_postgres

NAME = "store"

ROUNDS = 5
UNITS = {1: 220, 10: 44, 100: 22}
"""Goals at once, and how many units each commits in a round."""
FEW, MANY = 1_000, 100_000


def figures(full: bool) -> Iterator[Figure]:
    """Commits on both databases, then how they fare as SQLite's file grows."""
    rounds = 2 * ROUNDS if full else ROUNDS
    with _folder() as folder:
        yield from asyncio.run(_sqlite(folder, rounds))
        yield from asyncio.run(_growth(folder, rounds))
        with private_postgres(durable=True) as server:
            yield from asyncio.run(_postgres(server, folder, rounds))


async def _sqlite(folder: Path, rounds: int) -> list[Figure]:
    async with _store("sqlite:///recorded.db", folder) as store:
        recorded = await record(store, 10, 44)

    async def peer(n: int) -> float:
        name = f"peer{n}.db"
        async with _store(f"sqlite:///{name}", folder):
            pass
        return median(await asyncio.to_thread(replay_on_sqlite, folder / name, recorded))

    async with _store("sqlite:///ours.db", folder) as store:
        return await _beside(store, "sqlite", "sqlite3", peer, rounds)


async def _postgres(server: Postgres, folder: Path, rounds: int) -> list[Figure]:
    async with _store(server.url(server.create()), folder) as store:
        recorded = await record(store, 10, 44)

    async def peer(n: int) -> float:
        return await _replayed(server, folder, recorded)

    async with _store(server.url(server.create()), folder) as store:
        return await _beside(store, "postgres", "psycopg", peer, rounds)


async def _replayed(server: Postgres, folder: Path, recorded: Recorded) -> float:
    name = server.create()
    async with _store(server.url(name), folder):
        pass
    taken = median(await asyncio.to_thread(replay_on_postgres, server.url(name), recorded))
    server.drop(name)
    return taken


async def _beside(
    store: Store, ours: str, driver: str, peer: Callable[[int], Awaitable[float]], rounds: int
) -> list[Figure]:
    theirs: list[float] = []
    commits: dict[int, list[float]] = {goals: [] for goals in UNITS}
    for n in range(rounds):
        for goals, units in UNITS.items():
            if goals == 1:
                commits[1].append(median(await live(store, await open_goal(store), units)))
            else:
                commits[goals].append(await live_at_once(store, goals, units))
        theirs.append(await peer(n))
    base = median(theirs) * 1e3
    named = {1: "latency_1_goal", 10: "commit_10_goals", 100: "commit_100_goals"}
    return [
        Figure(f"{ours}.{name}", value, "ms", driver, base, value / base)
        for goals, name in named.items()
        for value in [median(commits[goals]) * 1e3]
    ]


async def _growth(folder: Path, rounds: int) -> list[Figure]:
    """The same commits in a file of few goals and in one of many, in turns."""
    for goals in (FEW, MANY):
        async with _store(f"sqlite:///{goals}.db", folder) as store:
            await live(store, await open_goal(store), 3)
        connection = sqlite3.connect(
            folder / f"{goals}.db", isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous=OFF")
        await asyncio.to_thread(fill, connection, goals)
        connection.close()
    taken: dict[int, list[float]] = {FEW: [], MANY: []}
    async with (
        _store(f"sqlite:///{FEW}.db", folder) as few,
        _store(f"sqlite:///{MANY}.db", folder) as many,
    ):
        for _ in range(rounds):
            for goals, store in ((FEW, few), (MANY, many)):
                taken[goals].append(await live_at_once(store, 10, 66))
    base, value = median(taken[FEW]) * 1e3, median(taken[MANY]) * 1e3
    peer = f"ours in {FEW:,} goals"
    return [Figure(f"sqlite.commit_in_{MANY}_goals", value, "ms", peer, base, value / base)]


@asynccontextmanager
async def _store(url: str, folder: Path) -> AsyncIterator[Store]:
    async with open_store(url, clock=WallClock(), limits=LIMITS, state_dir=folder) as store:
        yield store


@contextmanager
def _folder() -> Iterator[Path]:
    place = Path(os.environ.get("HEADWAY_BENCH_DIR") or Path(__file__).parents[2] / ".cache")
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place) as folder:
        yield Path(folder)
