"""Who may do what: every cell of the table, by itself and through the real intake."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from adapters.console.parse import room
from bot.chat.rights import Act, may
from bot.goals.events import DecisionAsked, TurnEnded, TurnStarted
from bot.goals.goal import Goal, State
from bot.goals.hands import Grant
from bot.ports.chat import Place, Speaker
from bot.ports.journal import content_hash
from bot.ports.people import Entry, Role, Subject
from bot.ports.room_settings import RoomSettings
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.turns import began, over_budget

ROLES_OF: Final[dict[str, frozenset[Role]]] = {
    "stranger": frozenset(),
    "user": frozenset({"user"}),
    "owner": frozenset({"user"}),
    "approver": frozenset({"approver"}),
    "owner-approver": frozenset({"user", "approver"}),
    "admin": frozenset({"admin"}),
}
"""Who acts; an owner acts on their own goal, all others on somebody else's."""

TABLE: Final = """
            | stranger | user | owner | approver | owner-approver | admin
see         | no       | yes  | yes   | yes      | yes            | yes
start       | no       | yes  | yes   | no       | yes            | yes
steer       | no       | yes  | yes   | no       | yes            | yes
answer      | no       | yes  | yes   | no       | yes            | yes
pause       | no       | yes  | yes   | no       | yes            | yes
resume      | no       | no   | yes   | no       | yes            | yes
cancel      | no       | no   | yes   | no       | yes            | yes
edit        | no       | no   | yes   | no       | yes            | yes
budget      | no       | no   | yes   | no       | yes            | yes
hand_over   | no       | no   | yes   | no       | yes            | yes
profile     | no       | no   | yes   | no       | yes            | yes
approve     | no       | no   | no    | yes      | yes            | yes
accept      | no       | no   | yes   | yes      | yes            | yes
settings    | no       | no   | no    | no       | no             | yes
allow       | no       | no   | no    | no       | no             | yes
hold        | no       | no   | no    | no       | no             | yes
secrets     | no       | no   | no    | no       | no             | yes
memory      | no       | no   | no    | no       | no             | yes
forget      | no       | yes  | yes   | yes      | yes            | yes
"""
"""Written out from the page, and not read off the code."""


def cells() -> list[tuple[Act, str, bool]]:
    head, *rows = [line.split("|") for line in TABLE.strip("\n").splitlines()]
    names = [name.strip() for name in head[1:]]
    return [
        (Act(row[0].strip()), name, cell.strip() == "yes")
        for row in rows
        for name, cell in zip(names, row[1:], strict=True)
    ]


def test_the_table_has_every_act_and_everybody() -> None:
    assert {act for act, _, _ in cells()} == set(Act)
    assert {who for _, who, _ in cells()} == set(ROLES_OF)


@pytest.mark.parametrize(("act", "who", "allowed"), cells())
def test_a_cell_is_as_the_table_has_it(act: Act, who: str, allowed: bool) -> None:
    assert may(act, ROLES_OF[who], is_owner=who.startswith("owner")) == allowed


@pytest.mark.parametrize("act", Act)
def test_a_stranger_may_nothing_even_to_what_was_theirs(act: Act) -> None:
    assert not may(act, frozenset(), is_owner=True, room=RoomSettings(self_approve=True))


def test_an_owner_approves_only_where_the_room_says_so() -> None:
    user: frozenset[Role] = frozenset({"user"})
    lenient = RoomSettings(self_approve=True)

    assert not may(Act.APPROVE, user, is_owner=True)
    assert may(Act.APPROVE, user, is_owner=True, room=lenient)
    assert not may(Act.APPROVE, user, room=lenient)


@pytest.mark.parametrize("who", ["owner", "owner-approver", "admin"])
@pytest.mark.parametrize("act", [Act.APPROVE, Act.ACCEPT])
def test_four_eyes_keep_an_owner_from_their_own_yes(act: Act, who: str) -> None:
    strict = RoomSettings(four_eyes=True, self_approve=True)

    assert not may(act, ROLES_OF[who], is_owner=True, room=strict)
    assert may(act, frozenset({"approver"}), room=strict)


async def test_whoever_runs_the_console_is_its_admin_and_nobodys_elsewhere(bench: Bench) -> None:
    roles = bench.allow_list.roles

    assert await roles(room(), ANN) == {"admin"}
    assert await roles(room(), Speaker("eve", "eve")) == frozenset()
    assert await roles(Place("slack", "T", "C"), ANN) == frozenset()


BEN: Final = Speaker("ben", "ben")
CARLA: Final = Speaker("carla", "carla")


async def _let_in(bench: Bench, who: str) -> None:
    for role in ROLES_OF[who]:
        await bench.allow_list.allow(Entry(Subject("person", "console", "ben"), role))
    await bench.allow_list.allow(Entry(Subject("person", "console", "carla"), "user"))


async def _goal(bench: Bench, who: str, objective: str = "write a haiku") -> tuple[str, Goal]:
    """A goal of Ben's where he is to be its owner, else of Carla's.

    He starts it while he may, and has the roles of the case from then on.
    """
    owner = BEN if who.startswith("owner") else CARLA
    ben = Subject("person", "console", "ben")
    await bench.allow_list.allow(Entry(Subject("person", "console", "carla"), "user"))
    await bench.allow_list.allow(Entry(ben, "user"))
    thread = await bench.say(f"/goal {objective}", speaker=owner)
    goal = await bench.goal(thread)
    bench.allow_list.changed = _nothing
    await bench.allow_list.remove(ben)
    await _let_in(bench, who)
    return thread, goal


async def _nothing() -> None:
    return


async def see(bench: Bench, who: str) -> bool:
    thread, _ = await _goal(bench, who)
    await bench.say("status", thread, BEN)
    return "G1" in "".join(bench.answers(thread))


async def start(bench: Bench, who: str) -> bool:
    await _let_in(bench, who)
    thread = await bench.say("/goal write a sonnet", speaker=BEN)
    return await bench.store.rooms.thread(room(thread)) is not None and bool(
        await bench.store.rooms.goals()
    )


async def steer(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    await bench.happens(goal, TurnStarted())
    await bench.say("use the word moon", thread, BEN)
    return (await bench.goal(thread)).messages == 1


async def answer(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    asked = DecisionAsked("d1", "question", content_hash("Which?"), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=["Which?"])
    await bench.say("the blue one", thread, BEN)
    return (await bench.goal(thread)).state is State.READY


async def pause(bench: Bench, who: str) -> bool:
    thread, _ = await _goal(bench, who)
    await bench.say("pause", thread, BEN)
    return (await bench.goal(thread)).state is State.PAUSED


async def resume(bench: Bench, who: str) -> bool:
    thread, _ = await _goal(bench, who)
    await bench.say("pause", thread, ANN)
    await bench.say("resume", thread, BEN)
    return (await bench.goal(thread)).state is State.READY


async def cancel(bench: Bench, who: str) -> bool:
    thread, _ = await _goal(bench, who)
    await bench.say("cancel yes", thread, BEN)
    return (await bench.goal(thread)).state is State.CANCELLED


async def edit(bench: Bench, who: str) -> bool:
    thread, _ = await _goal(bench, who)
    await bench.say("edit write a sonnet instead", thread, BEN)
    return (await bench.goal(thread)).revision == 2


async def budget(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    await bench.say("budget 5 USD", thread, BEN)
    return (await bench.goal(thread)).budget != goal.budget


async def hand_over(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    await bench.say("owner @ann", thread, BEN)
    return await bench.store.doors.offered(goal.id) is not None


async def profile(bench: Bench, who: str) -> bool:
    thread, _ = await _goal(bench, who)
    await bench.say("profile read_only", thread, BEN)
    return (await bench.goal(thread)).profile == "read_only"


async def take_back(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    asked = DecisionAsked(
        "d1", "approval", content_hash("rm x"), "t1", grant=Grant("tool", content_hash("send"))
    )
    await bench.happens(goal, TurnStarted(), asked, contents=["rm x", "send"])
    await bench.say("approve always", thread, ANN)
    assert len(await bench.store.permissions.of(room())) == 1
    await bench.say("/goal permissions", speaker=BEN)
    await bench.say("/goal permissions revoke 1", speaker=BEN)
    return await bench.store.permissions.of(room()) == ()


async def approve(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    asked = DecisionAsked("d1", "approval", content_hash("rm x"), "t1")
    await bench.happens(goal, TurnStarted(), asked, contents=["rm x"])
    await bench.say("approve", thread, BEN)
    return (await bench.goal(thread)).state is State.WORKING


async def accept(bench: Bench, who: str) -> bool:
    thread, goal = await _goal(bench, who)
    asked = DecisionAsked("d1", "plan", content_hash("1. dig"), "t1")
    await bench.happens(goal, *began(goal), asked, TurnEnded("done"), contents=["1. dig"])
    await bench.say("accept", thread, BEN)
    return (await bench.goal(thread)).state is State.READY


async def settings(bench: Bench, who: str) -> bool:
    await _let_in(bench, who)
    await bench.say("/goal room budget_usd 5", speaker=BEN)
    return bench.allow_list.settings(room()).budget_usd == 5.0


async def allow(bench: Bench, who: str) -> bool:
    await _let_in(bench, who)
    await bench.say("/goal allow @dora", speaker=BEN)
    return bool(await bench.allow_list.roles(room(), Speaker("dora", "dora")))


async def hold(bench: Bench, who: str) -> bool:
    await _let_in(bench, who)
    await bench.say("/goal hold here: look first", speaker=BEN)
    return bool(await bench.store.holds.standing())


THROUGH_INTAKE: Final[dict[Act, Callable[[Bench, str], Awaitable[bool]]]] = {
    Act.SEE: see,
    Act.START: start,
    Act.STEER: steer,
    Act.ANSWER: answer,
    Act.PAUSE: pause,
    Act.RESUME: resume,
    Act.CANCEL: cancel,
    Act.EDIT: edit,
    Act.BUDGET: budget,
    Act.HAND_OVER: hand_over,
    Act.PROFILE: profile,
    Act.MEMORY: take_back,
    Act.APPROVE: approve,
    Act.ACCEPT: accept,
    Act.SETTINGS: settings,
    Act.ALLOW: allow,
    Act.HOLD: hold,
}
"""What somebody says at the console to do it, and whether it was done."""


@pytest.mark.parametrize(
    ("act", "who", "allowed"), [cell for cell in cells() if cell[0] in THROUGH_INTAKE]
)
async def test_what_is_said_at_the_console_does_what_the_cell_says(
    bench: Bench, act: Act, who: str, allowed: bool
) -> None:
    done = await THROUGH_INTAKE[act](bench, who)

    assert done == allowed
    assert await bench.store.inbox.waiting() == ()


@pytest.mark.parametrize("act", sorted(THROUGH_INTAKE))
async def test_a_stranger_gets_nothing_but_the_one_line(bench: Bench, act: Act) -> None:
    await THROUGH_INTAKE[act](bench, "stranger")

    told = [text for thread in ("", *bench.threads.values()) for text in bench.answers(thread)]
    to_ben = {text for text in told if "on my list" in text}
    assert to_ben <= {"I take goals from people on my list.\n[Ask for access]"}
    assert not any("You may not" in text for text in told)


async def test_an_approver_is_told_why_and_what_to_do(bench: Bench) -> None:
    thread, _ = await _goal(bench, "approver")

    await bench.say("pause", thread, BEN)
    await bench.say("/goal write a sonnet", speaker=BEN)

    assert "it takes somebody who may start goals" in bench.last(thread)
    assert "An admin can change that" in bench.last()


async def test_a_user_cannot_raise_a_budget_of_somebody_else_and_resume(bench: Bench) -> None:
    thread, goal = await _goal(bench, "user")
    spent = await over_budget(bench, goal, 1_000, 2_000_000_000)

    await bench.say("budget +2 and resume", thread, BEN)

    assert (await bench.goal(thread)) == spent
    assert bench.last(thread) == "You may not do that to G1: it takes its owner or an admin."
