"""Logging in makes one account of one device; again, it is the same; and it ends there and here."""

import asyncio
from pathlib import Path

import nio
import pytest

from adapters.matrix import crypto_store
from adapters.matrix.cross_signing import NotSigned, Seeds, standing
from adapters.matrix.crypto_store import CryptoStoreBusy
from adapters.matrix.homeserver import discover
from adapters.matrix.login import Proof, SignsAgain, WrongPassword, log_in, log_out, sign_in
from adapters.matrix.session import open_session
from adapters.matrix.start import First, account_there
from adapters.matrix.ways import Pace, Ways
from bot.errors import BadInput, SecretsUnusable, Wait
from tests.adapters.matrix.accounts import account_file, logged_in
from tests.peers.synapse import Account as User
from tests.peers.synapse import Synapse


async def test_a_wrong_password_leaves_nothing(synapse: Synapse, tmp_path: Path) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")

    with pytest.raises(WrongPassword):
        await log_in(file, synapse.url, Proof(user.user_id, "wrong"), now=1.0)

    assert file.read() is None
    assert not file.folder.exists()


async def test_what_a_killed_login_left_goes_with_the_next(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    file.path.unlink()

    await logged_in(file, synapse, user)

    assert not crypto_store.path_of(file.folder, account.device_id).exists()
    async with open_session(file) as session:
        await session.ready()


async def test_the_same_user_goes_on_with_the_same_device_and_seeds(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    first = await logged_in(file, synapse, user)
    await sign_in(file, password=user.password)
    kept = file.read()

    again = await logged_in(file, synapse, user)
    by_localpart = await log_in(
        file, synapse.url, Proof(user.user_id[1:].partition(":")[0], user.password), now=1.0
    )

    assert kept is not None
    assert kept.seeds
    assert (first.is_new_device, again.is_new_device) == (True, False)
    assert {again.account.device_id, by_localpart.account.device_id} == {first.account.device_id}
    assert by_localpart.account.seeds == kept.seeds
    assert by_localpart.account.pickle_key == kept.pickle_key


async def test_another_user_gets_another_device_and_the_former_one_ends(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user, other = account_file(tmp_path), synapse.register("bot"), synapse.register("bot")
    former = (await logged_in(file, synapse, user)).account

    done = await logged_in(file, synapse, other)

    assert done.is_new_device
    assert done.account.user_id == other.user_id
    assert former.device_id not in _devices(synapse, user)
    assert not crypto_store.path_of(file.folder, former.device_id).exists()
    async with open_session(file) as session:
        await session.ready()


async def test_a_new_device_takes_the_place_of_one_whose_key_is_lost(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    former = (await logged_in(file, synapse, user)).account
    (tmp_path / "secret.key").unlink()
    proof = Proof(user.user_id, user.password)

    with pytest.raises(SecretsUnusable):
        await log_in(file, synapse.url, proof, now=1.0, is_first_secret=True)
    done = await log_in(file, synapse.url, proof, now=1.0, new_device=True, is_first_secret=True)

    assert done.account.device_id != former.device_id
    assert (file.folder / "account.unopened.json").exists()
    async with open_session(file) as session:
        await session.ready()


async def test_a_token_that_nobody_uses_is_taken(synapse: Synapse, tmp_path: Path) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")

    done = await log_in(file, synapse.url, Proof(token=user.token), now=1.0, is_first_secret=True)
    again = await log_in(file, synapse.url, Proof(token=user.token), now=1.0)

    assert (done.account.user_id, done.account.device_id) == (user.user_id, user.device_id)
    assert not again.is_new_device
    async with open_session(file) as session:
        await session.ready()
    once_more = await log_in(file, synapse.url, Proof(token=user.token), now=1.0)
    assert not once_more.is_new_device


async def test_a_token_whose_device_another_program_uses_is_refused(
    synapse: Synapse, tmp_path: Path
) -> None:
    user = synapse.register("bot")
    elsewhere = account_file(tmp_path / "elsewhere")
    await log_in(elsewhere, synapse.url, Proof(token=user.token), now=1.0, is_first_secret=True)
    async with open_session(elsewhere) as session:
        await session.ready()
    file = account_file(tmp_path)

    with pytest.raises(BadInput, match="another program"):
        await log_in(file, synapse.url, Proof(token=user.token), now=1.0, is_first_secret=True)
    with pytest.raises(BadInput, match="not of @other:localhost"):
        await log_in(file, synapse.url, Proof("@other:localhost", token=user.token), now=1.0)

    assert file.read() is None


async def test_the_device_is_signed_at_login_and_again_once_it_was_deleted(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account

    await sign_in(file, password=user.password)
    signed_at_login = await _is_signed(tmp_path)
    synapse.delete_device(user.user_id, account.device_id)
    quick = Pace(look_s=0.02, first_s=0.02)
    async with open_session(
        file, Ways(user.password, signing=SignsAgain(file), pace=quick)
    ) as session:
        await session.renew()
        await session.ready()

    assert signed_at_login
    assert await _is_signed(tmp_path)


async def test_an_identity_of_another_client_is_replaced_only_when_asked(
    synapse: Synapse, tmp_path: Path
) -> None:
    user = synapse.register("bot")
    other = account_file(tmp_path / "other")
    await logged_in(other, synapse, user)
    await sign_in(other, password=user.password)
    file = account_file(tmp_path)
    await logged_in(file, synapse, user)

    with pytest.raises(NotSigned) as taken:
        await sign_in(file, password=user.password)
    await sign_in(file, password=user.password, reset=True)

    assert taken.value.kind == "taken"
    assert await _is_signed(tmp_path)


async def test_nobody_signs_in_while_a_session_has_the_keys(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    await logged_in(file, synapse, user)

    async with open_session(file):
        with pytest.raises(CryptoStoreBusy):
            await sign_in(file, password=user.password)


async def test_a_logout_that_the_homeserver_does_not_hear_is_told(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    await logged_in(file, synapse, synapse.register("bot"))
    file.change(homeserver="http://127.0.0.1:1")

    is_ended = await log_out(file, keeps_keys=False)

    assert not is_ended
    assert file.read() is None


async def test_the_first_start_logs_in_by_the_settings_once_the_homeserver_is_there(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    told: list[str] = []
    first = First(synapse.url, user.user_id, user.password)
    quick = Ways(deaf=told.append, pace=Pace(look_s=0.02, first_s=0.02, longest_s=0.1))

    await account_there(file, first, quick, is_first_secret=lambda: True)

    assert not told
    assert await _is_signed(tmp_path)


async def test_without_settings_the_start_waits_for_a_login_elsewhere(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    told: list[str] = []
    ways = Ways(deaf=told.append, pace=Pace(look_s=0.02, longest_s=0.1))
    waiting = asyncio.create_task(account_there(file, First(), ways))
    await asyncio.sleep(0.2)
    is_waiting = not waiting.done()

    await logged_in(account_file(tmp_path), synapse, synapse.register("bot"))
    await asyncio.wait_for(waiting, 5)

    assert is_waiting
    assert "headway matrix login" in told[0]


async def test_a_homeserver_is_found_by_its_url_and_nothing_else_is_taken(
    synapse: Synapse,
) -> None:
    assert await discover(f"{synapse.url}/") == synapse.url
    with pytest.raises(Wait):
        await discover("http://127.0.0.1:1")
    for text in ("", "http://", "ftp://x", "https://user@x", "a b", "https://x?y"):
        with pytest.raises(BadInput):
            await discover(text)


async def _is_signed(above: Path) -> bool:
    account = account_file(above).read()
    assert account is not None
    client = nio.AsyncClient(account.homeserver, account.user_id, account.device_id)
    client.user_id, client.access_token = account.user_id, account.access_token
    try:
        return (await standing(client, Seeds.of_text(account.seeds))).is_signed
    finally:
        await client.close()


def _devices(synapse: Synapse, user: User) -> set[str]:
    found = synapse.admin("GET", f"/v2/users/{user.user_id}/devices")["devices"]
    return {device["device_id"] for device in found}
