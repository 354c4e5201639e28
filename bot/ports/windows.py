"""
What a network shows to one person apart from messages: forms to fill in, and a home with their goals.

Rule 1: what is shown is read at that moment, for that person; nothing of it is kept.
Rule 2: a form that is submitted is a message (`Incoming.via` is `form`): it is checked first, stored,
        and then does what its act says. Rights count when it is handled, whatever was shown.
Rule 3: a network gives a few seconds: none of these waits for anything but the store.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from bot.ports.chat import Incoming, Place, Shape, Speaker

Act = Literal["start", "aim", "edit", "budget", "answer", "reopen", "room", "secret"]
"""What submitting a form does; `Incoming.act` has it. `aim` makes a goal of the message `of`; `budget` is
as `budget <amount> and resume`, `answer` as an answer in words to the decision that it names."""

NEW: Final = "new"
"""What a press says that opens the form of a new goal: a button of a home, a shortcut that is about no
message. Its place has no room where none is looked at."""
AIM: Final = "aim"
"""What a press says that makes a goal of a message (`Incoming.reply_to`): a shortcut on it. What the
message says stands behind it, after a line break."""

WORDS: Final = "words"
"""Name of the input whose value a form says as its text: an objective, an answer, what is missing."""
BUDGET: Final = "budget"
"""Name of the input that has an amount, as `budget` takes it; empty: the room's."""
ROOM: Final = "room"
"""Name of the input that has a room's id."""
PLAN_FIRST: Final = "plan_first"
"""Name of the box that makes a goal begin with a plan."""
TICKED: Final = "on"
GOAL: Final = "goal"
"""Name of what a form carries along: the goal that it is about, as `G12`."""
DECISION: Final = "decision"
"""The same of a decision: its number in its goal."""


@dataclass(frozen=True, slots=True)
class Input:
    """A field to fill in."""

    name: str
    label: str
    kind: Literal["words", "line", "choice", "place", "tick"] = "line"
    """Several lines, one line, one of `options`, one of the person's rooms, or a box to be ticked, whose
    value is `TICKED` or empty, and which its first option explains."""
    value: str = ""
    """What stands there at first; of a place, the room's id."""
    most: int = 3_000
    """Characters."""
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """(value, label) of each choice."""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A form, or, without `submit`, something to read.

    The input called `WORDS` is what the message will say; the others and `fixed` are its `form`. An `aim`
    without it is about the whole of what the message `of` says, which the store has.
    """

    title: str
    act: Act | None = None
    place: Place | None = None
    """Where the message is said: a goal's thread, or a room. None: in the room of its `place` input."""
    of: str = ""
    """Id of the message that it is about (`Incoming.reply_to`)."""
    sections: tuple[Shape, ...] = ()
    """What is to be read, above the inputs."""
    inputs: tuple[Input, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    """(name, value) of what the form carries along unseen, as if it were filled in: `GOAL`, `DECISION`."""
    submit: str = ""
    """Label of the button; empty where there is nothing to submit."""
    close: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A goal or a decision in a home. The buttons of its shape act in `place`."""

    place: Place
    shape: Shape
    of: str = ""
    """Id of the message of ours whose buttons these are: a decision's card; else empty."""


@dataclass(frozen=True, slots=True)
class Part:
    """A heading of a home, and what stands under it."""

    heading: str
    about: str = ""
    """Beneath the heading, small."""
    items: tuple[Item, ...] = ()
    note: str = ""
    """What is said where there is none, or after the last one."""


@dataclass(frozen=True, slots=True)
class Home:
    """All that concerns one person, a page of it."""

    parts: tuple[Part, ...]
    top: Shape
    """What stands above it all: what was spent today, a button that opens the form of a new goal."""
    page: int = 1
    pages: int = 1


class Windows(Protocol):
    """What the bot has to show. Raises HeadwayError, with a sentence to show in its place."""

    def opens(self, pressed: Incoming) -> bool:
        """Whether a press, a command or a shortcut opens a window, instead of being stored."""

    async def window(self, pressed: Incoming) -> Window:
        """The window that it opens."""

    async def errors(self, filled: Incoming) -> Mapping[str, str]:
        """What is wrong with a form, by the name of the input; nothing where it can be stored."""

    async def home(self, workspace: str, who: Speaker, page: int = 1) -> Home:
        """The person's home."""


class Homes(Protocol):
    """A network that has homes."""

    async def publish(self, workspace: str, who: Speaker, home: Home) -> None:
        """Show it to the person whose it is, in place of what was shown. Raises Wait, HeadwayError."""
