"""What was allowed until a turn has ended, when another process goes on with that turn."""

from typing import Any

import pytest

from bot.agent.reach import NoLines
from bot.agent.reach_kit import ReachBox
from bot.goals import events as e
from bot.goals.goal import Goal
from bot.ports.chat import Place
from tests.bot.agent.ruled import Ruled, answers
from tests.bot.agent.test_kills import Killed
from tests.bot.agent.world import World, is_audited, once
from tests.doubles.model import ScriptedModel, calls, says

HOST = "api.example.org"


class Lines(NoLines):
    """Port Lines: what was widened, in the memory of one process."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()

    async def widen(self, goal: Goal, place: Place, host: str) -> bool:
        self.hosts.add(host)
        return True


def a_world(*answers: Any) -> World:
    world = World(ScriptedModel(list(answers)), rules=Ruled())
    lives_with(world, Lines())
    return world


def lives_with(world: World, lines: Lines) -> None:
    world.lines, world.toolboxes = lines, [ReachBox(lines)]
    world.start_anew()


def asks(id: str) -> Any:
    return calls("reach", {"host": HOST, "why": "for the work"}, id=id)


def kill(unit: Any) -> None:
    raise Killed


async def test_another_process_lets_the_turn_reach_what_it_was_allowed() -> None:
    world = a_world(asks("t1"), says("Done."))
    await world.opens("Go.")
    await world.runs()
    await answers(world)
    world.journal.after = once(kill, e.ToolEnded)
    with pytest.raises(Killed):
        await world.runs()

    lives_with(world, after := Lines())
    goal = await world.runs()

    assert is_audited(goal)
    assert after.hosts == {HOST}


async def test_it_is_gone_with_the_turn_and_what_was_refused_is_never_there() -> None:
    world = a_world(asks("t1"), asks("t2"), says("Done."), says("Again."))
    await world.opens("Go.")
    await world.runs()
    await answers(world)
    await world.runs()
    lives_with(world, refused := Lines())
    await answers(world, accepted=False)
    await world.runs()
    assert refused.hosts == {HOST}
    await world.audits()

    lives_with(world, after := Lines())
    world.journal.after = once(kill, e.TurnStarted)
    with pytest.raises(Killed):
        await world.runs()
    world.start_anew()
    await world.runs()

    assert after.hosts == set()
