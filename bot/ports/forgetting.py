"""
What is there of a person, and how it is taken away.

Rule 1: nothing of the journal goes: events, ids, hashes and numbers stay, so replay holds before and
        after. What goes are texts, names and files.
Rule 2: each step leaves the same behind however often it is done, and whatever ended it: what is to be
        forgotten is a row until all of it is.
Rule 3: what tells a person's traces from others' (their name, their words) goes last.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.ports.chat import Network, Place
from bot.ports.people import NOTHING, Answer
from bot.ports.words import Words


@dataclass(frozen=True, slots=True)
class Known:
    """A person as they are kept."""

    id: str
    network: Network
    external: str
    name: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A session with its place and the name of its workspace's folder."""

    session: str
    place: Place


@dataclass(frozen=True, slots=True)
class Trail:
    """Where a person was, and by what their traces are told."""

    person: Known
    own: tuple[Spot, ...] = ()
    """Threads in which nobody else spoke: everything in them goes."""
    shared: tuple[Spot, ...] = ()
    """Threads and rooms in which others spoke, too."""
    goals: tuple[str, ...] = ()
    """Of which they are the owner."""
    live: tuple[str, ...] = ()
    """Of those, what has not ended."""
    folders: tuple[str, ...] = ()
    """Workspaces that nobody else's goal has used."""
    messages: frozenset[str] = frozenset()
    """What they said, by id."""
    words: Words = field(default_factory=Words)


@dataclass(frozen=True, slots=True)
class Step:
    """A little of the work: what kind of thing was taken, and how many."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A person who is to be forgotten."""

    person: str
    keeps_mentions: bool = False
    """What others said of them by name, in conversations that they had no part in, stays."""


Counts = Mapping[str, int]


class Forgetting(Protocol):
    """The store's part."""

    async def known(self, name: str) -> tuple[Known, ...]:
        """The people who go by that name, id or network id."""

    async def want(self, wanted: Wanted, in_s: float = 0.0, answer: Answer = NOTHING) -> None:
        """Write down that the person is to be forgotten in `in_s` seconds, and queue the answer."""

    async def wanted(self) -> tuple[Wanted, ...]:
        """Who is to be forgotten now."""

    async def done(self, person: str) -> None:
        """They are forgotten."""

    async def trail(self, person: str) -> Trail:
        """Where they were. Raises KeyError: nobody has that id."""

    async def at_work(self, goals: Sequence[str]) -> bool:
        """Whether any of the goals is held by a worker, who may write still."""

    def texts(self, trail: Trail, wanted: Wanted, *, is_dry: bool = False) -> AsyncIterator[Step]:
        """Blank their texts, and what was made of them, a little at a time."""

    def name(self, trail: Trail, *, is_dry: bool = False) -> AsyncIterator[Step]:
        """Take away their name and their rights. The last step: nothing is told by them after it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How long something is kept after its goal ended."""

    days: float
    room: str = ""
    """Only of this room, by name or id."""
    is_forced: bool = False
    """Whatever rooms say themselves."""


class Retention(Protocol):
    """What has been kept long enough."""

    def texts(self, kept: Kept, *, is_dry: bool = False) -> AsyncIterator[Step]:
        """Blank the texts of what ended longer ago, a little at a time."""

    async def workspaces(self, names: Sequence[str], kept: Kept) -> tuple[str, ...]:
        """Those of the workspaces that no goal has needed for so long."""


class Traces(Protocol):
    """What lies outside of the database."""

    async def take(self, trail: Trail, *, is_dry: bool = False) -> Sequence[Step]:
        """Take away what there is of the person."""


class Scrub(Protocol):
    """Sees to it that what was blanked is nowhere in the database's files."""

    async def __call__(self) -> None:
        """Leave no free page and no log that holds what was there before."""
