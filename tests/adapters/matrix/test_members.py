"""Who is in a room, asked of a real homeserver."""

from collections.abc import AsyncIterator
from pathlib import Path

import nio
import pytest

from adapters.matrix.members import KEPT_S, RoomMembers
from bot.errors import Wait
from bot.ports.chat import Place, Speaker
from bot.ports.people import Subject
from tests.adapters.matrix.encrypted_bot import client_of
from tests.adapters.matrix.listening_bed import Ledger, Person, ear, person
from tests.doubles.clock import HandClock
from tests.peers.synapse import Synapse


@pytest.fixture
def bot(synapse: Synapse) -> Person:
    return person(synapse, "bot")


@pytest.fixture
async def client(synapse: Synapse, bot: Person, tmp_path: Path) -> AsyncIterator[nio.AsyncClient]:
    client = client_of(synapse, bot.account, tmp_path / "store")
    yield client
    await client.close()
    assert client.store is not None
    client.store.database.close()


def place(bot: Person, room: str) -> Place:
    return Place("matrix", bot.id, room)


async def test_members_are_asked_for_once_in_five_minutes(
    synapse: Synapse, bot: Person, client: nio.AsyncClient
) -> None:
    ann, bob, clock = person(synapse), person(synapse, "bob"), HandClock()
    members, room = RoomMembers(client, clock), ann.create(bot.id)
    bot.do("POST", f"/join/{room}")
    where, who = place(bot, room), Speaker(bob.id, "Bob")
    assert await members.is_direct(where)
    assert not await members.is_member(where, who)
    ann.act(room, "invite", user_id=bob.id)
    bob.do("POST", f"/join/{room}")

    before = await members.is_member(where, who)
    clock.move(KEPT_S + 1)
    after = await members.is_member(where, who)

    assert (before, after) == (False, True)
    assert not await members.is_direct(where)


async def test_whoever_comes_or_goes_is_known_at_once(synapse: Synapse, tmp_path: Path) -> None:
    bot, ann, bob = person(synapse, "bot"), person(synapse), person(synapse, "bob")
    room = ann.create(bot.id)
    async with ear(synapse, bot.account, tmp_path / "s", Ledger(), invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        members, where = hears.syncing._parts.members, place(bot, room)
        assert await members.is_direct(where)
        ann.act(room, "invite", user_id=bob.id)
        bob.do("POST", f"/join/{room}")
        await hears.until(lambda: len(hears.client.rooms[room].users) == 3)
        await hears.settled()

        assert await members.is_member(where, Speaker(bob.id, "Bob"))
        bob.act(room, "leave")
        await hears.until(lambda: len(hears.client.rooms[room].users) == 2)
        await hears.settled()
        assert not await members.is_member(where, Speaker(bob.id, "Bob"))


async def test_in_a_room_that_is_not_ours_nobody_is_known(
    synapse: Synapse, bot: Person, client: nio.AsyncClient
) -> None:
    ann = person(synapse)
    room = ann.create()
    members = RoomMembers(client, HandClock())

    assert not await members.is_member(place(bot, room), Speaker(ann.id, "Ann"))
    assert not await members.is_direct(place(bot, room))
    group = Subject("group", "matrix", "S1")
    assert not await members.is_in_group(group, Speaker(ann.id, "Ann"))


async def test_what_cannot_be_asked_is_no_answer(
    synapse: Synapse, bot: Person, client: nio.AsyncClient
) -> None:
    client.homeserver = "http://127.0.0.1:9"
    members = RoomMembers(client, HandClock())

    with pytest.raises(Wait):
        await members.is_member(place(bot, "!r"), Speaker("@ann:x", "Ann"))


async def test_a_room_is_encrypted_once_its_state_says_so(
    synapse: Synapse, bot: Person, client: nio.AsyncClient
) -> None:
    ann = person(synapse)
    room, members = ann.create(bot.id), RoomMembers(client, HandClock())
    bot.do("POST", f"/join/{room}")

    before = await members.is_encrypted(place(bot, room))
    ann.state(room, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
    after = await members.is_encrypted(place(bot, room))

    assert (before, after) == (False, True)
