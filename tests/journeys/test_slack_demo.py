"""`deploy/demo slack`, as somebody meets it who has just cloned."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.peers import beds

pytestmark = pytest.mark.process
COMMAND = (sys.executable, "-m", "tests.demos.slack")
READY_S = 90.0


@contextmanager
def demo(out: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with out.open("wb") as file:
        process = subprocess.Popen(
            COMMAND, cwd=beds.ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_the_check_plays_a_goal_from_message_to_result() -> None:
    done = subprocess.run(
        [*COMMAND, "--check"], cwd=beds.ROOT, capture_output=True, text=True, timeout=110,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Complete · G1" in done.stdout
    assert "The tide writes, then wipes," in done.stdout


def test_it_says_what_to_open_and_type_and_ends_with_everything_on_ctrl_c(tmp_path: Path) -> None:
    out = tmp_path / "out"

    with demo(out) as process:
        until = time.monotonic() + READY_S
        while "Ctrl-C" not in out.read_text("utf-8"):
            assert process.poll() is None, out.read_text("utf-8")
            assert time.monotonic() < until, out.read_text("utf-8")
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        code = process.wait(30)

    told = out.read_text("utf-8")
    bot = int(told.partition("Headway runs as process ")[2].partition(".")[0])
    assert code == 0
    assert "/goal write a haiku about tides into tides.txt" in told
    assert "every process of the demo" in told
    assert not Path(f"/proc/{bot}").exists()
