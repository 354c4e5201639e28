"""Why the bot is deaf on Matrix: each fault is made on purpose, and told with its mend."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.matrix import crypto_store
from adapters.matrix.login import Proof, log_in, log_out, sign_in
from bot.doctor import matrix, rooms
from bot.doctor.finding import Found
from bot.errors import HeadwayError
from bot.ports.people import Entry, Subject
from bot.settings import Settings
from bot.wiring import prepare_folder
from bot.wiring.holding import own_store
from bot.wiring.keys import matrix_account
from scheduler.control import serving
from tests.peers.odd_servers import whose_clock_is_off
from tests.peers.synapse import Account as User
from tests.peers.synapse import Synapse

CREATE = "/_matrix/client/v3/createRoom"
BOT = "/_matrix/client/v3/rooms/{}/join"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(
        state_dir=tmp_path / "state", secret_key_file=tmp_path / "key", provider="rehearsed"
    )
    prepare_folder(made)
    return made


def bot(settings: Settings, synapse: Synapse, *, signs: bool = True) -> User:
    """A user of the bot's, logged in."""
    user = synapse.register("bot")
    file = matrix_account(settings)
    proof = Proof(user.user_id, user.password)

    async def made() -> None:
        await log_in(file, synapse.url, proof, now=time.time(), is_first_secret=True)
        if signs:
            await sign_in(file, password=user.password)

    asyncio.run(made())
    return user


def told(look: Callable[[Settings], str], settings: Settings) -> tuple[str, str]:
    """The state and the text of what a check finds."""
    try:
        return "ok", look(settings)
    except Found as found:
        return found.state, str(found)
    except HeadwayError as error:
        return "wrong", str(error)


def test_a_sound_account_in_a_room_is_well_in_all_respects(
    settings: Settings, synapse: Synapse
) -> None:
    user = bot(settings, synapse)
    _room_of(synapse, user)
    _allowed(settings, "@me:localhost")

    looks = (
        matrix.account, matrix.server, matrix.session, matrix.device, matrix.sync, matrix.rooms,
        matrix.people,
    )  # fmt: skip

    assert [told(look, settings)[0] for look in looks] == ["ok"] * len(looks)


def test_where_matrix_is_not_set_up_that_is_well_and_half_a_set_up_is_not(
    settings: Settings,
) -> None:
    half = settings.model_copy(update={"matrix_homeserver": "example.org"})

    assert told(rooms.no_matrix, settings)[0] == "ok"
    assert told(rooms.no_matrix, half) == ("warning", told(rooms.no_matrix, half)[1])
    assert "matrix_user" in told(rooms.no_matrix, half)[1]


def test_a_lost_key_and_lost_crypto_keys_are_told_apart(
    settings: Settings, synapse: Synapse
) -> None:
    bot(settings, synapse)
    file = matrix_account(settings)
    account = file.read()
    assert account is not None

    crypto_store.path_of(file.folder, account.device_id).rename(settings.state_dir / "away")
    missing = told(matrix.account, settings)
    settings.key_file.unlink()
    sealed = told(matrix.account, settings)

    assert missing[0] == sealed[0] == "wrong"
    assert "crypto store" in missing[1]
    assert "key file" in sealed[1]


def test_settings_that_name_another_user_than_the_account_are_told(
    settings: Settings, synapse: Synapse
) -> None:
    bot(settings, synapse, signs=False)
    other = settings.model_copy(update={"matrix_user": "@other:localhost"})

    state, text = told(matrix.account, other)

    assert state == "warning"
    assert "@other:localhost" in text


def test_a_homeserver_that_is_down_and_one_that_is_none(
    settings: Settings, synapse: Synapse
) -> None:
    bot(settings, synapse)
    file = matrix_account(settings)

    file.change(homeserver="http://127.0.0.1:1")
    down, session, room = (
        told(look, settings) for look in (matrix.server, matrix.session, matrix.rooms)
    )
    with whose_clock_is_off(0) as url:
        file.change(homeserver=url)
        none = told(matrix.server, settings)

    assert down[0] == "wrong"
    assert "does not answer" in down[1]
    assert "tried again" not in down[1]
    assert (session[0], room[0]) == ("skipped", "skipped")
    assert none[0] == "wrong"
    assert "no homeserver" in none[1]


def test_a_clock_that_is_off_is_told(settings: Settings, synapse: Synapse) -> None:
    bot(settings, synapse)
    with _versions_dated(-600) as url:
        matrix_account(settings).change(homeserver=url)

        state, text = told(matrix.server, settings)

    assert state == "warning"
    assert "behind" in text


def test_a_session_that_was_ended_there_or_here_or_ran_out(
    settings: Settings, synapse: Synapse
) -> None:
    bot(settings, synapse)
    file = matrix_account(settings)
    account = file.read()
    assert account is not None
    synapse.log_out(account.access_token)

    there = told(matrix.session, settings)
    by_password = told(
        matrix.session, settings.model_copy(update={"matrix_password": SecretStr("pw")})
    )
    file.change(refresh_token="r", expires_at=time.time() - 60)
    ran_out = told(matrix.session, settings)
    asyncio.run(log_out(file, keeps_keys=True))
    here = told(matrix.session, settings)

    assert [state for state, _ in (there, by_password, ran_out, here)] == [
        "wrong",
        "warning",
        "warning",
        "wrong",
    ]
    assert "ended here" in here[1]
    assert "matrix_password" in by_password[1]
    assert all("headway matrix login" in text for _, text in (there, here))
    assert told(matrix.device, settings)[0] == "skipped"


def test_the_token_of_another_device_is_told(settings: Settings, synapse: Synapse) -> None:
    user = bot(settings, synapse)
    matrix_account(settings).change(access_token=user.token)

    state, text = told(matrix.session, settings)

    assert state == "wrong"
    assert user.device_id in text
    assert "--new-device" in text


def test_a_device_whose_keys_are_not_there_are_others_or_are_not_signed(
    settings: Settings, synapse: Synapse
) -> None:
    bot(settings, synapse, signs=False)
    file = matrix_account(settings)
    account = file.read()
    assert account is not None

    missing = told(matrix.device, settings)
    _publish(file.folder, settings)
    unsigned = told(matrix.device, settings)
    crypto_store.make(file.folder, account)
    other = told(matrix.device, settings)

    assert [state for state, _ in (missing, unsigned, other)] == ["warning", "warning", "wrong"]
    assert "no keys" in missing[1]
    assert "not signed" in unsigned[1]
    assert "other keys" in other[1]


def test_an_identity_of_another_client_is_told(settings: Settings, synapse: Synapse) -> None:
    bot(settings, synapse)
    matrix_account(settings).change(seeds="")

    state, text = told(matrix.device, settings)

    assert state == "warning"
    assert "--reset-identity" in text


def test_a_bot_in_no_room_and_one_that_may_not_speak(settings: Settings, synapse: Synapse) -> None:
    user = bot(settings, synapse)

    nowhere = told(matrix.rooms, settings)
    _room_of(synapse, user, name="Quiet", needs=50)
    _room_of(synapse, user, name="Loud")
    mute = told(matrix.rooms, settings)

    assert nowhere[0] == "warning"
    assert f"Invite {user.user_id}" in nowhere[1]
    assert mute[0] == "wrong"
    assert "Quiet" in mute[1]
    assert "Loud" not in mute[1]


def test_who_made_a_room_may_speak_there_and_encrypted_rooms_are_counted(
    settings: Settings, synapse: Synapse
) -> None:
    bot(settings, synapse)
    account = matrix_account(settings).read()
    assert account is not None
    sealed = {
        "type": "m.room.encryption",
        "state_key": "",
        "content": {"algorithm": "m.megolm.v1.aes-sha2"},
    }
    for version in ("11", "12"):
        wish: dict[str, Any] = {
            "room_version": version,
            "initial_state": [sealed],
            "power_level_content_override": {"events_default": 60},
        }
        synapse.done("POST", CREATE, wish, account.access_token)

    assert told(matrix.rooms, settings) == ("ok", "2 rooms, 2 encrypted")


def test_an_allow_list_that_matches_nobody_there_is_told(settings: Settings) -> None:
    before = told(matrix.people, settings)
    _allowed(settings, "@me:localhost")

    after = told(matrix.people, settings)

    assert before[0] == "warning"
    assert "--network matrix" in before[1]
    assert after == ("ok", "1 entry, 1 of an admin")


@pytest.mark.parametrize(
    ("connectors", "state", "words"),
    [
        ([], "wrong", "start it again"),
        ([{"network": "matrix", "up": True, "last_heard": 0}], "ok", "s ago"),
        ([{"network": "matrix", "up": True, "last_heard": 900}], "wrong", "for 90"),
        ([{"network": "matrix", "up": True, "last_heard": None}], "wrong", "since it started"),
        (
            [{"network": "matrix", "up": False, "last_heard": 1, "trouble": "Log in anew."}],
            "wrong",
            "Log in anew.",
        ),
    ],
)
async def test_how_long_a_running_process_has_heard_nothing(
    settings: Settings, synapse: Synapse, connectors: list[dict[str, Any]], state: str, words: str
) -> None:
    await asyncio.to_thread(bot, settings, synapse, signs=False)

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"connectors": [_heard_before(one) for one in connectors]}

    async with serving(settings.state_dir, answer):
        found = await asyncio.to_thread(told, matrix.sync, settings)

    assert found[0] == state
    assert words in found[1]


def test_looking_changes_nothing(settings: Settings, synapse: Synapse) -> None:
    bot(settings, synapse)
    folder = matrix_account(settings).folder
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    for look in (matrix.account, matrix.server, matrix.session, matrix.device, matrix.rooms):
        told(look, settings)

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def _heard_before(one: dict[str, Any]) -> dict[str, Any]:
    ago = one["last_heard"]
    at = None if ago is None else (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    return {**one, "last_heard": at}


def _room_of(synapse: Synapse, user: User, *, name: str = "Room", needs: int = 0) -> str:
    """A room of somebody else's that the bot is in."""
    owner = synapse.register("owner")
    wish: dict[str, Any] = {
        "name": name,
        "preset": "public_chat",
        "power_level_content_override": {"events_default": needs},
    }
    room: str = synapse.done("POST", CREATE, wish, owner.token)["room_id"]
    synapse.done("POST", BOT.format(room), {}, user.token)
    return room


def _allowed(settings: Settings, who: str) -> None:
    async def allowed() -> None:
        async with own_store(settings) as store:
            await store.people.allow(Entry(Subject("person", "matrix", who), "admin"))

    asyncio.run(allowed())


def _publish(folder: Path, settings: Settings) -> None:
    async def published() -> None:
        account = matrix_account(settings).read()
        assert account is not None
        client = crypto_store.open_client(folder, account)
        try:
            await crypto_store.see_to_keys(client, None)
        finally:
            await client.close()
            crypto_store.close(client)

    asyncio.run(published())


@contextmanager
def _versions_dated(by_s: float) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(time.time() + by_s, usegmt=True)

        def do_GET(self) -> None:
            body = json.dumps({"versions": ["v1.15"]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
