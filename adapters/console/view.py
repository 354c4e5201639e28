"""
What a reader of the room knows: its threads, their status, what is new. Pure.

Rule 1: a thread is named by the goal that its messages show (`G1`); until then it has no name.
Rule 2: a status message is never new: it is shown in place. Everything else is printed once.
Rule 3: what others wrote is made harmless to a terminal here, before anything shows it.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from adapters.console.parse import Edited, Line, Posted, RemovedLine, SaidLine, Taken
from adapters.console.render import clean
from bot.ports.chat import Shape

SETTLED: Final = {"complete": 0, "blocked": 3, "over_budget": 4, "cancelled": 5}
"""States that end a watch, with the exit code of each."""
NEEDS_PERSON: Final = frozenset({"deciding", "paused"})
NEEDS_PERSON_CODE: Final = 6


@dataclass(frozen=True, slots=True)
class ThreadView:
    """One thread as its messages show it."""

    id: str
    opening: str = ""
    """What was said first."""
    name: str = ""
    state: str = ""
    status: Shape | None = None
    latest: Shape | None = None
    """The last message that is no status."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing to show: a message of Headway, or of a person."""

    line: Line
    thread: ThreadView
    is_status: bool = False


@dataclass(slots=True)
class View:
    """The fold of the room's lines."""

    threads: dict[str, ThreadView] = field(default_factory=dict)
    statuses: set[str] = field(default_factory=set)
    """Ids of status messages."""
    said: dict[str, SaidLine] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def see(self, line: Line) -> Seen | None:
        """Take one line in; returns what there is to show, if anything."""
        match line:
            case Taken(id):
                self.taken.add(id)
                return None
            case RemovedLine():
                self.said.pop(line.id, None)
                return None
            case SaidLine(message):
                speaker = replace(message.speaker, name=clean(message.speaker.name))
                harmless = replace(message, text=clean(message.text), speaker=speaker)
                said = SaidLine(harmless)
                self.said[message.id] = said
                return Seen(said, self._thread(message.place.thread))
            case Posted() | Edited():
                return self._shown(replace(line, shape=clean(line.shape)))

    def named(self, name: str) -> ThreadView | None:
        """The thread that goes by this name: `G1`, or the beginning of its id."""
        wanted = name.casefold()
        for thread in reversed(self.threads.values()):
            if wanted and (thread.name.casefold() == wanted or thread.id.startswith(wanted)):
                return thread
        return None

    def thread(self, id: str) -> ThreadView:
        """The thread of that id, as far as it is known."""
        return self.threads.get(id) or ThreadView(id, self._opening(id))

    def live(self) -> list[ThreadView]:
        """Threads whose goal can still move, oldest first."""
        ended = ("", "complete", "cancelled")
        return [one for one in self.threads.values() if one.state not in ended]

    def _shown(self, line: Posted | Edited) -> Seen:
        shape = line.shape
        is_silent = line.is_silent and isinstance(line, Posted)
        # An answer calls nobody either; it has no head.
        is_status = line.id in self.statuses or (is_silent and bool(shape.word))
        if is_status:
            self.statuses.add(line.id)
        thread = self._thread(line.thread)
        if line.thread:
            thread = replace(
                thread,
                name=shape.facts[0] if shape.word and shape.facts else thread.name,
                state=shape.state or thread.state,
                status=shape if is_status else thread.status,
                latest=thread.latest if is_status else shape,
            )
            self.threads[line.thread] = thread
        return Seen(line, thread, is_status)

    def _thread(self, id: str) -> ThreadView:
        if id and id not in self.threads:
            self.threads[id] = ThreadView(id, self._opening(id))
        return self.thread(id)

    def _opening(self, id: str) -> str:
        said = self.said.get(id)
        return said.message.text if said else ""
