"""deploy/setup without a network: what it says, what it leaves alone, and that it gets out of the way.

Each test has a folder of its own that looks like a clone; nothing is downloaded.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SYSTEM_TOOLS = (
    "cat", "cksum", "dirname", "env", "grep", "id", "mkdir", "mv", "readlink", "rm", "sed", "sh",
    "sleep", "tail", "uname",
)  # fmt: skip


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "a clone"
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with what a bare system has, and no Python."""
    folder = tmp_path / "some tools"
    folder.mkdir()
    for name in SYSTEM_TOOLS:
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def make_ready(clone: Path, wanted: str) -> None:
    """Leave what a finished set-up leaves: an interpreter, the command, and the stamp."""
    bin_folder = clone / ".venv/bin"
    bin_folder.mkdir(parents=True)
    write_script(bin_folder / "python", f'exec "{sys.executable}" "$@"')
    write_script(bin_folder / "headway", "printf '%s|' headway \"$@\"")
    sums = [
        subprocess.run(["cksum"], input=path.read_bytes(), capture_output=True, check=True).stdout
        for path in (clone / f"deploy/{wanted}.lock", clone / "pyproject.toml")
    ]
    stamp = b"".join(sums).decode() + f"{clone}\n"
    (clone / f".venv/.ready-{wanted}").write_text(stamp)


def write_script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def run(
    clone: Path, script: str, *words: str, path: str | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path or os.environ["PATH"], **more}
    return subprocess.run(
        [str(clone / "deploy" / script), *words],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_an_unknown_set_names_the_ones_there_are(clone: Path) -> None:
    ended = run(clone, "setup", "everything")

    assert ended.returncode == 1
    assert "'everything'" in ended.stderr
    assert "run, cloud (Bedrock and Vertex), dev or bench" in ended.stderr


def test_a_machine_without_python_is_told_what_to_install(clone: Path, tools: Path) -> None:
    ended = run(clone, "setup", "run", path=str(tools))

    assert ended.returncode == 1
    assert "no python3 on its PATH" in ended.stderr
    assert "apt-get install python3" in ended.stderr
    assert not (clone / ".venv").exists()


def test_an_old_python_is_named(clone: Path, tools: Path) -> None:
    write_script(tools / "python3", '[ "$1" = --version ] && echo "Python 3.8.18"')

    ended = run(clone, "setup", "run", path=str(tools))

    assert ended.returncode == 1
    assert "Python 3.11 or newer; this machine has Python 3.8.18" in ended.stderr


def test_a_ready_demo_starts_within_a_second_and_gets_its_arguments(clone: Path) -> None:
    make_ready(clone, "run")
    began = time.monotonic()

    ended = run(clone, "demo", "--fast", "two words")

    assert time.monotonic() - began < 1
    assert ended.stdout == "headway|demo|--fast|two words|"
    assert ended.stderr == ""


def test_a_wider_set_serves_the_demo_too(clone: Path) -> None:
    make_ready(clone, "dev")

    ended = run(clone, "demo")

    assert ended.stdout == "headway|demo|"


@pytest.mark.parametrize("home", ["", "/proc/nowhere", None])
def test_a_useless_home_is_replaced(clone: Path, home: str | None) -> None:
    make_ready(clone, "run")
    homes = {} if home is None else {"HOME": home}

    ended = run(clone, "setup", "run", "sh", "-c", 'echo "$HOME"', **homes)

    assert ended.stdout.strip() == str(clone / ".cache/home")


def test_other_projects_python_settings_do_not_reach_the_command(clone: Path) -> None:
    make_ready(clone, "run")

    ended = run(
        clone, "setup", "run", "env", PYTHONPATH="/elsewhere", VIRTUAL_ENV="/other", PIP_TARGET="/x"
    )

    assert "PYTHONPATH" not in ended.stdout
    assert "VIRTUAL_ENV" not in ended.stdout
    assert "PIP_TARGET" not in ended.stdout


def test_the_tests_get_no_key_and_no_setting_of_the_person_who_runs_them(clone: Path) -> None:
    make_ready(clone, "dev")
    write_script(clone / ".venv/bin/python", '[ "$1" = -m ] && env; exit 0')

    ended = run(
        clone, "test", "--full", HEADWAY_MODEL="x", ANTHROPIC_API_KEY="y", PYTEST_ADDOPTS="-x"
    )

    names = {line.split("=")[0] for line in ended.stdout.splitlines()}
    assert not names & {"HEADWAY_MODEL", "ANTHROPIC_API_KEY", "PYTEST_ADDOPTS"}
    assert "TEST_FULL=1" in ended.stdout.splitlines()


def test_a_second_set_up_says_that_it_waits_and_goes_on_when_the_first_is_done(clone: Path) -> None:
    cache = clone / ".cache"
    cache.mkdir()
    with (cache / "setup.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        second = subprocess.Popen(
            [str(clone / "deploy/setup"), "run", "echo", "went on"],
            env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert second.stderr is not None
        said = second.stderr.readline()

        make_ready(clone, "run")
    out, _ = second.communicate(timeout=30)

    assert said == "Another set-up is at work in this folder; waiting for it.\n"
    assert out == "went on\n"


def test_a_changed_lock_makes_the_set_up_run_again(clone: Path, tools: Path) -> None:
    make_ready(clone, "run")
    with (clone / "deploy/run.lock").open("a") as lock:
        lock.write("# another pin\n")

    ended = run(clone, "setup", "run", path=str(tools))

    assert "Headway needs Python 3.11 or newer" in ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_clone_that_cannot_be_written_is_said(clone: Path) -> None:
    clone.chmod(0o555)

    ended = run(clone, "setup", "run")

    clone.chmod(0o755)
    assert ended.returncode == 1
    assert "cannot write in" in ended.stderr
    assert "Clone into a folder of your own" in ended.stderr
