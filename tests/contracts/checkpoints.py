"""What every store does with the points that a goal can be put back to."""

from dataclasses import replace

import pytest

from bot.errors import Refused
from bot.goals.events import (
    CallReleased,
    CallStarted,
    DecisionAnswered,
    GoalOpened,
    Resumed,
    Rewound,
    TasksPlanned,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal, State
from bot.goals.limits import DEFAULT_BUDGET
from bot.goals.machine import replay
from bot.ports.artifacts import Artifact
from bot.ports.journal import Content, Task, Unit
from bot.ports.snapshots import EMPTY
from tests.contracts.stores import ANN, Bed

ONE, TWO, THREE = (letter * 64 for letter in "abc")
TASKS = (Task("Look", "done", "looked"), Task("Mend", "open"))
REPORT = Artifact("artifacts/report.md", "d" * 64, 7, "text/markdown", "made")


async def turn(
    bed: Bed,
    goal: Goal,
    tree: str | None,
    *,
    tasks: tuple[Task, ...] | None = None,
    artifacts: tuple[Artifact, ...] = (),
) -> Goal:
    """One turn to its end, which is heard at once, and makes a checkpoint with that tree."""
    await bed.commit(goal, TurnStarted())
    planned = TasksPlanned("p", sum(task.state == "open" for task in tasks or ()), 1, 1)
    events = (*((planned,) if tasks is not None else ()), TurnEnded("stopped"))
    await bed.commit(goal, *events, tasks=tasks, tree=tree, artifacts=artifacts)
    return (await bed.commit(goal, Resumed(goal.owner))).goal


class CheckpointsContract:
    """Subclasses give a fixture `bed`."""

    async def test_each_end_of_a_turn_is_a_checkpoint_with_its_tree(self, bed: Bed) -> None:
        goal = await bed.open()
        assert await bed.checkpoints.latest(goal.session) is None

        for tree in (ONE, None, "", TWO):
            await turn(bed, goal, tree)

        found = await bed.checkpoints.of_goal(goal.id)
        assert [(one.number, one.turn, one.tree) for one in found] == [
            (1, 1, ONE), (2, 2, ONE), (3, 3, ""), (4, 4, TWO),
        ]  # fmt: skip
        assert [one.point.turn for one in found] == [1, 2, 3, 4]
        assert not any(one.is_plan for one in found)
        assert await bed.checkpoints.latest(goal.session) == TWO
        assert await bed.checkpoints.named() == {ONE, TWO}
        assert await bed.checkpoints.trees() == {goal.session: (ONE, TWO)}

    async def test_where_nothing_was_ever_kept_a_checkpoint_is_of_an_empty_workspace(
        self, bed: Bed
    ) -> None:
        goal = await bed.open()

        await turn(bed, goal, None)

        assert [one.tree for one in await bed.checkpoints.of_goal(goal.id)] == [EMPTY]

    async def test_a_rewind_puts_the_goal_and_its_tasks_back_and_the_row_is_what_replay_gives(
        self, bed: Bed
    ) -> None:
        goal = await bed.open()
        await turn(bed, goal, ONE, tasks=TASKS)
        await turn(bed, goal, TWO, tasks=(replace(TASKS[1], state="done"),))
        first = (await bed.checkpoints.of_goal(goal.id))[0]
        assert await bed.checkpoints.tasks(goal.id, first.seq) == TASKS
        assert await bed.checkpoints.tasks(goal.id, first.seq - 1) == ()

        applied = await bed.journal.commit(
            Unit(goal.id, (Rewound(goal.owner, first.seq, first.point, ONE),))
        )

        assert applied.goal.state is State.PAUSED
        assert (applied.goal.tasks_open, applied.goal.restore) == (1, ONE)
        assert await bed.journal.tasks(goal.id) == TASKS
        assert replay(await bed.ports.records.journal(goal.id)) == await bed.journal.goal(goal.id)

    async def test_what_is_no_checkpoint_any_more_is_refused_and_nothing_is_written(
        self, bed: Bed
    ) -> None:
        goal = await bed.open()
        await turn(bed, goal, ONE)
        [first] = await bed.checkpoints.of_goal(goal.id)
        before = await bed.journal.goal(goal.id)

        for event in (
            Rewound(goal.owner, first.seq, first.point, TWO),
            Rewound(goal.owner, first.seq - 1, first.point, ONE),
            Rewound(goal.owner, first.seq, replace(first.point, turn=0), ONE),
        ):
            with pytest.raises(Refused) as refused:
                await bed.journal.commit(Unit(goal.id, (event,)))
            assert refused.value.code == "no_checkpoint"

        assert await bed.journal.goal(goal.id) == before

    async def test_a_tree_that_is_still_to_be_put_back_is_named(self, bed: Bed) -> None:
        goal = await bed.open()
        await turn(bed, goal, ONE)
        [first] = await bed.checkpoints.of_goal(goal.id)
        event = Rewound(goal.owner, first.seq, first.point, ONE)
        await bed.journal.commit(Unit(goal.id, (event,)))

        gone = await bed.checkpoints.let_go([goal.session])

        assert gone == 1
        assert await bed.checkpoints.named() == {ONE}
        assert [one.tree for one in await bed.checkpoints.of_goal(goal.id)] == [""]

    async def test_only_the_last_trees_of_a_goal_are_kept(self, bed: Bed) -> None:
        goal = await bed.open()
        for tree in (ONE, TWO, THREE):
            await turn(bed, goal, tree)

        gone = await bed.checkpoints.thin(2)
        again = await bed.checkpoints.thin(2)

        assert (gone, again) == (1, 0)
        kept = await bed.checkpoints.of_goal(goal.id)
        assert [one.tree for one in kept] == ["", TWO, THREE]

    async def test_a_tree_is_named_by_another_name(self, bed: Bed) -> None:
        goal = await bed.open()
        for tree in (ONE, TWO, ONE):
            await turn(bed, goal, tree)

        assert await bed.checkpoints.replace({ONE: THREE}) == 2

        kept = await bed.checkpoints.of_goal(goal.id)
        assert [one.tree for one in kept] == [THREE, TWO, THREE]

    async def test_each_version_of_a_file_that_was_made_is_a_row_and_the_newest_is_told(
        self, bed: Bed
    ) -> None:
        goal = await bed.open()
        newer = replace(REPORT, hash="e" * 64, size=9)
        await turn(bed, goal, ONE, artifacts=(REPORT,))
        await turn(bed, goal, ONE, artifacts=(REPORT,))
        await turn(bed, goal, TWO, artifacts=(newer,))

        [found] = await bed.checkpoints.artifacts(goal.id)

        assert (found.path, found.hash, found.size, found.turn) == (
            "artifacts/report.md", "e" * 64, 9, 3,
        )  # fmt: skip

    async def test_posts_that_came_to_be_there_are_counted(self, bed: Bed) -> None:
        goal = await bed.open()
        at = await bed.time.now()
        await bed.time.pass_by(10)
        await bed.commit(goal, TurnStarted(), TurnEnded("failed", failed="refusal"))
        before = await bed.checkpoints.posted_since(goal.id, at)
        while due := await bed.outbox.claim("console", limit=9):
            await bed.outbox.sent(due[0].key, f"r:{due[0].key}")

        assert before == 0
        assert await bed.checkpoints.posted_since(goal.id, at) == 1
        assert await bed.checkpoints.posted_since(goal.id, await bed.time.now()) == 0

    async def test_an_approved_plan_is_a_checkpoint_with_the_files_of_the_turn_before(
        self, bed: Bed
    ) -> None:
        owner = await bed.ports.rooms.person("console", ANN)
        session = (await bed.ports.rooms.begin(bed.place())).session
        text = Content("do it", owner)
        opened = GoalOpened(
            "planned", session, 0, owner, text.hash, DEFAULT_BUDGET, plan_first=True
        )
        goal = (await bed.journal.open(opened, [text])).goal
        ended = TurnEnded("done", reply=Content("My plan.").hash)
        carried = CallStarted("c", "agent", "claude", 1_000, 5_000, messages=9, revision=9)
        asked = await bed.commit(
            goal, TurnStarted(), carried, CallReleased("c", "not sent"), ended, tree=ONE
        )
        assert asked.goal.decision is not None
        answer = DecisionAnswered(asked.goal.decision.id, owner, Content("yes").hash, accepted=True)
        await bed.commit(goal, answer)
        await turn(bed, goal, TWO)
        await turn(bed, goal, THREE)

        gone = await bed.checkpoints.thin(1)

        kept = await bed.checkpoints.of_goal(goal.id)
        assert [(one.turn, one.tree, one.is_plan) for one in kept] == [
            (1, "", False), (1, ONE, True), (2, "", False), (3, THREE, False),
        ]  # fmt: skip
        assert gone == 2
        assert kept[1].point.plan
        assert not kept[1].point.planning
