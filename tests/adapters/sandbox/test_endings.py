"""Whatever a command leaves behind ends with it, and everything ends with the bot."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.none import Unconfined
from adapters.sandbox.resting import HeldSession
from bot.errors import NoSandbox
from bot.ports.sandbox import Sandbox, Session
from tests.contracts.sandbox import bash, read, write

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.sandbox

Start = Callable[[str, float], subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a bot of its own and waits until its command runs."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(kind: str, heartbeat_s: float) -> subprocess.Popen[bytes]:
        arguments = ["tests.adapters.sandbox.holder", kind, str(tmp_path), str(heartbeat_s)]
        process = subprocess.Popen([sys.executable, "-m", *arguments], cwd=ROOT)
        started.append(process)
        mark = tmp_path / "G1" / "notes" / "started"
        _until(mark.exists, 20)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(params=["bubblewrap", "none"])
def each(request: pytest.FixtureRequest, folder: Path) -> Sandbox:
    return Bubblewrap(folder) if request.param == "bubblewrap" else Unconfined(folder)


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_everything_dies_with_a_killed_bot(start: Start, kind: str) -> None:
    bot = start(kind, 20.0)
    family = psutil.Process(bot.pid).children(recursive=True)

    bot.kill()

    assert len(family) >= 9
    _until(lambda: not _alive(family), 2)


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_everything_dies_when_the_heartbeat_stops(start: Start, kind: str) -> None:
    bot = start(kind, 2.0)
    family = psutil.Process(bot.pid).children(recursive=True)

    os.kill(bot.pid, signal.SIGSTOP)

    assert len(family) >= 9
    _until(lambda: not _alive(family), 5)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 986 & disown",
        "(setsid sleep 986 &)",
        "(trap '' TERM HUP INT; setsid bash -c 'setsid sleep 986; true' &) ; sleep 0.1",
        "sleep 986 & kill -STOP $!",
        "nohup bash -c '(sleep 986 &)' > /dev/null 2>&1 &",
    ],
)
async def test_what_a_command_leaves_running_ends_with_it(each: Sandbox, command: str) -> None:
    session = await each.open("G1", "workspace")

    outcome = await bash(session, command)

    assert "were ended" in outcome.text
    assert not _sleepers(session)
    await session.close()


async def test_a_cancelled_call_leaves_nothing_running(each: Sandbox) -> None:
    session = await each.open("G1", "workspace")
    call = asyncio.create_task(bash(session, "(setsid sleep 986 &) ; sleep 986"))
    await _running(session, 2)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert not _sleepers(session)
    await session.close()


async def test_closing_ends_a_running_call_with_all_it_started(each: Sandbox) -> None:
    # Servers of other tests are children, too.
    others = set(psutil.Process().children(recursive=True))
    session = await each.open("G1", "workspace")
    call = asyncio.create_task(bash(session, "(setsid sleep 986 &) ; sleep 986"))
    await _running(session, 2)
    family = [one for one in psutil.Process().children(recursive=True) if one not in others]

    await session.close()
    outcome = await call

    assert not outcome.ok
    assert not _alive(family)


async def test_a_sandbox_killed_under_a_call_is_a_result_and_starts_anew(
    session: Session,
) -> None:
    await bash(session, "cd notes")
    await write(session, "a.txt", "kept")
    call = asyncio.create_task(bash(session, "sleep 986"))
    await _running(session, 1)

    os.kill(_pid(session), signal.SIGKILL)
    outcome = await call
    after = await bash(session, "pwd")

    assert not outcome.ok
    assert "not known" in outcome.text
    assert "started anew" in after.text
    assert after.text.endswith("/workspace")
    assert (await read(session, "a.txt")).ok


async def test_a_sandbox_that_cannot_start_again_is_an_error(
    sandbox: Bubblewrap, folder: Path
) -> None:
    session = await sandbox.open("G1", "workspace")
    (folder / "G1").rename(folder / "gone")
    os.kill(_pid(session), signal.SIGKILL)
    await asyncio.sleep(0.2)

    with pytest.raises(NoSandbox, match="does not start"):
        await bash(session, "true")
    await session.close()


async def test_only_so_many_sandboxes_live_and_the_idlest_gives_way(folder: Path) -> None:
    sandbox = Bubblewrap(folder, max_sessions=2)
    sessions = [await sandbox.open(f"G{number}", "workspace") for number in range(3)]
    await bash(sessions[0], "export KEPT=1; cd notes")

    alive = [_pid_or_none(session) for session in sessions]
    outcomes = [await bash(session, "echo ${KEPT-lost}") for session in sessions]
    again = await bash(sessions[0], "echo ${KEPT-lost}")

    assert sum(pid is not None for pid in alive) == 2
    assert [outcome.text for outcome in outcomes] == ["1", "lost", "lost"]
    assert "started anew" in again.text
    assert again.text.endswith("lost")
    for session in sessions:
        await session.close()


async def test_a_call_waits_for_a_place_when_all_sandboxes_are_busy(folder: Path) -> None:
    sandbox = Bubblewrap(folder, max_sessions=1)
    first = await sandbox.open("G1", "workspace")
    second = await sandbox.open("G2", "workspace")
    busy = asyncio.create_task(bash(first, "sleep 0.3; echo first"))
    await asyncio.sleep(0.1)

    outcome = await bash(second, "echo second")

    assert outcome.text == "second"
    assert busy.done()
    assert (await busy).text == "first"
    await first.close()
    await second.close()


def _until(is_so: Callable[[], bool], within_s: float) -> None:
    end = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end, f"not within {within_s} s"
        time.sleep(0.02)


async def _running(session: Session, sleepers: int) -> None:
    for _ in range(500):
        if len(_sleepers(session)) >= sleepers:
            return
        await asyncio.sleep(0.02)
    pytest.fail("the command does not run")


def _alive(family: list[psutil.Process]) -> list[psutil.Process]:
    return [one for one in family if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def _sleepers(session: Session) -> list[psutil.Process]:
    """The sleeping commands of a session, seen from outside."""
    family = psutil.Process(_pid(session)).children(recursive=True)
    found = []
    for one in family:
        try:
            if one.name() == "sleep":
                found.append(one)
        except psutil.NoSuchProcess:
            continue
    return found


def _pid(session: Session) -> int:
    pid = _pid_or_none(session)
    assert pid is not None
    return pid


def _pid_or_none(session: Session) -> int | None:
    assert isinstance(session, HeldSession)
    return session.pid
