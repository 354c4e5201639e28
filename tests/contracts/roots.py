"""What every store does with threads that begin with a message of ours."""

from dataclasses import replace

from bot.goals.events import Cancelled, GoalOpened, ObjectiveEdited, Paused, Undone
from bot.goals.goal import Goal
from bot.goals.limits import DEFAULT_BUDGET
from bot.ports.chat import Place
from bot.ports.journal import Applied, Content, Unit
from bot.ports.mail import Thread
from tests.contracts.stores import ANN, Bed

HOUSE = Place("matrix", "@bot:here", "!house")


def first(applied: Applied) -> str:
    """The text of a root."""
    return f"G{applied.goal.number} goes on here"


async def begin(bed: Bed, of: str = "$asked") -> tuple[Goal, Thread]:
    """A goal in a thread of its own whose root is not there."""
    thread = await bed.rooms.begin_new(HOUSE, of)
    return await opened(bed, thread.session), thread


async def opened(bed: Bed, session: str) -> Goal:
    """A goal in that session."""
    owner, content = await bed.rooms.person("matrix", ANN), Content("do it")
    event = GoalOpened(f"g{next(bed.ids)}", session, 0, owner, content.hash, DEFAULT_BUDGET)
    goal: Goal = (await bed.journal.open(event, [content], root=first)).goal
    return goal


async def keys(bed: Bed) -> list[str]:
    """The keys of what is to be sent now."""
    return await bed.keys("matrix")


class RootsContract:
    """Subclasses give a fixture `bed`."""

    async def test_a_thread_that_is_to_begin_is_one_for_what_it_begins_for(self, bed: Bed) -> None:
        one, again = [await bed.rooms.begin_new(HOUSE, "$asked") for _ in range(2)]
        other = await bed.rooms.begin_new(HOUSE, "$asked-too")

        assert one == again
        assert other.session != one.session
        assert not one.has_root
        assert (await bed.rooms.begin(replace(HOUSE, thread="$asked"))).has_root

    async def test_the_root_goes_to_the_main_timeline_and_all_else_waits(self, bed: Bed) -> None:
        goal, thread = await begin(bed)
        await bed.outbox.say(thread.session, "k", "an answer")
        await bed.time.pass_by(6)

        [root] = await bed.outbox.claim("matrix", limit=9)
        await bed.time.pass_by(1)
        meanwhile = await keys(bed)
        await bed.outbox.later(root.key, 10)
        put_off = await keys(bed)

        texts = await bed.journal.contents(thread.session, [root.content])
        assert (root.kind, root.goal, root.place) == ("root", goal.id, HOUSE)
        assert list(texts.values()) == [f"G{goal.number} goes on here"]
        assert meanwhile == put_off == []

    async def test_what_waited_is_said_under_the_root_in_its_order(self, bed: Bed) -> None:
        goal, thread = await begin(bed)
        await bed.outbox.say(thread.session, "k", "an answer")
        [root] = await bed.outbox.claim("matrix", limit=9)

        await bed.outbox.sent(root.key, "$root")

        there = replace(HOUSE, thread="$root")
        [answer] = await bed.outbox.claim("matrix", limit=9)
        found = await bed.rooms.thread(there)
        assert (answer.key, answer.place) == ("k", there)
        assert found == Thread(thread.session, there, goal.id)
        assert await bed.rooms.thread(thread.place) is None
        assert await bed.doors.home(thread.session) == there
        posted = await bed.rooms.posted(HOUSE, "$root")
        assert posted is not None
        assert (posted.kind, posted.place) == ("root", there)

    async def test_a_root_of_unknown_outcome_is_looked_up_and_settled_once(self, bed: Bed) -> None:
        _, thread = await begin(bed)
        [root] = await bed.outbox.claim("matrix", limit=9)
        await bed.outbox.unknown(root.key)

        [looked_up] = await bed.outbox.claim("matrix", limit=9)
        await bed.outbox.sent(root.key, "$root")
        await bed.outbox.sent(root.key, "$another")

        assert (looked_up.key, looked_up.state, looked_up.place) == (root.key, "unknown", HOUSE)
        assert (await bed.doors.home(thread.session)).thread == "$root"

    async def test_a_refused_root_is_tried_again_for_what_is_said_after_it(self, bed: Bed) -> None:
        goal, thread = await begin(bed)
        await bed.outbox.say(thread.session, "k1", "said before")
        [root] = await bed.outbox.claim("matrix", limit=9)
        await bed.time.pass_by(1)
        await bed.outbox.failed(root.key, "may not post")

        silent = await keys(bed)
        await bed.time.pass_by(1)
        await bed.outbox.say(thread.session, "k2", "said after")
        again = await keys(bed)
        await bed.outbox.failed(root.key, "may not post")
        silent_again = await keys(bed)
        await bed.time.pass_by(6)
        await bed.commit(goal, Paused(goal.owner))
        await bed.outbox.say(thread.session, "k3", "said at last")
        [root] = await bed.outbox.claim("matrix", limit=9)
        await bed.outbox.sent(root.key, "$root")

        assert (silent, again, silent_again) == ([], [root.key], [])
        told = []
        while due := await bed.outbox.claim("matrix", limit=9):
            for one in due:
                told.append(one.key)
                await bed.outbox.sent(one.key, f"${one.key}")
        assert [key for key in told if key.startswith("k")] == ["k1", "k2", "k3"]

    async def test_a_root_that_was_given_up_is_tried_for_what_is_said_later(self, bed: Bed) -> None:
        _, thread = await begin(bed)
        await bed.outbox.give_up(HOUSE, "kicked")
        silent = await keys(bed)

        await bed.time.pass_by(1)
        await bed.outbox.say(thread.session, "k", "here again")

        assert silent == []
        assert await keys(bed) == [f"root:{thread.place.thread.removeprefix('new:')}"]

    async def test_who_answered_before_the_root_was_known_to_be_there_loses_nothing(
        self, bed: Bed
    ) -> None:
        _, thread = await begin(bed)
        [root] = await bed.outbox.claim("matrix", limit=9)
        there = replace(HOUSE, thread="$root")
        early = await bed.rooms.begin(there)
        other = await opened(bed, early.session)
        await bed.outbox.say(early.session, "early", "an answer")

        await bed.outbox.sent(root.key, "$root")

        found = await bed.rooms.thread(there)
        due = {one.key: one for one in await bed.outbox.claim("matrix", limit=9)}
        assert found is not None
        assert found.session == thread.session
        assert due["early"].place == there
        assert await bed.journal.goal(other.id) == other
        assert len(await bed.rooms.goals(room=HOUSE)) == 2

    async def test_a_thread_that_has_a_root_gets_no_other(self, bed: Bed) -> None:
        session = (await bed.rooms.begin(replace(HOUSE, thread="$theirs"))).session

        await opened(bed, session)

        assert await keys(bed) == []

    async def test_an_edit_of_the_objective_edits_the_root_that_is_there(self, bed: Bed) -> None:
        goal, _ = await begin(bed)
        [root] = await bed.outbox.claim("matrix", limit=9)
        new = Content("do it better")
        edited = ObjectiveEdited("", new.hash)

        await bed.journal.commit(Unit(goal.id, (edited,), (new,)))
        await bed.outbox.sent(root.key, "$root")

        [due] = await bed.outbox.claim("matrix", limit=9)
        assert (due.kind, due.goal, due.remote) == ("card", goal.id, "$root")
        assert due.key == f"{goal.id}:card:root:2"
        assert due.place == HOUSE
        await bed.outbox.sent(due.key, "$root")
        posted = await bed.rooms.posted(HOUSE, "$root")
        assert posted is not None
        assert (posted.key, posted.kind) == (root.key, "root")

    async def test_the_end_of_its_goal_edits_the_root_once(self, bed: Bed) -> None:
        goal, _ = await begin(bed)
        [root] = await bed.outbox.claim("matrix", limit=9)
        await bed.outbox.sent(root.key, "$root")

        await bed.journal.commit(Unit(goal.id, (Cancelled(goal.owner),)))

        due = [one for one in await bed.outbox.claim("matrix", limit=9) if ":root:" in one.key]
        assert [(one.kind, one.remote) for one in due] == [("card", "$root")]

    async def test_a_goal_that_is_taken_back_removes_its_root_and_edits_none(
        self, bed: Bed
    ) -> None:
        goal, _ = await begin(bed)
        [root] = await bed.outbox.claim("matrix", limit=9)
        await bed.outbox.sent(root.key, "$root")

        await bed.journal.commit(Unit(goal.id, (Undone(goal.owner),)))

        told = []
        while due := await bed.outbox.claim("matrix", limit=9):
            for one in due:
                told.append((one.kind, one.key.endswith(":root")))
                await bed.outbox.sent(one.key, one.remote)
        assert set(told) == {("removal", False), ("removal", True)}

    async def test_an_edit_in_a_thread_of_somebody_elses_edits_no_root(self, bed: Bed) -> None:
        thread = await bed.rooms.begin(replace(HOUSE, thread="$theirs"))
        goal = await opened(bed, thread.session)
        new = Content("do it better")

        await bed.journal.commit(Unit(goal.id, (ObjectiveEdited("", new.hash),), (new,)))

        assert await keys(bed) == []
