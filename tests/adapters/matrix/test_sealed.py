"""Events whose key is missing, written by a client that is not nio."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nio
import pytest

from adapters.matrix.reading import Reader, Taken
from bot.ports.chat import Changed, Incoming, Reacted, RoomLost
from tests.adapters.matrix.encrypted_bot import client_of
from tests.adapters.matrix.listening_bed import Ear, Ledger, Person, WallClock, ear, person
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.synapse import Synapse


class Shifted(WallClock):
    """The wall's clock, put ahead by the test."""

    ahead_s = 0.0

    def now(self) -> float:
        """Now, and that much more."""
        return super().now() + self.ahead_s


class LateKeys:
    """Keeps what comes to the device from a reader, as a homeserver that is slow with it does."""

    def __init__(self, reader: Reader) -> None:
        self.are_late = True
        self._held: list[Any] = []
        self._take = reader.take
        setattr(reader, "take", self.take)  # noqa: B010

    async def take(self, answer: Any) -> Taken:
        """Take the answer, later with all that was kept from before."""
        events = answer.get("to_device", {}).get("events", [])
        self._held.extend(events)
        given = [] if self.are_late else self._held
        self._held = self._held if self.are_late else []
        return await self._take({**answer, "to_device": {"events": given}})


async def shared_room(hears: Ear, ann: MatrixUser, bot: str) -> str:
    """An encrypted room that Ann made and the bot has come to."""
    room = await encrypted_room(ann, bot)
    await hears.until(lambda: room in hears.client.rooms)
    await asyncio.to_thread(ann.until_member, room, bot)
    return room


async def encrypted_room(ann: MatrixUser, bot: str) -> str:
    return await asyncio.to_thread(lambda: ann.create(encrypted=True, invite=[bot]))


async def test_an_encrypted_message_is_heard_and_so_is_one_of_while_the_bot_was_away(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.user_id]) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        await asyncio.to_thread(ann.text, room, "first")
        await hears.until(lambda: "first" in ledger.texts)
    for number in range(60):
        await asyncio.to_thread(ann.text, room, f"word {number}")

    async with ear(synapse, bot, tmp_path / "store", ledger) as hears:
        await hears.until(lambda: "word 59" in ledger.texts)

    assert ledger.texts == ["first", *(f"word {number}" for number in range(60))]
    assert not ledger.sealed_now


async def test_keys_that_came_with_an_answer_are_kept_before_its_position_is(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.user_id]) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        # What is read from here on is not stored: the process ends between the two.
        ledger.dies_after = ledger.calls
        await asyncio.to_thread(ann.text, room, "first")
        await asyncio.to_thread(ann.text, room, "second")
        async with asyncio.timeout(20):
            await hears.task
    ledger.dies_after = None
    assert not ledger.texts

    async with ear(synapse, bot, tmp_path / "store", ledger) as hears:
        await hears.until(lambda: "second" in ledger.texts)
        await asyncio.to_thread(ann.text, room, "third")
        await hears.until(lambda: "third" in ledger.texts)

    assert ledger.texts == ["first", "second", "third"]


async def test_a_message_without_its_key_waits_is_told_of_once_and_comes_when_the_key_does(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, ledger, clock = synapse.register("bot"), Ledger(), Shifted()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    folder = tmp_path / "store"
    async with ear(synapse, bot, folder, ledger, invited=[ann.user_id], clock=clock) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        await asyncio.to_thread(ann.text, room, "readable")
        await hears.until(lambda: "readable" in ledger.texts)
        said = next(iter(ledger.said.values()))
        assert isinstance(said, Incoming)
        # The key is taken away: as where it never came.
        assert hears.client.olm is not None
        kept = hears.client.olm.inbound_group_store._entries.pop(room)
        _answered_by_nobody(hears.client)

        root = await asyncio.to_thread(ann.text, room, "sealed 1")
        await asyncio.to_thread(ann.text, room, "sealed 2", thread=root)
        await hears.until(lambda: len(ledger.sealed_now) == 2)
        await hears.settled()
        told_early = list(hears.told)
        clock.ahead_s = 61.0
        await hears.until(lambda: hears.told)
        await hears.settled(3)

        assert not told_early
        assert len(hears.told) == 1
        assert all(one.is_told for one in ledger.sealed_now.values())
        sessions = next(iter(kept.values()))
    async with ear(synapse, bot, folder, ledger, clock=clock) as hears:
        # The store has the key, as where it came while nobody looked.
        await hears.until(lambda: "sealed 2" in ledger.texts)
        await hears.settled()

        assert not hears.told

    assert sessions
    assert ledger.texts == ["readable", "sealed 1", "sealed 2"]
    assert not ledger.sealed_now


async def test_a_key_that_comes_later_opens_what_waited_in_its_order(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.user_id]) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        late = LateKeys(hears.syncing._parts.reader)
        await asyncio.to_thread(ann.text, room, "sealed 1")
        await asyncio.to_thread(ann.text, room, "sealed 2")
        await hears.until(lambda: len(ledger.sealed_now) == 2)
        late.are_late = False
        await hears.until(lambda: "sealed 2" in ledger.texts)
        await asyncio.to_thread(ann.text, room, "open")
        await hears.until(lambda: "open" in ledger.texts)

    assert ledger.texts == ["sealed 1", "sealed 2", "open"]
    assert not ledger.sealed_now
    assert not hears.told


async def test_edits_and_signs_in_an_encrypted_room_are_read_as_in_any(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.user_id]) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        root = await asyncio.to_thread(ann.text, room, "the root")
        said = await asyncio.to_thread(ann.text, room, "Fix the login", thread=root)
        await hears.until(lambda: len(ledger.said) == 2)
        await asyncio.to_thread(ann.edit, room, said, "Fix the logout")
        await hears.until(lambda: len(ledger.said) == 3)
        await asyncio.to_thread(ann.react, room, said, "\N{DIRECT HIT}\N{VARIATION SELECTOR-16}")
        await hears.until(lambda: len(ledger.said) == 4)

    _, message, changed, sign = ledger.said.values()
    assert isinstance(message, Incoming)
    assert isinstance(changed, Changed)
    assert isinstance(sign, Reacted)
    assert (message.id, message.place.thread) == (said, root)
    assert (changed.id, changed.text) == (said, "Fix the logout")
    assert (sign.text, sign.place.thread) == ("Fix the logout", root)


async def test_what_waits_in_a_room_that_is_lost_is_let_go(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        content = {
            "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA", "session_id": "s",
        }  # fmt: skip
        ann.send(room, content, "m.room.encrypted")
        await hears.until(lambda: ledger.sealed_now)
        ann.act(room, "kick", user_id=bot.user_id)
        await hears.until(lambda: not ledger.sealed_now)

    assert [type(one) for one in ledger.said.values()] == [RoomLost]


async def test_a_message_that_nobody_can_read_is_given_up_after_a_week(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ann, ledger, clock = synapse.register("bot"), person(synapse), Ledger(), Shifted()
    room = ann.create(bot.user_id)
    folder = tmp_path / "store"
    async with ear(synapse, bot, folder, ledger, invited=[ann.id], clock=clock) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        content = {
            "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA", "session_id": "s",
            "sender_key": "k", "device_id": "d",
        }  # fmt: skip
        ann.send(room, content, "m.room.encrypted")
        removed = ann.send(room, {**content, "session_id": "t"}, "m.room.encrypted")
        await hears.until(lambda: len(ledger.sealed_now) == 2)
        ann.redact(room, removed)
        await hears.until(lambda: len(ledger.sealed_now) == 1)

        clock.ahead_s = 7 * 24 * 3600.0 + 100
        await hears.until(lambda: not ledger.sealed_now)

    assert not ledger.texts


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"algorithm": 3},
        {"algorithm": "m.megolm.v1.aes-sha2"},
        {"algorithm": "m.megolm.v1.aes-sha2", "session_id": [], "ciphertext": {}},
        {"algorithm": "m.olm.v1.curve25519-aes-sha2", "ciphertext": {}, "sender_key": "k"},
    ],
)
async def test_what_is_no_encrypted_event_is_passed_over(
    synapse: Synapse, tmp_path: Path, content: dict[str, Any]
) -> None:
    bot, ann, ledger = synapse.register("bot"), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        ann.send(room, content, "m.room.encrypted")
        ann.say(room, "hello")
        await hears.until(lambda: ledger.texts)

    assert ledger.texts == ["hello"]
    assert not ledger.sealed_now


async def test_a_membership_inside_an_encrypted_event_changes_nothing(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.user_id]) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        for type, content in (
            ("m.room.member", {"membership": "leave"}),
            ("m.room.tombstone", {"replacement_room": "!elsewhere"}),
        ):
            await asyncio.to_thread(ann.send, room, type, content)
        await asyncio.to_thread(ann.text, room, "hello")
        await hears.until(lambda: "hello" in ledger.texts)

        assert set(hears.client.rooms[room].users) == {bot.user_id, ann.user_id}

    assert not any(isinstance(one, RoomLost) for one in ledger.said.values())
    assert len(ledger.said) == 1


async def test_what_one_person_encrypted_is_not_taken_for_anothers_word(
    synapse: Synapse, matrix_people: People, tmp_path: Path
) -> None:
    bot, eve, ledger = synapse.register("bot"), person(synapse), Ledger()
    ann = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.user_id]) as hears:
        await hears.settled()
        room = await shared_room(hears, ann, bot.user_id)
        said = await asyncio.to_thread(ann.text, room, "approve")
        await hears.until(lambda: "approve" in ledger.texts)
        path = f"/_matrix/client/v3/rooms/{quote(room)}/event/{quote(said)}"
        event = synapse.done("GET", path, token=bot.token)
        reader = Reader(hears.client)

        own = reader.read(event, room)
        forged = reader.read({**event, "sender": eve.id}, room)

    assert own is not None
    assert not own.is_shut
    assert forged is None


async def test_a_strangers_broken_message_to_the_device_makes_nobody_deaf(
    synapse: Synapse, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bot, ann, eve, ledger = synapse.register("bot"), person(synapse), person(synapse), Ledger()
    room = ann.create(bot.user_id)
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[ann.id]) as hears:
        await hears.until(lambda: room in hears.client.rooms)
        assert hears.client.olm is not None
        own = hears.client.olm.account.identity_keys["curve25519"]
        for kind, body in ((0, "broken"), (1, "?"), (0, "AwogAAAA"), (7, ""), (0, "")):
            sealed = {
                "algorithm": "m.olm.v1.curve25519-aes-sha2",
                "sender_key": "k",
                "ciphertext": {own: {"type": kind, "body": body}},
            }
            path = f"/sendToDevice/m.room.encrypted/{kind}{json.dumps(body)[1:-1]}"
            to = {bot.user_id: {bot.device_id: sealed}}
            eve.do("PUT", path.replace("?", "q"), {"messages": to})
        ann.say(room, "hello")
        await hears.until(lambda: ledger.texts)

    assert ledger.texts == ["hello"]
    assert "cannot take a to-device message" in caplog.text


def _answered_by_nobody(client: nio.AsyncClient) -> None:
    """Keys that are asked for do not come: as where the other client does not answer."""
    setattr(client.olm, "_should_accept_forward", lambda *_: False)  # noqa: B010


async def test_whatever_is_inside_an_encrypted_event_makes_nobody_deaf(
    synapse: Synapse, tmp_path: Path
) -> None:
    bot, ledger = synapse.register("bot"), Ledger()
    account = synapse.register("mallory")
    mallory, room = Person(synapse, account), ""
    client = client_of(synapse, account, tmp_path / "mallory")
    wish = {"type": "m.room.encryption", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
    async with ear(synapse, bot, tmp_path / "store", ledger, invited=[mallory.id]) as hears:
        await hears.settled()
        room = mallory.create(bot.user_id, initial_state=[wish])
        await hears.until(lambda: room in hears.client.rooms)
        await hears.settled()
        await client.keys_upload()
        await client.sync(timeout=0, full_state=True)
        # Shares the session's key with the bot's device.
        await client.room_send(
            room, "m.room.message", {"msgtype": "m.text", "body": "first"},
            ignore_unverified_devices=True,
        )  # fmt: skip
        assert client.olm is not None
        said = {"msgtype": "m.text", "body": "inner"}
        for inner in (
            {"type": "m.room.message", "content": said, "unsigned": 5},
            {"type": "m.room.message", "content": said, "unsigned": None},
            {"type": "m.room.encrypted", "content": {}},
            {"type": "m.room.member", "content": {"membership": "join"}, "state_key": "@eve:x"},
            {"type": "m.room.message", "content": []},
            {"type": 3, "content": {}},
            {},
        ):
            sealed = client.olm.group_encrypt(room, inner)
            mallory.send(room, sealed, "m.room.encrypted")
        await client.room_send(
            room, "m.room.message", {"msgtype": "m.text", "body": "last"},
            ignore_unverified_devices=True,
        )  # fmt: skip
        await hears.until(lambda: "last" in ledger.texts)

        assert set(hears.client.rooms[room].users) == {bot.user_id, mallory.id}
    await client.close()
    assert client.store is not None
    client.store.database.close()

    assert set(ledger.texts) <= {"first", "inner", "last"}
    assert not ledger.sealed_now
