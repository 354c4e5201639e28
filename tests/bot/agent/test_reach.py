"""What a goal may reach: by its profile, its room, what people allowed, and for how long."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.gateway.gateway import ProxyGateway
from bot.agent.reach import Reaching
from bot.agent.reach_kit import ReachBox
from bot.bundles import BUNDLES
from bot.errors import BadInput
from bot.goals.goal import Goal, State
from bot.goals.hands import Grant
from bot.ports.chat import Place
from bot.ports.gateway import InUse
from bot.ports.journal import Content
from bot.ports.people import NOTHING, Answer
from bot.ports.permissions import Permission
from bot.ports.room_settings import RoomSettings
from bot.ports.sandbox import Outcome
from bot.ports.secret_uses import Value
from bot.tools.policy.verdict import ByDefault
from tests.adapters.gateway.world import got
from tests.adapters.store.clocks import HandClock, HandTime
from tests.contracts.stores import Bed
from tests.doubles.store import MemoryStore

PLACE = Place("console", "w", "room", "t1")
ROOM = Place("console", "w", "room")


class Permits:
    """Port Permissions: what stands in it."""

    def __init__(self) -> None:
        self.standing: tuple[Permission, ...] = ()

    async def of(self, room: Place) -> tuple[Permission, ...]:
        assert room == ROOM
        return self.standing

    async def revoke(self, room: Place, id: str, by: str, answer: Answer = NOTHING) -> bool:
        return False


class World:
    """A store, a gateway, and the lines between."""

    def __init__(self, folder: Path) -> None:
        clock = HandClock()
        self.bed = Bed(MemoryStore(clock), HandTime(clock))
        self.gateway = ProxyGateway(folder, self.value)
        self.gateway.start()
        self.permits, self.room = Permits(), RoomSettings()
        self.lines = Reaching(
            self.gateway, self.bed.journal, self.permits, self.bed.secret_uses,
            lambda place: self.room, ByDefault(), ("pypi", "git.example.org:8443"),
        )  # fmt: skip

    async def value(self, name: str) -> str:
        return str(await self.bed.secrets.get("secret", name))

    async def goal(self, **changes: Any) -> Goal:
        opened = await self.bed.open()
        goal: Goal = replace(opened, **{"turn_open": True, **changes})
        return goal

    async def hosts(self, goal: Goal) -> set[str] | None:
        reach = await self.lines.reach(goal, PLACE)
        return None if reach is None else set(reach.hosts)

    async def granted(self, goal: Goal, *hosts: str) -> Goal:
        contents = tuple(Content(host, "p1") for host in hosts)
        self.bed.ports.rows.contents.update({(goal.session, c.hash): c for c in contents})  # type: ignore[attr-defined]
        return replace(goal, grants=tuple(Grant("host", c.hash) for c in contents))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.gateway.stop()


@pytest.mark.parametrize(
    ("profile", "hosts"),
    [
        ("read_only", None),
        ("workspace", set()),
        ("networked", {*BUNDLES["pypi"], "git.example.org:8443"}),
        ("full", {*BUNDLES["pypi"], "git.example.org:8443"}),
    ],
)
async def test_a_profile_says_what_is_reached(world: World, profile: str, hosts: Any) -> None:
    assert await world.hosts(await world.goal(profile=profile)) == hosts


async def test_full_reaches_every_public_host(world: World) -> None:
    for profile in ("networked", "full"):
        reach = await world.lines.reach(await world.goal(profile=profile), PLACE)
        assert reach is not None
        assert reach.is_open is (profile == "full")


async def test_a_room_says_its_own_hosts(world: World) -> None:
    world.room = RoomSettings(profile="networked", hosts="npm,api.example.org")

    assert await world.hosts(await world.goal()) == {*BUNDLES["npm"], "api.example.org"}


@pytest.mark.parametrize(
    "changes",
    [{"kind": "ask"}, {"planning": True}, {"wrapping_up": True}],
)
async def test_turns_that_only_look_have_no_line(world: World, changes: Any) -> None:
    goal = await world.goal(profile="full", **changes)

    assert await world.lines.open(goal, PLACE) is None
    assert not await world.lines.widen(goal, PLACE, "a.example")


@pytest.mark.parametrize(
    ("room", "changes"),
    [(RoomSettings(approvals="deny"), {}), (RoomSettings(), {"unattended": True})],
)
async def test_where_nobody_is_asked_there_is_no_line_to_nowhere(
    world: World, room: RoomSettings, changes: Any
) -> None:
    world.room = room

    assert await world.lines.open(await world.goal(**changes), PLACE) is None


async def test_what_people_granted_is_reached(world: World) -> None:
    goal = await world.granted(await world.goal(profile="read_only"), "a.example", "b.example:8443")
    standing = Permission("p", ROOM, "host", "c.example", "p1", 0.0, 1.0)
    world.permits.standing = (standing, replace(standing, kind="command", what='["curl"]'))

    assert await world.hosts(goal) == {"a.example", "b.example:8443", "c.example"}
    assert "c.example" not in (await world.hosts(replace(goal, profile="full")) or ())


async def test_one_yes_counts_until_the_turn_has_ended(world: World) -> None:
    goal = await world.goal(turn=1)
    line = await world.lines.open(goal, PLACE)
    assert line is not None

    before = await got(line, "http://localhost.example:81/")
    assert await world.lines.widen(goal, PLACE, "localhost.example:81")
    during = await world.hosts(goal)
    after = await world.hosts(replace(goal, turn=2))

    assert before[0] == 403
    assert (during, after) == ({"localhost.example:81"}, set())


async def test_what_lives_on_behind_a_turn_has_no_more_what_was_allowed_for_it(
    world: World,
) -> None:
    goal = await world.goal(turn=1)
    await world.lines.open(goal, PLACE)
    assert await world.lines.widen(goal, PLACE, "a.example")
    rows = world.bed.ports.rows  # type: ignore[attr-defined]

    rows.goals[goal.id] = replace(goal, state=State.WAITING, turn_open=False)
    await world.lines.follow()

    assert world.gateway._lines[goal.id].reach.hosts == frozenset()


async def test_what_is_taken_away_is_cut_and_a_goal_that_ended_has_no_line(world: World) -> None:
    world.room = RoomSettings(profile="networked", hosts="a.example")
    goal = await world.goal()
    line = await world.lines.open(goal, PLACE)
    assert line is not None

    world.room = RoomSettings(profile="networked", hosts="b.example")
    await world.lines.follow()

    assert world.gateway._lines[goal.id].reach.hosts == {"b.example"}
    rows = world.bed.ports.rows  # type: ignore[attr-defined]
    rows.goals[goal.id] = replace(goal, state=State.COMPLETE)
    await world.lines.follow()
    assert world.gateway._lines == {}


async def test_a_secrets_hosts_are_reached_where_the_network_is(world: World) -> None:
    secret = InUse("TOKEN", ("api.example.org",), "API_TOKEN")
    await world.bed.secret_uses.keep(ROOM, secret, Value("a-long-value"), by="p1")

    networked = await world.hosts(await world.goal(profile="networked"))
    workspace = await world.lines.reach(await world.goal(), PLACE)

    assert networked is not None
    assert "api.example.org" in networked
    assert workspace is not None
    assert (workspace.hosts, workspace.secrets) == (frozenset(), (secret,))


async def test_a_given_secret_makes_a_line_even_for_who_only_reads(world: World) -> None:
    secret = InUse("TOKEN", (), "TOKEN", "given")
    await world.bed.secret_uses.keep(ROOM, secret, Value("a-long-value"), by="p1")

    line = await world.lines.open(await world.goal(profile="read_only"), PLACE)

    assert line is not None
    assert line.environment == {"TOKEN": "a-long-value"}


async def test_the_note_tells_each_host_once_and_then_no_more(world: World) -> None:
    goal = await world.goal()
    line = await world.lines.open(goal, PLACE)
    assert line is not None
    for _ in range(3):
        await got(line, "http://a.example/")

    note = world.lines.note(goal.id)

    assert note.count("a.example:80") == 1
    assert world.lines.note(goal.id) == ""


async def call(world: World, goal: Goal, host: str) -> Outcome:
    kit = await ReachBox(world.lines).open(goal, PLACE, read_only=False)
    [tool] = kit.tools
    args = tool.check({"host": host, "why": "for the work"})
    assert tool.grants is not None
    assert tool.grants(args) == ("host", args["host"])
    await kit.about("reach", args)
    return await kit.call("reach", args, tool_use="t", timeout_s=1)


async def test_the_tool_widens_the_line(world: World) -> None:
    goal = await world.goal()
    await world.lines.open(goal, PLACE)

    outcome = await call(world, goal, "API.example.org.")

    assert outcome.ok
    assert await world.hosts(goal) == {"api.example.org"}
    assert world.gateway._lines[goal.id].reach.hosts == {"api.example.org"}


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "*.example.org", "a b", "http://a.example", ""],
)
async def test_nobody_is_asked_for_what_never_can_be(world: World, host: str) -> None:
    with pytest.raises(BadInput):
        await call(world, await world.goal(), host)


async def test_nobody_is_asked_for_what_is_there(world: World) -> None:
    goal = await world.goal(profile="networked")

    with pytest.raises(BadInput, match="can be reached from now on"):
        await call(world, goal, "pypi.org")


async def test_a_turn_that_only_looks_has_no_such_tool(world: World) -> None:
    kit = await ReachBox(world.lines).open(await world.goal(), PLACE, read_only=True)

    assert list(kit.tools) == []
    await kit.close()
