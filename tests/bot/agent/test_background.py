"""What a goal has running between its turns, and how its waits for it end."""

import asyncio
from dataclasses import replace

import pytest

from bot.agent.background import Background, lives_on, standing
from bot.goals import events as e
from bot.goals.goal import Decision, Goal, State, Wait
from bot.ports.records import Parked
from tests.bot.agent.world import World, said
from tests.doubles.model import ScriptedModel, calls, says
from tests.doubles.sandbox import MemorySandbox

GOAL = Goal("g", "s", 1, "ann", "do it")
PROCESS = Wait("w", "process", "bg-00000001", 9e9)


@pytest.mark.parametrize(
    ("goal", "lives"),
    [
        (replace(GOAL, state=State.READY), True),
        (replace(GOAL, state=State.WORKING), True),
        (replace(GOAL, state=State.AUDITING), True),
        (replace(GOAL, state=State.WAITING, wait=PROCESS), True),
        (replace(GOAL, state=State.WAITING, wait=replace(PROCESS, fired=True)), False),
        (replace(GOAL, state=State.WAITING, wait=replace(PROCESS, kind="time")), False),
        (replace(GOAL, state=State.DECIDING, decision=Decision("d", 1, "approval", "", 9e9)), True),
        (
            replace(GOAL, state=State.DECIDING, decision=Decision("d", 1, "question", "", 9e9)),
            False,
        ),
        (replace(GOAL, state=State.PAUSED, reason="paused", wait=PROCESS), True),
        (replace(GOAL, state=State.PAUSED, reason="stopped", wait=PROCESS), False),
        (replace(GOAL, state=State.PAUSED, reason="paused"), False),
        (replace(GOAL, state=State.BLOCKED), False),
        (replace(GOAL, state=State.OVER_BUDGET), False),
        (replace(GOAL, state=State.COMPLETE), False),
        (replace(GOAL, state=State.CANCELLED, wait=PROCESS), False),
    ],
    ids=lambda value: value.state.value if isinstance(value, Goal) else None,
)
def test_it_lives_on_while_the_goal_goes_on_or_waits_for_it(goal: Goal, lives: bool) -> None:
    assert lives_on(goal) is lives


async def test_a_process_without_a_sandbox_is_gone() -> None:
    assert standing(None, GOAL, "bg-00000001") == "gone"
    assert standing(MemorySandbox(), GOAL, "bg-00000001") == "gone"


async def test_its_wait_fires_when_it_ends() -> None:
    world, sandbox, woken = await _parked("sleep 0.2")
    background = Background(sandbox, world.store.journal, woken.append)
    await background.look()
    still = await _goal(world)

    await asyncio.sleep(0.4)
    await background.look()

    goal = await _goal(world)
    assert still.state is State.WAITING
    assert (goal.state, goal.opening) == (State.READY, "wait")
    assert woken == [goal.id]


async def test_a_goal_that_is_stopped_keeps_its_wait_and_loses_the_process() -> None:
    world, sandbox, woken = await _parked("sleep 60")
    await world.happens(e.Stopped(world.person))

    await Background(sandbox, world.store.journal, woken.append).look()

    assert not sandbox.lingering
    assert (await _goal(world)).wait is not None
    assert not woken


async def test_what_went_with_the_process_before_is_told_at_the_start() -> None:
    world, _, woken = await _parked("sleep 60")
    goal = await _goal(world)
    assert goal.wait is not None
    after = Background(MemorySandbox(), world.store.journal, woken.append)

    await after.begin([Parked(goal.id, goal.wait, 9e9)])
    await world.runs()

    assert woken == [goal.id]
    assert "It is gone with the sandbox" in said(world.model.requests[-1])


async def test_an_ordinary_turn_beside_it_leaves_it_running() -> None:
    world, sandbox, woken = await _parked("sleep 60")
    goal = await _goal(world)
    await world.happens(e.Paused(world.person))

    await world.opens("How is it going?", kind="ask", id="a1")
    await world.runs("a1")
    await Background(sandbox, world.store.journal, woken.append).look()

    assert sandbox.lingering == {goal.session: goal.id}
    assert standing(sandbox, goal, "bg-00000001") == "running"
    await sandbox.release(goal.session)


async def test_a_wait_for_what_has_ended_is_refused_with_how_it_ended() -> None:
    world = World(ScriptedModel([
        calls("bash", {"command": "exit 3", "background": True}),
        calls("poll", {"id": "bg-00000001", "wait_s": 5}),
        calls("wait_for", {"kind": "process", "ref": "bg-00000001", "reason": "r"}),
        says("Done."),
    ]))  # fmt: skip
    await world.opens("Build it.")

    await world.runs()

    assert "has ended with exit code 3 already" in said(world.model.requests[3])


async def _parked(command: str) -> tuple[World, MemorySandbox, list[str]]:
    sandbox = MemorySandbox()
    started = calls("bash", {"command": command, "background": True})
    waits = {"kind": "process", "ref": "bg-00000001", "reason": "it takes a while"}
    model = ScriptedModel([started, calls("wait_for", waits), says("I wait."), says("Done.")])
    world = World(model, sandbox=sandbox)
    await world.opens("Build it.")
    goal = await world.runs()
    assert goal.state is State.WAITING
    assert sandbox.lingering == {goal.session: goal.id}
    return world, sandbox, []


async def _goal(world: World) -> Goal:
    return await world.store.journal.goal("g1")
