"""
Messages on their way in and out, as rows.

Rule 1: a message in is claimed by its own identity, stored before it is acknowledged, and
        *handled* in the transaction of what it caused, per thread in order of arrival.
Rule 2: a message out is claimed before the network is touched; a claim older than 60 s is
        *unknown*, looked up and never simply sent again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from bot.goals.goal import Goal
from bot.ports.chat import Arrival, Attachment, Incoming, Network, Place, Removed, Speaker
from bot.ports.incidents import Alert
from bot.ports.people import NOTHING, Answer
from bot.ports.positions import Position

NEW: Final = "new:"
"""What the thread of a session begins with until the first message of the thread is there."""
OutState = Literal["pending", "claimed", "sent", "unknown", "failed", "superseded"]


@dataclass(frozen=True, slots=True)
class Received:
    """A stored message: `sequence` orders arrivals."""

    sequence: int
    message: Incoming
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Due:
    """A row of the outbox that is to be sent now.

    `kind` is a `PostKind`, `status`, `card` (edit of a decision's card), `reply` (to a command) or
    `root` (first message of a thread: it stands in the room's main timeline). `reason` and `content`
    are those of the instruction; a `reply` and a `root` have their text in `content` too.
    """

    key: str
    kind: str
    goal: str
    session: str
    place: Place
    reason: str
    content: str
    remote: str = ""
    """Of the message to edit, or of one whose outcome is unknown."""
    state: OutState = "claimed"
    created_at: float = 0.0
    may_differ: bool = False
    """The rows were restored: what is there under this key may say something else."""
    files: tuple[Attachment, ...] = ()
    only_for: str = ""
    """Person id of whom alone it concerns; empty: whoever reads there."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A session and where it lives. `goal` is its live goal's id, or empty."""

    session: str
    place: Place
    goal: str = ""

    @property
    def has_root(self) -> bool:
        """False while the thread's first message is not there; `place.thread` is no network's then."""
        return not self.place.thread.startswith(NEW)


@dataclass(frozen=True, slots=True)
class Posted:
    """A message of ours as its network knows it: which row of the outbox it is, in which thread."""

    key: str
    kind: str
    goal: str
    """Empty for what belongs to no goal."""
    session: str
    place: Place
    reason: str = ""
    content: str = ""


class Inbox(Protocol):
    """What people said, until its consequence is committed."""

    async def receive(self, message: Incoming) -> bool:
        """Store it; False when its identity was there already."""

    async def receive_all(self, arrivals: Sequence[Arrival], upto: Position | None = None) -> int:
        """Store what came, in its order, with the position that covers it; all of it or nothing.

        Returns how many counted. What was taken in before is passed over, and so is an edit of a
        message by anybody but its author. Whatever names no thread and answers, edits, removes or
        stands under a message (`reply_to`, once it is one) is stored as said in that message's
        thread: the one that hangs under it, or in which it is. A message that still waits has no
        thread under it yet: what answers it waits behind it, in the same one.

        What was taken away of a reaction (`Unreacted`) is stored as the `Removed` of the last such one that
        was put there by then; given again, or where there is none, as nothing. A message's way back is
        kept with it until it lapses (`WaysBack`).

        Other work of the store waits meanwhile: give some 100 at a time, and `upto` with the last of
        them only. What a process did not come to give is then given again, and passed over.
        """

    async def remove(self, removed: Removed) -> bool:
        """Blank a message's text and what was made of it, and store the removal (`as_message`).

        Its files and its edits go with it. A reaction is removed by its own id: nothing goes but what
        it said; the message that was it is `heeded(REACTION + id)`.
        False when it was removed before, or never came.
        """

    async def waiting(self) -> tuple[Received, ...]:
        """Everything not handled yet, in order of arrival."""

    async def handled(self, message: str) -> None:
        """Mark one that causes nothing else."""

    async def failed(
        self, message: str, why: str, answer: Answer = NOTHING, alert: Alert | None = None
    ) -> int:
        """Count one failed handling; at the third it is *failed*. Returns the count.

        At the third whoever said it is told, and the incident is opened, in one transaction.
        """


class Outbox(Protocol):
    """What is to be said, until it is known to be there."""

    async def claim(
        self, network: Network, *, limit: int, workspace: str | None = None
    ) -> tuple[Due, ...]:
        """Take what is due, oldest first, one row a thread at a time; of one workspace or of all."""

    async def say(
        self,
        session: str,
        key: str,
        text: str,
        handled: tuple[str, ...] = (),
        *,
        only_for: str = "",
        reason: str = "",
    ) -> None:
        """Queue a `reply` in the session's thread; a key that is there already changes nothing.

        Args:
            only_for: person id of whom alone it concerns.
            reason: names the buttons under it.
        """

    async def sent(self, key: str, remote: str) -> None:
        """It is there, under this remote id."""

    async def unknown(self, key: str) -> None:
        """It may be there: the next claim of it looks it up."""

    async def failed(self, key: str, why: str, alert: Alert | None = None) -> None:
        """It cannot be sent; later rows pass, and the incident is opened with it."""

    async def later(self, key: str, delay_s: float) -> None:
        """Try again after `delay_s`."""

    async def give_up(self, place: Place, why: str) -> int:
        """Withdraw what waits to be said in that room, in whatever thread; returns how much it was.

        With an empty room in `place`: in every room of the workspace.
        What is on its way settles itself. A thread's root is tried again for what is said after it.
        """

    async def again(
        self, place: Place, *, within_s: float, but: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Try results and questions again that failed in that room lately and still hold.

        Each is looked up first. Those under the keys `but` stay failed. Returns the keys. With an empty
        room in `place`: in every room of the workspace.
        """


class Rooms(Protocol):
    """People, rooms and threads."""

    async def person(self, network: Network, speaker: Speaker) -> str:
        """The person's id, made at first sight."""

    async def thread(self, place: Place) -> Thread | None:
        """The session that lives in that thread."""

    async def begin(self, place: Place) -> Thread:
        """A new session in that thread, or the one that is there."""

    async def begin_new(self, place: Place, of: str) -> Thread:
        """A session in a thread that begins in the room's main timeline with a message of ours.

        `of` is the id of the message because of which it begins: for it there is one such session.
        The root is queued by `Journal.open` in the transaction that opens the session's goal. Until it
        is there, all that is to be said in the session waits behind it.
        """

    async def move(
        self, old: Place, to: str, root: Callable[[Goal], str], answer: Answer = NOTHING
    ) -> tuple[Goal, ...]:
        """A room was replaced by the room `to`: what was in it lives there; returns its live goals.

        Settings, holds, the allow-list's entries and the day's sums come along; what is set for the new
        room already counts. Each live goal begins a new thread with the text that `root` gives, its
        status and its open decision are posted there anew; what is to be said still is said in the new
        room. A room that is not known, or moved before, has no goals. Read the allow-list anew then.
        """

    async def goals(
        self,
        *,
        states: tuple[str, ...] = (),
        room: Place | None = None,
        number: int | None = None,
        owner: str = "",
        most: int | None = None,
    ) -> tuple[Goal, ...]:
        """Goals (no asks), newest first, by state, room (whatever the thread), number or owner's id.

        The consoles of one database are one room: whoever opens one may read the database. A `room` with
        an empty name is every room of its workspace. `most`: so many of the newest.
        """

    async def last_goal(self, session: str) -> Goal | None:
        """The session's newest goal (no ask), live or final."""

    async def posted(self, place: Place, remote: str) -> Posted | None:
        """What of ours stands in that room under the id `remote`; None: nothing that is kept.

        Who said what others said is `Notices.heeded`. The edits of a status message are one row.
        """

    async def people(self, persons: Sequence[str]) -> Mapping[str, Speaker]:
        """Who those person ids are on their network; unknown ones are left out."""

    async def remotes(self, keys: Sequence[str]) -> Mapping[str, str]:
        """The remote ids of what stands under these keys of the outbox; what does not is left out."""
