"""The bot's identity, against a real homeserver and clients that exclude unsigned devices."""

import asyncio
from pathlib import Path

import pytest

from adapters.matrix.cross_signing import (
    NotSigned,
    Seeds,
    Standing,
    new_seeds,
    publish,
    sign_device,
    standing,
)
from tests.adapters.matrix.encrypted_bot import client_of, encrypted_bot
from tests.peers.matrix_user import People
from tests.peers.synapse import Synapse


@pytest.mark.parametrize("is_signed", [True, False])
async def test_who_excludes_unsigned_devices_talks_to_the_bot_once_it_is_signed(
    synapse: Synapse, matrix_people: People, tmp_path: Path, is_signed: bool
) -> None:
    account = synapse.register("bot")
    ann = await asyncio.to_thread(
        matrix_people.login, synapse, synapse.register("ann"), only_signed=True
    )
    async with encrypted_bot(synapse, account, tmp_path) as bot:
        if is_signed:
            await publish(bot.client, new_seeds(), password=account.password)
        room = await asyncio.to_thread(ann.create, encrypted=True, invite=[account.user_id])
        await asyncio.to_thread(ann.until_member, room, account.user_id)

        said = await asyncio.to_thread(ann.text, room, "hello bot")
        if is_signed:
            await bot.until_read("hello bot")
        else:
            while not bot.sealed:
                await asyncio.sleep(0.05)
        answer = await bot.say(room, "hello ann")

        seen = await asyncio.to_thread(
            ann.until_seen, room, lambda seen: seen.id == answer and not seen.waits
        )
        assert (seen.body == "hello ann") is is_signed
        assert bool(seen.failure) is not is_signed
        assert ((said, "hello bot") in bot.read) is is_signed


async def test_the_same_seeds_are_the_same_identity_and_need_no_password(
    synapse: Synapse, tmp_path: Path
) -> None:
    account = synapse.register("bot")
    seeds = new_seeds()
    async with encrypted_bot(synapse, account, tmp_path, syncs=False) as bot:
        await publish(bot.client, seeds, password=account.password)
        first = _identity(synapse, account.user_id, account.token)

        await publish(bot.client, Seeds.of_text(seeds.as_text()))

        assert _identity(synapse, account.user_id, account.token) == first
        assert await standing(bot.client, seeds) == Standing("ours", is_signed=True)


async def test_a_new_device_of_the_same_identity_is_signed_at_its_start_without_a_password(
    synapse: Synapse, tmp_path: Path
) -> None:
    account = synapse.register("bot")
    seeds = new_seeds()
    async with encrypted_bot(synapse, account, tmp_path / "old", syncs=False) as bot:
        await publish(bot.client, seeds, password=account.password)
    fresh = synapse.login(account)

    async with encrypted_bot(synapse, fresh, tmp_path / "new", syncs=False) as bot:
        before = await standing(bot.client, seeds)
        was_signed_now = await sign_device(bot.client, seeds)
        again = await sign_device(bot.client, seeds)
        after = await standing(bot.client, seeds)

    assert before == Standing("ours", is_signed=False)
    assert (was_signed_now, again) == (True, False)
    assert after == Standing("ours", is_signed=True)


async def test_a_device_that_has_told_no_keys_yet_tells_them_and_is_signed(
    synapse: Synapse, tmp_path: Path
) -> None:
    account = synapse.register("bot")
    client = client_of(synapse, account, tmp_path)
    seeds = new_seeds()

    await publish(client, seeds, password=account.password)

    assert await standing(client, seeds) == Standing("ours", is_signed=True)
    await client.close()


async def test_an_identity_of_somebody_else_is_replaced_only_when_asked_to(
    synapse: Synapse, tmp_path: Path
) -> None:
    account = synapse.register("bot")
    theirs, ours = new_seeds(), new_seeds()
    async with encrypted_bot(synapse, account, tmp_path, syncs=False) as bot:
        await publish(bot.client, theirs, password=account.password)

        with pytest.raises(NotSigned, match="--reset-identity") as refused:
            await publish(bot.client, ours, password=account.password)
        with pytest.raises(NotSigned, match="--reset-identity"):
            await sign_device(bot.client, ours)
        kept = await standing(bot.client, theirs)
        await publish(bot.client, ours, password=account.password, reset=True)

        assert refused.value.kind == "taken"
        assert kept == Standing("ours", is_signed=True)
        assert await standing(bot.client, ours) == Standing("ours", is_signed=True)
        assert await standing(bot.client, theirs) == Standing("other", is_signed=False)


@pytest.mark.parametrize(
    ("password", "words"), [("", "asks for the bot's password"), ("wrong", "refuses the password")]
)
async def test_where_the_password_is_asked_for_it_has_to_be_right(
    synapse: Synapse, tmp_path: Path, password: str, words: str
) -> None:
    account = synapse.register("bot")
    ours = new_seeds()
    async with encrypted_bot(synapse, account, tmp_path, syncs=False) as bot:
        await publish(bot.client, new_seeds(), password=account.password)

        with pytest.raises(NotSigned, match=words) as refused:
            await publish(bot.client, ours, password=password, reset=True)

        assert refused.value.kind == "password"
        assert await standing(bot.client, ours) == Standing("other", is_signed=False)


async def test_a_device_whose_keys_are_of_another_store_is_not_signed(
    synapse: Synapse, tmp_path: Path
) -> None:
    account = synapse.register("bot")
    seeds = new_seeds()
    async with encrypted_bot(synapse, account, tmp_path / "first", syncs=False) as bot:
        await publish(bot.client, seeds, password=account.password)
    client = client_of(synapse, account, tmp_path / "other")

    with pytest.raises(NotSigned, match="other keys for the device"):
        await sign_device(client, seeds)

    await client.close()


async def test_an_identity_that_was_never_published_is_said_to_be(
    synapse: Synapse, tmp_path: Path
) -> None:
    account = synapse.register("bot")
    async with encrypted_bot(synapse, account, tmp_path, syncs=False) as bot:
        with pytest.raises(NotSigned, match="headway matrix login"):
            await sign_device(bot.client, new_seeds())

        assert await standing(bot.client, None) == Standing("none", is_signed=False)


def test_seeds_are_shown_nowhere() -> None:
    seeds = new_seeds()

    assert "b'" not in repr(seeds)
    with pytest.raises(ValueError, match="32 bytes"):
        Seeds.of_text("AAAA AAAA AAAA")


def _identity(synapse: Synapse, user_id: str, token: str) -> object:
    path = "/_matrix/client/v3/keys/query"
    answer = synapse.done("POST", path, {"device_keys": {user_id: []}}, token)
    return answer["master_keys"][user_id]["keys"]
