"""What a message about a goal is made of, gathered before it is rendered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from bot.chat.cards import Allowed, Closed
from bot.chat.texts import Texts
from bot.chat.yeses import Yeses
from bot.goals.goal import Decision, Goal
from bot.ports.chat import Attachment, Network
from bot.ports.holds import Hold, Holds
from bot.ports.journal import Journal, Task
from bot.ports.mail import Rooms
from bot.ports.room_settings import DEFAULTS, RoomSettings
from bot.ports.spending import Share, Spending


@dataclass(frozen=True, slots=True)
class Facts:
    """A goal with the texts, tasks and names that a message shows, at one moment."""

    goal: Goal
    contents: Mapping[str, str] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Of people, by person id."""
    now: float = 0.0
    shares: tuple[Share, ...] = ()
    """Of the day's caps, where the message tells of them."""
    closed: Closed | None = None
    """Of a card that is edited: its decision."""
    held: Hold | None = None
    """What stops the goal, where a message tells of it."""
    files: tuple[Attachment, ...] = ()
    """That a message brings, or tells of."""
    room: RoomSettings = DEFAULTS
    """Of where the goal lives, where a message tells who may do what there."""
    allowed: tuple[Allowed, ...] = ()
    """What people allowed beyond its profile, as its journal tells it."""

    def text(self, content: str) -> str:
        """The text of a hash, or nothing when it is gone or was never there."""
        return self.contents.get(content, "")

    def name(self, person: str, texts: Texts) -> str:
        """A person's name."""
        return self.names.get(person) or texts("somebody")


@dataclass(frozen=True, slots=True)
class Manner:
    """How a room is spoken to: its language and its zone."""

    texts: Texts = field(default_factory=Texts)
    zone: tzinfo = UTC
    commands: Mapping[Network, str] = field(default_factory=dict)
    """What the command is called on a network where that is not `goal`."""

    def in_zone(self, name: str) -> "Manner":
        """The same in the zone of that IANA name; an empty or unknown one changes nothing."""
        if not name:
            return self
        try:
            return replace(self, zone=ZoneInfo(name))
        except (KeyError, ValueError, OSError):
            return self


def lost_room(goal: Goal) -> tuple[str, str]:
    """How the room was lost in which a goal rests, and the hash of why; empty where it was not."""
    kind, _, rest = goal.reason.partition(":")
    how, _, note = rest.partition(":")
    return (how, note) if kind == "room_lost" else ("", "")


def _broken(goal: Goal) -> str:
    """The hash of the check that could not run and stopped it; empty where none did."""
    kind, _, hash = goal.reason.partition(":")
    return hash if kind == "gate" else ""


def _texts_of(decision: Decision) -> set[str]:
    """Hashes of what it asks and of what it may allow."""
    return {decision.text, decision.grant.what if decision.grant is not None else ""}


async def gather(
    goal: Goal,
    journal: Journal,
    rooms: Rooms,
    now: float,
    further: tuple[str, ...] = (),
    closed: Closed | None = None,
    *,
    spending: Spending | None = None,
    holds: Holds | None = None,
    room: RoomSettings = DEFAULTS,
    yeses: Yeses | None = None,
) -> Facts:
    """Read what messages about `goal` show; `further` are content hashes beside its own."""
    reason = goal.wait.reason if goal.wait else ""
    hashes = {goal.objective, goal.reply, goal.note, goal.finish_note, goal.plan, reason, *further}
    for decision in (goal.decision, closed.decision if closed else None):
        hashes |= _texts_of(decision) if decision is not None else set()
    hashes |= {lost_room(goal)[1], *(grant.what for grant in goal.grants)}
    hashes |= {*(gate.command for gate in goal.gates), *goal.failing, _broken(goal)}
    hashes -= {""}
    contents = await journal.contents(goal.session, sorted(hashes))
    # Who allowed something, and whose yes a plan has, stands nowhere but in the journal.
    allowed = await (yeses or Yeses()).of(goal, journal)
    people = await rooms.people(
        sorted(
            {goal.owner, goal.by, closed.by if closed else "", *(one.by for one in allowed)} - {""}
        )
    )
    return Facts(
        goal,
        contents,
        await journal.tasks(goal.id) if goal.kind == "goal" else (),
        {person: speaker.name for person, speaker in people.items()},
        now,
        await spending.shares(goal) if spending is not None and not goal.is_final else (),
        closed,
        await holds.over(goal.session, goal.owner) if holds and not goal.is_final else None,
        room=room,
        allowed=allowed,
    )
