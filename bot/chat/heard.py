"""What intake knows about a message before it acts on it."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from bot.goals.goal import Goal
from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.mail import Thread
from bot.ports.people import Role
from bot.ports.plain import unmarked
from bot.ports.room_settings import DEFAULTS, RoomSettings

NAME_CHARS: Final = 80
"""Of a name as it is shown."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A message, who said it, and the goal of the thread in which it was said."""

    message: Incoming
    person: str
    roles: frozenset[Role] = field(default_factory=frozenset)
    thread: Thread | None = None
    """The session that lives in the message's thread; None in a room's main timeline."""
    goal: Goal | None = None
    """The thread's live goal, else its last one."""
    room: RoomSettings = DEFAULTS
    """The settings of the room."""
    of: str = ""
    """Id of an earlier message that this one has handled again; empty: it is itself."""

    @property
    def id(self) -> str:
        """The message's identity."""
        return self.message.id

    @property
    def name(self) -> str:
        """The identity by which what it opens is known: the earlier message's, where there is one."""
        return self.of or self.message.id

    def is_thread_of(self, goal: Goal) -> bool:
        """True where the message stands in the goal's own thread."""
        return self.thread is not None and self.thread.session == goal.session

    def is_owner_of(self, goal: Goal) -> bool:
        """True where whoever said it owns the goal."""
        return self.person == goal.owner


def named_plainly(speaker: Speaker) -> Speaker:
    """Whoever spoke, by a name of one plain line: a name forges no line of ours, nor a link."""
    name = unmarked(speaker.name)[:NAME_CHARS]
    return speaker if name == speaker.name else replace(speaker, name=name or speaker.id)


def goal_id(message: Incoming) -> str:
    """The id of the goal that a message opens: a message opens one goal, however often it is read."""
    return goal_id_in(message.place, message.id)


def goal_id_in(place: Place, message: str) -> str:
    """The same by the message's id and any place of its account."""
    identity = f"{place.network}\0{place.workspace}\0{message}"
    return "g" + sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def aimed_id_in(place: Place, message: str, count: int = 1) -> str:
    """The id of the goal that is made of a message by aiming at it, for the `count`-th time."""
    return goal_id_in(place, f"aimed:{count}:{message}")


def reference(of: str) -> str:
    """Four letters and digits that name a failure in an answer, the log and the trace."""
    alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
    digest = sha256(of.encode("utf-8", "surrogatepass")).digest()
    return "".join(alphabet[byte % 32] for byte in digest[:4])
