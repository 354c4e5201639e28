"""
1,000 live goals against a model of 2 s a call (50 deltas), whose server has a process of its own.

A turn is two model calls with a file read between them, so the model's own time of it is 4 s; the
audits run as well. Measured from `TurnStarted` to `TurnEnded` in the journal, over turns that begin
when every goal is at work. The tools are in memory: see `loop_goals.Files`.

`at once` is how many goals are worked at side by side: all of them, and as many as by default.
"""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from pydantic import SecretStr

from adapters.clock import WallClock
from bot.settings import Settings
from bot.wiring import Around, build_model, running
from tests.bench.figures import Figure
from tests.bench.loop_goals import READ, Files, Tally, open_goals
from tests.bench.roomy import ROOMY
from tests.peers.messages_api import BY_OBJECTIVE, KEY, started

REPLY_S = 2.0
CALLS = 2
MODEL_S = CALLS * REPLY_S
PACE = ("--deltas", "50", "--duration", str(REPLY_S), "--tick", "0.5")
"""The server has one core at most: it writes four times a second, all deltas that are due."""
OPENING_S = 6.0
"""Starts are spread over the length of a turn and its audit."""
DEFAULT_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Seen:
    """Seconds: the median turn, and the median call of the client alone."""

    turn_s: float
    alone_s: float


def figures(full: bool) -> Iterator[Figure]:
    """The median turn, with 1,000 goals (200 where not in full)."""
    goals = 1_000 if full else 200
    peer = "the model's own time"
    for at_once in (goals, DEFAULT_AT_ONCE):
        seen = _seen(goals, at_once, window_s=25.0 if full else 12.0)
        name = f"turn_p50_{goals}_goals_{at_once}_at_once"
        yield Figure(name, seen.turn_s, "s", peer, MODEL_S, seen.turn_s / MODEL_S)
        if at_once == goals:
            alone_s = CALLS * seen.alone_s
            yield Figure(f"{name}_client_alone", alone_s, "s", peer, MODEL_S, alone_s / MODEL_S)


def _seen(goals: int, at_once: int, window_s: float) -> Seen:
    with started(BY_OBJECTIVE, *PACE) as api, tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            state_dir=Path(folder),
            base_url=api.url,
            api_key=SecretStr(KEY),
            calls_at_once=2 * at_once,
            turns_at_once=at_once,
            **ROOMY,
        )
        tally = Tally()
        begun = asyncio.run(_work(settings, tally, goals, window_s))
        turn_s = _median_turn(settings.state_dir / "headway.db", begun)
        alone_s = asyncio.run(_alone(settings, tally, at_once)) if at_once == goals else 0.0
        return Seen(turn_s, alone_s)


async def _work(settings: Settings, tally: Tally, goals: int, window_s: float) -> float:
    """Work for a while; returns when every goal was there."""
    around = Around(model=tally.around, sandbox=lambda _: Files())
    async with running(settings, around) as bot:
        await open_goals(
            bot.store,
            settings,
            goals,
            lambda number: f"Read {number}.\n!script bench 20 {READ}",
            wake=bot.worker.wake,
            apart_s=OPENING_S / goals,
        )
        begun = time.time()
        tally.keeps = True
        await asyncio.sleep(window_s)
    return begun


def _median_turn(database: Path, begun: float) -> float:
    with sqlite3.connect(database) as opened:
        rows = opened.execute(
            "SELECT ended_at - started_at FROM turn WHERE started_at > ? AND how = 'done'", (begun,)
        )
        return statistics.median(row[0] for row in rows)


async def _alone(settings: Settings, tally: Tally, at_once: int) -> float:
    """The median of the client's calls with the same requests, as many at once, three each."""
    model = build_model(settings, WallClock())
    requests = cycle(tally.requests)
    taken: list[float] = []

    async def worker(number: int) -> None:
        await asyncio.sleep(number * REPLY_S / at_once)
        for _ in range(3):
            at = time.perf_counter()
            await model.call(next(requests))
            taken.append(time.perf_counter() - at)

    try:
        await asyncio.gather(*(worker(number) for number in range(at_once)))
    finally:
        await model.aclose()
    return statistics.median(taken)
