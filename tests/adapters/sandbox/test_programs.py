"""Programs that run for long: behind their wall, bounded, and ended with all they started."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from adapters.sandbox.inside.limits import MIB, Limits
from adapters.sandbox.programs import WalledPrograms
from bot.errors import NoSandbox
from bot.ports.programs import Program
from tests.peers.messages_api import ROOT

pytestmark = pytest.mark.sandbox

SLEEPS = ("/bin/sh", "-c", "(sleep 3217 & sleep 3217) & echo started; sleep 3217")


def _begun(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)


async def said(program: Program) -> str:
    """All that it says until it ends."""
    whole = b""
    while piece := await program.read():
        whole += piece
    await program.end()
    return whole.decode()


def sleepers() -> list[psutil.Process]:
    found = []
    for one in psutil.process_iter():
        try:
            is_one = one.cmdline()[:2] == ["sleep", "3217"] and one.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        if is_one:
            found.append(one)
    return found


async def until(count: int, within_s: float = 10.0) -> None:
    """Wait until so many sleep."""
    end = time.monotonic() + within_s
    while len(sleepers()) != count:
        assert time.monotonic() < end, sleepers()
        await asyncio.sleep(0.05)


async def test_a_program_is_spoken_to_and_its_folder_goes_with_it(tmp_path: Path) -> None:
    programs = WalledPrograms(tmp_path / "programs")
    program = await programs.start("echo", ["/bin/sh", "-c", "read a; echo got $a; pwd; touch x"])

    await program.write(b"it\n")

    assert await said(program) == "got it\n/workspace\n"
    assert list((tmp_path / "programs").iterdir()) == []


async def test_what_a_program_writes_has_an_end_and_none_of_it_is_on_the_disk(
    tmp_path: Path,
) -> None:
    programs = WalledPrograms(tmp_path / "programs", limits=Limits(tmp_bytes=2 * MIB))
    fills = "for n in 1 2 3 4; do head -c 900000 /dev/zero >>~/$n || echo full; done; read a"
    program = await programs.start("fills", ["/bin/sh", "-c", f"({fills}) 2>/dev/null"])

    assert (await program.read()).startswith(b"full")
    assert not [path for path in (tmp_path / "programs").rglob("*") if path.is_file()]
    await program.end()


@pytest.mark.parametrize("is_trusted", [False, True])
async def test_all_that_it_started_ends_with_it(tmp_path: Path, is_trusted: bool) -> None:
    programs = WalledPrograms(tmp_path, trusted=[SLEEPS] if is_trusted else [])
    program = await programs.start("sleeps", SLEEPS)
    assert (await program.read()).decode() == "started\n"
    await until(3)

    await program.end()
    await program.end()

    await until(0)


async def test_it_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from adapters.sandbox.programs import WalledPrograms\n"
        "async def main():\n"
        f"    one = await WalledPrograms(Path({str(tmp_path)!r})).start('x', {SLEEPS!r})\n"
        "    print((await one.read()).decode(), flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    owner = _begun(code)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"started\n"

    await until(3)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()

    await until(0)


async def test_nothing_of_the_bot_is_seen_and_nothing_of_the_system_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "canary-of-the-bot")
    (tmp_path / "headway.db").write_text("a database")
    programs = WalledPrograms(tmp_path / "programs", hidden=(str(tmp_path),))
    tries = (
        f"env; cat {tmp_path}/headway.db; cat /proc/*/environ; ls {tmp_path}; touch /usr/x; "
        "touch /etc/x; exec 3<>/dev/tcp/127.0.0.1/22"
    )

    told = await said(await programs.start("tries", ["/bin/bash", "-c", f"({tries}) 2>&1"]))

    assert "canary-of-the-bot" not in told
    assert "a database" not in told
    assert told.count("Read-only file system") == 2
    assert "Connection refused" in told or "Network is unreachable" in told


async def test_only_the_very_command_line_that_is_trusted_runs_as_it_is(tmp_path: Path) -> None:
    trusted = ("/bin/sh", "-c", "cat /proc/self/status | grep Seccomp:; pwd")
    programs = WalledPrograms(tmp_path, trusted=[trusted])

    free = await said(await programs.start("a", trusted))
    other = await said(await programs.start("a", [*trusted, "more"]))

    assert str(tmp_path) in free
    assert "/workspace" in other


async def test_memory_and_files_are_bounded(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=128 * MIB, workspace_bytes=1 * MIB)
    programs = WalledPrograms(tmp_path, limits=limits)
    code = "b = bytearray(300 * 1024 * 1024); print(len(b))"

    large = await programs.start("m", ["python3", "-c", code])
    text = await said(large)
    file = await said(
        await programs.start("f", ["/bin/sh", "-c", "head -c 3000000 /dev/zero > x; wc -c < x"])
    )

    assert text == ""
    assert "MemoryError" in large.told()
    assert int(file or "0") <= 1 * MIB


async def test_what_is_shown_can_be_read_and_not_written(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "a").write_text("of the operator")
    programs = WalledPrograms(tmp_path / "programs", shown=(str(shown),))

    told = await said(
        await programs.start("s", ["/bin/sh", "-c", f"cat {shown}/a; (touch {shown}/b) 2>&1"])
    )

    assert told.startswith("of the operator")
    assert "Read-only" in told


@pytest.mark.parametrize("command", [[], ["/bin/echo", "a\0b"]])
async def test_what_is_no_command_line_is_refused(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(NoSandbox, match="no command line"):
        await WalledPrograms(tmp_path).start("x", command)


async def test_a_program_that_is_not_there_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    program = await WalledPrograms(tmp_path).start("x", ["/no/such/program"])

    assert await said(program) == ""
    assert "/no/such/program cannot be run" in program.told()
    assert os.listdir(tmp_path) == []
    assert json.dumps(program.told())
