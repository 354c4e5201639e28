"""
Own CPU of a goal's turn: two model calls, one file-reading tool, one audit, at 100 live goals.

The real wiring runs in this process, the rehearsed server in one of its own. From the CPU time of
this process (all threads) over a number of turns that of the very same requests is taken away, made
again by the client adapter alone, as many at once, in the same run. The interpreter is set as the
command line sets it.
"""

import asyncio
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from adapters.clock import WallClock
from bot.cli import tune
from bot.ports.model import ModelRequest
from bot.settings import Settings
from bot.wiring import Around, build_model, running
from tests.bench.figures import Figure
from tests.bench.loop_goals import READ, Tally, open_goals
from tests.bench.roomy import ROOMY
from tests.peers.messages_api import BY_OBJECTIVE, KEY, started

LIVE = 100
CALLS_A_TURN = 3
REPLY_S = 1.0
PACE = ("--deltas", "50", "--duration", str(REPLY_S), "--tick", "0.1")
MOST_S = 90.0


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU of one turn, in ms."""

    whole_ms: float
    client_ms: float
    children_ms: float

    @property
    def own_ms(self) -> float:
        """Beside the client."""
        return self.whole_ms - self.client_ms


def figures(full: bool) -> Iterator[Figure]:
    """CPU in ms a turn."""
    tune()
    with started(BY_OBJECTIVE, *PACE) as api, tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            state_dir=Path(folder),
            base_url=api.url,
            api_key=SecretStr(KEY),
            calls_at_once=2 * LIVE,
            turns_at_once=2 * LIVE,
            **ROOMY,
        )
        spent = asyncio.run(_spent(settings, turns=8 if full else 4))
    peer = "the client alone, same requests"
    yield Figure(
        "own_cpu_per_turn",
        spent.own_ms,
        "ms",
        peer,
        spent.client_ms,
        spent.own_ms / spent.client_ms,
    )
    yield Figure("own_cpu_per_turn_sandbox_processes", spent.children_ms, "ms")


async def _spent(settings: Settings, turns: int) -> Spent:
    tally = Tally()
    around = Around(model=tally.around)
    children = _children()
    async with running(settings, around) as bot, asyncio.timeout(MOST_S):
        await open_goals(
            bot.store,
            settings,
            LIVE,
            lambda number: f"Read {number}.\n!script bench {turns + 3} {READ}",
            wake=bot.worker.wake,
            apart_s=CALLS_A_TURN * REPLY_S / LIVE,
            with_files=True,
        )
        await tally.until(LIVE * CALLS_A_TURN)
        tally.keeps = True
        cpu, done = time.process_time(), tally.done
        await tally.until(done + LIVE * CALLS_A_TURN * turns)
        cpu = time.process_time() - cpu
        made = tally.done - done
        tally.keeps = False
    # The sandbox's processes are counted once they have ended: over the whole run.
    children = (_children() - children) / (tally.done / CALLS_A_TURN)
    requests = tally.requests[:made]
    alone = await _alone(settings, requests)
    count = made / CALLS_A_TURN
    return Spent(1000 * cpu / count, 1000 * alone / count, 1000 * children)


async def _alone(settings: Settings, requests: list[ModelRequest]) -> float:
    """CPU seconds of the client for these requests, 100 at a time."""
    model = build_model(settings, WallClock())
    waiting = iter(requests)

    async def worker(number: int) -> None:
        await asyncio.sleep(number * REPLY_S / LIVE)
        for request in waiting:
            await model.call(request)

    try:
        cpu = time.process_time()
        await asyncio.gather(*(worker(number) for number in range(LIVE)))
        return time.process_time() - cpu
    finally:
        await model.aclose()


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
