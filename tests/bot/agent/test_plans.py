"""Plans: a first turn that only looks, its proposal, and work within what was approved."""

import pytest

from bot.agent import prompts
from bot.goals import events as e
from bot.goals.goal import State
from bot.ports.journal import Content, Task, content_hash
from bot.ports.question import read
from tests.bot.agent.world import World, a_world, last_user, said
from tests.doubles.model import calls, reply, says

STEPS = ["Copy the job", "Switch the runner"]
PROPOSAL = {"text": "The job moves in two steps.", "steps": STEPS}


async def planned(*answers: object) -> World:
    """A goal that plans first, whose first turn has proposed."""
    world = a_world(calls("propose_plan", PROPOSAL, id="p1"), says("That is my plan."), *answers)
    await world.opens("Move the job.", plan_first=True)
    await world.runs()
    return world


async def answered(world: World, text: str, *, accepted: bool, edits: bool = False) -> None:
    decision = (await world.store.journal.goal("g1")).decision
    assert decision is not None
    content = Content(text, "ann")
    await world.happens(
        e.DecisionAnswered(decision.id, "ann", content.hash, accepted=accepted, edits=edits),
        texts=[text],
    )


async def test_the_first_turn_is_told_to_look_and_ends_in_a_proposal() -> None:
    world = await planned()

    goal = await world.store.journal.goal("g1")
    assert goal.state is State.DECIDING
    assert goal.decision is not None
    assert goal.decision.kind == "plan"
    assert read(await world.text(goal.decision.text)).options == tuple(STEPS)
    assert prompts.PLANNING in said(world.model.requests[0])
    assert "Proposed as decision 1" in said(world.model.requests[1])
    await world.checks()


async def test_a_planning_turn_can_write_nothing() -> None:
    write = calls("write", {"path": "drafts/x.txt", "content": "x"}, id="w1")
    world = a_world(write, says("1. Do it."))
    await world.opens("Move the job.", plan_first=True)

    await world.runs()

    assert "Not run: no plan is approved yet" in said(world.model.requests[1])
    assert await world.events(e.ToolStarted) == []


async def test_a_reply_without_a_proposal_is_the_plan() -> None:
    world = a_world(says("I would do this:\n\n1. Copy\n2. Switch"))
    await world.opens("Move the job.", plan_first=True)

    goal = await world.runs()

    assert goal.state is State.DECIDING
    assert goal.decision is not None
    assert goal.decision.kind == "plan"


async def test_the_steps_of_an_approved_plan_become_the_list_of_tasks() -> None:
    world = await planned(says("I copied it."))
    await answered(world, "approve", accepted=True)

    goal = await world.runs()

    tasks = await world.store.journal.tasks("g1")
    assert tasks == tuple(Task(step, "open") for step in STEPS)
    assert (goal.tasks_open, goal.planning) == (2, False)
    assert "The plan was approved by ann" in said(world.model.requests[2])
    assert prompts.PLANNING not in str(last_user(world.model.requests[2]))
    await world.checks()


async def test_the_list_is_made_once_and_kept_by_the_agent_then() -> None:
    done = {"title": STEPS[0], "state": "done", "evidence": "job.yml"}
    listed = {"tasks": [done, {"title": STEPS[1], "state": "dropped"}]}
    world = await planned(calls("plan", listed, id="l1"), says("Copied."), says("Nothing more."))
    await answered(world, "approve", accepted=True)
    await world.runs()

    await world.audits("continue")
    await world.runs()

    states = {task.title: task.state for task in await world.store.journal.tasks("g1")}
    assert states == {STEPS[0]: "done", STEPS[1]: "dropped"}
    assert len(await world.events(e.TasksPlanned)) == 2


async def test_a_task_beyond_the_plan_is_not_listed_before_it_is_proposed() -> None:
    beyond = {"tasks": [{"title": "Delete the old runner", "state": "doing"}]}
    world = await planned(calls("plan", beyond, id="l1"), says("I see."))
    await answered(world, "approve", accepted=True)

    await world.runs()

    told = said(world.model.requests[3])
    assert "no steps of the approved plan" in told
    assert '"Delete the old runner"' in told
    assert [task.title for task in await world.store.journal.tasks("g1")] == STEPS


async def test_a_plan_that_grew_is_asked_about_and_its_steps_join_the_list() -> None:
    more = {"text": "One more step.", "steps": [*STEPS, "Delete the old runner"]}
    world = await planned(
        calls("propose_plan", more, id="p2"), says("I ask for more."), says("Going on.")
    )
    await answered(world, "approve", accepted=True)
    goal = await world.runs()
    assert goal.state is State.DECIDING
    await answered(world, "approve", accepted=True)

    await world.runs()

    tasks = await world.store.journal.tasks("g1")
    assert [task.title for task in tasks] == more["steps"]
    await world.checks()


async def test_a_plan_that_grew_and_is_rejected_leaves_the_old_one() -> None:
    more = {"text": "One more step.", "steps": ["Delete the old runner"]}
    world = await planned(
        calls("propose_plan", more, id="p2"), says("I ask for more."), says("Going on.")
    )
    await answered(world, "approve", accepted=True)
    before = await world.runs()
    await answered(world, "reject", accepted=False)

    goal = await world.runs()

    assert goal.plan == before.plan
    assert "rejected. Go on with the plan that was approved before" in said(
        world.model.requests[-1]
    )
    assert [task.title for task in await world.store.journal.tasks("g1")] == STEPS


async def test_what_is_to_be_different_reaches_the_next_planning_turn() -> None:
    world = await planned(calls("propose_plan", PROPOSAL, id="p2"), says("The same, I think."))
    await answered(world, "leave the old runner alone", accepted=False, edits=True)

    goal = await world.runs()

    told = str(last_user(world.model.requests[2]))
    assert "it is to be changed" in told
    assert "leave the old runner alone" in told
    assert prompts.PLANNING in told
    assert goal.state is State.DECIDING
    assert (goal.decisions, goal.planning) == (2, True)


@pytest.mark.parametrize("name", ["propose_plan"])
async def test_nobody_is_asked_to_approve_a_plan_that_nobody_wanted(name: str) -> None:
    world = a_world(calls(name, PROPOSAL, id="p1"), says("All right."))
    await world.opens("Move the job.")

    goal = await world.runs()

    assert goal.decision is None
    assert "Nobody wants to approve a plan" in said(world.model.requests[1])


async def test_the_list_is_not_kept_before_a_plan_is_approved() -> None:
    listed = {"tasks": [{"title": "Copy", "state": "open"}]}
    world = a_world(calls("plan", listed, id="l1"), reply(), says("1. Copy"))
    await world.opens("Move the job.", plan_first=True)

    await world.runs()

    assert "propose yours with propose_plan" in said(world.model.requests[1])
    assert await world.store.journal.tasks("g1") == ()


async def test_a_proposed_plan_is_one_text_for_people_and_for_the_journal() -> None:
    world = await planned()

    [asked] = await world.events(e.DecisionAsked)
    text = "The job moves in two steps.\n\n1. Copy the job\n2. Switch the runner"
    assert asked.text == content_hash(text)
