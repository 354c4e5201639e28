"""Killed anywhere between parking a goal and letting it go: rows agree, and nothing is held for ever."""

import subprocess
import sys
from datetime import UTC
from pathlib import Path

import pytest

from adapters.store.open import Store
from adapters.store.tallies import Guard
from bot.goals import machine
from bot.goals.caps import Caps
from bot.goals.events import Cancelled
from bot.goals.goal import Goal, State
from bot.ports.journal import Unit
from tests.crash.held import CAP, GOALS, LIVE, opened_store
from tests.peers.messages_api import ROOT

pytestmark = pytest.mark.process

KILLS = (3, 9, 14, 23, 31)
"""Lines after which the process is killed, each time begun again on what the last one left."""


async def test_killed_anywhere_its_rows_agree_and_nothing_is_held_for_ever(tmp_path: Path) -> None:
    for seed, lines in enumerate(KILLS):
        _live_and_die(tmp_path, seed, lines)
        async with opened_store(tmp_path) as store:
            await _assert_sound(store)

    roomy = Guard(Caps(live={"person": 1_000}), UTC)
    async with opened_store(tmp_path, roomy) as store:
        freed = (await store.spending.sweep()).freed
        held = [goal for goal in await _goals(store) if _is_held(goal)]
        assert all(goal.state is State.PAUSED for goal in held), (freed, held)
        for goal in await _goals(store):
            if not goal.is_final:
                await store.journal.commit(Unit(goal.id, (Cancelled(goal.owner),)))
        await _assert_sound(store)


def _live_and_die(folder: Path, seed: int, lines: int) -> None:
    command = [sys.executable, "-m", "tests.crash.held", str(folder), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as told:
        for _ in range(GOALS + lines):
            assert told.readline(), "It died by itself."
        process.kill()
    process.wait(10)


async def _assert_sound(store: Store) -> None:
    goals = await _goals(store)
    open_waits = set(await _rows(store, "SELECT goal FROM wait WHERE state = 'open'"))
    assert {(goal.id,) for goal in goals if _is_held(goal)} == open_waits
    for goal in goals:
        assert machine.replay(await store.records.journal(goal.id)) == goal
    live = [goal for goal in goals if not goal.is_final and not _is_queued(goal)]
    assert len(live) <= LIVE + len([goal for goal in goals if goal.state is State.PAUSED])
    [(tokens, nano)] = await _rows(
        store, "SELECT coalesce(sum(tokens), 0), coalesce(sum(nano_usd), 0) FROM tally"
    )
    assert tokens == sum(goal.ledger.tokens for goal in goals)
    assert nano == sum(goal.ledger.nano_usd for goal in goals)
    in_flight = sum(call.nano_usd or 0 for goal in goals for call in goal.ledger.open)
    assert nano + in_flight <= CAP
    [(reserved,)] = await _rows(store, "SELECT coalesce(sum(nano_usd), 0) FROM reservation")
    assert reserved == in_flight


async def _goals(store: Store) -> list[Goal]:
    return [row.goal for row in await store.records.goals()]


async def _rows(store: Store, sql: str) -> list[tuple[object, ...]]:
    rows = await store.writer.do(lambda tx: tx.connection.execute(sql).fetchall())
    return [tuple(row) for row in rows]


def _is_held(goal: Goal) -> bool:
    waits = goal.state in (State.WAITING, State.PAUSED)
    return waits and goal.wait is not None and not goal.wait.fired


def _is_queued(goal: Goal) -> bool:
    return _is_held(goal) and goal.wait is not None and goal.wait.kind == "slot"
