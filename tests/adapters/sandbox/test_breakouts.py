"""What needs more than one command to get out, or to use up what is not its own."""

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside.limits import MIB, Limits
from bot.ports.sandbox import Session
from tests.contracts.background import begin, kill
from tests.contracts.sandbox import bash, edit, read, write

pytestmark = pytest.mark.sandbox

SWAPS = """
mkdir -p d aside; echo mine > d/passwd; mkdir -p /tmp/out
while :; do
  mv d aside/d; ln -s {target} d; rm d; mv aside/d d
done
"""
TRIES = 300


@pytest.fixture
async def hands(folder: Path) -> AsyncIterator[Session]:
    opened = await Bubblewrap(folder).open("G1", "workspace")
    yield opened
    await opened.close()


async def test_a_folder_that_becomes_a_link_while_it_is_read_leads_nowhere(hands: Session) -> None:
    id = await begin(hands, SWAPS.format(target="/etc"))
    told = [await read(hands, "d/passwd") for _ in range(TRIES)]
    grepped = [
        await hands.call("grep", {"pattern": ".", "path": "d"}, timeout_s=9) for _ in range(20)
    ]
    await kill(hands, id)

    assert any(outcome.ok for outcome in told)
    assert any(not outcome.ok for outcome in told)
    assert not [
        one.text for one in (*told, *grepped) if "root:" in one.text or "agent:" in one.text
    ]


async def test_a_folder_that_becomes_a_link_while_it_is_written_leads_nowhere(
    hands: Session,
) -> None:
    id = await begin(hands, SWAPS.format(target="/tmp/out"))
    for number in range(TRIES):
        await write(hands, f"d/{number}.txt", "x")
        await edit(hands, "d/passwd", "mine", "mine")
    await kill(hands, id)

    outcome = await bash(hands, "ls -A /tmp/out; ls d aside/d 2>/dev/null | wc -l")

    assert int(outcome.text) > 3


async def test_a_file_that_becomes_a_link_is_not_followed(hands: Session) -> None:
    swap = "while :; do echo mine > f; rm -f f; ln -s /etc/passwd f; rm -f f; done"
    id = await begin(hands, swap)
    told = [await read(hands, "f") for _ in range(TRIES)]
    await kill(hands, id)

    assert not [one.text for one in told if "root:" in one.text]


async def test_a_hostile_repository_runs_nothing_on_this_side(
    hands: Session, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    config = (
        f"[core]\n\tfsmonitor = touch {mark}\n\tsshCommand = touch {mark}\n\tpager = touch {mark}\n"
        f'\thooksPath = hooks\n[filter "x"]\n\tclean = touch {mark}\n\tsmudge = touch {mark}\n'
        f"[diff]\n\texternal = touch {mark}\n"
    )
    await bash(hands, "git init -q checkouts/r; mkdir -p checkouts/r/hooks")
    await write(hands, "checkouts/r/.git/config", config)
    await write(hands, "checkouts/r/.gitattributes", "* filter=x diff=x\n")

    await hands.digest()
    await hands.hashes(("checkouts/r/.git/config",))
    walked = await hands.tree.walk()
    await hands.call("glob", {"pattern": "**/*"}, timeout_s=9)

    assert any(one.path == "checkouts/r/.git/config" for one in walked.found)
    assert not mark.exists()


async def test_files_without_a_name_count(folder: Path) -> None:
    limits = Limits(workspace_bytes=24 * MIB)
    session = await Bubblewrap(folder, limits=limits).open("G1", "workspace")
    command = (
        'for i in 1 2 3 4 5 6 7 8; do eval "exec $((i + 10))>f"; rm f; '
        "head -c 5000000 /dev/urandom >&$((i + 10)); sleep 0.4; done; sleep 10; echo done"
    )

    outcome = await bash(session, command)
    await session.close()

    assert "Delete what is not needed" in outcome.text
    assert "done" not in outcome.text.splitlines()


async def test_a_process_has_only_so_many_open_files(hands: Session) -> None:
    program = "import os\nn = 0\nwhile True:\n    os.open('/dev/null', 0); n += 1\n    print(n)"

    outcome = await bash(hands, f'/usr/bin/python3 -c "{program}" >/dev/null')

    assert "Too many open files" in outcome.text
    assert outcome.text.endswith("[limit: a process may have 1024 files open; close some]")


async def test_a_hundred_thousand_files_are_too_many_for_a_small_workspace(folder: Path) -> None:
    limits = Limits(workspace_entries=5_000)
    session = await Bubblewrap(folder, limits=limits).open("G1", "workspace")
    started = time.monotonic()

    outcome = await bash(session, "seq 100000 | xargs -n 500 touch; sleep 20; echo done")
    after = await bash(session, "rm -rf [0-9]*; ls -A drafts; echo on")
    await session.close()

    assert "more than 5000 files and folders" in outcome.text
    assert time.monotonic() - started < 30
    assert after.text.endswith("on")


async def test_the_disk_of_the_machine_keeps_its_reserve(folder: Path) -> None:
    whole = os.statvfs("/")
    limits = Limits(disk_reserve_bytes=whole.f_blocks * whole.f_frsize)
    session = await Bubblewrap(folder, limits=limits).open("G1", "workspace")

    ran = await bash(session, "sleep 20; echo done")
    wrote = await write(session, "a.txt", "x")
    looked = await session.call("glob", {"pattern": "*"}, timeout_s=9)
    await session.close()

    for outcome in (ran, wrote):
        assert not outcome.ok
        assert "The machine's disk is almost full" in outcome.text
        assert "tell the person" in outcome.text
    assert looked.ok


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "none", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


async def test_a_full_disk_is_said_and_nothing_hangs(small_disk: Path) -> None:
    limits = Limits(disk_reserve_bytes=0, heartbeat_s=5.0)
    session = await Bubblewrap(small_disk, limits=limits).open("G1", "workspace")

    filled = await asyncio.wait_for(bash(session, "head -c 40000000 /dev/zero > drafts/big"), 30)
    wrote = await write(session, "a.txt", "x" * 100_000)
    started = await session.call("bash", {"command": "echo ran", "background": True}, timeout_s=9)
    ran = await bash(session, "echo ran")
    freed = await bash(session, "rm drafts/big; echo y > a.txt; cat a.txt")
    await session.close()

    assert not filled.ok
    assert "No space left on device" in filled.text
    assert "the machine's disk may be full; delete what is not needed" in filled.text
    assert not wrote.ok
    assert "disk is almost full: 0 MiB" in wrote.text
    assert started.ok
    assert "ran" in ran.text
    assert freed.text.splitlines()[-1] == "y"
