"""`permissions` and `profile`: what is shown, what is taken back, who may set what."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.parse import room
from bot.chat.approvers import has_approver
from bot.chat.parse import Command, Talk, parse
from bot.chat.permission_words import meant, read_permissions, read_profile
from bot.chat.texts import Texts
from bot.goals.events import (
    Cancelled,
    DecisionAsked,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.hands import PROFILES, Grant
from bot.goals.limits import LIMITS
from bot.ports.chat import Place
from bot.ports.journal import content_hash
from bot.ports.people import Entry, Register, Role, Subject
from bot.ports.permissions import Permission
from bot.ports.room_settings import RoomSettings
from bot.tools.calls import written
from tests.bot.chat.conftest import ANN, Bench
from tests.bot.chat.test_rights import BEN
from tests.bot.chat.turns import began

TEXTS = Texts()
PUSH = '["git", "push"]'


@pytest.mark.parametrize(
    ("text", "revoke"),
    [
        ("", ""),
        ("list", ""),
        ("revoke 2", "2"),
        ("REVOKE 4f2c91", "4f2c91"),
        ("remove 1", "1"),
        ("of the deploy account are wrong, mend them", None),
        ("revoke", None),
        ("revoke the old token", None),
    ],
)
def test_what_is_said_of_permissions(text: str, revoke: str | None) -> None:
    found = read_permissions(text)

    assert (found.revoke if found else None) == revoke


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("", ""),
        ("full", "full"),
        ("Read-Only", "read_only"),
        ("default", "default"),
        ("the slow query", None),
        ("root", None),
    ],
)
def test_what_is_said_of_a_profile(text: str, profile: str | None) -> None:
    assert read_profile(text) == profile


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("/goal profile G12 full", "profile"),
        ("/goal profile", "profile"),
        ("/goal permissions revoke 3", "permissions"),
        ("/goal profile the slow query", ""),
        ("/goal permissions of the deploy account are wrong", ""),
    ],
)
def test_a_verb_counts_in_its_own_syntax_alone(text: str, verb: str) -> None:
    said = parse(text, TEXTS, in_thread=False)

    assert isinstance(said, Command)
    assert said.verb.name == verb


def test_in_a_room_it_takes_the_commands_name() -> None:
    assert isinstance(parse("profile full", TEXTS, in_thread=False), Talk)


@given(st.text())
def test_any_text_after_the_words_is_read(text: str) -> None:
    read_permissions(text)
    read_profile(text)


def permission(id: str) -> Permission:
    return Permission(id, room(), "tool", "send", "ann", 0.0, 1.0)


def test_a_number_is_of_the_list_and_a_word_the_beginning_of_one_id() -> None:
    listed = [permission("aaaaaa1111"), permission("aaaaaa2222"), permission("3333337777")]

    assert meant("2", listed) == listed[1]
    assert meant("333333", listed) == listed[2]
    assert meant("aaaaaa", listed) is None
    assert meant("4", listed) is None
    assert meant("aaaaaa2", listed) == listed[1]


async def allowed(bench: Bench, what: str = PUSH, kind: Any = "command") -> Goal:
    """Somebody said yes to a call of a goal, for the room."""
    thread = await bench.say("/goal deploy it")
    goal = await bench.goal(thread)
    grant = Grant(kind, content_hash(what))
    id = f"decision{goal.number}"
    asked = DecisionAsked(id, "approval", content_hash("the call"), "t1", grant=grant)
    await bench.happens(goal, TurnStarted(), asked, contents=["the call", what])
    await bench.say("approve always", thread)
    return await bench.goal(thread)


async def test_the_list_says_what_by_whom_until_when_and_how_often(bench: Bench) -> None:
    goal = await allowed(bench)
    [one] = await bench.store.permissions.of(room())
    for use in ("u1", "u2"):
        started = ToolStarted(use, "bash", "workspace", allowed=f"always:{one.id}")
        ended = ToolEnded(use, "ok", content_hash("x"))
        goal = await bench.happens(goal, started, ended, contents=["x"])

    await bench.say("/goal permissions")

    told = bench.last()
    assert "1. commands that begin with `git push` · by ann · until " in told
    assert "used 2 times" in told
    assert f"`{one.id[:6]}`" in told


async def test_an_empty_list_says_how_one_comes_to_be(bench: Bench) -> None:
    await bench.say("/goal permissions")

    assert "Nothing is allowed to all goals of this room." in bench.last()


async def test_one_is_taken_back_by_its_number_and_once(bench: Bench) -> None:
    await allowed(bench)
    await bench.say("/goal permissions")
    await bench.say("/goal permissions revoke 1")
    assert await bench.store.permissions.of(room()) == ()
    assert "Taken back: commands that begin with `git push`." in bench.last()

    await bench.say("/goal permissions revoke 1")

    assert "none of this room's permissions" in bench.last()


async def test_a_number_without_a_list_takes_nothing_back_and_shows_one(bench: Bench) -> None:
    await allowed(bench)

    await bench.say("/goal permissions revoke 1")

    told = bench.last()
    assert "Nothing is taken back: `1` is a number of a list" in told
    assert "1. commands that begin with `git push`" in told
    assert len(await bench.store.permissions.of(room())) == 1
    await bench.say("/goal permissions revoke 1")
    assert await bench.store.permissions.of(room()) == ()


async def test_a_number_is_of_the_list_that_was_shown(bench: Bench) -> None:
    await allowed(bench, "first", "tool")
    await bench.say("/goal permissions")
    bench.clock.move(60.0)
    await allowed(bench, "second", "tool")

    await bench.say("/goal permissions revoke 1")

    assert [one.what for one in await bench.store.permissions.of(room())] == ["second"]


async def test_one_that_has_ended_is_told_of(bench: Bench) -> None:
    await allowed(bench)
    bench.clock.move(LIMITS.permission_lasts_s + 1.0)

    await bench.say("/goal permissions revoke 1")

    assert "none of this room's permissions" in bench.last()


async def profiled(bench: Bench, profile: str = "") -> str:
    """A goal of Ben's, in a room with that profile."""
    await bench.allow_list.allow(Entry(Subject("person", "console", "ben"), "user"))
    if profile:
        await bench.say(f"/goal room profile {profile}")
    return await bench.say("/goal write a poem", speaker=BEN)


@pytest.mark.parametrize("of_room", PROFILES)
@pytest.mark.parametrize("wanted", PROFILES)
async def test_an_owner_goes_up_to_the_rooms_profile(
    bench: Bench, of_room: Any, wanted: Any
) -> None:
    thread = await profiled(bench, of_room)

    await bench.say(f"profile {wanted}", thread, BEN)

    is_within = PROFILES.index(wanted) <= PROFILES.index(of_room)
    assert (await bench.goal(thread)).profile == (wanted if is_within else "")
    told = bench.last(thread)
    assert (f"works as `{wanted}` from its next call on" in told) == is_within
    assert ("it takes an admin" in told) != is_within


async def test_an_admin_goes_beyond_it(bench: Bench) -> None:
    thread = await profiled(bench)

    await bench.say("profile full", thread, ANN)

    assert (await bench.goal(thread)).profile == "full"


async def test_an_owner_comes_down_from_what_an_admin_gave_and_not_up_again(bench: Bench) -> None:
    thread = await profiled(bench)
    await bench.say("profile full", thread, ANN)

    await bench.say("profile networked", thread, BEN)
    assert (await bench.goal(thread)).profile == "networked"
    await bench.say("profile full", thread, BEN)

    assert (await bench.goal(thread)).profile == "networked"


async def test_the_word_default_leaves_it_to_the_room(bench: Bench) -> None:
    thread = await profiled(bench)
    await bench.say("profile read_only", thread, BEN)

    await bench.say("profile default", thread, BEN)

    assert (await bench.goal(thread)).profile == ""
    assert "works as `workspace`" in bench.last(thread)


async def test_without_a_name_it_is_shown_to_who_sees_the_goal(bench: Bench) -> None:
    thread = await profiled(bench, "networked")

    await bench.say("profile", thread, BEN)

    assert "G1 works as `networked`: it works in its own folder, reaches" in bench.last(thread)
    assert (await bench.goal(thread)).profile == ""


async def test_an_ended_goal_has_none_to_set(bench: Bench) -> None:
    thread = await profiled(bench)
    await bench.happens(await bench.goal(thread), Cancelled("ann"))

    await bench.say("profile read_only", thread, ANN)

    assert (await bench.goal(thread)).profile == ""


HERE = Place("slack", "T1", "C1")


def entry(id: str, role: Role = "approver", *, kind: Any = "person", at: Any = None) -> Entry:
    return Entry(Subject(kind, "slack", id), role, at)


def is_there(
    *entries: Entry,
    roles: frozenset[Role] = frozenset({"user"}),
    gone: tuple[str, ...] = (),
    operators: tuple[str, ...] = (),
    **of_room: Any,
) -> bool:
    """Whether somebody may approve the calls of a goal of Ann's."""
    away: Any = frozenset(("slack", id) for id in gone)
    by_nature: Any = frozenset(("slack", "T1", id) for id in operators)
    register = Register(entries, away, by_nature, {})
    return has_approver(register, HERE, RoomSettings(**of_room), "ann", roles)


def test_an_approver_an_admin_an_operator_and_a_group_of_them_count() -> None:
    assert is_there(entry("ben"))
    assert is_there(entry("ben", "admin"))
    assert is_there(operators=("ben",))
    assert is_there(entry("S1", kind="group"))
    assert is_there(entry("ben", at=HERE))


def test_who_may_not_approve_there_does_not() -> None:
    assert not is_there()
    assert not is_there(entry("ben", "user"))
    assert not is_there(entry("ben"), gone=("ben",))
    assert not is_there(entry("ben", at=replace(HERE, room="C2")))
    assert not is_there(Entry(Subject("person", "matrix", "ben"), "approver"))


def test_the_owner_counts_as_the_room_has_it() -> None:
    approver: frozenset[Role] = frozenset({"user", "approver"})

    assert is_there(self_approve=True)
    assert is_there(roles=approver)
    assert is_there(entry("ann"), roles=approver)
    assert not is_there(entry("ann"), roles=approver, four_eyes=True)
    assert not is_there(self_approve=True, four_eyes=True)
    assert not is_there(operators=("ann",), four_eyes=True, roles=frozenset({"admin"}))
    assert is_there(entry("ben"), four_eyes=True)
    assert not is_there(roles=frozenset(), self_approve=True)


async def test_a_goal_that_rests_for_an_approval_shows_the_call_and_the_mend(bench: Bench) -> None:
    thread = await bench.say("/goal deploy it")
    call = written("bash", {"command": "git push"}, "asks for git push")
    ended = TurnEnded("needs_approval", call=content_hash(call))
    goal = await bench.goal(thread)

    await bench.happens(goal, *began(goal), ended, contents=[call])
    await bench.deliver()

    told = bench.last(thread)
    assert "a call takes an approval, and nobody began this goal who would answer" in told
    assert "```bash\ngit push\n```" in told
    assert "Why: asks for git push" in told
    assert "Look at what it wants to do, then Resume" in told


async def test_the_trace_tells_why_a_call_ran(bench: Bench) -> None:
    goal = await allowed(bench)
    thread = (
        bench.threads[goal.id] if goal.id in bench.threads else next(iter(bench.threads.values()))
    )
    for use, why in (("u1", "always:decision1"), ("u2", "profile")):
        goal = await bench.happens(goal, ToolStarted(use, "bash", "workspace", allowed=why))

    await bench.say("trace", thread)

    told = bench.last(thread)
    assert "ToolStarted bash always:decision1" in told
    assert "ToolStarted bash  (" in told


async def asked_of(bench: Bench, role: Role, *, is_owner: bool) -> str:
    """An approval of a goal of Ben's, or of Ann's, where Ben has that role; returns the thread."""
    await bench.allow_list.allow(Entry(Subject("person", "console", "ben"), role))
    if role == "approver":
        await bench.allow_list.allow(Entry(Subject("person", "console", "ben"), "user"))
    thread = await bench.say("/goal deploy it", speaker=BEN if is_owner else ANN)
    asked = DecisionAsked("d1", "approval", content_hash("rm x"), "t1")
    await bench.happens(await bench.goal(thread), TurnStarted(), asked, contents=["rm x"])
    return thread


@pytest.mark.parametrize(
    ("role", "is_owner", "four_eyes", "counts"),
    [
        ("approver", True, False, True),
        ("approver", True, True, False),
        ("admin", True, True, False),
        ("approver", False, True, True),
        ("admin", False, True, True),
        ("user", False, False, False),
    ],
)
async def test_four_eyes_take_a_second_persons_yes(
    bench: Bench, role: Role, is_owner: bool, four_eyes: bool, counts: bool
) -> None:
    if four_eyes:
        await bench.say("/goal room four_eyes on")
        await bench.say("/goal room self_approve on")
    thread = await asked_of(bench, role, is_owner=is_owner)

    await bench.say("approve", thread, BEN)

    goal = await bench.goal(thread)
    assert (goal.turn_open, goal.decision is None) == (True, counts)


async def test_only_an_admin_allows_a_call_for_the_room(bench: Bench) -> None:
    await bench.allow_list.allow(Entry(Subject("person", "console", "ben"), "approver"))
    thread = await bench.say("/goal deploy it")
    grant = Grant("tool", content_hash("send"))
    asked = DecisionAsked("d1", "approval", content_hash("a call"), "t1", grant=grant)
    await bench.happens(await bench.goal(thread), TurnStarted(), asked, contents=["a call", "send"])

    await bench.say("approve always", thread, BEN)

    assert await bench.store.permissions.of(room()) == ()
    assert (await bench.goal(thread)).decision is not None
    await bench.say("approve for goal", thread, BEN)
    assert (await bench.goal(thread)).grants == (grant,)
