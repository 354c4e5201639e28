"""The doctor on a healthy installation, and what a table of faults (test_faults.py) does not hold."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.clock import WallClock
from adapters.sandbox.bubblewrap import find_bwrap
from adapters.store.open import open_store
from bot.doctor import checkup, machine
from bot.doctor.finding import Finding
from bot.goals.limits import LIMITS
from scheduler.control import SOCKET
from tests.bot.doctor.patient import Patient, examined
from tests.peers.postgres import Postgres

ROOT = Path(__file__).resolve().parents[3]
DOCTOR = "import sys; sys.argv[1:] = 'doctor', '--json'; from bot.cli import main; main()"
HASTY_DOCTOR = "from bot.doctor import checkup; checkup.MODEL_S = 4.0; " + DOCTOR
IMPATIENT_DOCTOR = "from bot.doctor import model; model.ANSWER_S = 1.0; " + DOCTOR


def wrongs(found: dict[str, Finding]) -> set[str]:
    return {name for name, each in found.items() if each.state != "ok"}


def in_a_process(
    *before: str, doctor: str = DOCTOR, **environment: str
) -> tuple[int, dict[str, Finding]]:
    """The real doctor, started by the command `before`, if one is given."""
    done = subprocess.run(
        [*before, sys.executable, "-c", doctor],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["checks"]
    return done.returncode, {row["check"]: Finding(**row) for row in rows}


def test_a_healthy_installation_is_ready(
    patient: Patient, capsys: pytest.CaptureFixture[str]
) -> None:
    code = checkup.run()

    printed = capsys.readouterr().out
    assert code == 0, printed
    assert "✓ Ready." in printed
    assert printed.count("✓ ok") == 18
    assert not (patient.state / "headway.db").exists()


def test_json_is_for_programs(patient: Patient, capsys: pytest.CaptureFixture[str]) -> None:
    patient.set(headway_api_key="stale")

    code = checkup.run(as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert (code, told["ok"]) == (1, False)
    assert [row["check"] for row in told["checks"] if row["state"] == "wrong"] == ["model"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("modle = 'x'", "modle is not a setting"),
        ("modle = 'x'", "Did you mean model?"),
        ("budget_tokens = 5", "greater than or equal to 20000"),
        ("budget_usd = -1", "budget_usd is wrong"),
        ("sandbox = 'chroot'", "sandbox is wrong"),
        ("model = ", "cannot be read"),
        ("[limits]\nstall_turn = 2", "Did you mean limits.stall_turns?"),
    ],
)
def test_a_wrong_line_in_the_settings_file_is_named(
    patient: Patient, text: str, sentence: str
) -> None:
    patient.toml(text)

    found = examined()

    assert found["settings"].state == "wrong"
    assert sentence in found["settings"].text
    assert found["model"].state == "skipped"


def test_a_settings_file_that_is_not_there_is_no_default(patient: Patient) -> None:
    found = examined(patient.home / "absent.toml")

    assert "There is no settings file" in found["settings"].text


def test_a_state_folder_that_does_not_exist_yet_is_fine(patient: Patient) -> None:
    patient.set(headway_state_dir=patient.home / "new/deeper")

    found = examined()

    assert "made at the first start" in found["state folder"].text
    assert wrongs(found) == set()
    assert not (patient.home / "new").exists()


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("size", "state", "sentence"), [(9, "wrong", "is full"), (200, "warning", "Make room soon")]
)
def test_a_disk_that_runs_full_is_named(
    patient: Patient, size: int, state: str, sentence: str
) -> None:
    small = [find_bwrap(), "--dev-bind", "/", "/", "--size", str(size << 20)]

    _, found = in_a_process(*small, "--tmpfs", str(patient.state), "--")

    assert found["disk"].state == state
    assert sentence in found["disk"].text


def test_a_clock_that_was_set_back_is_named(patient: Patient) -> None:
    database = patient.state / "headway.db-wal"
    database.touch()
    later = time.time() + 3600
    os.utime(database, (later, later))

    found = examined()

    assert found["clock"].state == "wrong"
    assert "60 min later" in found["clock"].text


@pytest.mark.sandbox
def test_a_kernel_that_forbids_user_namespaces_is_named_with_the_mend(patient: Patient) -> None:
    walled = [find_bwrap(), "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--"]

    code, found = in_a_process(*walled)

    assert code == 1
    assert found["sandbox"].state == "wrong"
    assert "user namespaces are forbidden" in found["sandbox"].text


@pytest.mark.parametrize("which", ["model", "audit_model"])
def test_a_model_that_is_not_served_is_named(patient: Patient, which: str) -> None:
    patient.set(**{f"headway_{which}": "claude-nonesuch-9"})

    found = examined()

    assert found["model"].state == "wrong"
    assert found["model"].text.startswith("claude-nonesuch-9 at http")
    assert "Set `model`" in found["model"].text


def test_an_address_where_nobody_listens_is_named(patient: Patient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        patient.set(headway_base_url=address)

        found = examined()

    assert found["model"].state == "wrong"
    assert address in found["model"].text
    assert "base_url" in found["model"].text


def test_a_model_without_a_price_is_warned_of(patient: Patient) -> None:
    patient.set(headway_model="homemade-1")

    found = examined()

    assert found["prices"].state == "warning"
    assert "homemade-1 is not known" in found["prices"].text
    assert "budget_tokens" in found["prices"].text


def test_a_price_of_ones_own_counts(patient: Patient) -> None:
    patient.set(headway_model="homemade-1")
    patient.toml('[prices."homemade-1"]\ninput = 1.0\noutput = 5.0\n')

    found = examined()

    assert found["prices"].state == "ok"


@pytest.mark.process
def test_what_hangs_is_named_and_holds_nothing_up(patient: Patient) -> None:
    os.mkfifo(patient.home / "key", 0o600)

    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(patient.state / SOCKET))
        silent.listen(1)
        code, found = in_a_process(
            doctor=HASTY_DOCTOR, HEADWAY_API_KEY_FILE=str(patient.home / "key")
        )

    assert code == 1
    assert wrongs(found) == {"process", "model"}
    assert "does not answer" in found["process"].text
    assert "No answer within 4 s" in found["model"].text


@pytest.mark.process
def test_an_endpoint_that_takes_the_call_and_says_nothing_is_named(patient: Patient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        patient.set(headway_base_url=f"http://127.0.0.1:{silent.getsockname()[1]}")

        code, found = in_a_process(doctor=IMPATIENT_DOCTOR)

    assert code == 1
    assert found["model"].state == "wrong"
    assert "No answer within 1 s" in found["model"].text
    assert "base_url" in found["model"].text


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LEAST_PYTHON", (4, 0))

    finding, _ = checkup.examined(None, lambda _: None).__next__()

    assert finding.state == "wrong"
    assert "Headway needs 3.11" in finding.text


async def test_a_whole_database_is_told_with_its_version(patient: Patient) -> None:
    url = f"sqlite:///{patient.state / 'headway.db'}"
    async with open_store(url, clock=WallClock(), limits=LIMITS, state_dir=patient.state):
        pass

    found = examined()

    assert found["database"].state == "ok"
    assert "whole, version" in found["database"].text


async def test_a_database_that_a_process_owns_is_fine_and_said(patient: Patient) -> None:
    url = f"sqlite:///{patient.state / 'headway.db'}"

    async with open_store(url, clock=WallClock(), limits=LIMITS, state_dir=patient.state):
        found = await asyncio.to_thread(examined)

    assert found["database"].state == "ok"
    assert f"owned by process {os.getpid()}" in found["database"].text


def test_a_folder_in_the_databases_place_is_named(patient: Patient) -> None:
    (patient.state / "headway.db").mkdir()

    found = examined()

    assert found["database"].state == "wrong"


@pytest.mark.postgres
def test_a_postgresql_that_can_be_reached_is_told_without_its_password(
    patient: Patient, server: Postgres
) -> None:
    patient.set(headway_database=server.url().replace("postgres@", "postgres:secret@"))

    found = examined()

    assert found["database"].state == "ok"
    assert "filled at the first start" in found["database"].text
    assert "secret" not in found["database"].text


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("good", "bad"), [("postgres@", "stranger@"), ("/postgres?", "/nonesuch?")]
)
def test_a_postgresql_that_refuses_us_is_named(
    patient: Patient, server: Postgres, good: str, bad: str
) -> None:
    patient.set(headway_database=server.url().replace(good, bad))

    found = examined()

    assert found["database"].state == "wrong"
    assert "does not exist" in found["database"].text
    assert "check user, password and database name" in found["database"].text
