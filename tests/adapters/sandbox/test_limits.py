"""What a command may use, and what the agent is told when it used it up."""

import resource
import time
from pathlib import Path

import psutil
import pytest

from adapters.sandbox import cgroups
from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside.launch import has_own_users
from adapters.sandbox.inside.limits import MIB, Limits
from adapters.sandbox.inside.tail import Tail, cut_middle
from adapters.sandbox.resting import HeldSession
from bot.ports.sandbox import Session
from tests.adapters.sandbox.conftest import SMALL
from tests.contracts.sandbox import bash, read, write

pytestmark = pytest.mark.sandbox


async def test_a_fork_bomb_dies_with_its_call(session: Session) -> None:
    started = time.monotonic()

    outcome = await bash(session, "f() { f | f & f | f & }; f; sleep 30", timeout_s=20)
    after = await bash(session, "echo on; ls /proc | grep -c '^[0-9]'")

    assert not outcome.ok
    assert "60 processes" in outcome.text
    assert time.monotonic() - started < 15
    assert after.text.splitlines()[0] == "on"
    assert int(after.text.splitlines()[1]) < 6


async def test_a_gigabyte_of_output_is_cut_and_grows_no_memory(session: Session) -> None:
    server = _server(session)
    before = server.memory_info().rss
    own_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    outcome = await bash(
        session, "echo first; head -c 1073741824 /dev/zero | tr '\\0' x; echo last"
    )

    assert outcome.ok
    assert len(outcome.text) < 31_000
    assert outcome.text.startswith("first\nxxx")
    assert outcome.text.endswith("xlast")
    assert "bytes left out" in outcome.text
    assert server.memory_info().rss - before < 8 * MIB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - own_before < 8 * 1024


@pytest.mark.parametrize(
    "command",
    [
        "for i in $(seq 40); do head -c 1000000 /dev/urandom > big$i; done",
        "for i in $(seq 10000); do : > small$i; done",
        "for i in $(seq 400); do head -c 1000000 /dev/urandom > big$i; sleep 0.05; done",
    ],
    ids=["bytes", "files", "while it runs"],
)
async def test_a_command_that_fills_the_workspace_is_told_so(
    session: Session, command: str
) -> None:
    outcome = await bash(session, command)
    refused = await write(session, "one-more.txt", "x")
    await bash(session, "rm -f big* small*")
    granted = await write(session, "one-more.txt", "x")

    assert not outcome.ok
    assert "Delete what is not needed" in outcome.text
    assert not refused.ok
    assert "Nothing was written" in refused.text
    assert granted.ok


async def test_writes_cannot_fill_the_workspace_either(session: Session) -> None:
    outcomes = [await write(session, f"{n}.txt", "x" * 4_000_000) for n in range(7)]

    assert [outcome.ok for outcome in outcomes] == [True] * 6 + [False]


async def test_one_file_cannot_be_larger_than_the_workspace(session: Session) -> None:
    outcome = await bash(session, "head -c 100000000 /dev/zero > big; ls -l big")

    assert not outcome.ok
    assert str(SMALL.workspace_bytes) in outcome.text


async def test_the_temporary_folder_is_small_and_gone_with_the_session(
    sandbox: Bubblewrap,
) -> None:
    first = await sandbox.open("G1", "workspace")
    outcome = await bash(first, "head -c 20000000 /dev/zero > /tmp/big; echo x > /tmp/kept")
    await first.close()
    second = await sandbox.open("G1", "workspace")

    after = await bash(second, "ls /tmp /dev/shm; head -c 20000000 /dev/zero > /dev/shm/big")
    await second.close()

    assert "No space left" in outcome.text
    assert "kept" not in after.text
    assert "No space left" in after.text


async def test_a_process_cannot_take_all_memory(session: Session) -> None:
    program = "x = bytearray(3 << 30); print('taken')"

    outcome = await bash(session, f'python3 -c "{program}" || /usr/bin/python3 -c "{program}"')

    assert "MemoryError" in outcome.text
    assert "[limit: a process may use 512 MiB of memory; work on smaller pieces]" in outcome.text
    assert "taken" not in outcome.text


def test_processes_are_counted_by_user_only_where_the_users_are_the_sandboxs_own(
    tmp_path: Path,
) -> None:
    for text, is_own in (("0 0 4294967295", False), ("0 1000 1", True), ("1000 1000 1", True)):
        (tmp_path / "uid_map").write_text(f"         {text}\n")
        assert has_own_users(str(tmp_path / "uid_map")) is is_own
    assert not has_own_users(str(tmp_path / "none"))


async def test_many_processes_cannot_take_all_memory_together(
    sandbox: Bubblewrap, session: Session
) -> None:
    if not sandbox.has_groups:
        pytest.skip("no control group can be made here")
    program = "import time; x = bytearray(200 << 20); time.sleep(20)"

    started = time.monotonic()
    outcome = await bash(
        session, f"for i in 1 2 3 4 5; do /usr/bin/python3 -c '{program}' & done; wait -n"
    )
    after = await bash(session, "echo on")

    assert "more than 512 MiB of memory together" in outcome.text
    assert time.monotonic() - started < 15
    assert after.text == "on"


async def test_a_control_group_goes_with_its_session(sandbox: Bubblewrap, folder: Path) -> None:
    await sandbox.check()
    groups = cgroups.find()
    if groups is None:
        pytest.skip("no control group can be made here")
    before = set(groups.memory.glob("headway-*"))
    session = await sandbox.open("G1", "workspace")
    made = set(groups.memory.glob("headway-*")) - before

    await bash(session, "(setsid sleep 60 &)")
    await session.close()

    assert made
    assert not [group for group in made if group.exists()]


async def test_a_crash_leaves_no_core(session: Session) -> None:
    outcome = await bash(session, "bash -c 'kill -SEGV $$'; ls; ulimit -c")

    assert "core" not in outcome.text
    assert outcome.text.endswith("0")


async def test_the_command_s_own_limit_counts_when_it_is_shorter(session: Session) -> None:
    arguments = {"command": "echo before; sleep 30", "timeout_s": 1}

    outcome = await session.call("bash", arguments, timeout_s=20)

    assert outcome.timed_out
    assert outcome.text.startswith("before\n[ended after 1 s")


async def test_a_catastrophic_expression_is_ended(folder: Path) -> None:
    session = await Bubblewrap(folder, limits=Limits(search_s=1.0)).open("G1", "workspace")
    await write(session, "a.txt", "a" * 40 + "\n")

    outcome = await session.call("grep", {"pattern": "(a+)+$b"}, timeout_s=20)

    assert not outcome.ok
    assert outcome.timed_out
    assert (await bash(session, "echo on")).text == "on"
    await session.close()


async def test_a_file_that_is_too_large_to_read_says_how_to_see_a_part(session: Session) -> None:
    await bash(session, "head -c 2000000 /dev/zero | tr '\\0' x > big.txt")

    outcome = await read(session, "big.txt")

    assert not outcome.ok
    assert "2000000 bytes" in outcome.text
    assert "head" in outcome.text


async def test_an_output_at_the_limit_is_whole_and_one_beyond_is_cut(folder: Path) -> None:
    sandbox = Bubblewrap(folder, limits=Limits(output_chars=1_000))
    session = await sandbox.open("G1", "workspace")

    whole = await bash(session, "head -c 1000 /dev/zero | tr '\\0' x")
    cut = await bash(session, "head -c 1001 /dev/zero | tr '\\0' x")
    await session.close()

    assert whole.text == "x" * 1_000
    assert "1 characters left out" in cut.text


def test_a_tail_holds_no_more_than_its_room() -> None:
    tail = Tail(100)

    for number in range(10_000):
        tail.take(f"{number:06d}\n".encode())

    assert len(tail._head) + len(tail._tail) <= 1_000
    assert tail.text().startswith("000000\n")
    assert tail.text().endswith("009999\n")


@pytest.mark.parametrize("text", ["", "x", "x" * 10, "é" * 11, "x" * 1_000])
def test_a_cut_keeps_both_ends(text: str) -> None:
    cut = cut_middle(text, 10)

    assert cut == text if len(text) <= 10 else cut.startswith(text[:5])
    assert cut.endswith(text[-5:])


def _server(session: Session) -> psutil.Process:
    assert isinstance(session, HeldSession)
    assert session.pid is not None
    return psutil.Process(session.pid).children()[0]
