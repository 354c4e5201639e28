"""The agent's tools in a turn: what runs, what is asked, what is told."""

from typing import Any

import pytest

from bot.agent import prompts
from bot.goals import events as e
from bot.goals.goal import State
from bot.ports.journal import content_hash
from tests.bot.agent.world import (
    World,
    a_world,
    is_audited,
    last_user,
    once,
    said,
    use,
)
from tests.doubles.model import ScriptedModel, calls, reply, says


async def test_a_pause_before_a_command_has_begun_says_that_it_was_not_run() -> None:
    world = a_world(calls("bash", {"command": "echo x >> log"}), says("Then again."))
    await world.opens("Write.")
    world.journal.after = once(lambda unit: world.happens(e.Paused(world.person)), e.ToolStarted)
    # The pause is in the row before the turn hears of its own commit, and something else differs.
    world.journal.before = once(lambda unit: world.says("Hurry."), e.ToolStarted)

    goal = await world.runs()

    assert goal.state is State.PAUSED
    (ended,) = await world.events(e.ToolEnded)
    assert (ended.outcome, ended.touched) == ("interrupted", False)
    assert not world.sandbox.workspaces.get(world.session)
    await world.checks()


async def test_a_tool_that_changes_things_runs_alone_and_those_that_do_not_run_together() -> None:
    uses = [
        use("glob", {"pattern": "*"}, "t1"),
        use("grep", {"pattern": "x"}, "t2"),
        use("write", {"path": "a", "content": "1"}, "t3"),
        use("read", {"path": "a"}, "t4"),
    ]
    world = a_world(reply(*uses), says("Done."))
    await world.opens("Go.")

    goal = await world.runs()

    starts = [
        tuple(x.tool_use for x in unit.events if isinstance(x, e.ToolStarted))
        for unit in world.journal.units
    ]
    assert [s for s in starts if s] == [("t1", "t2"), ("t3",), ("t4",)]
    assert goal.touched
    assert (await world.events(e.TurnEnded))[-1].progress
    await world.checks()


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("dance", {}, "There is no tool 'dance'"),
        ("read", {}, "path is missing"),
        ("read", {"path": 3}, "must be a string"),
    ],
)
async def test_a_call_that_cannot_run_is_an_error_result(
    name: str, args: dict[str, Any], told: str
) -> None:
    world = a_world(calls(name, args), says("I see."))
    await world.opens("Go.")

    goal = await world.runs()

    result = last_user(world.model.requests[1])[0]
    assert result["is_error"]
    assert told in result["content"]
    assert is_audited(goal)
    assert not goal.touched


async def test_a_sandbox_that_does_not_start_is_told_to_the_agent() -> None:
    world = a_world(calls("bash", {"command": "ls"}), says("I cannot look."))
    world.sandbox.broken = "bubblewrap is missing: install it."
    await world.opens("Look.")

    goal = await world.runs()

    result = last_user(world.model.requests[1])[0]
    assert "bubblewrap is missing" in result["content"]
    assert is_audited(goal)


async def test_without_a_sandbox_its_tools_are_not_offered() -> None:
    world = World(ScriptedModel([says("Done.")]), sandbox=None)
    await world.opens("Explain tides.")

    await world.runs()

    names = {tool["name"] for tool in world.model.requests[0].tools}
    assert names == {"ask_person", "wait_for", "plan", "finish_note", "propose_plan"}
    assert prompts.TOOLS_OFF in world.model.requests[0].system[0]["text"]


async def test_a_question_parks_the_goal_and_its_answer_opens_the_next_turn() -> None:
    asked = calls("ask_person", {"question": "Which colour?", "options": ["red", "blue"]})
    world = a_world(asked, says("I wait."), says("Blue."))
    await world.opens("Paint it.")
    goal = await world.runs()
    assert goal.state is State.DECIDING
    assert goal.decision is not None
    assert await world.text(goal.decision.text) == "Which colour?\n\n1. red\n2. blue"

    answered = e.DecisionAnswered(goal.decision.id, world.person, content_hash("blue"))
    await world.happens(answered, texts=("blue",))
    goal = await world.runs()

    words = last_user(world.model.requests[2])[-1]["text"]
    assert words == "[Answer of the owner to question 1:]\nblue"
    assert is_audited(goal)
    await world.checks()


async def test_a_question_is_not_asked_twice_in_one_revision() -> None:
    again = {"question": "Which colour?"}
    world = a_world(
        calls("ask_person", again, id="t1"),
        says("I wait."),
        calls("ask_person", again, id="t2"),
        says("Red then."),
    )
    await world.opens("Paint it.")
    await world.runs()
    await world.says("Decide yourself.")
    goal = await world.journal.inner.goal("g1")
    assert goal.decision is not None
    await world.happens(e.Paused(world.person), e.ToolEnded("x", "ok", ""))
    await world.happens(e.Resumed(world.person))
    goal = await world.journal.inner.goal("g1")
    assert goal.decision is not None
    answered = e.DecisionAnswered(goal.decision.id, world.person, content_hash("any"))
    await world.happens(answered, texts=("any",))

    await world.runs()

    result = last_user(world.model.requests[3])[0]
    assert "asked this already" in result["content"]
    assert result["is_error"]


async def test_a_wait_parks_the_goal_and_what_fires_it_is_told() -> None:
    wait = {
        "kind": "time",
        "ref": "the bus",
        "until": "2100-01-01T00:00:00Z",
        "reason": "It comes.",
    }
    world = a_world(calls("wait_for", wait), says("I wait."), says("It came."))
    await world.opens("Wait for the bus.")
    goal = await world.runs()
    assert goal.state is State.WAITING
    assert goal.wait is not None

    await world.happens(e.WaitFired(goal.wait.id, "It is time"))
    await world.runs()

    assert "The wait is over (time: the bus). It is time." in said(world.model.requests[2])
    await world.checks()


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        ({"kind": "time", "ref": "x", "until": "2001-01-01T00:00:00Z", "reason": "r"}, "past"),
        ({"kind": "time", "ref": "x", "reason": "r"}, "needs `until`"),
        ({"kind": "process", "ref": "12", "reason": "r"}, "no background command"),
    ],
)
async def test_a_wait_that_cannot_be_is_an_error_result(wait: dict[str, Any], told: str) -> None:
    world = a_world(calls("wait_for", wait), says("Then not."))
    world.clock.at = 2e9
    await world.opens("Wait.")

    goal = await world.runs()

    assert told in last_user(world.model.requests[1])[0]["content"]
    assert is_audited(goal)


async def test_a_withdrawn_question_is_told() -> None:
    asked = calls("ask_person", {"question": "Which colour?"})
    world = a_world(asked, says("I wait."), says("Blue."))
    await world.opens("Paint it.")
    count = iter(range(9))
    world.journal.after = lambda unit: (
        world.says("Blue, please.")
        if any(isinstance(x, e.CallStarted) for x in unit.events) and next(count) == 1
        else None
    )
    goal = await world.runs()
    assert (goal.state, goal.opening) == (State.READY, "message")

    await world.runs()

    assert "Your question was withdrawn" in said(world.model.requests[2])
    await world.checks()


async def test_a_plan_counts_the_tasks_that_were_closed_with_evidence() -> None:
    first = {"tasks": [{"title": "a", "state": "doing"}, {"title": "b", "state": "open"}]}
    second = {
        "tasks": [
            {"title": "a", "state": "done", "evidence": "ls"},
            {"title": "b", "state": "open"},
        ]
    }
    world = a_world(calls("plan", first, id="t1"), calls("plan", second, id="t2"), says("On."))
    await world.opens("Two tasks.")

    goal = await world.runs()

    planned = await world.events(e.TasksPlanned)
    assert [(p.open, p.done, p.closed) for p in planned] == [(2, 0, 0), (1, 1, 1)]
    assert (goal.tasks_open, goal.tasks_done) == (1, 1)
    assert [t.state for t in await world.journal.tasks("g1")] == ["done", "open"]
    assert (await world.events(e.TurnEnded))[-1].progress
