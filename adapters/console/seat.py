"""
Somebody's seat in the room: what they type and what they see, without a terminal.

Rule 1: a line in a thread is said there, a line in the room is said in the room; an objective
        typed in the room opens a thread, and the seat moves into it.
Rule 2: `/threads`, `/enter`, `/back`, `/quit` are of the seat alone and never leave it; `/delete`
        takes back the last message that was said from it; `/attach` gives a file with the next one.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from adapters.console.parse import Edited, Posted, SaidLine
from adapters.console.room import RoomFile
from adapters.console.view import (
    NEEDS_PERSON,
    NEEDS_PERSON_CODE,
    SETTLED,
    Seen,
    ThreadView,
    View,
)
from bot.errors import HeadwayError
from bot.ports.attached import size_of
from bot.ports.chat import Attachment

Say = Callable[[str, str], Awaitable[str]]
"""Say a text in a thread ("" for the room); returns the message's id."""
SayWith = Callable[[str, str, tuple[Attachment, ...]], Awaitable[str]]
"""Say a text in a thread, with files; returns the message's id."""
Attach = Callable[[str], Awaitable[Attachment]]
"""Keep the file at a path, for a message to come."""
Remove = Callable[[str, str], Awaitable[None]]
"""Take back the message of that id, said in that thread."""


async def _cannot(*_: object) -> Any:
    raise NotImplementedError


class Sentences(Protocol):
    """The catalogue of what people read."""

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence of `key`."""


@dataclass(slots=True)
class Seat:
    """Where somebody sits, and what they have seen."""

    file: RoomFile
    say: Say
    opens: Callable[[str], bool]
    """Whether a text said in the room opens a thread."""
    texts: Sentences
    view: View = field(default_factory=View)
    thread: str = ""
    mine: list[str] = field(default_factory=list)
    """Ids of what was said from here."""
    remove: Remove = _cannot
    attach: Attach = _cannot
    say_with: SayWith = _cannot
    attached: list[Attachment] = field(default_factory=list)
    """What goes with the next message."""
    is_done: bool = False
    has_started: bool = False
    """Whether anything said from here opens a thread."""
    _is_saying: bool = False
    """While a message is being written, its line would look like somebody else's."""
    _threads_of: dict[str, str] = field(default_factory=dict)
    """Where each of `mine` was said."""
    _taken_back: set[str] = field(default_factory=set)

    def catch_up(self) -> None:
        """Take in what happened before this seat was taken, without showing it."""
        for _ in self.news():
            pass

    def news(self) -> Iterator[Seen]:
        """What is new to show, in order."""
        if self._is_saying:
            return
        for line in self.file.news():
            seen = self.view.see(line)
            if seen is not None and not self._is_own(seen):
                yield seen

    async def typed(self, text: str) -> str:
        """Act on one typed line; returns what the seat itself has to say about it."""
        stripped = text.strip()
        word, _, rest = stripped.partition(" ")
        match word.lower():
            case "":
                return ""
            case "/quit" | "/exit":
                self.is_done = True
                return ""
            case "/threads":
                return self._threads()
            case "/enter":
                return self._enter(rest.strip())
            case "/back":
                self.thread = ""
                return self.texts("terminal.back")
            case "/delete":
                return await self._delete()
            case "/attach":
                return await self._attach(rest.strip())
            case local if local.startswith("/") and not local.startswith(("//", "/goal")):
                about = self.texts("terminal.local")
                return self.texts("terminal.unknown_local", name=word, local=about)
            case _:
                await self._say(text)
                return ""

    def exit_code(self, *, has_more_input: bool) -> int | None:
        """The code to end with once all that was started from here has settled, else None."""
        threads = [self.view.thread(id) for id in self._opened()]
        if not threads or not all(self._is_over(one, has_more_input) for one in threads):
            return None
        return max(_code(one) for one in threads)

    @property
    def has_opened(self) -> bool:
        """Whether anything that was said from here has a thread."""
        return bool(self._opened())

    def waiting_for_person(self) -> ThreadView | None:
        """The first thread started from here that waits for a person."""
        threads = (self.view.thread(id) for id in self._opened())
        return next((one for one in threads if one.state in NEEDS_PERSON), None)

    async def _say(self, text: str) -> None:
        self._is_saying = True
        starts = not self.thread and self.opens(text)
        self.has_started |= starts
        try:
            id = await self._said(text)
            self.mine.append(id)
            self._threads_of[id] = self.thread
        finally:
            self._is_saying = False
        if starts:
            self.thread = id

    async def _said(self, text: str) -> str:
        if not self.attached:
            return await self.say(text, self.thread)
        id = await self.say_with(text, self.thread, tuple(self.attached))
        self.attached.clear()
        return id

    async def _attach(self, path: str) -> str:
        """Take a file for the next message; what cannot be taken is told."""
        if not path:
            return self.texts("terminal.attach_how")
        try:
            file = await self.attach(_whole(path))
        except HeadwayError as error:
            return str(error)
        self.attached.append(file)
        return self.texts("terminal.attached", name=file.name, size=size_of(file.size))

    async def _delete(self) -> str:
        """Take back what was said last from here and is not taken back yet."""
        there = [id for id in self.mine if id not in self._taken_back]
        if not there:
            return self.texts("said.deleted.none")
        await self.remove(there[-1], self._threads_of[there[-1]])
        self._taken_back.add(there[-1])
        return self.texts("said.deleted")

    def _opened(self) -> Sequence[str]:
        return [id for id in self.mine if id in self.view.threads]

    def _is_over(self, thread: ThreadView, has_more_input: bool) -> bool:
        if _is_answered(thread) or thread.state in SETTLED:
            return True
        return thread.state in NEEDS_PERSON and not has_more_input

    def _is_own(self, seen: Seen) -> bool:
        return isinstance(seen.line, SaidLine) and seen.line.message.id in self.mine

    def _enter(self, name: str) -> str:
        found = self.view.named(name)
        if found is None:
            return self.texts("terminal.no_thread", name=name or "?")
        self.thread = found.id
        return self.texts("terminal.entered", name=found.name or found.opening)

    def _threads(self) -> str:
        threads = list(self.view.threads.values())
        if not threads:
            return self.texts("terminal.threads.empty")
        return "\n".join(_line(thread) for thread in threads[-20:])


def _whole(path: str) -> str:
    """A path as somebody types it, from the root on: another process may read it."""
    return os.path.abspath(os.path.expanduser(path))


def without_command(text: str) -> str:
    """What was said, without the command's name before it."""
    word, _, rest = text.partition(" ")
    return rest if word[:1] in ("/", "!") else text


def _is_answered(thread: ThreadView) -> bool:
    """Something was said in it, and there is no goal: an ordinary question, or a refusal."""
    return not thread.state and thread.latest is not None


def _code(thread: ThreadView) -> int:
    return 0 if _is_answered(thread) else SETTLED.get(thread.state, NEEDS_PERSON_CODE)


def post_of(seen: Seen) -> Posted | Edited | None:
    """The message of Headway in what is shown, if it is one that is printed."""
    line = seen.line
    return line if isinstance(line, Posted | Edited) and not seen.is_status else None


def _line(thread: ThreadView) -> str:
    opening = " ".join(without_command(thread.opening).split())[:60]
    word = thread.status.word if thread.status else thread.state.replace("_", " ").capitalize()
    return "  ".join(part for part in (thread.name or thread.id[:8], word, opening) if part)
