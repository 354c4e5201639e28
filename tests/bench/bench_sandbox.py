"""What the sandbox costs: to start, to read a file through it, to run a command in it."""

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from adapters.sandbox.bubblewrap import Bubblewrap
from bot.ports.sandbox import Session
from tests.bench.figures import Figure

NAME = "sandbox"


def figures(full: bool) -> Iterator[Figure]:
    """Measure on a workspace of 200 files; `full` takes ten times as many samples."""
    with tempfile.TemporaryDirectory() as folder:
        workspaces = Path(folder) / "workspaces"
        yield from asyncio.run(_measured(Bubblewrap(workspaces), workspaces, 10 if full else 1))


async def _measured(sandbox: Bubblewrap, workspaces: Path, times: int) -> list[Figure]:
    session = await sandbox.open("bench", "workspace")
    _fill(workspaces / "bench" / "notes")
    try:
        return [
            await _starting(sandbox, 10 * times),
            *await _reading(session, 1_000 * times),
            *await _running(session, workspaces / "bench", 50 * times),
        ]
    finally:
        await session.close()


async def _starting(sandbox: Bubblewrap, count: int) -> Figure:
    async def start() -> None:
        session = await sandbox.open("starting", "workspace")
        opened.append(session)

    opened: list[Session] = []
    median_ms = await _median_ms(start, count)
    for session in opened:
        await session.close()
    return Figure("session start, median", median_ms, "ms")


async def _reading(session: Session, count: int) -> list[Figure]:
    async def read() -> None:
        outcome = await session.call("read", {"path": "notes/7.txt"}, timeout_s=10)
        assert outcome.ok

    cpu = time.process_time()
    median_ms = await _median_ms(read, count)
    cpu_ms = 1_000 * (time.process_time() - cpu) / count
    return [
        Figure("read call, median", median_ms, "ms"),
        Figure("read call, own CPU of the bot's process, mean", cpu_ms, "ms"),
    ]


async def _running(session: Session, folder: Path, count: int) -> list[Figure]:
    async def confined() -> None:
        outcome = await session.call("bash", {"command": "true"}, timeout_s=10)
        assert outcome.ok

    async def plain() -> None:
        environment = {"PATH": os.environ["PATH"]}
        subprocess.run(["bash", "-c", "true"], cwd=folder, env=environment, check=True)  # noqa: ASYNC221

    ours = await _median_ms(confined, count)
    theirs = await _median_ms(plain, count)
    peer = "subprocess.run of the same, unconfined"
    return [Figure("bash call, median", ours, "ms", peer, theirs, ours / theirs)]


async def _median_ms(once: Callable[[], Awaitable[None]], count: int) -> float:
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        await once()
        taken.append(1_000 * (time.perf_counter() - started))
    return statistics.median(taken)


def _fill(notes: Path) -> None:
    for number in range(200):
        (notes / f"{number}.txt").write_text(f"line of {number}\n" * 40)
