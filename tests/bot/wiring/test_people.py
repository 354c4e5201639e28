"""The people of a process: who is told what at the start, what is asked of it, what turns it begins."""

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.console.parse import room
from adapters.store.open import Store
from bot.chat import allow_list as allow_list_module
from bot.chat import claims
from bot.chat.allow_list import AllowList
from bot.chat.departures import Departures
from bot.errors import BadInput, Refused
from bot.goals.goal import Goal, State
from bot.ports.chat import Place, Speaker
from bot.ports.installs import Install
from bot.ports.journal import Lease
from bot.ports.people import Entry, Register, Subject
from bot.settings import Settings
from bot.wiring.by_room import ByRoom, RoomTurns
from bot.wiring.names import Names
from bot.wiring.people import (
    ConsoleMembers,
    Entitled,
    follow,
    invite_admin,
    report_idle,
    room_defaults,
)
from bot.wiring.people_desk import PeopleDesk
from tests.bot.chat.conftest import Bench

CONSOLE = frozenset({"console"})
BEN = Subject("person", "console", "ben")
ALONE = Names(is_shared=False)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def desk(bench: Bench) -> PeopleDesk:
    return PeopleDesk(bench.allow_list, cast(Store, bench.store), ALONE)


async def asked(desk: PeopleDesk, **request: Any) -> dict[str, Any]:
    told = await desk(request)
    assert told is not None
    return told


# Requests of other commands.


async def test_somebody_is_added_listed_and_removed(bench: Bench, desk: PeopleDesk) -> None:
    added = await asked(desk, do="allow.add", who="ben", role="approver", room="console")
    listed = (await asked(desk, do="allow.list"))["entries"]
    removed = await asked(desk, do="allow.remove", who="@ben")

    assert added == {
        "who": "@ben",
        "network": "console",
        "role": "approver",
        "room": "console:console",
        "is_new": True,
    }
    [entry] = listed
    assert (entry["who"], entry["role"], entry["room"]) == ("@ben", "approver", "console:console")
    assert removed == {"who": "@ben", "removed": 1, "keeps": False}
    assert bench.allow_list.register.entries == ()


@pytest.mark.parametrize(
    ("request_of", "told"),
    [
        ({"do": "allow.add", "who": "@ben", "role": "boss"}, "Roles are: user, approver, admin"),
        ({"do": "allow.add", "who": "@ben", "network": "irc"}, "There is no network irc"),
        ({"do": "allow.add", "who": "two words"}, "names nobody"),
        ({"do": "allow.add", "who": "everyone"}, "nobody's name"),
        ({"do": "allow.add", "who": "@ben", "room": "kitchen"}, "its one room is `console`"),
        ({"do": "allow.add", "who": "@ben", "role": "admin", "room": ""}, "names no room"),
        ({"do": "allow.remove", "who": "@ben", "role": ""}, "is no role"),
        ({"do": "room.set", "room": "", "key": "goals", "value": "off"}, "names no room"),
        ({"do": "room.show", "room": "irc:x"}, "There is no network irc"),
        ({"do": "room.set", "room": "console", "key": "budgte", "value": "1"}, "Did you mean"),
        (
            {"do": "room.set", "room": "console", "key": "nonsense", "value": "1"},
            "There is no setting `nonsense`. There are: goals,",
        ),
        ({"do": "room.set", "room": "console", "key": "goals", "value": "1"}, "`on` or `off`"),
    ],
)
async def test_what_cannot_be_is_refused_with_the_mend(
    bench: Bench, desk: PeopleDesk, request_of: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        await desk(request_of)

    assert bench.allow_list.register.entries == ()


async def test_removing_nobody_is_refused(desk: PeopleDesk) -> None:
    with pytest.raises(Refused) as refused:
        await desk({"do": "allow.remove", "who": "@ben"})

    assert refused.value.code == "not_listed"


async def test_people_of_other_networks_are_named_as_they_are_there(
    bench: Bench, desk: PeopleDesk
) -> None:
    for who in ("@ben:example.org", "server:example.org", "group:S1", "room:console"):
        await asked(desk, do="allow.add", who=who)
    await asked(desk, do="allow.add", who="@T1:U1", network="slack", room="slack:T1/ops")

    entries = bench.allow_list.register.entries
    assert [(one.subject.network, one.subject.kind, one.subject.id) for one in entries] == [
        ("matrix", "person", "@ben:example.org"),
        ("matrix", "server", "example.org"),
        ("slack", "group", "S1"),
        ("console", "room", "console"),
        ("slack", "person", "T1:U1"),
    ]
    assert entries[-1].room == Place("slack", "T1", "ops")


IN_ONE = Install("slack", "T01ONE", "A01", "U0BOT", "One", (), "xoxb-one", organisation="E01ORG")


def in_slack(bench: Bench, *installs: Install) -> PeopleDesk:
    async def only() -> Install | None:
        return installs[0] if len(installs) == 1 else None

    names = Names(is_shared=False, slack=True)
    return PeopleDesk(bench.allow_list, cast(Store, bench.store), names, only_install=only)


async def test_in_the_only_workspace_of_slack_a_member_id_is_enough(bench: Bench) -> None:
    desk = in_slack(bench, IN_ONE)

    person = await asked(desk, do="allow.add", who="@U01ANN", network="slack", room="slack:C01OPS")
    await asked(desk, do="allow.add", who="room:C02DEV", network="slack")
    await asked(desk, do="allow.add", who="@T09ELSE:U01BEN", network="slack")
    await asked(desk, do="room.set", room="slack:C01OPS", key="goals", value="off")

    entries = bench.allow_list.register.entries
    assert person["who"] == "@E01ORG:U01ANN"
    assert entries[0].room == Place("slack", "T01ONE", "C01OPS")
    assert [(one.subject.id, one.subject.workspace) for one in entries[1:]] == [
        ("C02DEV", "T01ONE"),
        ("T09ELSE:U01BEN", ""),
    ]


@pytest.mark.parametrize("installs", [(), (IN_ONE, IN_ONE)], ids=["none", "several"])
@pytest.mark.parametrize(
    "request_",
    [
        {"do": "allow.add", "who": "@U01ANN"},
        {"do": "allow.add", "who": "room:C01OPS"},
        {"do": "allow.add", "who": "group:S01", "room": "slack:C01OPS"},
        {"do": "room.show", "room": "slack:C01OPS"},
    ],
)
async def test_where_there_is_no_only_workspace_it_has_to_be_said(
    bench: Bench, installs: tuple[Install, ...], request_: dict[str, str]
) -> None:
    desk = in_slack(bench, *installs)

    with pytest.raises(BadInput, match="Say the workspace, too"):
        await desk({**request_, "network": "slack"})

    assert bench.allow_list.register.entries == ()


async def test_a_mere_name_is_nobody_in_slack(bench: Bench) -> None:
    with pytest.raises(BadInput, match=r"ben is no id of Slack's.*Copy member ID"):
        await in_slack(bench, IN_ONE)({"do": "allow.add", "who": "ben", "network": "slack"})


async def test_a_room_is_shown_and_set_and_told(bench: Bench, desk: PeopleDesk) -> None:
    told = await asked(desk, do="room.set", room="console", key="budget", value="3")
    await bench.deliver()
    rows = (await asked(desk, do="room.show", room="console"))["settings"]

    row = next(row for row in rows if row["key"] == "budget_usd")
    assert told == {"room": "console:console", "key": "budget_usd", "shown": "3"}
    assert (row["value"], row["from"], row["by"]) == (3.0, "room", "")
    assert bench.last() == "This room's `budget_usd` is 3 now, set by the operator."


async def test_one_setting_is_shown_by_whatever_name(desk: PeopleDesk) -> None:
    shown = (await asked(desk, do="room.show", room="console", key="budget"))["settings"]

    assert [row["key"] for row in shown] == ["budget_usd"]
    with pytest.raises(BadInput, match="Did you mean `budget`"):
        await desk({"do": "room.show", "room": "console", "key": "budgte"})


async def test_all_rooms_are_set_at_once_and_one_may_differ(bench: Bench, desk: PeopleDesk) -> None:
    await asked(desk, do="room.set", room="*", key="mention", value="ask")
    everywhere = bench.allow_list.settings(room()).mention
    await asked(desk, do="room.set", room="console", key="mention", value="always")
    here = bench.allow_list.settings(room()).mention
    await asked(desk, do="room.set", room="console", key="mention", value="default")

    assert (everywhere, here) == ("ask", "always")
    assert bench.allow_list.settings(room()).mention == "ask"


async def test_a_new_code_is_good_and_the_one_before_is_not(bench: Bench, desk: PeopleDesk) -> None:
    old = await asked(desk, do="claim.new")
    new = await asked(desk, do="claim.new")

    await bench.say(f"claim {old['code']}", speaker=Speaker("ben", "ben"))
    await bench.say(f"claim {new['code']}", speaker=Speaker("ben", "ben"))

    assert new["lasts_s"] == claims.LASTS_S
    assert "That code has ended." in bench.answers()[0]
    assert bench.last().startswith("ben is the admin now.")


async def test_whom_their_network_calls_gone_loses_their_goals(
    bench: Bench, desk: PeopleDesk
) -> None:
    await asked(desk, do="allow.add", who="@ben")
    thread = await bench.say("/goal write a haiku", speaker=Speaker("ben", "ben"))

    await asked(desk, do="people.gone", who="@ben")

    assert (await bench.goal(thread)).reason == "owner_lost:gone"


async def test_a_request_about_something_else_is_left_to_others(desk: PeopleDesk) -> None:
    assert await desk({"do": "ping"}) is None


# The start.


def test_an_allow_list_that_matches_nobody_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    matrix = Entry(Subject("server", "matrix", "example.org"), "user")
    register = Register((matrix,))

    with caplog.at_level(logging.WARNING):
        report_idle(register, CONSOLE)
        report_idle(Register((matrix, Entry(BEN, "user"))), CONSOLE)
        report_idle(Register((Entry(BEN, "user"),)), CONSOLE)

    first, second = caplog.messages
    assert "not connected (matrix), and matches nobody. Connect them" in first
    assert "not connected (matrix). Connect them" in second


async def test_a_network_without_an_admin_gets_a_code_and_the_console_needs_none(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    slack = frozenset({"console", "slack"})
    none = await invite_admin(bench.allow_list, bench.store.doors, CONSOLE)
    code = await invite_admin(bench.allow_list, bench.store.doors, slack)
    await bench.allow_list.allow(Entry(Subject("person", "slack", "U1"), "admin"))
    again = await invite_admin(bench.allow_list, bench.store.doors, slack)

    assert (none, again) == ("", "")
    assert f"Send `claim {code}` to the bot in a direct message" in capsys.readouterr().err


async def test_the_operator_is_an_admin_at_their_own_console_alone(bench: Bench) -> None:
    ann = Speaker("ann", "ann")
    await bench.allow_list.note_operator(
        Place("console", "other", "console"), Speaker("zoe", "zoe")
    )

    assert await bench.allow_list.roles(room(), ann) == {"admin"}
    assert await bench.allow_list.roles(room(), Speaker("ben", "ben")) == frozenset()
    assert await bench.allow_list.roles(Place("slack", "T1", "general"), ann) == frozenset()
    assert await bench.allow_list.roles(Place("console", "other", "console"), ann) == frozenset()
    assert await bench.allow_list.roles(room(), Speaker("zoe", "zoe")) == frozenset()


async def test_the_console_is_a_room_of_everybody_who_speaks_in_it() -> None:
    members = ConsoleMembers()
    ben = Speaker("ben", "ben")

    assert await members.is_member(room(), ben)
    assert not await members.is_member(Place("slack", "T1", "general"), ben)
    assert not await members.is_in_group(Subject("group", "slack", "S1"), ben)
    assert await members.is_direct(room())


def test_a_room_that_is_set_to_nothing_has_what_the_settings_say(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, model="m1", budget_usd=3.0, zone="Asia/Kolkata")

    defaults = room_defaults(settings)

    assert (defaults.model, defaults.budget_usd, defaults.zone) == ("m1", 3.0, "Asia/Kolkata")
    assert defaults.goals


async def test_changes_of_another_process_are_followed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allow_list_module, "FOLLOW_S", 0.01)
    await bench.allow_list.allow(Entry(BEN, "user"))
    thread = await bench.say("/goal write a haiku", speaker=Speaker("ben", "ben"))
    following = asyncio.create_task(
        follow(bench.allow_list, bench.departures, is_shared=True), name="follow"
    )

    await bench.store.people.remove(BEN)
    async with asyncio.timeout(5):
        while (await bench.goal(thread)).state is not State.PAUSED:
            await asyncio.sleep(0.01)
    following.cancel()

    assert await bench.allow_list.roles(room(), Speaker("ben", "ben")) == frozenset()


async def test_two_changes_at_once_are_both_known(bench: Bench) -> None:
    class Slow:
        """Reads slowly at first, so that a later reader is back before an earlier one."""

        def __init__(self) -> None:
            self.delays = [0.02, 0.0]

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.store.people, name)

        async def register(self) -> Any:
            found = await bench.store.people.register()
            await asyncio.sleep(self.delays.pop(0) if self.delays else 0.0)
            return found

    allow_list = AllowList(Slow(), bench.store.doors, bench.store.rooms, ConsoleMembers())
    eve = Subject("person", "console", "eve")

    first = asyncio.create_task(allow_list.allow(Entry(BEN, "user")))
    await asyncio.sleep(0)
    await allow_list.allow(Entry(eve, "user"))
    await first

    assert len(allow_list.register.entries) == 2


# Turns.


class _Runner:
    def __init__(self, name: str = "") -> None:
        self.name = name
        self.ran: list[str] = []
        self.heard_of: list[Any] = []
        self.is_draining = False

    async def run(self, lease: Lease) -> Goal:
        self.ran.append(lease.goal.id)
        return lease.goal

    def heard(self, applied: Any) -> None:
        self.heard_of.append(applied)

    def drain(self) -> None:
        self.is_draining = True

    def forget_texts(self) -> None:
        self.heard_of.clear()


async def test_a_turn_begins_for_an_owner_who_may_have_goals_and_for_nobody_else(
    bench: Bench,
) -> None:
    await bench.allow_list.allow(Entry(BEN, "user"))
    thread = await bench.say("/goal write a haiku", speaker=Speaker("ben", "ben"))
    goal = await bench.goal(thread)
    inner = _Runner()
    runner = Entitled(inner, bench.departures, bench.store.journal)

    before = await runner.run(Lease(goal, 1))
    bench.allow_list.changed = _nothing
    await bench.allow_list.remove(BEN)
    after = await runner.run(Lease(goal, 1))

    assert inner.ran == [goal.id]
    assert before == goal
    assert after.state is State.PAUSED


async def test_asking_for_an_owners_rights_reads_nothing(bench: Bench) -> None:
    class Counts:
        calls = 0

        def __getattr__(self, name: str) -> Any:
            Counts.calls += 1
            return getattr(bench.store.rooms, name)

    _, goal = await bench.start()
    counting = cast(Any, Counts())
    allow_list = AllowList(
        bench.store.people, bench.store.doors, counting, ConsoleMembers(),
    )  # fmt: skip
    await allow_list.load()
    departures = Departures(
        allow_list, bench.store.journal, counting, bench.store.doors, bench.manner
    )

    for _ in range(9):
        assert not await departures.lost(goal)

    assert Counts.calls == 1


async def test_each_room_has_its_model_and_each_model_one_worker(bench: Bench) -> None:
    _, goal = await bench.start()
    made: list[_Runner] = []

    def make(name: str) -> _Runner:
        made.append(_Runner(name))
        return made[-1]

    by_room = ByRoom(make, bench.allow_list, lambda settings: settings.model)
    await by_room.run(Lease(goal, 1))
    await by_room.run(Lease(goal, 1))
    await bench.allow_list.set_for_room(room(), "model", "m2", by="")
    await by_room.run(Lease(goal, 1))
    by_room.heard(cast(Any, "something"))

    assert [(one.name, len(one.ran), one.heard_of) for one in made] == [
        ("", 2, ["something"]),
        ("m2", 1, ["something"]),
    ]


async def test_a_worker_that_is_made_while_draining_drains(bench: Bench) -> None:
    _, goal = await bench.start()
    made: list[_Runner] = []

    def make(name: str) -> Any:
        made.append(_Runner(name))
        return made[-1]

    turns = RoomTurns(make, bench.allow_list)
    await turns.run(Lease(goal, 1))
    turns.drain()
    await bench.allow_list.set_for_room(room(), "model", "m2", by="")
    await turns.run(Lease(goal, 1))

    assert [one.is_draining for one in made] == [True, True]


async def _nothing() -> None:
    return
