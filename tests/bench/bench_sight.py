"""What it costs to be seen: figures of a database, a page of metrics, and a text without secrets."""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from secrets import token_hex
from statistics import median

from adapters.store.open import open_store
from adapters.telemetry.metrics import Metrics
from bot.goals.limits import LIMITS
from bot.ports.sight import Health, ProcessSight, Read
from bot.redaction import Redactor
from tests.bench.figures import Figure
from tests.bench.store_load import WallClock, live_at_once
from tests.bench.store_peers import fill

NAME = "sight"
WORKED = 200
UNITS = 22
"""Two turns of each goal."""
GOALS = {False: 1_000, True: 100_000}
ROUNDS = 9
SECRETS = 100
TEXT_BYTES = 50_000


def figures(full: bool) -> Iterator[Figure]:
    """Reads of a database of 1,000 goals (100,000 in full), a page of it, and the redactor."""
    yield from _redaction()
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_reads(Path(folder), GOALS[full]))


def _redaction() -> Iterator[Figure]:
    redactor = Redactor({f"S{n}": token_hex(20) for n in range(SECRETS)})
    prose = "nothing in this line is a secret of anybody\n" * TEXT_BYTES
    texts = [text[:TEXT_BYTES] for text in (prose, token_hex(TEXT_BYTES), "a" * TEXT_BYTES)]
    redactor.text(prose[:TEXT_BYTES])
    # The text that takes longest: much in hex looks like a part of a secret.
    took = max(_median_ms(partial(redactor.text, text)) for text in texts)
    yield Figure(f"redact_{TEXT_BYTES // 1000}_kb_{SECRETS}_secrets", took, "ms")


async def _reads(folder: Path, goals: int) -> list[Figure]:
    url, clock = "sqlite:///headway.db", WallClock()
    async with open_store(url, clock=clock, limits=LIMITS, state_dir=folder) as store:
        await live_at_once(store, WORKED, UNITS)
    connection = sqlite3.connect(
        folder / "headway.db", isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous=OFF")
    await asyncio.to_thread(fill, connection, goals)
    connection.close()
    found: list[Figure] = []
    async with open_store(url, clock=clock, limits=LIMITS, state_dir=folder) as store:
        times: dict[str, list[float]] = {"now": [], "totals": []}
        for _ in range(ROUNDS):
            for name, read in (("now", store.figures.now), ("totals", store.figures.totals)):
                begun = time.perf_counter()
                await read()
                times[name].append(1000 * (time.perf_counter() - begun))
        first, *later = times["totals"]
        found.append(Figure(f"figures_now_{goals}_goals", median(times["now"]), "ms"))
        found.append(Figure(f"figures_totals_first_{goals}_goals", first, "ms"))
        found.append(Figure(f"figures_totals_{goals}_goals", median(later), "ms"))
        read_now = Read(await store.figures.now(), await store.figures.totals(), 0.0, 0.0, 0.0, 0.0)
    metrics, process = Metrics(), ProcessSight("running", 0.0, "bench", "2026-01-01")
    took = _median_ms(lambda: metrics.render(read_now, process, Health()))
    return [*found, Figure("metrics_page", took, "ms")]


def _median_ms(work: Callable[[], object]) -> float:
    """Of the thread's own time."""
    times = []
    for _ in range(ROUNDS):
        begun = time.thread_time()
        work()
        times.append(1000 * (time.thread_time() - begun))
    return median(times)
