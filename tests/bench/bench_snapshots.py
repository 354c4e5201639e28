"""What a checkpoint of a workspace costs, and what it costs to put one back."""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.snapshots.folder import SnapshotFolder
from bot.ports.sandbox import Session
from tests.bench.figures import Figure

NAME = "snapshots"
FILES = 1_000
SETTLED_S = 0.2
"""After a change: until then a file's times could hide another one."""


def figures(full: bool) -> Iterator[Figure]:
    """Measure on a workspace of 1,000 files, and in full on one of 20,000 too."""
    for count in (FILES, 20 * FILES) if full else (FILES,):
        with tempfile.TemporaryDirectory() as folder:
            yield from asyncio.run(_measured(Path(folder), count))


async def _measured(folder: Path, count: int) -> list[Figure]:
    snapshots = SnapshotFolder(folder / "snapshots")
    session = await Bubblewrap(folder / "workspaces").open("bench", "workspace")
    files = folder / "workspaces" / "bench" / "checkouts"
    _fill(files, count)
    try:
        return [
            Figure(f"{name}, {count} files", value, "ms")
            for name, value in await _timed(snapshots, session, files)
        ]
    finally:
        await session.close()


async def _timed(
    snapshots: SnapshotFolder, session: Session, files: Path
) -> list[tuple[str, float]]:
    began = time.perf_counter()
    first = tree = await snapshots.take(session)
    taken_ms = 1_000 * (time.perf_counter() - began)
    await asyncio.sleep(SETTLED_S)
    await snapshots.take(session, before=first)
    unchanged_ms = await _median_ms(lambda: snapshots.take(session, before=first), 20)
    changed = []
    for number in range(10):
        (files / "0" / "0.py").write_text(f"y = {number}\n")
        await asyncio.sleep(SETTLED_S)
        began = time.perf_counter()
        tree = await snapshots.take(session, before=tree)
        changed.append(1_000 * (time.perf_counter() - began))
    one_ms = await _median_ms(lambda: snapshots.restore(session, first), 1)
    await asyncio.to_thread(shutil.rmtree, files)
    all_ms = await _median_ms(lambda: snapshots.restore(session, first), 1)
    return [
        ("first checkpoint", taken_ms),
        ("checkpoint, nothing changed, median", unchanged_ms),
        ("checkpoint, one file changed, median", statistics.median(changed)),
        ("restore of one file", one_ms),
        ("restore of all files", all_ms),
    ]


def _fill(folder: Path, count: int) -> None:
    for number in range(count):
        path = folder / str(number % 20) / f"{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {number}\n" + "x = 1\n" * (number % 700))


async def _median_ms(step: Callable[[], Awaitable[object]], count: int) -> float:
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await step()
        took.append(1_000 * (time.perf_counter() - began))
    return statistics.median(took)
