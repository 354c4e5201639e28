"""
A drill: a process is started, dies at a point, is started again, and comes to the end.

The person of the drill reads the room and writes to it as any other process may, each message under
an id of its own, so that nothing is said twice. The process is forked from one that has imported
everything already, which saves two seconds a start; that it is otherwise the real one is what
`apart=False` shows, which runs `python -m tests.crash.bot`.
"""

import asyncio
import getpass
import json
import math
import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from adapters.console.parse import Edited, Posted, SaidLine, room
from adapters.console.room import RoomFile, room_path
from bot.ports.chat import Incoming, Speaker
from scheduler.control import ask_owner
from tests.crash.bot import live_apart
from tests.crash.points import FAMILY, GATE, Death
from tests.crash.scenario import STEERING, STORY
from tests.crash.story import Story
from tests.peers.messages_api import BlockingMessagesApi

ROOT: Final = Path(__file__).resolve().parents[2]
LIFE_S: Final = 60.0
"""The longest that one life may take on a busy machine."""
FAMILY_S: Final = 2.0
LAST_S: Final = 2.0
"""How long a death may still come after the last post."""
LOOK_S: Final = 0.01
NEVER: Final = Death()

_apart = multiprocessing.get_context("forkserver")
_apart.set_forkserver_preload(["adapters.claude.endpoint", "tests.crash.bot"])


class Stuck(AssertionError):
    """A process neither died nor came to its end in time."""


class Drill:
    """One story in a state folder of its own, over any number of lives."""

    def __init__(
        self,
        state_dir: Path,
        api: BlockingMessagesApi,
        *,
        objective: str = "",
        apart: bool = True,
        story: Story = STORY,
    ) -> None:
        self.state_dir = state_dir
        self.story = story
        self.lines: list[Posted | Edited] = []
        """What was posted, in order."""
        self.family = 0
        """How many processes the last one that died had started."""
        self._api = api
        self._objective = objective or story.objective
        self._apart = apart
        self._said: set[str] = set()
        self._id = secrets.token_hex(8)
        """Makes the messages, and with them the goal, this drill's own."""
        self._file = RoomFile(room_path(state_dir))

    @property
    def record(self) -> Path:
        """The points that were passed, one a line, over all lives."""
        return self.state_dir / "points"

    def run(self, deaths: Sequence[Death] = ()) -> None:
        """Live and die at each of `deaths` that comes, then live to the end of the story.

        Raises: Stuck.
        """
        self.state_dir.mkdir(parents=True)
        self._say("objective", f"{self.story.command} {self._objective}")
        for death in deaths:
            if self._live(death):
                return
        if not self._live(NEVER):
            raise Stuck(f"The process died by itself:\n{self.log()}")

    def log(self) -> str:
        """The end of what the processes wrote to standard error."""
        log = self.state_dir / "bot.log"
        return log.read_text()[-3000:] if log.exists() else ""

    def read(self) -> None:
        """Read what was posted since."""
        for line in self._file.news():
            if isinstance(line, Posted | Edited):
                self.lines.append(line)

    def _live(self, death: Death) -> bool:
        """One life; true if it came to the end of the story and was stopped."""
        with self._living(death) as life:
            if self._is_over_before_death(life, death):
                self._wait_until_up(life)
                code = life.stop()
                if code == 0:
                    return True
                if death == NEVER or code != -signal.SIGKILL:
                    raise Stuck(f"It ended with {code} when it was told to stop:\n{self.log()}")
        self._outlived()
        return False

    def _is_over_before_death(self, life: "_Life", death: Death) -> bool:
        """Play the story on; false if the process died. Raises: Stuck."""
        until, told_at = time.monotonic() + LIFE_S, math.inf
        while not life.is_dead():
            self._act()
            now = time.monotonic()
            if self.story.is_over(self.lines):
                told_at = min(told_at, now)
            if death == NEVER and told_at <= now:
                return True
            if not death.at and now > told_at + LAST_S:
                # It passed fewer points than were counted.
                return True
            if now > until:
                raise Stuck(f"Not at the end in {LIFE_S} s:\n{self.log()}")
            time.sleep(LOOK_S)
        return False

    @contextmanager
    def _living(self, death: Death) -> Iterator["_Life"]:
        environ = {
            "HEADWAY_BASE_URL": self._api.url,
            "HEADWAY_API_KEY": self._api.key,
            "HEADWAY_LIMITS__QUIET_S": "0",
            **self.story.environ,
        }
        begin = _forked if self._apart else _started
        life = begin(environ, self.state_dir, self.record, death)
        try:
            yield life
        finally:
            life.kill()

    def _act(self) -> None:
        """Read the room, and say what is to be said now."""
        self.read()
        for id, text, thread in self.story.says(self.lines):
            self._say(id, text, thread)
        if (self.state_dir / GATE).exists():
            self._say("steering", STEERING, self.lines[0].thread)

    def _say(self, id: str, text: str, thread: str = "") -> None:
        if id in self._said:
            return
        self._said.add(id)
        name = getpass.getuser()
        said = Incoming(f"{id}.{self._id}", room(thread), Speaker(name, name), text, time.time())
        self._file.append(SaidLine(said))

    def _wait_until_up(self, life: "_Life") -> None:
        """It answers: only then is it told to stop."""
        while not life.is_dead() and not asyncio.run(ask_owner(self.state_dir, {"do": "ping"})):
            time.sleep(LOOK_S)

    def _outlived(self) -> None:
        """Nothing of what the dead process had started lives on. Raises: Stuck."""
        file = self.state_dir / FAMILY
        family = [tuple(each) for each in json.loads(file.read_text())] if file.exists() else []
        self.family = len(family)
        until = time.monotonic() + FAMILY_S
        while left := [each for each in family if _lives(*each)]:
            if time.monotonic() > until:
                raise Stuck(f"{len(left)} processes outlived the bot by {FAMILY_S} s: {left}")
            time.sleep(LOOK_S)


@dataclass(frozen=True, slots=True)
class _Life:
    """A process of Headway."""

    pid: int
    is_dead: Callable[[], bool]
    join: Callable[[], int | None]

    def stop(self) -> int | None:
        """End it as an operator does; returns its exit code."""
        if not self.is_dead():
            os.kill(self.pid, signal.SIGTERM)
        return self.join()

    def kill(self) -> None:
        """End it now."""
        if not self.is_dead():
            os.kill(self.pid, signal.SIGKILL)
        self.join()


def _forked(environ: dict[str, str], state_dir: Path, record: Path, death: Death) -> _Life:
    process = _apart.Process(target=live_apart, args=(environ, state_dir, record, death))
    process.start()
    assert process.pid is not None

    def join() -> int | None:
        process.join(LIFE_S)
        return process.exitcode

    return _Life(process.pid, lambda: not process.is_alive(), join)


def _started(environ: dict[str, str], state_dir: Path, record: Path, death: Death) -> _Life:
    given = [str(state_dir), str(record), json.dumps(asdict(death))]
    command = [sys.executable, "-m", "tests.crash.bot", *given]
    with (state_dir / "bot.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environ}, stderr=log, start_new_session=True
        )

    def join() -> int | None:
        return process.wait(LIFE_S)

    return _Life(process.pid, lambda: process.poll() is not None, join)


def _lives(pid: int, began: float) -> bool:
    try:
        process: Any = psutil.Process(pid)
        return bool(process.create_time() == began and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
