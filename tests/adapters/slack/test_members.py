"""Who reads in a channel and whose the workspace is, asked of a Slack."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from adapters.slack import members as members_of_slack
from adapters.slack.calling import Calls
from adapters.slack.members import SlackMembers
from adapters.slack.people import KEPT_S, NOBODY_S, Directory
from bot.chat.allow_list import AllowList
from bot.errors import Wait
from bot.ports.chat import Speaker
from bot.ports.people import Entry, Register, Subject
from tests.adapters.slack.web_bed import (
    SECOND,
    calls,
    clock,
    front,
    people,
    place,
    slack_of_module,
)
from tests.doubles.clock import HandClock
from tests.doubles.store import MemoryStore
from tests.peers.localslack import TEAM
from tests.peers.slack_faults import Failed, Limited, Page, Slow
from tests.peers.slack_front import SlackFront

__all__ = ["calls", "clock", "front", "people", "slack_of_module"]
ANN, BEN = Speaker(f"{TEAM}:U01ALICE", "Ann"), Speaker(f"{TEAM}:U02BOB", "Ben")
CAROL = Speaker(f"{TEAM}:U03CAROL", "Carol")
GUEST, FOREIGN = Speaker(f"{TEAM}:U06GUEST", "Gus"), Speaker("T09OTHER:U07FORGN", "Fay")


@pytest.fixture
def members(calls: Calls, people: Directory, clock: HandClock) -> SlackMembers:
    return SlackMembers(calls, people, clock)


@pytest.fixture
def shared(front: SlackFront) -> str:
    """A channel with a guest and somebody of another organisation."""
    front.world.people_of("C02RND")
    front.world.members["C02RND"] = {"U01ALICE", "U06GUEST", "U07FORGN"}
    front.world.room("C02RND").is_shared = True
    return "C02RND"


async def test_members_are_asked_for_once_in_five_minutes(
    front: SlackFront, members: SlackMembers, clock: HandClock
) -> None:
    front.world.people_of("C01GEN")
    front.world.members["C01GEN"] = {"U01ALICE"}
    first = await members.is_member(place(), ANN), await members.is_member(place(), BEN)
    front.world.members["C01GEN"] = {"U01ALICE", "U02BOB"}

    before = await members.is_member(place(), BEN)
    clock.move(members_of_slack.KEPT_S + 1)
    after = await members.is_member(place(), BEN)

    assert first == (True, False)
    assert (before, after) == (False, True)
    assert len(front.of("conversations.members")) == 2


async def test_many_who_ask_at_once_ask_slack_once(
    front: SlackFront, members: SlackMembers
) -> None:
    await asyncio.gather(*(members.is_member(place(), ANN) for _ in range(50)))

    assert len(front.of("conversations.members")) == 1


async def test_whoever_comes_or_goes_is_known_at_once(members: SlackMembers) -> None:
    await members.is_member(place("C02RND"), CAROL)

    members.came(TEAM, "C02RND", "U03CAROL")
    there = await members.is_member(place("C02RND"), CAROL)
    members.went(TEAM, "C02RND", "U03CAROL")
    gone = await members.is_member(place("C02RND"), CAROL)

    assert (there, gone) == (True, False)


async def test_who_comes_while_members_are_read_is_not_forgotten(
    front: SlackFront, members: SlackMembers
) -> None:
    asking = asyncio.create_task(members.of(TEAM, "C02RND"))
    await asyncio.sleep(0)
    members.came(TEAM, "C02RND", "U05ERIN")
    await asking

    await members.of(TEAM, "C02RND")

    assert len(front.of("conversations.members")) == 2


async def test_a_long_list_of_members_is_read_by_pages(
    front: SlackFront, members: SlackMembers
) -> None:
    front.world.people_of("C02RND")
    before = front.world.members["C02RND"]
    front.world.members["C02RND"] = {f"U{number:05d}" for number in range(2_500)}

    found = await members.of(TEAM, "C02RND")
    front.world.members["C02RND"] = before

    assert len(found) == 2_501
    assert len(front.of("conversations.members")) == 3


async def test_while_slack_is_away_who_was_there_is(
    front: SlackFront, members: SlackMembers, clock: HandClock
) -> None:
    before = await members.is_member(place(), ANN)
    clock.move(members_of_slack.KEPT_S + 1)
    front.faults.next_times("conversations.members", Page(502), Limited(1))

    away = await members.is_member(place(), ANN)
    with pytest.raises(Wait):
        await members.is_member(place("C03PRV"), ANN)

    assert before is away is True


@pytest.mark.parametrize("channel", ["C0NONE", "C03PRV"])
async def test_a_channel_that_the_bot_does_not_see_has_nobody(
    front: SlackFront, members: SlackMembers, channel: str
) -> None:
    front.world.room("C03PRV").has_bot = False

    is_member = await members.is_member(place(channel), ANN)
    front.world.room("C03PRV").has_bot = True

    assert not is_member


async def test_only_a_conversation_of_two_is_direct(
    front: SlackFront, members: SlackMembers
) -> None:
    direct = front.run(front.dm("U01ALICE", front.install))

    assert await members.is_direct(place(direct))
    assert await members.is_member(place(direct), ANN)
    assert not await members.is_member(place(direct), BEN)
    assert not await members.is_direct(place("C03PRV"))
    assert not await members.is_encrypted(place(direct))


async def test_a_workspace_is_its_full_members_own(members: SlackMembers, shared: str) -> None:
    room = place(shared)

    assert await members.is_own(room, ANN)
    for stranger in (GUEST, FOREIGN, Speaker(f"{TEAM}:U07FORGN", "Fay")):
        assert not await members.is_own(room, stranger)
    assert not await members.is_own(room, Speaker("T09OTHER:U01ALICE", "Ann"))
    assert not await members.is_own(room, Speaker(f"{TEAM}:U0NOBODY", "?"))
    assert not await members.is_own(room, Speaker(f"{TEAM}:U0BOT", "headway"))
    assert await members.is_member(room, GUEST)
    assert await members.is_member(room, FOREIGN)


async def test_people_of_one_organisation_own_all_its_workspaces(
    front: SlackFront, members: SlackMembers
) -> None:
    grid = {"enterprise_id": "E01ORG", "id": "U01ALICE", "teams": ["T05MATE"]}
    front.world.people["U01ALICE"] = {"team_id": "T05MATE", "enterprise_user": grid}
    before = front.install
    inside = replace(before, enterprise="E01ORG")
    front.world.installs[0] = front.world.tokens[before.bot_token] = inside

    mate = await members.is_own(place(), Speaker("E01ORG:U01ALICE", "Ann"))
    other = await members.is_own(place(), Speaker("E09ORG:U01ALICE", "Ann"))

    front.world.people.pop("U01ALICE")
    front.world.installs[0] = front.world.tokens[before.bot_token] = before
    assert (mate, other) == (True, False)


async def test_a_group_is_asked_for_where_the_person_was_met(
    front: SlackFront, members: SlackMembers, people: Directory
) -> None:
    group = {"id": "S01CREW", "team_id": TEAM, "handle": "crew", "users": ["U01ALICE", "U07FORGN"]}
    front.world.groups.append(group)
    crew = Subject("group", "slack", "S01CREW")
    await people.person(TEAM, "U01ALICE")

    found = [await members.is_in_group(crew, who) for who in (ANN, BEN, FOREIGN)]
    named = await members.is_in_group(Subject("group", "slack", f"{TEAM}:S01CREW"), ANN)
    none = await members.is_in_group(Subject("group", "slack", "S0NONE"), ANN)

    front.world.groups.remove(group)
    assert found == [True, False, False]
    assert (named, none) == (True, False)


async def test_without_the_scope_to_ask_nobody_has_rights_by_it_and_nothing_fails(
    front: SlackFront, members: SlackMembers
) -> None:
    token = front.install.bot_token
    front.world.scopes[token] = frozenset({"chat:write"})
    crew = Subject("group", "slack", f"{TEAM}:S01CREW")

    found = [
        await members.is_member(place(), ANN),
        await members.is_own(place(), ANN),
        await members.is_in_group(crew, ANN),
        await members.enter(place()),
    ]

    front.world.scopes.pop(token)
    assert found == [False] * 4


async def test_where_the_app_is_not_installed_nobody_is_known(members: SlackMembers) -> None:
    left = place(workspace="T07LEFT")

    assert not await members.is_member(left, ANN)
    assert not await members.is_own(left, ANN)
    assert not await members.enter(left)


async def test_a_public_channel_is_entered_where_the_bot_may(
    front: SlackFront, members: SlackMembers
) -> None:
    front.world.room("C02RND").has_bot = False

    entered = await members.enter(place("C02RND"))

    assert entered
    assert front.world.room("C02RND").has_bot
    assert await members.enter(place("C01GEN"))
    assert len(front.of("conversations.join")) == 1


@pytest.mark.parametrize("how", ["private", "archived", "no scope", "unknown"])
async def test_a_channel_that_the_bot_cannot_enter_is_said_to_be_so(
    front: SlackFront, members: SlackMembers, how: str
) -> None:
    restore = _closed(front, how)

    entered = await members.enter(
        place({"private": "C03PRV", "unknown": "C0NONE"}.get(how, "C02RND"))
    )

    restore()
    assert not entered


async def test_a_guest_or_somebody_of_another_organisation_is_a_stranger_unless_listed(
    members: SlackMembers, shared: str
) -> None:
    room = place(shared)
    listed = Entry(Subject("room", "slack", shared, TEAM), "user")
    store = MemoryStore(HandClock())
    allow_list = AllowList(store.people, store.doors, store.rooms, members)
    allow_list.take(Register((listed,)))
    by_room = [bool(await allow_list.roles(room, who)) for who in (ANN, GUEST, FOREIGN)]

    by_name = (Entry(Subject("person", "slack", who.id), "user") for who in (GUEST, FOREIGN))
    allow_list.take(Register((listed, *by_name)))
    named = [bool(await allow_list.roles(room, who)) for who in (ANN, GUEST, FOREIGN)]
    impostor = await allow_list.roles(room, Speaker("T08EVIL:U06GUEST", "Gus"))

    assert by_room == [True, False, False]
    assert named == [True, True, True]
    assert impostor == frozenset()


async def test_a_storm_of_unknown_people_asks_for_each_once(
    front: SlackFront, people: Directory, clock: HandClock
) -> None:
    users = [f"U0STORM{number:03d}" for number in range(40)]

    found = await asyncio.gather(*(people.these(TEAM, users) for _ in range(5)))
    asked = len(front.of("users.info"))
    clock.move(NOBODY_S + 1)
    await people.person(TEAM, users[0])

    assert found == [{}] * 5
    assert asked == 40
    assert len(front.of("users.info")) == 41


async def test_who_cannot_be_looked_up_now_is_left_out_and_asked_for_again(
    front: SlackFront, people: Directory
) -> None:
    front.faults.next_times("users.info", Limited(60))

    first = await people.these(TEAM, ["U01ALICE"])
    second = await people.these(TEAM, ["U01ALICE"])

    assert first == {}
    assert second["U01ALICE"].speaker == Speaker(f"{TEAM}:U01ALICE", "alice")


async def test_who_gives_up_waiting_for_a_name_knows_it_the_next_time(
    front: SlackFront, people: Directory
) -> None:
    front.faults.next_times("users.info", Slow(0.3))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await people.these(TEAM, ["U01ALICE"])

    found = await people.these(TEAM, ["U01ALICE"])

    assert "U01ALICE" in found
    assert len(front.of("users.info")) == 1
    await people.close()


async def test_a_profile_is_asked_for_again_after_an_hour_and_known_when_it_changes(
    front: SlackFront, people: Directory, clock: HandClock
) -> None:
    await people.person(TEAM, "U02BOB")
    await people.person(TEAM, "U02BOB")
    people.changed(TEAM, {"id": "U02BOB", "team_id": TEAM, "name": "robert"})
    renamed = people.seen(TEAM, "U02BOB")
    clock.move(KEPT_S + 1)
    again = await people.person(TEAM, "U02BOB")

    assert (renamed and renamed.name, again and again.name) == ("robert", "bob")
    assert len(front.of("users.info")) == 2


async def test_what_is_known_of_one_workspace_is_not_of_another(people: Directory) -> None:
    await people.person(TEAM, "U01ALICE")

    home = await people.home(SECOND.team)

    assert (home.team, home.bot_user) == (SECOND.team, SECOND.bot)
    assert people.where("U01ALICE") == (TEAM,)
    assert people.seen(SECOND.team, "U01ALICE") is None


def _closed(front: SlackFront, how: str) -> Callable[[], None]:
    """Make a channel one that the bot cannot enter; returns how it is made as before."""
    room, token = front.world.room("C02RND"), front.install.bot_token
    private = front.world.room("C03PRV")
    room.has_bot = private.has_bot = False
    room.is_archived = how == "archived"
    if how == "no scope":
        front.world.scopes[token] = frozenset({"channels:read"})

    def restore() -> None:
        room.has_bot = private.has_bot = True
        room.is_archived = False
        front.world.scopes.pop(token, None)

    return restore


@pytest.mark.parametrize("code", ["token_revoked", "invalid_auth", "account_inactive"])
async def test_a_token_that_is_refused_makes_nobody_a_stranger_and_nobody_absent(
    front: SlackFront, members: SlackMembers, code: str
) -> None:
    front.faults.lottery(1, 1.0, [Failed(code)], most=3)

    for asked in (members.is_own, members.is_member):
        with pytest.raises(Wait, match=code):
            await asked(place("C01GEN"), ANN)
    with pytest.raises(Wait, match=code):
        await members.enter(place("C01GEN"))
    front.faults.calm()

    assert await members.is_own(place("C01GEN"), ANN)
    assert await members.is_member(place("C01GEN"), ANN)
