"""Killed at any point of an approval's life: the call runs as often as somebody said yes, or is unknown."""

from typing import Any

import pytest

from bot.goals import events as e
from bot.goals.goal import Goal, State
from bot.ports.journal import content_hash
from bot.ports.model import ModelReply, ModelRequest
from bot.ports.room_settings import RoomSettings
from bot.tools.policy.verdict import ByDefault
from tests.bot.agent.ruled import Ruled, answers
from tests.bot.agent.test_kills import USAGE, Killed, KilledSandbox, Points
from tests.bot.agent.world import World, is_audited
from tests.doubles.model import ScriptedModel, reply, says

ONE, TWO, FREE = "rm one", "rm two", "echo x >> log"


def agent(request: ModelRequest) -> ModelReply:
    """Two calls that take a yes, with one between them that takes none; then it is done."""
    if sum(message["role"] == "assistant" for message in request.messages):
        return says("Done.", usage=USAGE)
    uses = [
        {"type": "tool_use", "id": id, "name": "bash", "input": {"command": command}}
        for id, command in (("t1", ONE), ("t2", FREE), ("t3", TWO))
    ]
    return reply(*uses, usage=USAGE)


def a_world(point: Points) -> World:
    rules = Ruled(RoomSettings(), ByDefault(ask=(("rm",),)))
    world = World(ScriptedModel(agent), rules=rules)
    world.journal.before = world.journal.after = point
    return world


async def until_done(world: World, said: dict[str, bool]) -> Goal:
    """Processes come and go, and people answer, until the turn has ended."""
    goal = await world.journal.inner.goal("g1")
    while not is_audited(goal):
        if goal.state is State.DECIDING:
            assert goal.decision is not None
            text = await world.text(goal.decision.text)
            accepted = next(said[command] for command in said if command in text)
            goal = await answers(world, accepted=accepted)
        try:
            goal = await world.runs()
        except Killed:
            world.start_anew()
            goal = await world.journal.inner.goal("g1")
    return goal


async def killed_at(at: int) -> tuple[World, Points, dict[str, int]]:
    point = Points(at)
    world = a_world(point)
    sandbox = world.sandbox
    world.sandbox = KilledSandbox(sandbox, point)
    world.start_anew()
    await world.opens("Clear it.")
    await until_done(world, {ONE: True, TWO: False})
    await world.checks(was_killed=True)
    commands = [
        str(args["command"])
        for session in sandbox.sessions
        for name, args in session.calls
        if name == "bash"
    ]
    return world, point, {command: commands.count(command) for command in (ONE, TWO, FREE)}


async def outcomes(world: World) -> dict[str, str]:
    return {event.tool_use: event.outcome for event in await world.events(e.ToolEnded)}


async def test_killed_at_any_point_what_was_allowed_runs_once_and_what_was_not_never() -> None:
    _, point, counts = await killed_at(0)
    assert counts == {ONE: 1, TWO: 0, FREE: 1}

    for at in range(1, point.count + 1):
        world, _, counts = await killed_at(at)

        told = await outcomes(world)
        assert counts[TWO] == 0, at
        assert told["t3"] == "error", at
        for id, command in (("t1", ONE), ("t2", FREE)):
            assert counts[command] <= 1, (at, command)
            assert counts[command] == 1 or told[id] == "unknown", (at, command)
        asked = [x for x in await world.events(e.DecisionAsked) if x.kind == "approval"]
        assert [x.tool_use for x in asked] == ["t1", "t3"], at


@pytest.mark.parametrize("how", ["expired", "edited", "stopped"])
async def test_killed_at_any_point_what_nobody_allowed_never_runs(how: str) -> None:
    async def one(at: int) -> tuple[Points, Any]:
        point = Points(at)
        world = a_world(point)
        sandbox = world.sandbox
        world.sandbox = KilledSandbox(sandbox, point)
        world.start_anew()
        await world.opens("Clear it.")
        for _ in range(9):
            goal = await world.journal.inner.goal("g1")
            if is_audited(goal):
                break
            if goal.state is State.DECIDING:
                await _nobody_says_yes(world, how)
            try:
                await world.runs()
            except Killed:
                world.start_anew()
        return point, sandbox

    point, _ = await one(0)
    for at in range(1, point.count + 1):
        _, sandbox = await one(at)

        commands = [str(args) for session in sandbox.sessions for _, args in session.calls]
        assert not any("rm" in command for command in commands), at


async def _nobody_says_yes(world: World, how: str) -> None:
    goal = await world.journal.inner.goal("g1")
    assert goal.decision is not None
    if how == "expired":
        await world.happens(e.DecisionExpired(goal.decision.id))
    elif how == "edited":
        text = f"Clear it, please {goal.revision}."
        edited = e.ObjectiveEdited(world.person, content_hash(text))
        await world.happens(edited, texts=(text,))
    else:
        await world.happens(e.Stopped(world.person), e.Resumed(world.person))
        goal = await world.journal.inner.goal("g1")
        # The question stands, as it does after a pause.
        assert goal.state is State.DECIDING
        await answers(world, accepted=False)
