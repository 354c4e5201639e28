"""What holds for a room's calls, as its settings, its permissions and its people have it."""

from pathlib import Path
from typing import Any

import pytest

from adapters.console.parse import room
from bot.errors import BadSettings
from bot.goals.events import DecisionAnswered, DecisionAsked, TurnStarted
from bot.goals.hands import Grant
from bot.ports.chat import Place
from bot.ports.journal import content_hash
from bot.ports.people import Entry, Subject
from bot.settings import Settings, read_settings
from bot.tools.policy.verdict import ByDefault, Law
from bot.wiring.room_rules import RoomRules, by_default
from tests.bot.chat.conftest import Bench
from tests.bot.chat.test_rights import BEN


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def settings(tmp_path: Path, **more: Any) -> Settings:
    return read_settings(state_dir=tmp_path, **more)


def rules(bench: Bench, default: ByDefault | None = None) -> RoomRules:
    return RoomRules(bench.allow_list, bench.store.permissions, default or ByDefault())


def test_what_the_operator_sets_holds_where_rooms_say_nothing(tmp_path: Path) -> None:
    read = settings(
        tmp_path,
        profile="networked",
        approvals="deny",
        unattended="park",
        ask_commands=("git push", "rm -rf 'a b'"),
        deny_commands=("dd",),
    )

    assert by_default(read) == ByDefault(
        "networked", "deny", "park", (("git", "push"), ("rm", "-rf", "a b")), (("dd",),)
    )


@pytest.mark.parametrize("command", ["", "  ", "'a"])
def test_a_rule_that_names_no_command_is_no_setting(tmp_path: Path, command: str) -> None:
    with pytest.raises(BadSettings, match="command"):
        settings(tmp_path, deny_commands=(command,))


async def test_a_rooms_word_comes_before_the_operators_and_counts_at_once(bench: Bench) -> None:
    thread = await bench.say("/goal deploy it")
    goal = await bench.goal(thread)
    of = rules(bench, ByDefault("full", "deny"))
    before = await of.law(goal)

    await bench.say("/goal room profile read_only")
    await bench.say("/goal room approvals ask")

    assert before == Law("full", "deny")
    assert await of.law(goal) == Law("read_only", "ask")
    assert (await of.place(goal)).room == room().room


async def test_the_permissions_are_those_of_the_goals_room_alone(bench: Bench) -> None:
    thread = await bench.say("/goal deploy it")
    goal = await bench.goal(thread)
    elsewhere = Place("console", room().workspace, "elsewhere", "t")
    session = (await bench.store.rooms.begin(elsewhere)).session
    asked = DecisionAsked(
        "d1", "approval", content_hash("call"), "t1", grant=Grant("tool", content_hash("send"))
    )
    answered = DecisionAnswered("d1", goal.owner, content_hash("yes"), scope="always")
    await bench.happens(goal, TurnStarted(), asked, answered, contents=["call", "send", "yes"])
    other = type(goal)(id="x", session=session, number=2, owner=goal.owner, objective="")

    [one] = await rules(bench).standing(goal)

    assert (one.kind, one.what) == ("tool", "send")
    assert await rules(bench).standing(other) == ()


async def test_whether_anybody_may_approve_follows_the_list_and_the_room(bench: Bench) -> None:
    await bench.allow_list.allow(Entry(Subject("person", "console", "ben"), "user"))
    of, mine = rules(bench), await bench.goal(await bench.say("/goal deploy it"))
    bens = await bench.goal(await bench.say("/goal write a poem", speaker=BEN))
    before = (await of.has_approver(mine), await of.has_approver(bens))

    await bench.say("/goal room four_eyes on")

    assert before == (True, True)
    assert (await of.has_approver(mine), await of.has_approver(bens)) == (False, True)
