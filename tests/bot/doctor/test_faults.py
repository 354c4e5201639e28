"""Faults made on purpose, each in a healthy installation: the doctor names it in a sentence of its own."""

import asyncio
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from adapters.clock import WallClock
from adapters.store import look
from adapters.store.open import open_store
from bot.doctor import checkup, size
from bot.goals.limits import LIMITS
from bot.ports.people import Entry, Subject
from scheduler.control import SOCKET
from tests.bot.doctor.patient import Patient, examined
from tests.peers.messages_api import KEY
from tests.peers.odd_servers import that_nobody_vouches_for, whose_clock_is_off
from tests.peers.postgres import Postgres, private_postgres

Hurt = Callable[[Patient, ExitStack], None]


@dataclass(frozen=True)
class Fault:
    """What is done to the installation, which check sees it, and what it says."""

    name: str
    hurt: Hurt
    check: str
    said: str
    mend: str
    state: str = "wrong"


def variable(**values: str) -> Hurt:
    return lambda patient, _: patient.set(**values)


def toml(text: str) -> Hurt:
    def hurt(patient: Patient, _: ExitStack) -> None:
        patient.toml(text)

    return hurt


def answering(status: int) -> Hurt:
    def hurt(patient: Patient, _: ExitStack) -> None:
        patient.api.fault({"status": status}, count=2)

    return hurt


def no_key(patient: Patient, _: ExitStack) -> None:
    patient.variables.delenv("HEADWAY_API_KEY")


def key_in_an_open_file(patient: Patient, _: ExitStack) -> None:
    key = patient.home / "key"
    key.write_text(KEY)
    key.chmod(0o644)
    patient.set(headway_api_key_file=key)


def settings_open_to_others(patient: Patient, _: ExitStack) -> None:
    patient.toml(f"api_key = '{KEY}'").chmod(0o644)


def settings_that_are_a_folder(patient: Patient, _: ExitStack) -> None:
    patient.set(headway_zone_file=patient.home)


def nobody_listens(patient: Patient, stack: ExitStack) -> None:
    taken = stack.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))
    patient.set(headway_base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")


def bad_certificate(patient: Patient, stack: ExitStack) -> None:
    patient.set(headway_base_url=stack.enter_context(that_nobody_vouches_for(patient.home)))


def endpoint_an_hour_ahead(patient: Patient, stack: ExitStack) -> None:
    patient.set(headway_base_url=stack.enter_context(whose_clock_is_off(3600)))


def clock_set_back(patient: Patient, _: ExitStack) -> None:
    database = patient.state / "headway.db-wal"
    database.touch()
    os.utime(database, (4e9, 4e9))


def state_is_a_file(patient: Patient, _: ExitStack) -> None:
    (patient.home / "file").touch()
    patient.set(headway_state_dir=patient.home / "file")


def state_of_somebody_else(patient: Patient, _: ExitStack) -> None:
    if os.geteuid() == 0:
        os.chown(patient.state, 65534, 65534)
    else:
        patient.set(headway_state_dir="/usr")


def state_open_to_others(patient: Patient, _: ExitStack) -> None:
    patient.state.chmod(0o755)


def no_socket_in_its_place(patient: Patient, _: ExitStack) -> None:
    (patient.state / SOCKET).mkdir()


def socket_left_behind(patient: Patient, stack: ExitStack) -> None:
    stack.enter_context(socket.socket(socket.AF_UNIX)).bind(str(patient.state / SOCKET))


def made(folder: Path) -> Path:
    """A database as a first start leaves it."""

    async def opened() -> None:
        url = f"sqlite:///{folder / 'headway.db'}"
        async with open_store(url, clock=WallClock(), limits=LIMITS, state_dir=folder):
            pass

    asyncio.run(opened())
    return folder / "headway.db"


def damaged(patient: Patient, _: ExitStack) -> None:
    path = made(patient.state)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))


def newer(patient: Patient, _: ExitStack) -> None:
    with closing(sqlite3.connect(made(patient.state))) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")


def no_database_at_all(patient: Patient, _: ExitStack) -> None:
    (patient.state / "headway.db").write_bytes(b"a diary, and no database at all\n" * 200)


def owned_by_another(patient: Patient, stack: ExitStack) -> None:
    """A database outside of the state folder, which a process of another state folder holds."""
    folder = patient.home / "shared"
    folder.mkdir(mode=0o700)
    url = f"sqlite:///{folder / 'headway.db'}"
    loop = stack.enter_context(asyncio.Runner())
    store = open_store(url, clock=WallClock(), limits=LIMITS, state_dir=folder)
    loop.run(store.__aenter__())
    stack.callback(lambda: loop.run(store.__aexit__(None, None, None)))
    patient.set(headway_database=url)


def port_taken(patient: Patient, stack: ExitStack) -> None:
    taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    patient.set(headway_private_listen=f"127.0.0.1:{taken.getsockname()[1]}")


def somebody_who_left(patient: Patient, _: ExitStack) -> None:
    """An entry of the allow-list for a network that is not served."""

    async def allowed() -> None:
        url = f"sqlite:///{patient.state / 'headway.db'}"
        async with open_store(
            url, clock=WallClock(), limits=LIMITS, state_dir=patient.state
        ) as store:
            await store.people.allow(Entry(Subject("person", "slack", "U123", name="ben"), "user"))

    made(patient.state)
    asyncio.run(allowed())


def postgres_out_of_reach(patient: Patient, _: ExitStack) -> None:
    patient.set(headway_database=f"postgresql://postgres@/headway?host={patient.home}")


FAULTS = (
    Fault("no key", no_key, "model", "There is no key for the model", "Set ANTHROPIC_API_KEY"),
    Fault("wrong key", variable(headway_api_key="stale"), "model", "auth (HTTP 401", "valid key"),
    Fault("no credit", answering(402), "model", "billing (HTTP 402", "Settle the account's billing"),
    Fault("no permission", answering(403), "model", "permission (HTTP 403", "use another key"),
    Fault("overloaded", answering(529), "model", "overload (HTTP 529", "passes by itself", "warning"),
    Fault("no such model", variable(headway_model="claude-nonesuch-9"), "model", "claude-nonesuch-9 at", "Set `model`"),
    Fault("nobody listens", nobody_listens, "model", "could not be reached", "Check the network and `base_url`"),
    Fault("no address", variable(headway_base_url="localhost:80/v1"), "model", "is no address", "Give one like https://"),
    Fault("bad certificate", bad_certificate, "model", "certificate is not accepted", "SSL_CERT_FILE"),
    Fault("key file gone", variable(headway_api_key_file="/nonesuch/key"), "model", "The key file /nonesuch/key cannot be read", "Mend its path"),
    Fault("key file open to others", key_in_an_open_file, "settings", "can be read by others", "chmod 600", "warning"),
    Fault("settings open to others", settings_open_to_others, "settings", "headway.toml can be read by others", "chmod 600 headway.toml", "warning"),
    Fault("rehearsed", variable(headway_provider="rehearsed"), "model", "It is rehearsed", "init` set a real one", "warning"),
    Fault("unknown price", variable(headway_model="homemade-1"), "prices", "homemade-1 is not known", "Set `prices`", "warning"),
    Fault("misspelt variable", variable(headway_bugdet_usd="3"), "settings", "HEADWAY_BUGDET_USD is not a setting", "Did you mean HEADWAY_BUDGET_USD?"),
    Fault("misspelt setting", toml("modle = 'x'"), "settings", "modle is not a setting", "Did you mean model?"),
    Fault("out of range", toml("budget_usd = -1"), "settings", "budget_usd is wrong", "Mend it"),
    Fault("no TOML", toml("model = "), "settings", "cannot be read", "Mend"),
    Fault("unknown zone", toml("zone = 'Mars/Olympus'"), "settings", "no zone of that name", "Europe/Berlin"),
    Fault("a variable's file is a folder", settings_that_are_a_folder, "settings", "that HEADWAY_ZONE_FILE names cannot be read", "Mend its path"),
    Fault("clock set back", clock_set_back, "clock", "it was set back", "Set it"),
    Fault("endpoint's clock differs", endpoint_an_hour_ahead, "clock", "60 min behind the model endpoint's", "NTP"),
    Fault("state cannot be made", variable(headway_state_dir="/proc/headway"), "state folder", "cannot be made", "set state_dir"),
    Fault("state is a file", state_is_a_file, "state folder", "is a file, not a folder", "Move it away"),
    Fault("state of somebody else", state_of_somebody_else, "state folder", "belongs to", "Run headway as"),
    Fault("state open to others", state_open_to_others, "state folder", "can be read by others", "chmod 700", "warning"),
    Fault("no socket", no_socket_in_its_place, "process", "is no socket", "Move it away"),
    Fault("socket left behind", socket_left_behind, "process", "left by a process that was killed", "Nothing is lost", "warning"),
    Fault("damaged database", damaged, "database", "is damaged", "restore the last backup"),
    Fault("newer database", newer, "database", "newer", "install the Headway that wrote it"),
    Fault("no database", no_database_at_all, "database", "is not a database", "restore the last backup"),
    Fault("another's database", owned_by_another, "database", "works for another state folder", "Stop that process"),
    Fault("unknown kind of database", variable(headway_database="mysql://x/y"), "database", "no kind of database", "sqlite:///FILE"),
    Fault("PostgreSQL out of reach", postgres_out_of_reach, "database", "out of reach", "check HEADWAY_DATABASE"),
    Fault("port taken", port_taken, "listeners", "another program listens there", "name another port"),
    Fault("no address to listen at", variable(headway_private_listen="192.0.2.1:8377"), "listeners", "cannot be bound", "Name an address of this machine"),
    Fault("operations room of nobody", variable(headway_operations_room="slack:T1/ops"), "rooms", "incidents reach nobody", "console:console"),
    Fault("operations room misspelt", variable(headway_operations_room="ops"), "rooms", "The setting operations_room is 'ops'", "Write NETWORK:ROOM"),
    Fault("allow-list of nobody", somebody_who_left, "people", "who can match nobody: ben", "headway allow remove", "warning"),
    Fault("hosts that are none", variable(headway_hosts='["http://index"]'), "settings", "is no name of a host", "give such as pypi"),
    Fault("a private host without address", variable(headway_private_hosts='["a.example"]'), "settings", "is no name=address", "give such as git.example.org=10.0.0.5"),
    Fault("every host by default", variable(headway_profile="full"), "network", "every public host by default", "Set profile to networked", "warning"),
    Fault("no sandbox", variable(headway_sandbox="none"), "sandbox", "all rights of this user", "Unset HEADWAY_SANDBOX", "warning"),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_named_with_its_mend(patient: Patient, fault: Fault) -> None:
    with ExitStack() as stack:
        fault.hurt(patient, stack)

        found = examined()

    seen = found[fault.check]
    assert (seen.state, seen.check) == (fault.state, fault.check), seen.text
    assert fault.said in seen.text
    assert fault.mend in seen.text


def test_no_two_faults_have_one_sentence() -> None:
    said = [(fault.check, fault.said) for fault in FAULTS]

    assert len(set(said)) == len(FAULTS) >= 20


@pytest.fixture(scope="module")
def guarded() -> Iterator[Postgres]:
    """A PostgreSQL that wants a password of everybody but its own superuser."""
    with private_postgres() as running:
        running.run("CREATE ROLE ann LOGIN PASSWORD 'right'")
        rules = "local all postgres trust\nlocal all all scram-sha-256\n"
        (running.folder / "data" / "pg_hba.conf").write_text(rules)
        running.run("SELECT pg_reload_conf()")
        yield running


@pytest.mark.postgres
def test_a_wrong_password_is_named_and_not_shown(patient: Patient, guarded: Postgres) -> None:
    url = guarded.url().replace("postgres@", "ann:wr0ng@")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    patient.set(headway_database=url)

    found = examined()

    assert found["database"].state == "wrong"
    assert "password authentication failed" in found["database"].text
    assert "check user, password and database name" in found["database"].text
    assert "wr0ng" not in " ".join(each.text for each in found.values())


@pytest.mark.postgres
def test_a_postgresql_that_is_too_old_is_named(
    patient: Patient, guarded: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "LEAST_POSTGRES", 990_000)
    patient.set(headway_database=guarded.url())

    found = examined()

    assert found["database"].state == "wrong"
    assert "needs 99 or later: upgrade it" in found["database"].text


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"proc/meminfo": "MemTotal:  262144 kB\n"}, "Only 256 MB of memory"),
        ({"sys/fs/cgroup/a/b/cpu.max": "20000 100000\n"}, "Only 0.2 of a core"),
        ({"sys/fs/cgroup/a/memory.max": "134217728\n"}, "Only 128 MB of memory"),
        ({"sys/fs/cgroup/memory/c/memory.limit_in_bytes": "104857600\n"}, "Only 100 MB"),
    ],
)
def test_a_machine_that_is_too_small_is_named(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    groups = {"proc/self/cgroup": "0::/a/b\n4:memory:/c\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}
    for name, text in {**groups, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    finding, _ = checkup._settled(checkup.Check("size", lambda: size.size(tmp_path)))

    assert finding.state == "warning"
    assert said in finding.text
