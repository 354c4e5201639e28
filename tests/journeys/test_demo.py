"""`headway demo` as a newcomer meets it: in a pipe, on a terminal, interrupted, without a sandbox."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from adapters.sandbox.bubblewrap import find_bwrap
from tests.peers.messages_api import KEY, started
from tests.peers.terminal import on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = [sys.executable, "-c", "from bot.cli import main; main()"]
LONGEST_S = 100.0
TRUE_NUMBER = "21"

pytestmark = [pytest.mark.process, pytest.mark.sandbox]


@pytest.fixture
def newcomer(tmp_path: Path) -> dict[str, str]:
    """An environment without settings, whose temporary files lie in the test's own folder."""
    foreign = ("HEADWAY_", "ANTHROPIC_", "XDG_", "COLUMNS", "NO_COLOR", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return {
        **kept,
        "HOME": str(tmp_path),
        "TMPDIR": str(scratch),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
    }


def left_behind(environment: dict[str, str]) -> list[str]:
    return sorted(path.name for path in Path(environment["TMPDIR"]).iterdir())


def family(process: psutil.Process) -> list[psutil.Process]:
    return [each for each in process.children(recursive=True) if each.is_running()]


def gone(processes: list[psutil.Process], within_s: float = 15.0) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=within_s)
    return not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


def headway(
    environment: dict[str, str], *words: str, before: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Run the command in a pipe; the exit code and all that it printed."""
    try:
        done = subprocess.run(
            [*before, *HEADWAY, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        logs = [path.read_text("utf-8") for path in Path(environment["TMPDIR"]).rglob("bot.log")]
        told = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout
        pytest.fail("\n".join([f"{words} hangs:", told or "", *logs]))
    return done.returncode, done.stdout


@contextmanager
def beginning(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A demo in a pipe whose first tools run, and what it printed so far."""
    with subprocess.Popen(
        [*HEADWAY, "demo"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            printed: list[str] = []
            for line in process.stdout:
                printed.append(line)
                if "tool: glob" in line:
                    break
            yield process, printed
        finally:
            process.kill()


def test_a_goal_is_killed_goes_on_asks_and_completes_in_a_pipe(newcomer: dict[str, str]) -> None:
    code, told = headway(newcomer, "demo")

    assert code == 0, told
    assert "The model is rehearsed" in told
    assert re.search(r"Killed process \d+ with SIGKILL in the middle of turn 2", told)
    assert re.search(r"Went on at turn 2, step \d", told)
    assert "1 (calls with effects run twice: 0)" in told
    assert "Decision 1 · G1" in told
    assert "the demo answers by itself" in told
    assert told.index("Approve once") < told.index("tool: bash  rm -f drafts/auth-3.log")
    assert f"True number: {TRUE_NUMBER}" in told
    assert "folds to the very same goal" in told
    assert "\x1b" not in told
    assert left_behind(newcomer) == []


def test_on_a_terminal_the_person_decides(newcomer: dict[str, str]) -> None:
    answers = [("Your answer", "7\n"), ("q ends", "2\n")]

    code, told = on_a_terminal([*HEADWAY, "demo"], newcomer, answers, longest_s=LONGEST_S)

    assert code == 0, told
    assert "keep it" in told
    assert "auth-3.log was kept" in told
    assert "\x1b[" in told
    assert left_behind(newcomer) == []


def test_q_ends_the_demo_and_says_so(newcomer: dict[str, str]) -> None:
    code, told = on_a_terminal(
        [*HEADWAY, "demo"], newcomer, [("Your answer", "q\n")], longest_s=LONGEST_S
    )

    assert code == 130
    assert "Ended by you" in told
    assert left_behind(newcomer) == []


def test_an_interrupted_demo_leaves_nothing(newcomer: dict[str, str]) -> None:
    with beginning(newcomer) as (process, _):
        children = family(psutil.Process(process.pid))

        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        told = process.stdout.read()
        code = process.wait(20)

    assert code == 130
    assert "Ended by you" in told
    assert len(children) >= 2
    assert gone(children)
    assert left_behind(newcomer) == []


def test_a_killed_demo_takes_its_processes_along(newcomer: dict[str, str]) -> None:
    with beginning(newcomer) as (process, _):
        children = family(psutil.Process(process.pid))

        process.kill()
        process.wait(20)

    assert len(children) >= 2
    assert gone(children)


def test_without_a_working_sandbox_it_says_why_and_what_to_do(newcomer: dict[str, str]) -> None:
    walled = [find_bwrap(), "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--"]

    code, told = headway(newcomer, "demo", before=tuple(walled))

    assert code == 78
    assert "user namespaces are forbidden" in told
    assert "HEADWAY_SANDBOX=none headway demo" in told
    assert left_behind(newcomer) == []


def test_with_a_key_it_runs_on_that_model_under_a_small_budget(newcomer: dict[str, str]) -> None:
    with started("adapters.rehearsal.demo:script") as api:
        keyed = {
            **newcomer,
            "HEADWAY_API_KEY": KEY,
            "HEADWAY_BASE_URL": api.url,
            "HEADWAY_MODEL": "claude-opus-5-5",
        }
        code, told = headway(keyed, "demo", "--yes", "--keep")
        served = {call["model"] for call in api.calls(role="agent")}

    assert code == 0, told
    assert "A key is set, so this runs on claude-opus-5-5" in told
    assert "$1.00 and take 500,000 tokens at most" in told
    assert "rehearsed" not in told.replace("with a key or rehearsed", "")
    assert served == {"claude-opus-5-5"}
    _looks_whole(newcomer, told)


def _looks_whole(environment: dict[str, str], told: str) -> None:
    """The command it shows to look at what was kept works, and the key was written nowhere."""
    [command] = re.findall(r"headway (--config \S+ trace G1)", told)
    folder = Path(environment["TMPDIR"], *left_behind(environment))

    code, trace = headway(environment, *command.split())

    assert code == 0, trace
    assert "audit" in trace.lower()
    assert KEY not in (folder / "headway.toml").read_text("utf-8")
