"""People act between any two commits of a turn: every request is valid, and the journal's own."""

import asyncio
import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import Refused
from bot.goals import events as e
from bot.goals.goal import State
from bot.goals.money import Budget
from bot.ports.journal import content_hash
from tests.bot.agent.test_kills import answer, ran
from tests.bot.agent.world import World
from tests.doubles.model import ScriptedModel

ACTS = ("nothing", "message", "edit", "pause", "resume", "pause_resume", "budget", "lease", "ask")


class People:
    """What people do, commit by commit."""

    def __init__(self, world: World, acts: list[str]) -> None:
        self._world, self._acts = world, iter(acts)

    async def __call__(self, unit: Any) -> None:
        with contextlib.suppress(Refused):
            await self._do(next(self._acts, "nothing"))

    async def _do(self, act: str) -> None:
        world = self._world
        match act:
            case "message":
                await world.says("In blue.")
            case "edit":
                edited = e.ObjectiveEdited(world.person, content_hash("Two lines."))
                await world.happens(edited, texts=("Two lines.",))
            case "pause":
                await world.happens(e.Paused(world.person))
            case "resume":
                await world.happens(e.Resumed(world.person))
            case "pause_resume":
                await world.happens(e.Paused(world.person))
                await world.happens(e.Resumed(world.person))
            case "budget":
                budget = Budget(None, 1_000_000, None)
                await world.happens(e.BudgetSet(world.person, budget))
            case "lease":
                await world.store.leases.claim_one("worker", "g1")
            case "ask":
                await _answered_ask(world)
            case _:
                pass


async def _answered_ask(world: World) -> None:
    ask = f"a{len(world.store.journal._rows.goals)}"
    opened = await world.opens("How far?", kind="ask", id=ask)
    reply = content_hash("Half.")
    ended = (e.TurnStarted(), e.TurnEnded("done", reply=reply))
    await world.happens(*ended, texts=("Half.",), goal=opened.id)


async def _races(before: list[str], after: list[str]) -> None:
    world = World(ScriptedModel(answer))
    sandbox = world.sandbox
    await world.opens("Append two lines.")
    world.journal.before = People(world, before)
    world.journal.after = People(world, after)
    for _ in range(40):
        goal = await world.journal.inner.goal("g1")
        if goal.state is State.PAUSED:
            await world.happens(e.Resumed(world.person))
        elif goal.state is State.AUDITING:
            break
        else:
            await world.runs()
    # An ordinary turn is told where the running one first knew of it, not where the journal has it.
    await world.checks(was_killed="ask" in (*before, *after))
    goal = await world.journal.inner.goal("g1")
    assert goal.state is State.AUDITING, (goal.state, goal.reason)
    assert not goal.ledger.open
    assert not goal.has_unread
    for command in ("echo one >> log", "echo two >> log"):
        assert ran(world, sandbox, "bash").count({"command": command}) <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(ACTS), max_size=12), st.lists(st.sampled_from(ACTS), max_size=12))
def test_a_goal_that_people_act_on_between_any_two_steps_gets_to_its_end(
    before: list[str], after: list[str]
) -> None:
    asyncio.run(_races(before, after))
