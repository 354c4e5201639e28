"""A running Headway whose session on Matrix is ended says why it is deaf, and is healed meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.matrix.account import FILE
from bot.doctor import matrix
from bot.doctor.finding import Found
from bot.errors import HeadwayError
from bot.settings import Settings
from tests.peers.synapse import Account as User
from tests.peers.synapse import Synapse

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = [sys.executable, "-c", "from bot.cli import main; main()"]

pytestmark = [pytest.mark.process, pytest.mark.sandbox]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADWAY_")}
    settings = {
        "HEADWAY_PROVIDER": "rehearsed",
        "HEADWAY_STATE_DIR": str(tmp_path / "state"),
        "HEADWAY_SECRET_KEY_FILE": str(tmp_path / "secret.key"),
    }
    return {**kept, **settings, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}


def test_a_login_in_another_terminal_heals_a_process_whose_device_was_deleted(
    home: dict[str, str], synapse: Synapse
) -> None:
    user = synapse.register("bot")
    _log_in(home, synapse, user)
    device = json.loads((Path(home["HOME"]) / "state" / "matrix" / FILE).read_text())["device_id"]

    with _running(home):
        _until(lambda: _found(home, matrix.sync)[0] == "ok")
        synapse.delete_device(user.user_id, device)
        _until(lambda: "headway matrix login" in _found(home, matrix.sync)[1])
        deaf, session = _found(home, matrix.sync), _found(home, matrix.session)
        told = _log_in(home, synapse, user)
        _until(lambda: _found(home, matrix.device)[0] == "ok")
        _until(lambda: _found(home, matrix.sync)[0] == "ok")

    assert deaf[0] == "wrong"
    assert session[0] == "wrong"
    assert "goes on with the new session" in told
    assert device in _found(home, matrix.account)[1]


def test_the_first_start_of_a_container_logs_in_by_its_variables(
    home: dict[str, str], synapse: Synapse
) -> None:
    user = synapse.register("bot")
    secret = Path(home["HOME"]) / "password"
    secret.write_text(user.password + "\n")
    settings = {
        "HEADWAY_MATRIX_HOMESERVER": synapse.url,
        "HEADWAY_MATRIX_USER": user.user_id,
        "HEADWAY_MATRIX_PASSWORD_FILE": str(secret),
    }

    with _running({**home, **settings}):
        _until(lambda: _found(home, matrix.device)[0] == "ok")
        first = _found(home, matrix.account)
        for device in synapse.admin("GET", f"/v2/users/{user.user_id}/devices")["devices"]:
            if device["device_id"].startswith("HEADWAY"):
                synapse.delete_device(user.user_id, device["device_id"])
        _until(lambda: _found(home, matrix.device)[0] == "ok")
        again = _found(home, matrix.account)

    assert first == again
    assert user.user_id in first[1]


def _log_in(home: dict[str, str], synapse: Synapse, user: User) -> str:
    words = ("--homeserver", synapse.url, "--user", user.user_id, "--password-file", "-")
    done = subprocess.run(
        [*HEADWAY, "matrix", "login", *words], env=home, cwd=home["HOME"], input=user.password,
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _found(home: dict[str, str], look: Callable[[Settings], str]) -> tuple[str, str]:
    """The state and the text of what the doctor finds."""
    folder = Path(home["HOME"])
    settings = Settings(state_dir=folder / "state", secret_key_file=folder / "secret.key")
    try:
        return "ok", look(settings)
    except Found as found:
        return found.state, str(found)
    except HeadwayError as error:
        return "wrong", str(error)


@contextmanager
def _running(home: dict[str, str]) -> Iterator[None]:
    log = Path(home["HOME"]) / "run.log"
    with log.open("wb") as out:
        process = subprocess.Popen([*HEADWAY, "run"], env=home, cwd=home["HOME"], stderr=out)
    try:
        yield
        assert process.poll() is None, log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _until(is_so: Callable[[], bool], limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.2)
