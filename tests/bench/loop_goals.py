"""Goals for the loop's measurements: opened in rows, worked at by the real wiring."""

import asyncio
import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapters.console.parse import room
from adapters.store.open import Store
from bot.goals.events import GoalOpened
from bot.ports.chat import Speaker
from bot.ports.journal import Content
from bot.ports.model import ModelReply, ModelRequest
from bot.ports.sandbox import Access, Line, Session
from bot.settings import Settings
from tests.doubles.sandbox import MemorySandbox

READ: str = "drafts/input.txt"
FILE_TEXT = "A line of the file that every turn reads.\n" * 40


class Tally:
    """The model, with what was asked of it kept: calls done, and their requests on demand."""

    def __init__(self) -> None:
        self.done = 0
        self.keeps = False
        self.requests: list[ModelRequest] = []
        self._model: Any = None

    def around(self, model: Any) -> "Tally":
        """Stand before `model`."""
        self._model = model
        return self

    async def call(self, request: ModelRequest, **more: Any) -> ModelReply:
        """Ask the model, and count the answer."""
        if self.keeps:
            self.requests.append(request)
        reply: ModelReply = await self._model.call(request, **more)
        self.done += 1
        return reply

    async def until(self, count: int) -> None:
        """Return once so many calls are done in all."""
        while self.done < count:
            await asyncio.sleep(0.02)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


async def open_goals(
    store: Store,
    settings: Settings,
    count: int,
    objective: Callable[[int], str],
    *,
    wake: Callable[[str], None] | None = None,
    apart_s: float = 0.0,
    with_files: bool = False,
) -> None:
    """Open `count` goals, each in a thread of its own, `apart_s` apart."""
    name = getpass.getuser()
    owner = await store.rooms.person("console", Speaker(name, name))
    loop = asyncio.get_running_loop()
    begun = loop.time()

    async def one(number: int) -> None:
        await asyncio.sleep(max(0.0, begun + number * apart_s - loop.time()))
        thread = await store.rooms.begin(room(f"bench-{number}"))
        if with_files:
            file = settings.state_dir / "workspaces" / thread.session / READ
            await asyncio.to_thread(_write, file)
        text = Content(objective(number), owner)
        goal = f"g{number:06}"
        opened = GoalOpened(goal, thread.session, 0, owner, text.hash, settings.budget)
        await store.journal.open(opened, (text,))
        if wake is not None:
            wake(goal)

    await asyncio.gather(*(one(number) for number in range(count)))


def _write(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(FILE_TEXT)


class Files(MemorySandbox):
    """A sandbox in memory whose workspaces hold the file that turns read.

    A thousand real ones do not fit two cores; what they cost is a figure of its own.
    """

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        """A session over that one file."""
        self.workspaces.setdefault(workspace, {READ: FILE_TEXT})
        self.sessions.clear()
        return await super().open(workspace, access, line)
