"""What every store does with what people allow, and with what a rewind leaves unsaid."""

from bot.goals.events import (
    DecisionAnswered,
    DecisionAsked,
    FileShared,
    Paused,
    Resumed,
    Rewound,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.hands import Grant, Scope
from bot.ports.journal import Content, Unit
from bot.ports.records import DecisionRow
from tests.contracts import roots
from tests.contracts.stores import Bed

CALL = "c" * 64
PIP = Grant("command", Content('["pip", "install"]').hash)
TREE = "a" * 64


async def asked(bed: Bed, id: str = "d", grant: Grant | None = PIP) -> Goal:
    """A goal that asks to be allowed a call."""
    goal = await bed.work()
    event = DecisionAsked(id, "approval", Content("pip install x").hash, "toolu", 0.0, CALL, grant)
    return (await bed.commit(goal, event)).goal


async def row(bed: Bed, goal: Goal) -> DecisionRow:
    """The one decision of a goal, as its trace has it."""
    [found] = (await bed.ports.records.trace(goal.id)).decisions
    return found


async def rewind(bed: Bed, goal: Goal) -> Goal:
    """The goal put back to its first checkpoint."""
    first = (await bed.checkpoints.of_goal(goal.id))[0]
    back = Rewound(goal.owner, first.seq, first.point, first.tree)
    return (await bed.journal.commit(Unit(goal.id, (back,)))).goal


async def checkpointed(bed: Bed) -> Goal:
    """A goal whose second turn runs."""
    goal = await bed.work()
    await bed.commit(goal, TurnEnded("stopped"), tree=TREE)
    return (await bed.commit(goal, Resumed(goal.owner), TurnStarted())).goal


class HandsContract:
    """Subclasses give a fixture `bed`."""

    async def test_an_approval_is_kept_with_its_call_and_how_far_it_went(self, bed: Bed) -> None:
        scopes: tuple[Scope, ...] = ("once", "goal", "always")
        for scope in scopes:
            goal = await asked(bed, f"d-{scope}")
            waits = await row(bed, goal)

            answer = DecisionAnswered(f"d-{scope}", goal.owner, "yes", scope=scope)
            applied = await bed.commit(goal, answer)

            assert (waits.state, waits.decision.call, waits.scope) == ("open", CALL, "")
            given = await row(bed, goal)
            assert (given.state, given.by, given.scope) == ("answered", goal.owner, scope)
            assert applied.goal.grants == ((PIP,) if scope == "goal" else ())
            assert await bed.journal.goal(goal.id) == applied.goal

    async def test_a_no_went_nowhere(self, bed: Bed) -> None:
        goal = await asked(bed)

        await bed.commit(goal, DecisionAnswered("d", goal.owner, "no", False, scope="always"))

        assert ((await row(bed, goal)).state, (await row(bed, goal)).scope) == ("answered", "")

    async def test_an_answer_at_rest_is_kept_as_what_it_was(self, bed: Bed) -> None:
        goal = await asked(bed)

        await bed.commit(goal, Paused(goal.owner))
        await bed.commit(goal, DecisionAnswered("d", goal.owner, "no", False))

        stored = (await bed.journal.goal(goal.id)).decision
        assert stored is not None
        assert (stored.answered, stored.accepted, stored.call) == (True, False, CALL)

    async def test_what_a_rewound_goal_had_still_to_say_is_not_said(self, bed: Bed) -> None:
        goal = await checkpointed(bed)
        await bed.commit(goal, FileShared("f" * 64, Content("look").hash))
        await bed.commit(goal, DecisionAsked("d", "approval", "t", "toolu", 0.0, CALL, PIP))

        await rewind(bed, goal)

        await bed.time.pass_by(10)
        assert await _said(bed) == ["status"]
        assert (await row(bed, goal)).state == "withdrawn"

    async def test_the_end_of_a_card_that_was_shown_is_told(self, bed: Bed) -> None:
        goal = await checkpointed(bed)
        await bed.commit(goal, DecisionAsked("d", "approval", "t", "toolu", 0.0, CALL, PIP))
        [card] = await bed.outbox.claim("console", limit=9)
        await bed.outbox.sent(card.key, "remote")

        await rewind(bed, goal)

        [end] = [due for due in await bed.outbox.claim("console", limit=9) if due.kind == "card"]
        assert (end.remote, end.reason) == ("remote", "withdrawn")

    async def test_a_card_that_is_on_its_way_is_ended_after_it(self, bed: Bed) -> None:
        goal = await checkpointed(bed)
        await bed.commit(goal, DecisionAsked("d", "approval", "t", "toolu", 0.0, CALL, PIP))
        [card] = await bed.outbox.claim("console", limit=9)

        await rewind(bed, goal)

        assert await bed.keys() == []
        await bed.outbox.sent(card.key, "remote")
        [end] = [due for due in await bed.outbox.claim("console", limit=9) if due.kind == "card"]
        assert end.remote == "remote"

    async def test_what_is_said_to_whom_it_put_back_is_said(self, bed: Bed) -> None:
        goal = await checkpointed(bed)
        await bed.outbox.say(goal.session, "r1", "Put back.")

        await rewind(bed, goal)

        assert "reply" in await _said(bed)

    async def test_the_first_message_of_a_thread_is_sent_after_a_rewind_too(self, bed: Bed) -> None:
        goal, _ = await roots.begin(bed)
        await bed.commit(goal, TurnStarted(), TurnEnded("stopped"), tree=TREE)

        await rewind(bed, goal)

        [root] = await bed.outbox.claim("matrix", limit=9)
        assert root.kind == "root"

    async def test_what_other_goals_have_to_say_is_said(self, bed: Bed) -> None:
        goal, other = await checkpointed(bed), await bed.work()
        await bed.commit(other, FileShared("f" * 64, Content("look").hash))

        await rewind(bed, goal)

        assert "file" in await _said(bed)


async def _said(bed: Bed) -> list[str]:
    """The kinds of all that is sent now, to the end."""
    kinds = []
    while found := await bed.outbox.claim("console", limit=9):
        for due in found:
            kinds.append(due.kind)
            await bed.outbox.sent(due.key, f"r{due.key}")
    return kinds
