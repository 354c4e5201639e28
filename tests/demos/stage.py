"""
What the demos of chat networks share: the bot's process, what is said on the terminal, and the end.

Rule 1: all of it listens on 127.0.0.1 alone and lies in folders that go at the end.
Rule 2: it ends with everything on Ctrl-C; a demo that is killed takes its processes with it.
Rule 3: the person's own settings and keys are not looked at.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from tests.peers import beds

UP_S: Final = 60.0
END_S: Final = 12.0

console = Console(highlight=False)


class Failed(Exception):
    """The demo cannot go on; says why and what to do."""


def play(
    name: str, about: str, shown: Callable[..., int], arguments: Sequence[str] | None = None
) -> int:
    """Set it all up, say how to look at it, and end it all; returns the exit code.

    Args:
        shown: given a stack and `is_check`; plays it.
    """
    known = argparse.ArgumentParser(f"deploy/demo {name}", description=about)
    known.add_argument(
        "--check", action="store_true", help="play one goal through it, show the answer, and end"
    )
    asked = known.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        with ExitStack() as stack:
            return shown(stack, is_check=asked.check)
    except KeyboardInterrupt:
        console.print("\n[bold]Ended by you[/], and every process of the demo with it.")
        return 0
    except (Failed, RuntimeError, AssertionError) as error:
        console.print(f"[red]The demo cannot go on.[/] {escape(str(error))}", soft_wrap=True)
        return 1


@dataclass(frozen=True, slots=True)
class Bot:
    """Headway at work in a folder."""

    process: "subprocess.Popen[bytes]"
    folder: Path

    def until(self, holds: Callable[[], bool], what: str, within_s: float = UP_S) -> None:
        """Wait until something holds. Raises Failed, with `what` has not come about."""
        until = time.monotonic() + within_s
        while not holds():
            self.refuse_dead()
            if time.monotonic() > until:
                raise Failed(f"{what} within {within_s:.0f} s. Headway's log: {self._log()}")
            time.sleep(0.2)

    def stay(self) -> None:
        """Wait for Ctrl-C. Raises Failed where Headway ends before."""
        while True:
            self.refuse_dead()
            time.sleep(0.3)

    def refuse_dead(self) -> None:
        """Raise Failed where it has ended."""
        if self.process.poll() is not None:
            raise Failed(f"Headway ended by itself. Its log: {self._log()}")

    def _log(self) -> str:
        return (self.folder / "headway.log").read_text("utf-8", "replace")[-600:] or "empty"


@contextmanager
def headway(
    folder: Path, network: Mapping[str, str], people: Sequence[Sequence[str]]
) -> Iterator[Bot]:
    """The bot on the rehearsed model, with the settings of a network and these people let in.

    Args:
        people: what follows `allow add`, for each.
    """
    config = folder / "headway.toml"
    settings = {
        "provider": "rehearsed",
        "state_dir": str(folder / "state"),
        "secret_key_file": str(folder / "secret.key"),
        **network,
    }
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    config.write_text("".join(lines), encoding="utf-8")
    config.chmod(0o600)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HEADWAY_", "ANTHROPIC_"))
    }
    for words in people:
        _allow(config, environment, words)
    with (folder / "headway.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.demo.bound", config],
            # It ends with this pipe, whatever becomes of us.
            stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, cwd=beds.ROOT,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield Bot(process, folder)
    finally:
        _end(process)


def tell(title: str, *lines: str) -> None:
    """What to open and to type; a frame around it where there is a terminal."""
    text = "\n".join(lines)
    if console.is_terminal:
        console.print(Panel(text, title=title, title_align="left"), soft_wrap=False)
    else:
        console.print(f"{title}\n{text}", soft_wrap=True)


def ending(pid: int) -> str:
    """The last line of what is told."""
    return f"Headway runs as process {pid}. [bold]Ctrl-C[/] here ends everything."


def _allow(config: Path, environment: dict[str, str], words: Sequence[str]) -> None:
    """Let somebody in, before anybody owns the state folder."""
    command = "from bot.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--config", config, "allow", "add", *words],
        env=environment, cwd=beds.ROOT, capture_output=True, text=True, check=False, timeout=UP_S,
    )  # fmt: skip
    if done.returncode:
        raise Failed(f"Nobody can be let in: {done.stderr}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdin is not None
    process.stdin.close()


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
