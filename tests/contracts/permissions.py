"""What every keeper of standing permissions does."""

import json
from dataclasses import replace

import pytest

from bot.errors import IllegalMove
from bot.goals.events import (
    DecisionAnswered,
    DecisionAsked,
    Paused,
    ToolEnded,
    ToolStarted,
)
from bot.goals.goal import Goal
from bot.goals.hands import Grant, GrantKind, Scope
from bot.goals.limits import LIMITS
from bot.ports.chat import Place
from bot.ports.journal import Content
from bot.ports.people import Answer, Note
from tests.contracts.stores import Bed

HERE = Place("console", "w", "room")
PUSH = json.dumps(["git", "push", 'it\'s "ünder" \\ \x10'])


async def ask(bed: Bed, what: str, kind: GrantKind = "command", *, room: str = "room") -> Goal:
    """A goal that asks for an approval which offers something further."""
    goal = await bed.work(room=room)
    text = Content(what, "agent")
    asked = DecisionAsked(
        f"d{next(bed.ids)}", "approval", Content("the call").hash, "use", call="hash",
        grant=Grant(kind, text.hash),
    )  # fmt: skip
    return (await bed.commit(goal, asked, contents=(text, Content("the call")))).goal


async def give(
    bed: Bed, what: str = PUSH, kind: GrantKind = "command", *, room: str = "room",
    scope: Scope = "always", accepted: bool = True,
) -> Goal:  # fmt: skip
    """The same, answered."""
    goal = await ask(bed, what, kind, room=room)
    assert goal.decision is not None
    yes = Content("always")
    answered = DecisionAnswered(goal.decision.id, goal.owner, yes.hash, accepted, scope=scope)
    return (await bed.commit(goal, answered, contents=(yes,))).goal


class PermissionsContract:
    """Subclasses give a fixture `bed`."""

    async def test_an_answer_gives_one_to_its_room_for_thirty_days(self, bed: Bed) -> None:
        before = await bed.time.now()
        goal = await give(bed)

        [one] = await bed.permissions.of(HERE)

        assert (one.kind, one.what, one.by, one.uses) == ("command", PUSH, goal.owner, 0)
        assert one.room == HERE
        assert one.given_at >= before
        assert one.expires_at == pytest.approx(one.given_at + LIMITS.permission_lasts_s)

    @pytest.mark.parametrize(
        ("kind", "what"), [("host", "*.example.org:8443"), ("tool", "git_push")]
    )
    async def test_a_host_and_a_tool_are_named_as_they_are(
        self, bed: Bed, kind: GrantKind, what: str
    ) -> None:
        await give(bed, what, kind)

        [one] = await bed.permissions.of(HERE)

        assert (one.kind, one.what) == (kind, what)

    @pytest.mark.parametrize(
        ("scope", "accepted"), [("once", True), ("goal", True), ("always", False)]
    )
    async def test_no_other_answer_gives_any(self, bed: Bed, scope: Scope, accepted: bool) -> None:
        await give(bed, scope=scope, accepted=accepted)

        assert await bed.permissions.of(HERE) == ()

    async def test_an_answer_that_is_stored_at_rest_gives_one_at_once(self, bed: Bed) -> None:
        goal = await ask(bed, PUSH)
        assert goal.decision is not None
        yes = Content("always")
        answered = DecisionAnswered(goal.decision.id, goal.owner, yes.hash, scope="always")

        await bed.commit(goal, Paused(goal.owner), answered, contents=(yes,))

        assert len(await bed.permissions.of(HERE)) == 1

    async def test_another_room_has_none_of_it(self, bed: Bed) -> None:
        await give(bed)

        assert await bed.permissions.of(replace(HERE, room="elsewhere")) == ()
        assert await bed.permissions.of(replace(HERE, workspace="other")) == ()

    async def test_the_newest_comes_first(self, bed: Bed) -> None:
        for what in ("one", "two", "three"):
            await give(bed, what, "tool")
            await bed.time.pass_by(1.0)

        assert [one.what for one in await bed.permissions.of(HERE)] == ["three", "two", "one"]

    async def test_it_ends_by_itself(self, bed: Bed) -> None:
        await give(bed)

        await bed.time.pass_by(LIMITS.permission_lasts_s + 1.0)

        assert await bed.permissions.of(HERE) == ()

    async def test_it_is_taken_back_once_and_in_its_room_alone(self, bed: Bed) -> None:
        goal = await give(bed)
        await give(bed, "other", "tool")
        [one] = [p for p in await bed.permissions.of(HERE) if p.kind == "command"]

        elsewhere = await bed.permissions.revoke(
            replace(HERE, room="elsewhere"), one.id, goal.owner
        )
        first = await bed.permissions.revoke(HERE, one.id, goal.owner)
        again = await bed.permissions.revoke(HERE, one.id, goal.owner)

        assert (elsewhere, first, again) == (False, True, False)
        assert [p.what for p in await bed.permissions.of(HERE)] == ["other"]

    async def test_taking_it_back_and_the_answer_are_one(self, bed: Bed) -> None:
        goal = await give(bed)
        [one] = await bed.permissions.of(HERE)
        there = (await bed.rooms.begin(bed.place())).session
        told = Answer((Note(there, "n1", "gone"),))

        with pytest.raises(IllegalMove):
            await bed.permissions.revoke(
                HERE, one.id, goal.owner, replace(told, handled=("nobody",))
            )
        stood = len(await bed.permissions.of(HERE))
        await bed.permissions.revoke(HERE, one.id, goal.owner, told)

        assert stood == 1
        assert "n1" in await bed.keys()

    async def test_each_use_is_counted(self, bed: Bed) -> None:
        goal = await give(bed)
        await give(bed, "tool", "tool")
        one = next(p for p in await bed.permissions.of(HERE) if p.kind == "command")
        done = Content("done")

        for use, why in (("u1", f"always:{one.id}"), ("u2", f"goal:x,always:{one.id}"), ("u3", "")):
            started = ToolStarted(use, "bash", "workspace", allowed=why)
            await bed.commit(goal, started, ToolEnded(use, "ok", done.hash), contents=(done,))

        assert [p.uses for p in await bed.permissions.of(HERE) if p.kind == "command"] == [2]
        assert [p.uses for p in await bed.permissions.of(HERE) if p.kind == "tool"] == [0]
