"""Room keys: asked for, given to nobody, exported and imported; against matrix-js-sdk."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nio
import pytest
import vodozemac
from nio.crypto import OlmDevice

from adapters.matrix.cross_signing import new_seeds, publish
from adapters.matrix.crypto_store import forget_sessions
from adapters.matrix.key_file import locked, unlocked
from adapters.matrix.keys import ask_for_key, export_keys, import_keys
from bot.errors import BadSettings
from tests.adapters.matrix.encrypted_bot import Bot, client_of, encrypted_bot
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.synapse import Account, Synapse

PASSPHRASE = "a long passphrase"


@pytest.fixture
def account(synapse: Synapse) -> Account:
    return synapse.register("bot")


@pytest.fixture
async def bot(synapse: Synapse, account: Account, tmp_path: Path) -> AsyncIterator[Bot]:
    async with encrypted_bot(synapse, account, tmp_path / "bot") as bot:
        await publish(bot.client, new_seeds(), password=account.password)
        yield bot


@pytest.fixture
async def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return await asyncio.to_thread(matrix_people.login, synapse, synapse.register("ann"))


async def test_a_key_that_was_lost_is_asked_for_and_comes(bot: Bot, ann: MatrixUser) -> None:
    room = await _talking(ann, bot)
    _lose_keys(bot, room)

    await asyncio.to_thread(ann.text, room, "the key of this was lost")

    await bot.until_read("the key of this was lost")
    assert not bot.sealed


async def test_a_broken_session_is_replaced_and_the_key_is_asked_for_again(
    bot: Bot, ann: MatrixUser
) -> None:
    room = await _talking(ann, bot)
    _lose_keys(bot, room)
    assert bot.client.olm
    bot.client.olm.session_store._entries.clear()

    await asyncio.to_thread(ann.text, room, "this came over a broken session")

    await bot.until_read("this came over a broken session")
    await asyncio.to_thread(ann.text, room, "and this over the new one")
    await bot.until_read("and this over the new one")


async def test_a_copy_of_the_keys_that_is_taken_up_later_is_understood_by_all(
    synapse: Synapse, account: Account, ann: MatrixUser, tmp_path: Path
) -> None:
    folder, copy = tmp_path / "bot", tmp_path / "copy"
    async with encrypted_bot(synapse, account, folder) as bot:
        room = await _talking(ann, bot)
        await bot.say(room, "before the copy")
        shutil.copytree(folder, copy)
        for store in copy.glob("*.db"):
            forget_sessions(store)
        bot.client.invalidate_outbound_session(room)
        await bot.say(room, "after it")
        await asyncio.to_thread(ann.until_said, room, "after it")
    async with encrypted_bot(synapse, account, copy) as bot:
        async with asyncio.timeout(20):
            while room not in bot.client.rooms:
                await asyncio.sleep(0.05)

        await bot.say(room, "from the copy")
        await asyncio.to_thread(ann.until_said, room, "from the copy")
        await asyncio.to_thread(ann.text, room, "understood")
        await bot.until_read("understood")


@pytest.mark.parametrize("is_known", [True, False])
async def test_another_device_that_begins_anew_gets_the_keys_again(
    bot: Bot, ann: MatrixUser, is_known: bool
) -> None:
    room = await _talking(ann, bot)
    olm = bot.client.olm
    assert olm
    theirs = vodozemac.Account()
    device = OlmDevice(
        ann.user_id,
        "NEW",
        {"curve25519": theirs.curve25519_key.to_base64(), "ed25519": "not looked at"},
    )
    olm.device_store.add(device)
    outbound = nio.crypto.OutboundGroupSession()
    outbound.users_shared_with.add((ann.user_id, "NEW"))
    outbound.shared = True
    olm.outbound_group_sessions[room] = outbound
    olm.account.generate_one_time_keys(1)
    known = olm.account.one_time_keys["curve25519"]
    key = next(iter(known.values())) if is_known else vodozemac.Sas().public_key.to_base64()
    session = theirs.create_outbound_session(
        vodozemac.Curve25519PublicKey.from_base64(olm.account.identity_keys["curve25519"]),
        vodozemac.Curve25519PublicKey.from_base64(key),
    )

    begun: Any = session.encrypt(b"{}").to_pre_key()
    olm.decrypt(ann.user_id, device.curve25519, begun)

    assert not outbound.shared
    assert not outbound.users_shared_with
    assert (device in olm.wedged_devices) is not is_known


async def test_a_key_given_again_does_not_take_the_place_of_one_that_opens_more(
    bot: Bot, ann: MatrixUser
) -> None:
    room = await _talking(ann, bot)
    olm = bot.client.olm
    assert olm
    (there,) = olm.inbound_group_store
    outbound = nio.crypto.OutboundGroupSession()
    args = (there.sender_key, there.ed25519, room, outbound.id)
    olm.create_group_session(*args, outbound.session_key)
    outbound.mark_as_shared()
    early = outbound.encrypt("early")

    olm.create_group_session(*args, outbound.session_key)

    kept: Any = olm.inbound_group_store.get(room, there.sender_key, outbound.id)
    assert bot.client.store
    stored = bot.client.store.load_inbound_group_sessions()
    assert kept.decrypt(early)[0] == "early"
    assert stored.get(room, there.sender_key, outbound.id).first_known_index == 0


@pytest.mark.parametrize(
    ("change", "is_taken"),
    [
        ({}, True),
        ({"sender_key": "somebody else's"}, False),
        ({"sender_claimed_ed25519_key": "somebody else's"}, False),
        ({"forwarding_curve25519_key_chain": ["somebody"]}, False),
        ({"room_id": "!other"}, False),
        ({"session_id": "never asked for"}, False),
    ],
)
async def test_only_who_made_a_session_gives_its_key_and_only_when_asked(
    bot: Bot, ann: MatrixUser, change: dict[str, Any], is_taken: bool
) -> None:
    room = await _talking(ann, bot)
    olm = bot.client.olm
    assert olm
    (device,) = olm.device_store.active_user_devices(ann.user_id)
    sealed = _sealed(ann, device.curve25519, room)
    assert await ask_for_key(bot.client, sealed)
    assert not await ask_for_key(bot.client, sealed)
    content: dict[str, Any] = {
        "algorithm": "m.megolm.v1.aes-sha2",
        "room_id": room,
        "session_id": sealed.session_id,
        "session_key": "key",
        "sender_key": device.curve25519,
        "sender_claimed_ed25519_key": device.ed25519,
        "forwarding_curve25519_key_chain": [],
    }

    payload = {"sender": ann.user_id, "content": content | change, "type": "m.forwarded_room_key"}
    event = nio.ForwardedRoomKeyEvent.from_dict(payload, ann.user_id, device.curve25519)

    assert isinstance(event, nio.ForwardedRoomKeyEvent)
    assert olm._should_accept_forward(ann.user_id, device.curve25519, event) is is_taken


async def test_nobody_is_given_keys_not_even_another_login_of_the_bot(
    synapse: Synapse, matrix_people: People, bot: Bot, account: Account, ann: MatrixUser
) -> None:
    room = await _talking(ann, bot)
    said = await bot.say(room, "not for later logins")
    other = await asyncio.to_thread(matrix_people.login, synapse, account, signs=False)
    assert bot.client.olm
    session = bot.client.olm.outbound_group_sessions[room]

    for asking in (other, ann):
        body = {
            "algorithm": "m.megolm.v1.aes-sha2",
            "room_id": room,
            "session_id": session.id,
            "sender_key": bot.client.olm.account.identity_keys["curve25519"],
        }
        wish = {
            "action": "request",
            "body": body,
            "request_id": f"by {asking.user_id}",
            "requesting_device_id": asking.account.device_id,
        }
        await asyncio.to_thread(
            synapse.done,
            "PUT",
            f"/_matrix/client/v3/sendToDevice/m.room_key_request/{asking.account.device_id}",
            {"messages": {account.user_id: {account.device_id: wish}}},
            asking.account.token,
        )
    async with asyncio.timeout(20):
        while other.account.device_id not in bot.client.olm.device_store[account.user_id]:
            await asyncio.sleep(0.05)
    answer = await bot.say(room, "for whoever is here")

    await asyncio.to_thread(other.until_said, room, "for whoever is here")
    before = other.seen[room].get(said)
    assert answer in other.seen[room]
    assert before is None or before.failure
    assert not bot.client.olm.received_key_requests


async def test_who_withholds_a_key_is_asked_and_nothing_breaks(bot: Bot, ann: MatrixUser) -> None:
    room = await _talking(ann, bot)
    await asyncio.to_thread(ann.do, "withhold", on=True)
    await asyncio.to_thread(ann.do, "forget_session", room=room)

    await asyncio.to_thread(ann.text, room, "not for the bot")
    async with asyncio.timeout(20):
        while not bot.sealed:
            await asyncio.sleep(0.05)
    await asyncio.to_thread(ann.do, "withhold", on=False)
    await asyncio.to_thread(ann.do, "forget_session", room=room)
    await asyncio.to_thread(ann.text, room, "for all again")

    await bot.until_read("for all again")
    assert "not for the bot" not in [words for _, words in bot.read]


async def test_who_has_left_does_not_get_the_key_of_what_is_said_then(
    synapse: Synapse, matrix_people: People, bot: Bot, ann: MatrixUser
) -> None:
    room = await _talking(ann, bot)
    bob = await asyncio.to_thread(matrix_people.login, synapse, synapse.register("bob"))
    await asyncio.to_thread(ann.invite, room, bob.user_id)
    await asyncio.to_thread(bob.until_invited, room)
    await asyncio.to_thread(bob.join, room)
    await asyncio.to_thread(bob.text, room, "here I am")
    await bot.until_read("here I am")
    first = await bot.say(room, "for three")
    await asyncio.to_thread(bob.until_seen, room, lambda seen: seen.id == first and bool(seen.body))

    assert bot.client.olm
    shared = bot.client.olm.outbound_group_sessions[room]
    await asyncio.to_thread(bob.leave, room)
    async with asyncio.timeout(20):
        while bob.user_id in bot.client.rooms[room].users:
            await asyncio.sleep(0.05)
    await bot.say(room, "for two")

    renewed = bot.client.olm.outbound_group_sessions[room]
    assert renewed.id != shared.id
    assert bob.user_id in {user for user, _ in shared.users_shared_with}
    assert bob.user_id not in {user for user, _ in renewed.users_shared_with}


async def test_another_client_reads_with_exported_keys_and_gives_its_own(
    synapse: Synapse,
    matrix_people: People,
    bot: Bot,
    account: Account,
    ann: MatrixUser,
    tmp_path: Path,
) -> None:
    room = await _talking(ann, bot)
    said = await asyncio.to_thread(ann.text, room, "before the new device")
    await bot.until_read("before the new device")
    file, back = tmp_path / "keys.txt", tmp_path / "back.txt"
    later = await asyncio.to_thread(matrix_people.login, synapse, ann.account, signs=False)

    count = export_keys(bot.client, file, PASSPHRASE)
    keys = unlocked(file.read_text(), PASSPHRASE).decode()
    await asyncio.to_thread(later.do, "import_keys", keys=keys)
    await asyncio.to_thread(later.do, "back", room=room, limit=50)
    read = await asyncio.to_thread(
        later.until_seen, room, lambda seen: seen.id == said and not seen.failure
    )
    back.write_text(
        locked((await asyncio.to_thread(later.do, "export_keys")).encode(), PASSPHRASE, rounds=9)
    )
    fresh = client_of(synapse, synapse.login(account), tmp_path / "fresh")
    imported = import_keys(fresh, back, PASSPHRASE)
    again = import_keys(fresh, back, PASSPHRASE)
    await fresh.close()

    assert read.body == "before the new device"
    assert count == 1
    assert imported[0] >= 1
    assert again == (0, imported[1])
    assert fresh.store
    assert room in [session.room_id for session in fresh.store.load_inbound_group_sessions()]


async def test_a_file_of_keys_is_its_owners_alone_and_replaces_nothing(
    bot: Bot, tmp_path: Path
) -> None:
    file = tmp_path / "keys.txt"
    export_keys(bot.client, file, PASSPHRASE)
    whole = file.read_bytes()

    with pytest.raises(BadSettings, match="there already"):
        export_keys(bot.client, file, PASSPHRASE)

    assert file.read_bytes() == whole
    assert file.stat().st_mode & 0o777 == 0o600
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


async def test_what_is_wrong_with_a_file_of_keys_is_said(bot: Bot, tmp_path: Path) -> None:
    good, torn, none = tmp_path / "good", tmp_path / "torn", tmp_path / "none"
    good.write_text(locked(b"{}", PASSPHRASE, rounds=9))
    torn.write_text(good.read_text()[:50])

    for path, passphrase, words in (
        (good, "another one", "passphrase is wrong"),
        (good, PASSPHRASE, "no list of room keys"),
        (torn, PASSPHRASE, "no file of room keys"),
        (none, PASSPHRASE, "cannot be read"),
    ):
        with pytest.raises(BadSettings, match=words):
            import_keys(bot.client, path, passphrase)
    with pytest.raises(BadSettings, match="fewer than 8"):
        export_keys(bot.client, none, "short")
    with pytest.raises(BadSettings, match="cannot be written"):
        export_keys(bot.client, none / "file", PASSPHRASE)


async def test_what_cannot_be_used_in_a_file_of_keys_is_passed_over(
    bot: Bot, ann: MatrixUser, tmp_path: Path
) -> None:
    await _talking(ann, bot)
    file, odd = tmp_path / "keys", tmp_path / "odd"
    export_keys(bot.client, file, PASSPHRASE)
    (good,) = json.loads(unlocked(file.read_text(), PASSPHRASE))
    found = [None, 3, [], {}, {"algorithm": "m.other"}, good | {"session_key": "no"}, good]
    found += [good | {"session_id": "another"}, good | {"sender_claimed_keys": 1}]
    odd.write_text(locked(json.dumps(found).encode(), PASSPHRASE, rounds=9))
    assert bot.client.olm
    bot.client.olm.inbound_group_store._entries.clear()

    assert import_keys(bot.client, odd, PASSPHRASE) == (1, len(found))


async def _talking(ann: MatrixUser, bot: Bot) -> str:
    """An encrypted room of the two in which the bot has read something."""
    me = bot.client.user_id
    room = await asyncio.to_thread(ann.create, encrypted=True, invite=[me])
    await asyncio.to_thread(ann.until_member, room, me)
    await asyncio.to_thread(ann.text, room, "hello")
    await bot.until_read("hello")
    return room


def _lose_keys(bot: Bot, room: str) -> None:
    assert bot.client.olm
    bot.client.olm.inbound_group_store._entries[room].clear()


def _sealed(ann: MatrixUser, sender_key: str, room: str) -> nio.MegolmEvent:
    content = {
        "algorithm": "m.megolm.v1.aes-sha2",
        "sender_key": sender_key,
        "session_id": "lost",
        "device_id": ann.account.device_id,
        "ciphertext": "AAAA",
    }
    event = nio.MegolmEvent.from_dict(
        {
            "type": "m.room.encrypted",
            "event_id": "$x",
            "sender": ann.user_id,
            "origin_server_ts": 1,
            "content": content,
            "room_id": room,
        }
    )
    assert isinstance(event, nio.MegolmEvent)
    event.room_id = room
    return event
