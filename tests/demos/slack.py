"""
`deploy/demo slack`: a Slack on this machine with its page in the browser, and the bot on the rehearsed model.

Rule 1: all of it listens on 127.0.0.1 alone and lies in folders that go at the end.
Rule 2: it ends with everything on Ctrl-C; a demo that is killed takes its processes with it.
Rule 3: the person's own settings and keys are not looked at.
"""

import argparse
import html
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from tests.peers import beds
from tests.peers.localslack import APP_TOKEN, BOT_TOKEN, TEAM
from tests.peers.slack_front import SlackFront, slack

FIRST: Final = "/goal write a haiku about tides into tides.txt"
CHANNEL: Final = "C01GEN"
PERSON: Final = "U01ALICE"
UP_S: Final = 60.0
DONE_S: Final = 90.0
END_S: Final = 12.0

console = Console(highlight=False)


class Failed(Exception):
    """The demo cannot go on; says why and what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Set it all up, say how to look at it, and end it all; returns the exit code."""
    known = argparse.ArgumentParser(
        "deploy/demo slack",
        description="A Slack with its page in the browser, and the bot on a rehearsed model, on this "
        "machine alone; Ctrl-C ends and removes all of it.",
    )
    known.add_argument(
        "--check", action="store_true", help="play one goal through it, show the answer, and end"
    )
    asked = known.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        with ExitStack() as stack:
            return _shown(stack, is_check=asked.check)
    except KeyboardInterrupt:
        console.print("\n[bold]Ended by you[/], and every process of the demo with it.")
        return 0
    except (Failed, RuntimeError, AssertionError) as error:
        console.print(f"[red]The demo cannot go on.[/] {escape(str(error))}", soft_wrap=True)
        return 1


def _shown(stack: ExitStack, *, is_check: bool) -> int:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-slack-")))
    beds.say("Starting a Slack (local-slack) ...")
    front = stack.enter_context(slack())
    beds.say("Starting Headway ...")
    process = stack.enter_context(_headway(folder, front))
    _until(front.is_heard, process, folder, "The bot has not connected")
    if is_check:
        return _checked(front, process, folder)
    _tell(front, process.pid)
    while process.poll() is None:
        time.sleep(0.3)
    raise Failed(f"Headway ended by itself. Its log: {_log(folder)}")


@contextmanager
def _headway(folder: Path, front: SlackFront) -> Iterator["subprocess.Popen[bytes]"]:
    config = folder / "headway.toml"
    settings = {
        "provider": "rehearsed",
        "state_dir": str(folder / "state"),
        "secret_key_file": str(folder / "secret.key"),
        "slack_bot_token": BOT_TOKEN,
        "slack_app_token": APP_TOKEN,
        "slack_api_url": front.api_url,
    }
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    config.write_text("".join(lines), encoding="utf-8")
    config.chmod(0o600)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HEADWAY_", "ANTHROPIC_"))
    }
    _allow(config, environment)
    with (folder / "headway.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.demo.bound", config],
            # It ends with this pipe, whatever becomes of us.
            stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, cwd=beds.ROOT,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        _end(process)


def _allow(config: Path, environment: dict[str, str]) -> None:
    """Let everybody of the channel in, before anybody owns the state folder."""
    command = "from bot.cli import main; main()"
    for user, role in ((PERSON, "admin"), ("U02BOB", "approver")):
        done = subprocess.run(
            [
                sys.executable, "-c", command, "--config", config,
                "allow", "add", f"{TEAM}:{user}", role, "--network", "slack",
            ],
            env=environment, cwd=beds.ROOT, capture_output=True, text=True, check=False,
            timeout=UP_S,
        )  # fmt: skip
        if done.returncode:
            raise Failed(f"Nobody can be let in: {done.stderr}")


def _tell(front: SlackFront, pid: int) -> None:
    lines = (
        f"Open    [bold cyan]{front.url}[/] (you are Alice, in [bold]#general[/])",
        f"Type    [bold green]{FIRST}[/]",
        "",
        "The bot answers in a thread under a message of its own. Its home is under Apps.",
        "The model is rehearsed: nothing is sent or charged.",
        f"Headway runs as process {pid}. [bold]Ctrl-C[/] here ends everything.",
    )
    text = "\n".join(lines)
    if console.is_terminal:
        console.print(Panel(text, title="Headway in Slack", title_align="left"), soft_wrap=False)
    else:
        console.print(f"Headway in Slack\n{text}", soft_wrap=True)


def _checked(front: SlackFront, process: "subprocess.Popen[bytes]", folder: Path) -> int:
    """One goal from command to answer, as a person sees it."""
    name, _, objective = FIRST.partition(" ")
    front.command(PERSON, CHANNEL, objective, name)
    console.print(f"[bold]alice[/]  {FIRST}", soft_wrap=True)

    def answer() -> str:
        posts = (
            html.unescape(post["text"]) for post in front.posts(CHANNEL) if "thread_ts" in post
        )
        return next((text for text in posts if "✅" in text), "")

    _until(lambda: bool(answer()), process, folder, "The goal did not end", DONE_S)
    console.print(f"[bold]headway[/], in the thread under it:\n{escape(answer())}", soft_wrap=True)
    if front.violations:
        raise Failed(f"Slack would not have taken all of it: {front.violations}")
    return 0


def _until(
    holds: Callable[[], bool],
    process: "subprocess.Popen[bytes]",
    folder: Path,
    what: str,
    within_s: float = UP_S,
) -> None:
    until = time.monotonic() + within_s
    while not holds():
        if process.poll() is not None:
            raise Failed(f"Headway ended by itself. Its log: {_log(folder)}")
        if time.monotonic() > until:
            raise Failed(f"{what} within {within_s:.0f} s. Headway's log: {_log(folder)}")
        time.sleep(0.2)


def _log(folder: Path) -> str:
    return (folder / "headway.log").read_text("utf-8", "replace")[-600:] or "empty"


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


if __name__ == "__main__":
    sys.exit(main())
