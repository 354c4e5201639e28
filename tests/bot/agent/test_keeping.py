"""The workspace of a turn: kept at its end, put back before its first step."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.transcript import Transcript
from bot.errors import NoSandbox, StoreUnusable
from bot.goals import events as e
from bot.goals.goal import Goal, State
from bot.goals.machine import Entry
from bot.ports.journal import Line, Task
from bot.ports.snapshots import EMPTY
from tests.bot.agent.ruled import ruled
from tests.bot.agent.world import World, once, said
from tests.doubles.model import ScriptedModel, calls, says
from tests.doubles.snapshots import MemorySnapshots

WRITES = calls("write", {"path": "drafts/a.txt", "content": "one"}, id="t1")


class Counting(MemorySnapshots):
    """Snapshots that count how often somebody looks; `error` is raised instead."""

    def __init__(self, **of: Any) -> None:
        super().__init__(**of)
        self.looks = 0
        self.error: Exception | None = None
        self.on_restore: Any = None

    async def take(self, session: Any, *, before: str = "") -> str:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return await super().take(session, before=before)

    async def restore(self, session: Any, tree: str) -> Any:
        if self.on_restore is not None:
            self.on_restore()
        return await super().restore(session, tree)


def world_of(
    *answers: Any, seen: list[dict[str, str]] | None = None, **of: Any
) -> tuple[World, Counting]:
    """A world whose model answers these; `seen`: what is in the workspace at each request."""
    left = list(answers)

    def serve(request: Any) -> Any:
        if seen is not None:
            seen.append(dict(files(world)))
        return left.pop(0)

    world, snapshots = World(ScriptedModel(serve)), Counting(**of)
    world.snapshots = snapshots
    world.start_anew()
    return world, snapshots


async def points(world: World, goal: str = "g1") -> list[Any]:
    return list(await world.store.checkpoints.of_goal(goal))


def files(world: World) -> dict[str, str]:
    found: dict[str, str] = world.sandbox.workspaces.get(world.session, {})
    return found


async def rewound(world: World, number: int) -> Goal:
    """A person puts it back to that checkpoint, and lets it go on."""
    point = (await points(world))[number - 1]
    event = e.Rewound(world.person, point.seq, point.point, point.tree)
    await world.happens(event)
    return await world.happens(e.Resumed(world.person))


async def test_a_turn_that_writes_is_kept_with_its_files() -> None:
    world, snapshots = world_of(WRITES, says("Done."))
    await world.opens("Write it.")

    await world.runs()

    [point] = await points(world)
    assert [one.path for one in await snapshots.entries(point.tree)] == ["drafts/a.txt"]
    await world.checks()


async def test_a_turn_that_only_thinks_looks_at_nothing() -> None:
    world, snapshots = world_of(says("I think."), says("I think on."))
    await world.opens("Think.")

    await world.runs()
    await world.audits()
    await world.runs()

    assert [one.tree for one in await points(world)] == [EMPTY, EMPTY]
    assert snapshots.looks == 0
    assert world.sandbox.sessions == []


async def test_what_was_kept_stands_for_turns_that_change_nothing() -> None:
    world, snapshots = world_of(WRITES, says("Done."), says("Still done."))
    await world.opens("Write it.")
    await world.runs()
    await world.audits()

    await world.runs()

    first, second = await points(world)
    assert first.tree == second.tree != EMPTY
    assert snapshots.looks == 1


async def test_a_turn_that_rests_for_a_yes_that_nobody_is_expected_to_give_is_kept() -> None:
    push = calls("bash", {"command": "git push"}, id="t2")
    world = ruled(WRITES, push, says("Done."), unattended="park")
    world.snapshots = snapshots = Counting()
    world.start_anew()
    await world.opens("Write it.", unattended=True)

    goal = await world.runs()

    assert goal.reason == "needs_approval"
    [point] = await points(world)
    assert [one.path for one in await snapshots.entries(point.tree)] == ["drafts/a.txt"]
    await world.happens(e.Resumed(world.person))
    await world.runs()
    assert snapshots.looks == 1


async def test_what_a_check_left_between_turns_is_kept() -> None:
    world, snapshots = world_of(WRITES, says("Done."), says("Only looked."))
    await world.opens("Write it.")
    await world.runs()
    files(world)["drafts/b.txt"] = "left by a check"
    await world.happens(e.GatesRan((), (), report=""))
    await world.audits()

    await world.runs()

    last = (await points(world))[-1]
    assert "drafts/b.txt" in [one.path for one in await snapshots.entries(last.tree)]


def test_carrying_out_a_review_may_change_the_workspace() -> None:
    transcript, state = Transcript("g1"), State.READY
    entry = Entry(1, e.ReviewSettled("d1", "0" * 64), "review_settled", state, state, {})

    transcript.feed(Line("g1", 1, entry))

    assert transcript.may_have_changed


async def test_what_a_stopped_turn_left_is_kept_at_the_next_checkpoint() -> None:
    world, _ = world_of(WRITES, says("Nothing said."), says("On."))
    await world.opens("Write it.")
    world.journal.after = lambda unit: (
        world.happens(e.Stopped(world.person))
        if any(isinstance(event, e.ToolStarted) for event in unit.events)
        else None
    )
    await world.runs()
    world.journal.after = lambda unit: None
    assert await points(world) == []
    await world.happens(e.Resumed(world.person))

    await world.runs()

    [point] = await points(world)
    assert point.tree != EMPTY


@pytest.mark.parametrize(
    ("error", "why"),
    [(None, "quota"), (NoSandbox("It died."), "sandbox"), (StoreUnusable("Full."), "disk")],
)
async def test_what_cannot_be_kept_fails_no_turn_and_says_why(
    error: Exception | None, why: str
) -> None:
    world, snapshots = world_of(WRITES, says("Done."), says("Done again."), most_bytes=2)
    snapshots.error = error
    await world.opens("Write it.")

    goal = await world.runs()

    assert goal.state is State.AUDITING
    assert [one.tree for one in await points(world)] == [""]
    assert [event.unkept for event in await world.events(e.TurnEnded)] == [why]
    snapshots.error, snapshots._most_bytes = None, 1_000
    await world.audits()
    await world.runs()
    assert (await points(world))[-1].tree not in ("", EMPTY)


async def test_a_workspace_is_put_back_before_the_agent_is_asked_anything() -> None:
    seen: list[dict[str, str]] = []
    again = calls("write", {"path": "drafts/a.txt", "content": "two"}, id="t2")
    world, _ = world_of(WRITES, says("One."), again, says("Two."), says("Back."), seen=seen)
    await world.opens("Write it.")
    await world.runs()
    await world.audits()
    await world.runs()
    assert files(world) == {"drafts/a.txt": "two"}

    goal = await rewound(world, 1)
    assert goal.restore
    goal = await world.runs()

    assert seen[-1] == {"drafts/a.txt": "one"}
    assert goal.restore == ""
    assert len(await world.events(e.WorkspaceRestored)) == 1
    assert "put the goal back" in said(world.model.requests[-1])
    assert "Two." not in said(world.model.requests[-1])
    first, _, third = await points(world)
    assert third.tree == first.tree
    await world.checks()


async def test_killed_while_it_is_put_back_it_is_put_back_again() -> None:
    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    world, snapshots = world_of(WRITES, says("One."), says("Back."))
    await world.opens("Write it.")
    await world.runs()
    await rewound(world, 1)
    files(world)["drafts/new.txt"] = "spoilt"
    snapshots.on_restore = kill
    with pytest.raises(Killed):
        await world.runs()
    assert (await world.store.journal.goal("g1")).restore

    snapshots.on_restore = None
    world.start_anew()
    await world.runs()

    assert files(world) == {"drafts/a.txt": "one"}
    assert len(await world.events(e.WorkspaceRestored)) == 1


async def test_where_the_files_are_gone_meanwhile_the_goal_is_blocked_and_says_so() -> None:
    world, snapshots = world_of(WRITES, says("One."))
    await world.opens("Write it.")
    await world.runs()
    await rewound(world, 1)
    snapshots.trees.clear()

    goal = await world.runs()

    assert (goal.state, goal.reason) == (State.BLOCKED, "failed:workspace")
    assert goal.restore


async def test_without_a_sandbox_it_is_put_back_when_there_is_one_again() -> None:
    world, _ = world_of(WRITES, says("One."), says("No tools."), says("Tools."))
    await world.opens("Write it.")
    await world.runs()
    await rewound(world, 1)
    files(world)["drafts/a.txt"] = "spoilt"
    sandbox, world.sandbox = world.sandbox, None
    world.start_anew()
    goal = await world.runs()
    assert goal.restore
    world.sandbox = sandbox
    world.start_anew()
    await world.audits()

    goal = await world.runs()

    assert goal.restore == ""
    assert files(world) == {"drafts/a.txt": "one"}


async def test_files_for_people_are_known_by_each_version_and_are_progress() -> None:
    def report(text: str, id: str) -> Any:
        return calls("write", {"path": "artifacts/report.md", "content": text}, id=id)

    world, _ = world_of(
        report("one", "t1"), says("One."), says("Nothing new."), report("three", "t3"), says("Two.")
    )
    await world.opens("Write it.")
    for _ in range(3):
        await world.runs()
        await world.audits()

    [made] = await world.store.checkpoints.artifacts("g1")

    assert (made.path, made.size, made.kind, made.origin) == (
        "artifacts/report.md", 5, "text/markdown", "made",
    )  # fmt: skip
    assert made.turn == 3
    ends = await world.events(e.TurnEnded)
    assert [end.progress for end in ends] == [True, False, True]


async def _copied(world: World) -> str:
    """A copy of g1 at its first point, in a thread of its own; returns the first one's session."""
    [point] = await points(world)
    parent = world.session
    await world.happens(e.Paused(world.person))
    thread = await world.store.rooms.begin(
        replace(world.store.rooms.place(parent), thread="another")
    )
    opened = e.GoalOpened(
        "g2", thread.session, 0, world.person, point.point.objective, point.point.budget,
        forks="g1", fork_seq=point.seq, restore=point.tree,
    )  # fmt: skip
    await world.journal.open(opened, ())
    world.session = thread.session
    return parent


async def test_a_copy_begins_with_the_files_and_the_tasks_of_its_point() -> None:
    planned = {"tasks": [{"title": "Look", "state": "doing"}]}
    seen: list[dict[str, str]] = []
    world, _ = world_of(
        calls("plan", planned, id="p1"), WRITES, says("One."), says("Copied."), seen=seen
    )
    await world.opens("Write it.")
    await world.runs()
    parent = await _copied(world)

    goal = await world.runs("g2")

    assert seen[-1] == {"drafts/a.txt": "one"}
    assert await world.store.journal.tasks("g2") == (Task("Look", "doing"),)
    assert (goal.tasks_open, goal.restore) == (1, "")
    assert "One." in said(world.model.requests[-1])
    assert "a copy of the one above" in said(world.model.requests[-1])
    assert world.sandbox.workspaces[parent] == {"drafts/a.txt": "one"}


async def test_a_copy_whose_first_turn_had_no_tools_gets_its_tasks_with_its_files() -> None:
    planned = {"tasks": [{"title": "Look", "state": "doing"}]}
    world, _ = world_of(
        calls("plan", planned, id="p1"), WRITES, says("One."), says("No tools."), says("Copied.")
    )
    await world.opens("Write it.")
    await world.runs()
    await _copied(world)
    sandbox, world.sandbox = world.sandbox, None
    world.start_anew()
    goal = await world.runs("g2")
    assert goal.restore
    world.sandbox = sandbox
    world.start_anew()
    await world.happens(e.Stopped(world.person), e.Resumed(world.person), goal="g2")

    goal = await world.runs("g2")

    assert (goal.turn, goal.restore, goal.tasks_open) == (2, "", 1)
    assert await world.store.journal.tasks("g2") == (Task("Look", "doing"),)


async def test_lines_are_remembered_only_where_a_goal_was_put_back() -> None:
    world, _ = world_of(WRITES, says("Done."), says("On."), says("Back."), says("On again."))
    await world.opens("Write it.")

    def remembered() -> int:
        [(record, _)] = world.turns._remembered._records.values()
        return len(record.transcript._lines)

    await world.runs()
    await world.audits()
    await world.runs()
    before = remembered()
    await rewound(world, 1)
    await world.runs()
    after = remembered()
    await world.audits()
    await world.runs()

    assert before == 0
    assert 0 < after < remembered()
    assert "On." not in said(world.model.requests[-1])
    await world.checks()


async def test_what_could_not_be_put_back_is_told_after_a_kill_too() -> None:
    world, snapshots = world_of(WRITES, says("Done."), says("I look."))
    await world.opens("Write it.")
    await world.runs()
    restore = snapshots.restore

    async def lacks(session: Any, tree: str) -> Any:
        return replace(await restore(session, tree), failed={"drafts/b.txt": "no space left"})

    snapshots.restore = lacks  # type: ignore[method-assign]
    await rewound(world, 1)
    world.journal.after = once(lambda unit: _die(), e.WorkspaceRestored)
    with pytest.raises(asyncio.CancelledError):
        await world.runs()
    world.start_anew()

    await world.runs()

    told = said(world.model.requests[-1])
    assert "could not be put back as they were" in told
    assert "drafts/b.txt" in told
    await world.checks()


def _die() -> None:
    raise asyncio.CancelledError


async def test_who_asks_about_a_goal_that_was_put_back_and_rests_hears_that_its_files_are_not() -> (
    None
):
    world, _ = world_of(WRITES, says("Done."), says("One."), says("Two."))
    await world.opens("Write it.")
    await world.runs()
    [point, *_] = await points(world)
    await world.happens(e.Rewound(world.person, point.seq, point.point, point.tree))
    await world.opens("What is in it?", kind="ask", id="a1")

    await world.runs("a1")

    assert "G1 was put back to an earlier point, but its files" in str(world.model.requests[-1])
    await world.happens(e.Cancelled(world.person))
    await world.opens("And now?", kind="ask", id="a2")
    await world.runs("a2")
    told = str(world.model.requests[-1].messages[-1])
    assert "its files are put back only when" not in told
