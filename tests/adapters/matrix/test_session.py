"""The session outlives restarts, lost tokens and lost devices, and says why where it cannot."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from adapters.matrix import crypto_store
from adapters.matrix.account import Account
from adapters.matrix.crypto_store import CryptoStoreBusy, DeviceMismatch, NoCryptoStore
from adapters.matrix.errors import LoggedOut, unwrap
from adapters.matrix.homeserver import Homeserver
from adapters.matrix.login import log_out
from adapters.matrix.session import (
    NoSession,
    Session,
    SessionReplaced,
    open_session,
)
from adapters.matrix.ways import Pace, Ways
from bot.errors import Wait
from tests.adapters.matrix.accounts import account_file, logged_in
from tests.peers.synapse import Synapse, private_synapse

QUICK = Pace(look_s=0.02, first_s=0.02, longest_s=0.2, settled_s=0.5, early_s=90)


async def test_a_session_is_restored_without_the_homeserver(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    account = (await logged_in(file, synapse, synapse.register("bot"))).account
    file.change(homeserver="http://127.0.0.1:1")

    async with open_session(account_file(tmp_path)) as session:
        with pytest.raises(Wait):
            await session.ready()

        assert session.client.user_id == account.user_id
        assert session.client.device_id == account.device_id
        assert session.client.olm is not None


async def test_after_a_restart_the_device_and_its_keys_are_the_same(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    await logged_in(file, synapse, synapse.register("bot"))

    async with open_session(file) as session:
        await session.ready()
        first = (session.client.device_id, crypto_store.public_keys(session.client))
    async with open_session(file) as session:
        await session.ready()
        unwrap(await session.client.whoami())
        second = (session.client.device_id, crypto_store.public_keys(session.client))

    assert first == second


async def test_a_revoked_token_is_renewed_by_password_on_the_same_device(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    async with open_session(file, Ways(user.password, pace=QUICK)) as session:
        await session.ready()
        synapse.forget_token(account.access_token)

        with pytest.raises(LoggedOut):
            unwrap(await session.client.whoami())
        await session.renew()
        await session.ready()

        renewed = file.read()
        assert unwrap(await session.client.whoami()).device_id == account.device_id
    assert renewed is not None
    assert renewed.access_token != account.access_token
    assert renewed.device_id == account.device_id


async def test_two_who_meet_the_same_end_renew_the_session_once(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    async with open_session(file, Ways(pace=QUICK)) as session:
        synapse.log_out(account.access_token)
        both = [asyncio.create_task(session.renew()) for _ in range(2)]
        await _until(lambda: session.trouble != "")

        await logged_in(account_file(tmp_path), synapse, user)
        await asyncio.wait_for(asyncio.gather(*both), 5)
        # Of a request that was on its way when the token changed.
        await asyncio.wait_for(session.renew(), 5)
        await session.ready()

        assert unwrap(await session.client.whoami()).device_id == account.device_id
        assert session.trouble == ""


async def test_a_device_that_was_deleted_comes_back_with_its_keys(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    signed = []

    async def sign(client: object, account: object) -> None:
        signed.append(client)

    async with open_session(file, Ways(user.password, pace=QUICK, signing=sign)) as session:
        await session.ready()
        keys = crypto_store.public_keys(session.client)
        synapse.delete_device(user.user_id, account.device_id)

        with pytest.raises(LoggedOut):
            unwrap(await session.client.whoami())
        await session.renew()
        await session.ready()

    there = _device_keys(synapse, user.token, user.user_id, account.device_id)
    assert there is not None
    assert set(there.values()) == set(keys.values())
    assert len(signed) == 2


async def test_a_password_changed_meanwhile_makes_the_bot_deaf_until_a_login_elsewhere(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    async with open_session(file, Ways("an old password", pace=QUICK)) as session:
        await session.ready()
        synapse.log_out(account.access_token)
        renewing = asyncio.create_task(session.renew())
        await _until(lambda: session.trouble != "")
        told = session.trouble

        await logged_in(account_file(tmp_path), synapse, user)
        await asyncio.wait_for(renewing, 5)
        await session.ready()

        assert unwrap(await session.client.whoami()).device_id == account.device_id
        assert "refuses the password" in told
        assert session.trouble == ""


async def test_without_a_password_the_bot_says_what_to_run(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    async with open_session(file, Ways(pace=QUICK)) as session:
        synapse.log_out(account.access_token)
        renewing = asyncio.create_task(session.renew())
        await _until(lambda: session.trouble != "")

        assert "headway matrix login" in session.trouble
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)


async def test_an_account_that_was_closed_is_told_apart_where_the_homeserver_does(
    tmp_path: Path,
) -> None:
    server = Refreshing(is_closed=True)
    async with _serving(server) as url, _restored(tmp_path, url, password="right") as session:
        renewing = asyncio.create_task(session.renew())
        await _until(lambda: session.trouble != "")

        assert "has closed the account" in session.trouble
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)


async def test_an_account_that_synapse_closed_is_asked_for_no_more_than_now_and_then(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    await logged_in(file, synapse, user)
    synapse.deactivate(user.user_id)
    async with open_session(file, Ways(user.password, pace=QUICK)) as session:
        with pytest.raises(LoggedOut):
            await session.ready()
        renewing = asyncio.create_task(session.renew())
        await _until(lambda: session.trouble != "")

        assert "closed the account" in session.trouble
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)


async def test_tokens_that_run_out_are_renewed_for_as_long_as_it_takes(tmp_path: Path) -> None:
    short = {
        "nonrefreshable_access_token_lifetime": "1h",
        "refreshable_access_token_lifetime": "2s",
    }
    with private_synapse(more=short) as server:
        file, user = account_file(tmp_path), server.register("bot")
        account = (await logged_in(file, server, user)).account
        early = replace(QUICK, early_s=1.0)
        async with open_session(file, Ways(pace=early)) as session:
            tokens = set()
            for _ in range(8):
                await session.ready()
                unwrap(await session.client.whoami())
                tokens.add(session.client.access_token)
                await asyncio.sleep(0.5)
            await asyncio.sleep(3)
            with pytest.raises(LoggedOut):
                unwrap(await session.client.whoami())
            # As if the process had been killed before it kept what this gave.
            async with Homeserver.at(server.url) as direct:
                await direct.refresh(session.account.refresh_token)
            await session.renew()
            await session.ready()
            after = unwrap(await session.client.whoami())

    assert account.refresh_token
    assert len(tokens) >= 2
    assert after.device_id == account.device_id


async def test_a_token_of_another_device_or_user_is_refused(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account

    for other in (synapse.login(user), synapse.register("stranger")):
        file.change(access_token=other.token)
        async with open_session(file) as session:
            with pytest.raises(DeviceMismatch, match=account.device_id):
                await session.ready()


async def test_a_copy_of_the_folder_with_other_keys_is_refused(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account
    async with open_session(file) as session:
        await session.ready()
    crypto_store.make(file.folder, account)

    async with open_session(file) as session:
        with pytest.raises(DeviceMismatch, match="other keys"):
            await session.ready()


async def test_an_account_without_its_crypto_store_is_refused(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    account = (await logged_in(file, synapse, synapse.register("bot"))).account
    path = crypto_store.path_of(file.folder, account.device_id)
    other = replace(account, device_id="ANOTHER")
    crypto_store.make(file.folder, other)
    of_another = crypto_store.path_of(file.folder, "ANOTHER").read_bytes()
    bad: dict[str, Callable[[], object]] = {
        "missing": path.unlink,
        "another device's": lambda: path.write_bytes(of_another),
        "empty": lambda: path.write_bytes(b""),
        "garbage": lambda: path.write_bytes(b"garbage" * 1000),
    }

    for spoil in bad.values():
        spoil()
        with pytest.raises(NoCryptoStore, match=r"backup.*--new-device"):
            async with open_session(file):
                pass


async def test_one_process_works_with_the_keys(synapse: Synapse, tmp_path: Path) -> None:
    file = account_file(tmp_path)
    await logged_in(file, synapse, synapse.register("bot"))

    async with open_session(file) as session:
        with pytest.raises(CryptoStoreBusy):
            async with open_session(account_file(tmp_path)):
                pass
        assert crypto_store.look(file.folder, session.account) == crypto_store.public_keys(
            session.client
        )


async def test_where_nobody_logged_in_there_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(NoSession, match="headway matrix login"):
        async with open_session(account_file(tmp_path)):
            pass


async def test_keys_that_do_not_open_with_the_account_are_refused(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    await logged_in(file, synapse, synapse.register("bot"))
    file.change(pickle_key="another key")

    with pytest.raises(NoCryptoStore, match="does not open"):
        async with open_session(file):
            pass


async def test_an_account_that_was_replaced_ends_the_session(
    synapse: Synapse, tmp_path: Path
) -> None:
    file = account_file(tmp_path)
    account = (await logged_in(file, synapse, synapse.register("bot"))).account
    async with open_session(file, Ways(pace=QUICK)) as session:
        await session.ready()
        file.write(replace(account, device_id="ANOTHER"))

        with pytest.raises(SessionReplaced):
            await session.ready()


async def test_logging_out_ends_the_session_there_and_here(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    account = (await logged_in(file, synapse, user)).account

    assert await log_out(file, keeps_keys=False)

    devices = synapse.admin("GET", f"/v2/users/{user.user_id}/devices")["devices"]
    assert account.device_id not in {device["device_id"] for device in devices}
    assert {path.name for path in file.folder.iterdir()} <= {"lock", "crypto.lock"}


async def test_a_device_that_was_kept_goes_on_after_the_next_login(
    synapse: Synapse, tmp_path: Path
) -> None:
    file, user = account_file(tmp_path), synapse.register("bot")
    await logged_in(file, synapse, user)
    async with open_session(file) as session:
        await session.ready()
        keys = crypto_store.public_keys(session.client)
    await log_out(file, keeps_keys=True)

    async with open_session(file, Ways(pace=QUICK)) as session:
        with pytest.raises(LoggedOut):
            await session.ready()
    done = await logged_in(file, synapse, user)

    async with open_session(file) as session:
        await session.ready()
        assert crypto_store.public_keys(session.client) == keys
    assert not done.is_new_device


async def test_refresh_tokens_are_used_before_they_are_needed_and_after(tmp_path: Path) -> None:
    server = Refreshing()
    async with _serving(server) as url, _restored(tmp_path, url, lasts_s=10.0) as session:
        session._is_checked = True
        await session.ready()
        first = server.refreshed
        await session.ready()
        again = server.refreshed
        await session.renew()

        kept = session._file.read()
        assert (first, again, server.refreshed) == (1, 1, 2)
        assert kept is not None
        assert (kept.access_token, kept.refresh_token) == ("access 2", "refresh 2")
        assert session.client.access_token == "access 2"


async def test_a_token_that_cannot_be_kept_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Refreshing(forgives=True)
    full = [OSError(28, "No space left on device")] * 2
    replace_file = Path.replace

    def sometimes_full(path: Path, target: Path) -> Path:
        if full and target.name == "account.json":
            raise full.pop()
        return replace_file(path, target)

    async with _serving(server) as url, _restored(tmp_path, url) as session:
        monkeypatch.setattr(Path, "replace", sometimes_full)
        await asyncio.wait_for(session.renew(), 10)

        kept = session._file.read()
        assert kept is not None
        assert kept.access_token == session.client.access_token == "access 3"
        assert {path.name for path in session._file.folder.iterdir()} == {
            "account.json",
            "crypto-D1.db",
            "crypto.lock",
            "lock",
        }


async def test_a_refresh_token_that_is_spent_gives_way_to_the_password(tmp_path: Path) -> None:
    server = Refreshing(refuses_refresh=True)
    async with _serving(server) as url, _restored(tmp_path, url, password="right") as session:
        await session.renew()

        kept = session._file.read()
        assert kept is not None
        assert kept.access_token == "logged in 1"
        assert kept.refresh_token == ""


async def test_a_server_that_fails_is_asked_less_and_less_often(tmp_path: Path) -> None:
    server = Refreshing(is_down=True)
    pace = Pace(look_s=0.02, first_s=0.05, longest_s=0.4, settled_s=1)
    async with (
        _serving(server) as url,
        _restored(tmp_path, url, password="right", pace=pace) as session,
    ):
        renewing = asyncio.create_task(session.renew())
        await asyncio.sleep(1.5)
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)

    assert 2 <= len(server.asked_at) <= 9


async def test_a_server_that_takes_every_login_and_no_token_is_no_hot_loop(tmp_path: Path) -> None:
    server = Refreshing()
    pace = Pace(look_s=0.02, first_s=0.05, longest_s=0.4, settled_s=30)
    async with (
        _serving(server) as url,
        _restored(tmp_path, url, password="right", pace=pace) as session,
    ):
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            with pytest.raises(LoggedOut):
                await session.ready()
            await asyncio.wait_for(session.renew(), 5)

    assert len([path for path in server.asked if path.endswith("refresh")]) <= 9


async def test_tokens_are_learned_as_they_come(tmp_path: Path) -> None:
    learned: dict[str, list[str]] = {}
    server = Refreshing()

    def learn(name: str, value: str) -> None:
        learned.setdefault(name, []).append(value)

    async with _serving(server) as url, _restored(tmp_path, url, learn=learn) as session:
        await session.renew()

    assert learned["matrix_token"] == ["access 0", "access 1"]
    assert learned["matrix_refresh_token"] == ["refresh 0", "refresh 1"]
    assert "matrix_pickle_key" in learned


@dataclass
class Refreshing:
    """A homeserver that gives refresh tokens, and takes no access token for valid."""

    refuses_refresh: bool = False
    is_down: bool = False
    is_closed: bool = False
    forgives: bool = False
    """A refresh token goes on being valid until the access token that it gave was used."""
    refreshed: int = 0
    logins: int = 0
    asked: list[str] = field(default_factory=list)
    asked_at: list[float] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        self.asked_at.append(time.monotonic())
        if self.is_down:
            return web.Response(status=502, text="<html>down</html>", content_type="text/html")
        if self.is_closed:
            said = {"errcode": "M_USER_DEACTIVATED", "error": "This account has been deactivated"}
            return web.json_response(said, status=403)
        if request.path.endswith("/refresh"):
            return self._refresh(await request.json())
        if request.path.endswith("/login"):
            wish = await request.json()
            self.logins += 1
            made = {"user_id": "@bot:x", "device_id": wish["device_id"]}
            return web.json_response(made | {"access_token": f"logged in {self.logins}"})
        return web.json_response({"errcode": "M_UNKNOWN_TOKEN", "error": "no"}, status=401)

    def _refresh(self, wish: dict[str, str]) -> web.Response:
        is_known = self.forgives or wish["refresh_token"] == f"refresh {self.refreshed}"
        if self.refuses_refresh or not is_known:
            return web.json_response({"errcode": "M_UNKNOWN_TOKEN", "error": "no"}, status=401)
        self.refreshed += 1
        number = self.refreshed
        made = {"access_token": f"access {number}", "refresh_token": f"refresh {number}"}
        return web.json_response(made | {"expires_in_ms": 300_000})


@asynccontextmanager
async def _serving(server: Refreshing) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _restored(
    folder: Path, url: str, *, lasts_s: float | None = None, **ways: Any
) -> AsyncIterator[Session]:
    file = account_file(folder)
    account = Account(
        url,
        "@bot:x",
        "D1",
        1.0,
        "access 0",
        "pickle",
        "refresh 0",
        lasts_s and time.time() + lasts_s,
    )
    crypto_store.make(file.folder, account)
    file.write(account, is_first_secret=True)
    given = Ways(**{"pace": QUICK, **ways})
    async with open_session(file, given) as session:
        yield session


def _device_keys(
    synapse: Synapse, token: str, user_id: str, device_id: str
) -> dict[str, str] | None:
    wish = {"device_keys": {user_id: [device_id]}}
    body = synapse.done("POST", "/_matrix/client/v3/keys/query", wish, token)
    found = body["device_keys"].get(user_id, {}).get(device_id)
    return found and dict(found["keys"])


async def _until(is_so: Callable[[], bool], limit_s: float = 10.0) -> None:
    async with asyncio.timeout(limit_s):
        while not is_so():
            await asyncio.sleep(0.02)
