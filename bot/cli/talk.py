"""
`headway chat`: a person's talk with the Headway in this process, or with the one that runs.

Rule 1: what is typed is written down first, under an id of its own; everything else follows.
Rule 2: whoever holds the state folder works; where nobody does, this process takes it.
"""

import asyncio
import getpass
import sys
from collections.abc import Collection, Coroutine
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rich.console import Console

from adapters.console.pipes import REFUSED_CODE, converse
from adapters.console.room import RoomFile, room_path
from adapters.console.seat import Seat
from bot.chat.parse import COMMAND, opens_thread, parse
from bot.chat.texts import Texts
from bot.chat.verbs import served
from bot.cli.exits import KNOWN
from bot.cli.wrapped import wrapped
from bot.errors import AlreadyOwned, BadInput, HeadwayError, Ours
from bot.ports.chat import Attachment, Speaker
from bot.settings import Settings
from scheduler.control import ask_owner

if TYPE_CHECKING:
    from bot.wiring import Running

STARTING_S: Final = 10.0
"""How long a Headway that owns the folder may take to its first answer."""
LOOK_S: Final = 0.1
GONE_S: Final = 2.0
"""How often a chat that joined another process looks whether that is still there."""


async def chat(
    settings: Settings,
    objective: str | None,
    *,
    until_settled: bool,
    speaker: str | None = None,
    files: tuple[Path, ...] = (),
) -> int:
    """Talk until the person leaves or the goals have settled; returns the exit code.

    Args:
        speaker: who is talking, where that is not the system's user.
        files: go with the objective, or with what is said first.

    Raises:
        BadInput: the objective cannot be taken.
        HeadwayError: as the process that works says.
    """
    texts = Texts()
    _check_objective(objective)
    person, said = _speaker(speaker), (objective, files)
    if await ask_owner(settings.state_dir, {"do": "ping"}) is not None:
        return await _joined(settings, said, until_settled, person)
    async with AsyncExitStack() as stack:
        with Console(stderr=True).status(texts("terminal.starting")):
            from bot.wiring import Around, running

            bot = None
            try:
                bot = await stack.enter_async_context(running(settings, Around(redactor=KNOWN)))
            except AlreadyOwned:
                # Another one that started at the same moment was faster: it is joined.
                if not await _is_served(settings.state_dir):
                    raise
        if bot is None:
            return await _joined(settings, said, until_settled, person)
        talk = _converse(settings, _Near(bot, person), said, until_settled)
        code = await _while_whole(bot.until_broken(), talk)
        if bot.worker.busy and sys.stderr.isatty():
            sys.stderr.write(texts("terminal.ending", s=settings.shutdown_s) + "\n")
        return code


_Said = tuple[str | None, tuple[Path, ...]]
"""The objective, if there is one, and the files that go with it or with what is said first."""


async def _joined(settings: Settings, said: _Said, until_settled: bool, person: Speaker) -> int:
    """Talk with the Headway that runs in another process.

    When that ends, a person's screen waits until one is back; a pipe ends with it.
    """
    far = _Far(settings.state_dir, person, waits=_is_screen(until_settled))
    return await _while_whole(far.until_gone(), _converse(settings, far, said, until_settled))


async def _is_served(state_dir: Path) -> bool:
    """Whether the owner of the folder comes to answer, while it is starting."""
    for _ in range(int(STARTING_S / LOOK_S)):
        if await ask_owner(state_dir, {"do": "ping"}) is not None:
            return True
        await asyncio.sleep(LOOK_S)
    return False


async def _while_whole(
    until_broken: Coroutine[Any, Any, None], talk: Coroutine[Any, Any, int]
) -> int:
    """The talk's exit code. Raises what ends a part of Headway, if one ends before it."""
    talking, broken = asyncio.create_task(talk), asyncio.create_task(until_broken)
    try:
        done, _ = await asyncio.wait((talking, broken), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (talking, broken):
            if not task.done():
                task.cancel()
    if talking in done:
        return await talking
    await asyncio.gather(talking, return_exceptions=True)
    await broken
    return Ours.exit_code


def system_user() -> Speaker:
    """The console's person: the system's user."""
    name = getpass.getuser()
    return Speaker(name, name)


def _speaker(name: str | None) -> Speaker:
    """Whoever speaks: the system's user, or somebody else of the room by their name."""
    if name is None:
        return system_user()
    plain = name.removeprefix("@").strip()
    if not plain or not plain.isprintable() or any(letter.isspace() for letter in plain):
        raise BadInput(f"{name!r} is no name. Give one word after --as, such as ben.")
    return Speaker(plain, plain)


class _Room(Protocol):
    """Where a message is written down."""

    goodbye: str
    """Key of what is said at the end."""

    async def say(self, text: str, thread: str, files: tuple[Attachment, ...] = ()) -> str:
        """Write it down; returns its id."""

    async def attach(self, path: str) -> Attachment:
        """Keep the file at a path, for a message to come. Raises HeadwayError: it is not taken."""

    async def remove(self, id: str, thread: str) -> None:
        """Take a message back."""

    async def settle(self) -> None:
        """Return once what was said is handled and answered."""


class _Near:
    """The room of the Headway in this process."""

    goodbye = "terminal.left"

    def __init__(self, bot: "Running", person: Speaker) -> None:
        self._bot = bot
        self._person = person

    async def say(self, text: str, thread: str, files: tuple[Attachment, ...] = ()) -> str:
        return await self._bot.console.say(self._person, text, thread, files=files)

    async def attach(self, path: str) -> Attachment:
        assert self._bot.console.shelf is not None
        return await self._bot.console.shelf.attach(path)

    async def remove(self, id: str, thread: str) -> None:
        await self._bot.console.remove(self._person, id, thread)

    async def settle(self) -> None:
        await self._bot.settle()


class _Far:
    """The room of a Headway that runs in another process."""

    goodbye = "terminal.detached"

    def __init__(self, state_dir: Path, person: Speaker, *, waits: bool) -> None:
        self._state_dir = state_dir
        self._person = person
        self._waits = waits
        self._is_gone = False

    async def say(self, text: str, thread: str, files: tuple[Attachment, ...] = ()) -> str:
        await self._present()
        named = [asdict(file) for file in files]
        answer = await self._ask(
            {
                "do": "say",
                "text": text,
                "thread": thread,
                "speaker": self._person.id,
                "files": named,
            }
        )
        return str(answer["id"])

    async def attach(self, path: str) -> Attachment:
        await self._present()
        return Attachment(**await self._ask({"do": "attach", "path": path}))

    async def remove(self, id: str, thread: str) -> None:
        await self._present()
        await self._ask({"do": "remove", "id": id, "thread": thread})

    async def settle(self) -> None:
        if not self._is_gone:
            await self._ask({"do": "settle"})

    async def until_gone(self) -> None:
        """Look whether that Headway is there; where nobody waits for it, raise when it is not."""
        while True:
            await asyncio.sleep(GONE_S)
            await self._present()

    async def _present(self) -> None:
        """Return once a Headway owns the folder; its end and its return are told once each."""
        while await ask_owner(self._state_dir, {"do": "ping"}) is None:
            if not self._waits:
                raise _ended()
            if not self._is_gone:
                self._is_gone = True
                sys.stderr.write(Texts()("terminal.gone") + "\n")
            await asyncio.sleep(GONE_S)
        if self._is_gone:
            self._is_gone = False
            sys.stderr.write(Texts()("terminal.again") + "\n")

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = await ask_owner(self._state_dir, request)
        if answer is None:
            raise _ended()
        return answer


async def _converse(settings: Settings, there: _Room, said: _Said, until_settled: bool) -> int:
    texts = Texts()
    file = RoomFile(room_path(settings.state_dir))
    seat = Seat(file, there.say, lambda text: opens_thread(text, texts), texts)
    seat.remove, seat.attach, seat.say_with = there.remove, there.attach, there.say
    seat.catch_up()
    objective, files = said
    seat.attached += [await there.attach(str(path.absolute())) for path in files]
    if objective is not None:
        await seat.typed(f"/{COMMAND} {objective}")
    if _is_screen(until_settled):
        from adapters.console.terminal import Terminal

        terminal = Terminal(seat, [verb.name for verb in served() if verb.name])
        return await terminal.run(there.settle, texts(there.goodbye))
    code = await converse(
        seat,
        sys.stdin.buffer,
        sys.stdout,
        until_settled=until_settled,
        settle=there.settle,
        is_taken=partial(_is_taken, settings),
        fit=partial(wrapped, stream=sys.stdout),
    )
    if code == REFUSED_CODE:
        sys.stderr.write(texts("terminal.refused") + "\n")
    waiting = seat.waiting_for_person()
    if until_settled and waiting is not None:
        sys.stderr.write(texts("terminal.needs_you", goal=waiting.name) + "\n")
    return code


async def _is_taken(settings: Settings, messages: Collection[str]) -> bool:
    """Whether one of the messages has a goal, or an ordinary turn, of its own."""
    from bot.wiring import reading

    async with reading(settings) as store:
        rows = await store.records.goals(with_asks=True)
    return any(row.place.thread in messages for row in rows)


def _is_screen(until_settled: bool) -> bool:
    """Whether a person sits at a terminal, and stays there."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not until_settled


def _ended() -> HeadwayError:
    return HeadwayError(
        "The Headway that held this state folder has ended, and its goals rest. "
        "Run `headway chat` again: they go on."
    )


def _check_objective(objective: str | None) -> None:
    """Refuse an objective that cannot be taken, before anything is started for it."""
    if objective is None:
        return
    texts = Texts()
    if not objective.strip():
        raise BadInput(texts("bad.empty"))
    parse(f"/{COMMAND} {objective}", texts, in_thread=False)
