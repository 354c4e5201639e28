"""
The demo itself: a goal is set, killed, restarted, asks, and completes in front of the user.

Rule 1: the bot is a process of its own; what is shown comes from its room and its journal.
Rule 2: the exit code is 0 only when the goal is complete and its report holds the true number.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from adapters.console.parse import Edited, Posted
from adapters.console.room import RoomFile
from adapters.console.view import SETTLED, View
from bot.demo.answer import Person
from bot.demo.journal import Reading
from bot.demo.screen import Screen
from bot.demo.stage import Stage
from bot.demo.story import Story
from bot.errors import HeadwayError
from bot.ports.chat import Shape

TICK_S: Final = 0.05
LONGEST_S: Final = 900.0
REHEARSED_LONGEST_S: Final = 150.0
BREATH_S: Final = 1.2
"""Between a kill and the restart, to be seen."""
KILL_TURN: Final = 2
"""Of the script, which works at the files in its second turn."""
KILL_TOOLS: Final = 2


@dataclass(frozen=True, slots=True)
class _Crash:
    """Where the goal stood when its process was killed, and what was started in its place."""

    turn: int
    steps: int
    pid: int
    started: float


@dataclass(slots=True)
class Play:
    """What happens between the objective and the end."""

    stage: Stage
    screen: Screen
    journal: Reading
    file: RoomFile
    person: Person
    thread: str
    pid: int
    story: Story = field(default_factory=Story)
    kills: int = 0
    _view: View = field(default_factory=View)
    _posted: set[str] = field(default_factory=set)
    """States that a post has told."""
    _crash: _Crash | None = None
    """Until the goal has gone on after it."""

    async def run(self) -> None:
        """Show everything until the goal has settled.

        Raises:
            HeadwayError: a process ended by itself, or the goal does not settle.
            Left: the person ended it.
        """
        limit_s = REHEARSED_LONGEST_S if self.stage.is_rehearsed else LONGEST_S
        until = time.monotonic() + limit_s
        while not self._is_over():
            self.stage.check()
            await self._show_journal()
            until += await self._show_room()
            if self._is_time_to_kill():
                await self._kill()
            if time.monotonic() > until:
                raise HeadwayError(
                    f"The goal did not settle within {limit_s:.0f} s. "
                    f"The end of its log: {self.stage.last_words() or 'empty'}"
                )
            await asyncio.sleep(TICK_S)
        await self._show_journal()

    def _is_over(self) -> bool:
        """Settled, and the post that tells it was shown; a cancelled goal has none."""
        state = self._view.thread(self.thread).state
        return state in SETTLED and (state in self._posted or state == "cancelled")

    def _is_time_to_kill(self) -> bool:
        """Once, in the middle of a turn: its tools have run, and the model is answering."""
        story = self.story
        turn = KILL_TURN if self.stage.is_rehearsed else 1
        in_turn = story.turn >= turn and story.tools >= KILL_TOOLS
        return not self.kills and in_turn and story.is_asking

    async def _show_journal(self) -> None:
        for entry, texts in await self.journal.news():
            if self._crash is not None:
                self._went_on(self._crash)
                self._crash = None
            told = self.story.take(entry, texts)
            if told is not None:
                self.screen.told(told)

    async def _show_room(self) -> float:
        """Show what was posted; returns the seconds that a person took to answer."""
        asked_s = 0.0
        for line in self.file.news():
            seen = self._view.see(line)
            if seen is None or not isinstance(line, Posted | Edited):
                continue
            if seen.is_status:
                self.screen.status(line.shape)
            elif isinstance(line, Posted):
                self._posted.add(line.shape.state)
                self.screen.post(line.shape)
                asked_s += await self._asked(line.shape)
        return asked_s

    async def _asked(self, shape: Shape) -> float:
        if shape.state != "deciding":
            return 0.0
        began = time.monotonic()
        await self.person.answer(shape, self.screen)
        return time.monotonic() - began

    async def _kill(self) -> None:
        screen, story = self.screen, self.story
        await asyncio.to_thread(self.stage.kill_bot)
        self.kills += 1
        await self._show_journal()
        screen.still()
        screen.say(
            f"\n[bold red]✗ Killed[/] process {self.pid} with SIGKILL in the middle of turn "
            f"{story.turn}, while the model was answering."
        )
        await asyncio.sleep(BREATH_S)
        started = time.monotonic()
        self.pid = await asyncio.to_thread(self.stage.start_bot)
        self._crash = _Crash(story.turn, story.steps, self.pid, started)
        screen.say(f"[bold green]↻ Started[/] again, as process {self.pid}.")
        screen.doing("Going on")

    def _went_on(self, crash: _Crash) -> None:
        self.screen.still()
        self.screen.say(
            f"[bold green]✓ Went on[/] at turn {crash.turn}, step {crash.steps + 1}, "
            f"{time.monotonic() - crash.started:.1f} s later: the {crash.steps} steps before it "
            "came from the journal."
        )
        self.screen.waiting("Working")
