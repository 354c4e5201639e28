"""
The journal of goals, and the rows that move with it.

Rule 1: a unit is one transaction: events, the rows they change, the posts they cause. A call
        returns after the COMMIT that holds its unit, or raises and nothing of it is there.
Rule 2: the writer runs `bot.goals.machine.decide` inside the transaction, on the goal's row as it
        is then. Whoever calls brings events, never a state.
Rule 3: the store stamps `at` on every event with its own clock (PostgreSQL: the database's).
Rule 4: a unit once handed over is not withdrawn by cancelling the caller.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

from bot.goals.events import Event, GoalOpened
from bot.goals.goal import Goal
from bot.goals.instructions import Instruction
from bot.goals.machine import Entry
from bot.ports.artifacts import Artifact
from bot.ports.chat import Attachment

TaskState = Literal["open", "doing", "done", "dropped"]


@dataclass(frozen=True, slots=True)
class Content:
    """An erasable text, kept in its session under its hash. `author` is a person id or a role."""

    text: str
    author: str = ""
    message: str = ""
    """Id of the message that it is taken from, where that is not the one which is handled."""

    @property
    def hash(self) -> str:
        """sha256 hex of the text."""
        return content_hash(self.text)


def content_hash(text: str) -> str:
    """sha256 hex of a text in UTF-8; lone surrogates count as their three bytes."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Task:
    """One declared piece of a goal, as the agent's plan names it."""

    title: str
    state: TaskState
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one step of a goal writes, all or nothing.

    `epoch` is the writer's lease (None: a person, a timer or the store itself). `tasks` replaces
    the goal's list. `handled` are inbox messages whose consequence this is, `reply` is what is said
    to them. `files` are those that its events share. `tree` is the snapshot that a checkpoint of this
    unit names (empty: none could be kept; None: the one before still holds), `artifacts` are the files
    in it that are new. `urgent` goes to the head of the queue.
    """

    goal: str
    events: tuple[Event, ...]
    contents: tuple[Content, ...] = ()
    epoch: int | None = None
    tasks: tuple[Task, ...] | None = None
    handled: tuple[str, ...] = ()
    reply: "Reply | None" = None
    urgent: bool = False
    files: tuple[Attachment, ...] = ()
    tree: str | None = None
    artifacts: tuple[Artifact, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """What a unit did: the goal after it, the rule of each event, what is asked for."""

    goal: Goal
    entries: tuple[Entry, ...]
    instructions: tuple[Instruction, ...]
    fenced: bool = False
    """The lease is gone: nothing but bookings was written, and what ended before a hold took it."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rule that fired, event by event."""
        return tuple(entry.rule for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command is answered, queued with what it did.

    `text` tells it from what was done, inside the transaction: it is pure and quick.
    """

    session: str
    key: str
    text: Callable[[Applied], str]


@dataclass(frozen=True, slots=True)
class Line:
    """A journal entry with its place: which goal, and where in its session's order."""

    goal: str
    position: int
    """Grows over the whole session, goals and ordinary turns alike."""
    entry: Entry


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work at a goal until it lapses (30 s, renewed every 10 s)."""

    goal: Goal
    epoch: int


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """What a restart must know of a model endpoint in trouble."""

    name: str
    kind: str
    since: float
    attempts: int
    closed_until: float
    last_success: float | None = None


class Journal(Protocol):
    """Goals, moved by events."""

    async def open(
        self,
        opened: GoalOpened,
        contents: Sequence[Content],
        handled: tuple[str, ...] = (),
        reply: Reply | None = None,
        root: Callable[[Applied], str] | None = None,
    ) -> Applied:
        """Write a goal's first entry; the store gives it its number (an `ask` has 0).

        `handled` are the inbox messages that it came from, `reply` is what is said to them. `root`
        gives the first message of the session's thread: it is posted where the thread has none
        (`Rooms.begin_new`; a session whose room moved after its goals had ended), and else is not.

        Raises:
            Refused: code `one_goal`: the session has a live goal.
            StoreBusy, StoreUnusable.
        """

    async def commit(self, unit: Unit) -> Applied:
        """Apply the unit's events in order to the goal as it is now.

        Raises:
            Refused, IllegalMove: one event does not fit; nothing of the unit is written.
            StoreBusy, StoreUnusable: as the database says; nothing is known to be written.
        """

    async def goal(self, goal: str) -> Goal:
        """The goal's row now. Raises KeyError when there is none."""

    async def history(self, session: str, after: int = 0) -> tuple[Line, ...]:
        """The session's journal lines with a position above `after`, in order."""

    async def contents(self, session: str, hashes: Sequence[str]) -> Mapping[str, str]:
        """The texts of those hashes that are still there."""

    async def tasks(self, goal: str) -> tuple[Task, ...]:
        """The goal's task list, in its order."""


class Leases(Protocol):
    """Who works at which goal."""

    async def claim(self, worker: str, *, limit: int) -> tuple[Lease, ...]:
        """Take due goals that nobody holds, oldest due first, bumping each one's epoch."""

    async def claim_one(self, worker: str, goal: str) -> Lease | None:
        """Take this goal if it is due and nobody else holds it."""

    async def renew(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Extend the leases (goal -> epoch); returns the goals whose lease is still held."""

    async def release(self, worker: str, held: Mapping[str, int]) -> None:
        """Give leases back at once."""

    async def next_due(self) -> float | None:
        """The earliest due time of a goal that nobody holds."""

    async def lost(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Those of the leases (goal -> epoch) that a hold or another worker has ended."""

    async def stopped(self, goals: Sequence[str]) -> frozenset[str]:
        """Those of the goals that a person has stopped or cancelled."""

    async def abandoned(self) -> Mapping[str, tuple[str, ...]]:
        """Calls in flight (by goal) of goals that are not due and that nobody holds.

        Whoever made them has gone, and no turn or audit that begins will charge them.
        """

    async def save_endpoint(self, row: EndpointRow | None, *, name: str) -> None:
        """Remember (or, with None, forget) an endpoint's trouble."""

    async def endpoints(self) -> tuple[EndpointRow, ...]:
        """Every endpoint in trouble."""
