"""The turn over real HTTP to the rehearsed Messages API, which answers 400 where the real one would."""

import asyncio
from pathlib import Path

import pytest

from adapters.store.open import open_store
from bot.goals import events as e
from bot.goals.goal import Goal, State
from bot.goals.limits import LIMITS
from bot.ports.journal import content_hash
from bot.ports.model import NOT_SENT
from tests.adapters.claude.clocks import FastClock
from tests.adapters.claude.serving import served
from tests.bot.agent.world import StepClock, World
from tests.peers.scripts import by_objective

SCRIPTS = [
    "complete_after 3",
    "complete_after 2 read drafts/input.txt",
    "asks Which colour?",
    "waits 3600",
    "writes 3",
    "appends 2",
    "many 5",
    "thinks",
    "pauses",
    "cut",
    "overflows",
    "compacts 2",
    "stalls",
]


@pytest.mark.parametrize("restarts", [False, True], ids=["one process", "one process a turn"])
@pytest.mark.parametrize("script", SCRIPTS)
async def test_every_request_of_a_rehearsed_goal_is_taken(script: str, restarts: bool) -> None:
    async with served(
        by_objective, model="agent-model", endpoint_compaction_models=("agent-model",)
    ) as (api, model):
        world = World(model)
        await _plays(world, script, restarts=restarts)
        calls = await api.calls()

    assert [call for call in calls if call["status"] != 200] == []


@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_rehearsed_goal_goes_the_same_way_over_the_database(
    script: str, tmp_path: Path
) -> None:
    clock = StepClock()
    async with (
        served(by_objective, model="agent-model", endpoint_compaction_models=("agent-model",)) as (
            _,
            model,
        ),
        open_store("sqlite:///db", clock=clock, limits=LIMITS, state_dir=tmp_path) as store,
    ):
        await _plays(World(model, clock=clock, store=store), script, restarts=True)


async def test_a_stop_while_the_endpoint_is_overloaded_costs_nothing() -> None:
    async with served(by_objective, model="agent-model", clock=FastClock()) as (api, model):
        world = World(model)
        await api.fault({"status": 529}, count=None)
        await world.opens("Do it.")
        task = asyncio.ensure_future(world.runs())
        while not await api.calls():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        await world.happens(e.Stopped(world.person))

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    goal = await world.journal.inner.goal("g1")
    assert goal.state is State.PAUSED
    assert goal.ledger.tokens == 0
    assert not goal.ledger.open
    assert (await world.events(e.CallReleased))[-1].reason == NOT_SENT


async def _plays(world: World, script: str, *, restarts: bool) -> None:
    await world.opens(f"Do it.\n!script {script}")
    goal = await world.journal.inner.goal("g1")
    while goal.turn < 4 and goal.state is not State.BLOCKED:
        if restarts:
            world.start_anew()
        goal = await world.runs()
        goal = await _answered(world, goal)
    assert not goal.reason.startswith("failed")
    await world.checks()


async def _answered(world: World, goal: Goal) -> Goal:
    match goal.state:
        case State.AUDITING:
            return await world.audits()
        case State.WAITING:
            assert goal.wait is not None
            return await world.happens(e.WaitFired(goal.wait.id, "It is time"))
        case State.DECIDING:
            assert goal.decision is not None
            answer = e.DecisionAnswered(goal.decision.id, world.person, content_hash("yes"))
            return await world.happens(answer, texts=("yes",))
        case _:
            return goal
