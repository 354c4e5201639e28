"""The rows of the store's double, and what is found among them."""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from bot.goals.events import GoalOpened
from bot.goals.goal import Goal
from bot.ports.chat import (
    Attachment,
    Incoming,
    Network,
    Place,
    Speaker,
)
from bot.ports.journal import Content, EndpointRow, Line, Task
from bot.ports.mail import Due, OutState, Received, Thread
from bot.ports.positions import Position, Sealed
from bot.ports.records import DecisionRow


@dataclass(slots=True)
class Out:
    """A message out."""

    due: Due
    sequence: int
    not_before: float
    state: OutState = "pending"
    claimed_at: float = 0.0
    looked_up: bool = False

    @property
    def is_anew(self) -> bool:
        """Its room was replaced while it was on its way."""
        return self.state == "superseded" or (self.state == "pending" and self.claimed_at > 0)


@dataclass(slots=True)
class In:
    """A message in."""

    received: Received
    state: str = "waiting"
    why: str = ""
    received_at: float = 0.0


@dataclass(slots=True)
class Held:
    """A lease."""

    epoch: int = 0
    worker: str = ""
    until: float = 0.0


@dataclass(slots=True)
class Rows:
    """Everything that is kept."""

    goals: dict[str, Goal] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    contents: dict[tuple[str, str], Content] = field(default_factory=dict)
    tasks: dict[str, tuple[Task, ...]] = field(default_factory=dict)
    decisions: dict[str, dict[str, DecisionRow]] = field(default_factory=lambda: defaultdict(dict))
    leases: dict[str, Held] = field(default_factory=lambda: defaultdict(Held))
    endpoints: dict[str, EndpointRow] = field(default_factory=dict)
    inbox: dict[str, In] = field(default_factory=dict)
    outbox: dict[str, Out] = field(default_factory=dict)
    people: dict[tuple[str, str], str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, Place] = field(default_factory=dict)
    files: dict[str, tuple[Attachment, ...]] = field(default_factory=dict)
    """Of posts that share them."""
    positions: dict[tuple[str, str], str] = field(default_factory=dict)
    sealed: dict[str, tuple[tuple[str, str], Sealed]] = field(default_factory=dict)
    beside: set[str] = field(default_factory=set)
    """Sessions in whose place another one is found."""
    sequence: int = 0

    def next(self) -> int:
        """A number that was not given before."""
        self.sequence += 1
        return self.sequence

    def say_again(self, was: Place, now: Place) -> None:
        """What was said in one place was said in the other."""
        for row in self.inbox.values():
            said = row.received.message
            if said.place == was:
                row.received = replace(row.received, message=replace(said, place=now))

    def read_upto(self, upto: Position) -> None:
        """Move an account's position."""
        account = (upto.network, upto.workspace)
        self.positions[account] = upto.token
        for one in upto.sealed:
            self.sealed.setdefault(one.id, (account, one))
        for id in upto.opened:
            self.sealed.pop(id, None)


def person_id(rows: Rows, network: Network, speaker: Speaker) -> str:
    """The person's id, made at first sight."""
    id = rows.people.setdefault((network, speaker.id), f"p{len(rows.people) + 1}")
    # An id in the place of a name is none: the name is not known for the moment.
    if speaker.name not in ("", speaker.id, speaker.id.rpartition(":")[2]):
        rows.names[id] = speaker.name
    else:
        rows.names.setdefault(id, speaker.name)
    return id


def person_of(rows: Rows, said: Incoming) -> str:
    """The person who said it."""
    return rows.people[said.place.network, said.speaker.id]


def thread_of(rows: Rows, session: str) -> Thread:
    """The session as a thread."""
    live = live_goal(rows, session)
    return Thread(session, rows.sessions[session], live.id if live else "")


def live_goal(rows: Rows, session: str) -> Goal | None:
    """The session's live goal."""
    for goal in rows.goals.values():
        if goal.session == session and goal.kind == "goal" and not goal.is_final:
            return goal
    return None


def is_within(place: Place, room: Place) -> bool:
    """In the room, or, where that has no name, in any of its workspace."""
    if room.room:
        return is_in(place, room)
    return (place.network, place.workspace) == (room.network, room.workspace)


def is_in(place: Place, room: Place) -> bool:
    """The consoles of one database are one room."""
    is_near = room.network == "console" or place.workspace == room.workspace
    return is_near and (place.network, place.room) == (room.network, room.room)


def inherited(rows: Rows, opened: GoalOpened, content: Content) -> Content:
    """A text of an opening: one that a copy brings along is whose it is there."""
    was = rows.goals[opened.forks].session if opened.forks in rows.goals else ""
    there = rows.contents.get((was, content.hash))
    if there is None:
        return content
    source = next(
        (
            said.id
            for said in (row.received.message for row in rows.inbox.values())
            if person_of(rows, said) == there.author and there.text in said.text
        ),
        "",
    )
    return replace(content, author=there.author, message=there.message or source)
