"""
`deploy/demo matrix`: a homeserver, a client in the browser, and the bot on the rehearsed model.

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
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from tests.peers import beds, hydrogen
from tests.peers.synapse import Account, Synapse, private_synapse

FIRST: Final = "!goal write a haiku about tides into tides.txt"
ROOM: Final = "Tides"
PASSWORD: Final = "tides"
UP_S: Final = 60.0
DONE_S: Final = 90.0
END_S: Final = 12.0
BY_PERSON: Final = 130

console = Console(highlight=False)


class Failed(Exception):
    """The demo cannot go on; says why and what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Set it all up, say how to look at it, and end it all; returns the exit code."""
    known = argparse.ArgumentParser(
        "deploy/demo matrix",
        description="A homeserver, a client in the browser, and the bot on a rehearsed model, on this "
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
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-matrix-")))
    beds.say("Starting a homeserver (Synapse) ...")
    server = stack.enter_context(private_synapse())
    bot = server.register("headway", exact=True)
    ann = server.register("ann", password=PASSWORD, exact=True)
    page = "" if is_check else _client(stack)
    beds.say("Starting Headway ...")
    process = stack.enter_context(_headway(folder, server, bot))
    room = _room(server, ann, bot)
    _until(lambda: _is_in(server, ann, room, bot), process, folder, "The bot has not come")
    if is_check:
        return _checked(server, ann, room, process, folder)
    _tell(server, page, process.pid)
    while process.poll() is None:
        time.sleep(0.3)
    raise Failed(f"Headway ended by itself. Its log: {_log(folder)}")


def _client(stack: ExitStack) -> str:
    """The address of a client's page; empty where none can be built here."""
    beds.say("Building a client for the browser (Hydrogen) ...")
    try:
        return stack.enter_context(hydrogen.page())
    except (RuntimeError, AssertionError, OSError) as error:
        beds.say(f"There is no client: {error}")
        return ""


@contextmanager
def _headway(folder: Path, server: Synapse, bot: Account) -> Iterator["subprocess.Popen[bytes]"]:
    config = folder / "headway.toml"
    settings = {
        "provider": "rehearsed",
        "state_dir": str(folder / "state"),
        "secret_key_file": str(folder / "secret.key"),
        "matrix_homeserver": server.url,
        "matrix_user": bot.user_id,
        "matrix_password": bot.password,
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
    """Let Ann in, before anybody owns the state folder."""
    command = "from bot.cli import main; main()"
    done = subprocess.run(
        [
            sys.executable, "-c", command, "--config", config,
            "allow", "add", "@ann:localhost", "admin",
        ],
        env=environment, cwd=beds.ROOT, capture_output=True, text=True, check=False, timeout=UP_S,
    )  # fmt: skip
    if done.returncode:
        raise Failed(f"Nobody can be let in: {done.stderr}")


def _room(server: Synapse, ann: Account, bot: Account) -> str:
    wish = {"name": ROOM, "preset": "private_chat", "invite": [bot.user_id]}
    made = server.done("POST", "/_matrix/client/v3/createRoom", wish, ann.token)
    return str(made["room_id"])


def _is_in(server: Synapse, ann: Account, room: str, bot: Account) -> bool:
    path = f"/_matrix/client/v3/rooms/{quote(room)}/joined_members"
    return bot.user_id in server.done("GET", path, token=ann.token)["joined"]


def _tell(server: Synapse, page: str, pid: int) -> None:
    link = f"{page}?{urlencode({'homeserver': server.url})}#/login" if page else ""
    where = (
        f"Open    [bold cyan]{link}[/]"
        if link
        else f"Open    any Matrix client, with the homeserver [bold cyan]{server.url}[/]\n"
        "        (above it says why there is none in the browser)"
    )
    lines = (
        where,
        f"Log in  as [bold]ann[/], password [bold]{PASSWORD}[/], and open the room [bold]{ROOM}[/]",
        f"Type    [bold green]{FIRST}[/]",
        "",
        "The bot answers in the thread under it. The model is rehearsed: nothing is sent or charged.",
        f"Headway runs as process {pid}. [bold]Ctrl-C[/] here ends everything.",
    )
    text = "\n".join(lines)
    if console.is_terminal:
        console.print(Panel(text, title="Headway on Matrix", title_align="left"), soft_wrap=False)
        if link:
            console.print(link, style="cyan", soft_wrap=True)
    else:
        console.print(f"Headway on Matrix\n{text}", soft_wrap=True)


def _checked(
    server: Synapse, ann: Account, room: str, process: "subprocess.Popen[bytes]", folder: Path
) -> int:
    """One goal from message to answer, as a person's client sees it."""
    path = f"/_matrix/client/v3/rooms/{quote(room)}"
    body = {"msgtype": "m.text", "body": FIRST}
    root = server.done("PUT", f"{path}/send/m.room.message/first", body, ann.token)["event_id"]
    console.print(f"[bold]ann[/]  {FIRST}", soft_wrap=True)

    def answer() -> str:
        chunk = server.done("GET", f"{path}/messages?dir=b&limit=50", token=ann.token)["chunk"]
        return next((text for one in chunk if "Complete" in (text := _in_thread(one, root))), "")

    _until(lambda: bool(answer()), process, folder, "The goal did not end", DONE_S)
    console.print(f"[bold]headway[/], in the thread under it:\n{escape(answer())}", soft_wrap=True)
    return 0


def _in_thread(event: dict[str, Any], root: str) -> str:
    content = event.get("content", {})
    relation = content.get("m.relates_to", {})
    is_there = relation.get("rel_type") == "m.thread" and relation.get("event_id") == root
    return str(content.get("body", "")) if is_there else ""


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
