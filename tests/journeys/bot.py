"""The real process, as people and operators meet it: started, spoken to, read, stopped.

bot = Bot(folder, api.url, api.key); bot.start()
goal = bot.goal("!script complete_after 5")
goal.until("complete")
assert goal.kinds() == ["complete"]
"""

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.console.room import room_path
from adapters.store.reading import open_for_reading
from bot.goals.goal import Goal
from bot.goals.machine import Entry, replay
from bot.ports.records import Trace
from scheduler.control import ask_owner
from tests.peers.messages_api import ROOT, BlockingMessagesApi

COMMAND = (sys.executable, "-c", "from bot.cli import main; main()")
READY_S = 60.0
LOOK_S = 0.03


def environment(**settings: object) -> dict[str, str]:
    """The process's environment: this one's without settings of its own, and with `settings`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HEADWAY_", "ANTHROPIC_", "PYTHONDONTWRITE"))
    }
    return {**kept, "NO_PROXY": "127.0.0.1", "PYTHONUNBUFFERED": "1"} | {
        f"HEADWAY_{name.upper()}": str(value) for name, value in settings.items()
    }


def headway(
    *arguments: str,
    env: dict[str, str],
    typed: bytes = b"",
    timeout_s: float = 60.0,
    may_override: bool = True,
) -> "subprocess.CompletedProcess[str]":
    """Run the command line to its end. Without `may_override` rights hold for root too."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=env,
        cwd=ROOT,
        input=typed,
        capture_output=True,
        timeout=timeout_s,
        check=False,
        preexec_fn=None if may_override else _without_override,
    )
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


@dataclass(frozen=True)
class Post:
    """One line of the room that Headway wrote."""

    kind: str
    """`complete`, `blocked`, `decision`, `reply`, `status`, ... by its key."""
    key: str
    thread: str
    is_edit: bool
    shape: dict[str, Any]

    @property
    def text(self) -> str:
        """All its words."""
        shape = self.shape
        head = [shape.get("word", ""), *shape.get("facts", ())]
        return "\n".join([*head, shape.get("body", ""), *shape.get("notes", ())])


@dataclass
class Bot:
    """One `headway run`, and what it left behind when it has ended."""

    state_dir: Path
    settings: dict[str, object]
    command: Sequence[str] = COMMAND
    is_apart: bool = False
    """Its state folder lies in a file system that only it sees."""
    process: "subprocess.Popen[bytes] | None" = None
    log: list[str] = field(default_factory=list)
    """Lines of standard error of all its processes."""

    def start(self) -> "Bot":
        """Start it and wait until it answers."""
        self.process = subprocess.Popen(
            [*self.command, "run"], env=self.env, cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        threading.Thread(target=self._keep_log, args=(self.process,), daemon=True).start()
        until(self._pings, READY_S, lambda: f"The process does not answer: {self.told()}")
        return self

    @property
    def folder(self) -> Path:
        """The state folder as it is seen from here."""
        if not self.is_apart:
            return self.state_dir
        assert self.process is not None
        return Path(f"/proc/{self.process.pid}/root{self.state_dir}")

    @property
    def database(self) -> str:
        """The URL of its database."""
        return str(self.settings.get("database") or f"sqlite:///{self.folder / 'headway.db'}")

    @property
    def env(self) -> dict[str, str]:
        """What its processes are started with."""
        return environment(state_dir=self.state_dir, **self.settings)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Signal it and wait for its end; returns the exit code and the seconds it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(30)
        return code, time.monotonic() - began

    def end(self) -> None:
        """Kill it, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGKILL)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask it over its socket."""
        answer = asyncio.run(ask_owner(self.folder, request))
        assert answer is not None, self.told()
        return answer

    def say(self, text: str, thread: str = "") -> str:
        """Say something in the room or in a thread; returns the message's id."""
        return str(self.ask(do="say", text=text, thread=thread)["id"])

    def goal(self, objective: str) -> "Thread":
        """Start a goal; its thread is the message's."""
        return Thread(self, self.say(f"/goal {objective}"))

    def posts(self, thread: str | None = None) -> list[Post]:
        """Every post and edit so far, in order, of one thread or of all."""
        path = room_path(self.folder)
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [
            _post(row)
            for row in rows
            if row["kind"] in ("post", "edit") and thread in (None, row["thread"])
        ]

    def told(self) -> str:
        """What its processes wrote on standard error."""
        return "".join(self.log)

    def goals(self) -> list[Goal]:
        """Every goal, newest first."""

        async def read() -> list[Goal]:
            async with open_for_reading(self.database, state_dir=self.folder) as store:
                return [row.goal for row in await store.records.goals()]

        return asyncio.run(read())

    def look(self, thread: str, *, asks: bool = False) -> "list[Look]":
        """The goals of a thread as the database has them, newest first."""

        async def read() -> list[Look]:
            found = []
            async with open_for_reading(self.database, state_dir=self.folder) as store:
                for row in await store.records.goals(with_asks=True):
                    if row.place.thread != thread or (row.goal.kind == "ask") is not asks:
                        continue
                    journal = await store.records.journal(row.goal.id)
                    found.append(Look(journal, await store.records.trace(row.goal.id)))
            return found

        return asyncio.run(read())

    def _pings(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.told()
        return asyncio.run(ask_owner(self.folder, {"do": "ping"})) is not None

    def _keep_log(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                self.log.append(line.decode("utf-8", "replace"))


@dataclass(frozen=True)
class Look:
    """One goal at one moment."""

    journal: Sequence[Entry]
    trace: Trace

    @property
    def goal(self) -> Goal:
        """Its row."""
        return self.trace.goal

    def events(self, name: str) -> list[Any]:
        """Its journal's events of that name, in order."""
        return [line.event for line in self.journal if type(line.event).__name__ == name]

    def rules(self) -> list[str]:
        """The rules that fired, in order."""
        return [line.rule for line in self.journal]


@dataclass(frozen=True)
class Thread:
    """A goal's thread, seen from outside."""

    bot: Bot
    id: str

    def say(self, text: str) -> str:
        """Say something in it."""
        return self.bot.say(text, self.id)

    def look(self, *, asks: bool = False) -> Look:
        """Its newest goal, or its newest ordinary turn."""
        found = self.bot.look(self.id, asks=asks)
        assert found, f"There is no goal in the thread.\n{self.bot.told()}"
        return found[0]

    def goal(self) -> Goal:
        """Its newest goal's row."""
        return self.look().goal

    def until(self, state: str, timeout_s: float = 20.0) -> Goal:
        """Wait until its goal is in a state, and all that follows from it is posted."""
        self.until_true(lambda look: look.goal.state == state, timeout_s, f"be {state}")
        self.bot.ask(do="settle")
        return self.goal()

    def until_true(
        self, holds: Callable[[Look], bool], timeout_s: float = 20.0, what: str = "come to that"
    ) -> Look:
        """Wait until something holds of its goal."""

        def check() -> bool:
            found = self.bot.look(self.id)
            return bool(found) and holds(found[0])

        until(check, timeout_s, lambda: f"The goal did not {what}.\n{self._story()}")
        return self.look()

    def until_posted(self, kind: str, timeout_s: float = 20.0) -> Post:
        """Wait for a post of a kind; returns the last one."""
        until(
            lambda: kind in self.kinds(),
            timeout_s,
            lambda: f"No post {kind}, only {self.kinds()}.\n{self._story()}",
        )
        return [post for post in self.posts() if post.kind == kind][-1]

    def posts(self) -> list[Post]:
        """The posts of the thread, without status messages and without edits."""
        shown = self.bot.posts(self.id)
        return [post for post in shown if not post.is_edit and post.kind != "status"]

    def kinds(self) -> list[str]:
        """The kinds of its posts, in order."""
        return [post.kind for post in self.posts()]

    def _story(self) -> str:
        found = self.bot.look(self.id)
        lines = [f"{e.seq} {type(e.event).__name__} {e.rule} {e.after}" for e in
                 (found[0].journal if found else ())]  # fmt: skip
        reason = found[0].goal.reason if found else "no goal"
        texts = [post.text for post in self.posts()]
        return "\n".join([*lines[-25:], reason, *texts, *self.bot.log[-20:]])


def until(holds: Callable[[], bool], timeout_s: float, why: Callable[[], str]) -> None:
    """Look again and again until something holds."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, why()
        time.sleep(LOOK_S)


def until_called(api: BlockingMessagesApi, thread: Thread) -> None:
    """Wait until the goal's first call has reached the model."""
    id = thread.until_true(lambda look: bool(look.events("CallStarted"))).goal.id
    until(lambda: api.totals(user=id)["calls"] >= 1, 30, thread.bot.told)


def assert_sound(
    api: BlockingMessagesApi, thread: Thread, *kinds: str, lost: int = 0, asks: bool = False
) -> Look:
    """The posts are these, each once; the journal folds to the row; every token served is counted.

    `lost`: as many calls were charged by their reservation.
    """
    look = thread.look(asks=asks)
    goal = look.goal
    assert thread.kinds() == list(kinds)
    keys = [post.key for post in thread.bot.posts(thread.id) if not post.is_edit]
    assert len(keys) == len(set(keys)), "A key was posted twice."
    assert sum(":status:" in key for key in keys) <= len(thread.bot.look(thread.id)), keys
    assert replay(look.journal) == goal
    assert goal.ledger.open == ()
    served = api.totals(user=goal.id)["tokens"]
    usage = goal.ledger.usage
    counted = {
        "input": usage.input,
        "cache_write": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read": usage.cache_read,
        "output": usage.output,
    }
    assert len(goal.ledger.lost) == lost
    if lost:
        assert goal.ledger.tokens >= sum(served.values())
        assert goal.ledger.estimated_tokens > 0
    else:
        assert counted == served
        assert goal.ledger.estimated_tokens == 0
    return look


def _without_override() -> None:
    """Give up what lets root read and write whatever it likes (Linux: CAP_DAC_*)."""
    if os.geteuid() == 0:
        drop, override, read_search = 24, 1, 2
        libc = ctypes.CDLL(None)
        libc.prctl(drop, override, 0, 0, 0)
        libc.prctl(drop, read_search, 0, 0, 0)


def _post(row: dict[str, Any]) -> Post:
    key = str(row["key"])
    name = key.split(":")[1] if key.count(":") and not key.startswith("reply:") else "reply"
    shape = row["shape"]
    if name == "settle":
        name = "complete" if shape.get("state") == "complete" else "answer"
    return Post(name, key, str(row["thread"]), row["kind"] == "edit", shape)
