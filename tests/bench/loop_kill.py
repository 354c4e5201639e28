"""
SIGKILL with 1,000 active goals, the process started again at once: how long until it goes on.

*Claimed* is when the goal's lease was taken by the new process, *resumed* when that is in its journal
(`TurnResumed`), *next call* when the rehearsed server sees the goal's next call. Each is given for the
first goal and for the median one.
"""

import asyncio
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters.clock import WallClock
from adapters.store.open import open_store
from bot.settings import Settings
from tests.bench.figures import Figure
from tests.bench.loop_goals import READ, open_goals
from tests.bench.roomy import variables
from tests.peers.messages_api import BY_OBJECTIVE, KEY, ROOT, BlockingMessagesApi, started

REPLY_S = 2.0
PACE = ("--deltas", "50", "--duration", str(REPLY_S), "--tick", "0.5")
READY_S = 60.0
LEASE_S = 30.0
_CLAIMED = "SELECT until - :lease_s FROM lease WHERE worker <> '' AND until - :lease_s > :killed_at"
_RESUMED = (
    "SELECT min(at) FROM event WHERE at > :killed_at AND kind IN ('TurnResumed', 'TurnStarted')"
    " GROUP BY goal"
)
AFTER_S = 8.0
"""How long the second process is watched."""


def figures(full: bool) -> Iterator[Figure]:
    """Seconds from SIGKILL, for 1,000 goals (200 where not in full)."""
    goals = 1_000 if full else 200
    rounds = [_killed(goals) for _ in range(3 if full else 1)]
    for name in rounds[0]:
        firsts = [times[name][0] for times in rounds]
        medians = [statistics.median(times[name]) for times in rounds]
        yield Figure(f"sigkill_to_{name}_first_of_{goals}", statistics.median(firsts), "s")
        yield Figure(f"sigkill_to_{name}_median_of_{goals}", statistics.median(medians), "s")


def _killed(goals: int) -> dict[str, list[float]]:
    """Seconds after the kill at which goals were claimed, were resumed, and made a call."""
    with started(BY_OBJECTIVE, *PACE) as api, tempfile.TemporaryDirectory() as folder:
        state_dir = Path(folder)
        settings = Settings(state_dir=state_dir)
        asyncio.run(_prepare(settings, goals))
        first = _run(state_dir, api.url, goals)
        try:
            _until_all_call(api, goals)
            killed_at = time.time()
        finally:
            first.send_signal(signal.SIGKILL)
        first.wait()
        seen = len(api.calls())
        second = _run(state_dir, api.url, goals)
        try:
            time.sleep(AFTER_S)
        finally:
            second.send_signal(signal.SIGKILL)
            second.wait()
        return {
            "claimed": _found(state_dir, killed_at, _CLAIMED),
            "resumed": _found(state_dir, killed_at, _RESUMED),
            "next_call": _called(api, seen, killed_at),
        }


async def _prepare(settings: Settings, goals: int) -> None:
    store = open_store(
        settings.database_url,
        clock=WallClock(),
        limits=settings.limits,
        state_dir=settings.state_dir,
    )
    async with store as opened:
        await open_goals(opened, settings, goals, lambda n: f"Read {n}.\n!script bench 15 {READ}")


def _run(state_dir: Path, url: str, goals: int) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "HEADWAY_STATE_DIR": str(state_dir),
        "HEADWAY_BASE_URL": url,
        "HEADWAY_API_KEY": KEY,
        "HEADWAY_TURNS_AT_ONCE": str(goals),
        "HEADWAY_CALLS_AT_ONCE": str(goals),
        **variables(),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "tests.bench.loop_bot"]
    return subprocess.Popen(command, cwd=ROOT, env=environment)


def _until_all_call(api: BlockingMessagesApi, goals: int) -> None:
    """Return when every goal has called its agent."""
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if len(api.totals(role="agent")["conversations"]) >= goals:
            return
        time.sleep(0.5)
    raise TimeoutError(f"not all of {goals} goals were at work within {READY_S:g} s")


def _found(state_dir: Path, killed_at: float, query: str) -> list[float]:
    with sqlite3.connect(state_dir / "headway.db") as database:
        rows = database.execute(query, {"killed_at": killed_at, "lease_s": LEASE_S})
        return sorted(row[0] - killed_at for row in rows)


def _called(api: BlockingMessagesApi, seen: int, killed_at: float) -> list[float]:
    offset = _offset(api)
    first: dict[str, float] = {}
    for call in api.calls(since=seen):
        if call["opening"] != _MARK:
            first.setdefault(call["opening"], call["started_s"] + offset - killed_at)
    return sorted(first.values())


_MARK = "What time is it?"


def _offset(api: BlockingMessagesApi) -> float:
    """The wall's clock less the server's."""
    body: dict[str, Any] = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": _MARK}],
    }
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    headers["anthropic-version"] = "2023-06-01"
    request = urllib.request.Request(
        f"{api.url}/v1/messages", data=json.dumps(body).encode(), headers=headers
    )
    at = time.time()
    with urllib.request.urlopen(request, timeout=10):
        pass
    return at - float(api.calls(contains=_MARK)[-1]["started_s"])
