"""How long `headway chat` takes from its start until its process answers other commands."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scheduler.control import ask_owner
from tests.bench.figures import Figure
from tests.peers.messages_api import ROOT

READY_S = 30.0
_COMMAND = "from bot.cli import main; main()"


def figures(full: bool) -> Iterator[Figure]:
    """Seconds to ready on a state folder that is there, and for `headway goals` to end; medians."""
    rounds = 9 if full else 3
    with tempfile.TemporaryDirectory() as folder:
        state_dir = Path(folder)
        _start(state_dir)  # makes the database, and compiles what is not compiled yet
        ready = [_start(state_dir) for _ in range(rounds)]
        listed = [_listed(state_dir) for _ in range(rounds)]
    yield Figure("start_up", statistics.median(ready), "s")
    yield Figure("start_up_goals_listed", statistics.median(listed), "s")


def _start(state_dir: Path) -> float:
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "chat"],
        cwd=ROOT,
        env=_environment(state_dir),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            asyncio.run(_answered(state_dir))
            return time.perf_counter() - begun
        finally:
            process.kill()


async def _answered(state_dir: Path) -> None:
    async with asyncio.timeout(READY_S):
        while await ask_owner(state_dir, {"do": "ping"}) is None:
            await asyncio.sleep(0.005)


def _listed(state_dir: Path) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-c", _COMMAND, "goals"]
    environment = _environment(state_dir)
    subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=READY_S
    )
    return time.perf_counter() - begun


def _environment(state_dir: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {
        **kept,
        "HEADWAY_STATE_DIR": str(state_dir),
        "HEADWAY_API_KEY": "none",
        "HEADWAY_BASE_URL": "http://127.0.0.1:1",
    }
