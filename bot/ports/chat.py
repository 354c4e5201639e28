"""
People and places of a chat network, and what is said there.

Rule 1: a place is typed per network; an adapter refuses a place of another network.
Rule 2: an incoming message is stored under its own identity before it is acknowledged, and so are
        its edits and its removal.
Rule 3: an outgoing one carries a key; `find` tells whether a send of unknown outcome arrived.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

Network = Literal["console", "slack", "matrix"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is said. `thread` is empty in a room's main timeline."""

    network: Network
    workspace: str
    room: str
    thread: str = ""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A person as the network knows them. `id` is unique in the network."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """Something said: `id` is its identity on the network, claimed once."""

    id: str
    place: Place
    speaker: Speaker
    text: str
    at: float
    reply_to: str = ""
    """Remote id of the message it answers."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A message was deleted or redacted: `id` is that message's, `place` where it stood."""

    id: str
    place: Place
    speaker: Speaker
    """Who removed it."""
    at: float

    @property
    def as_message(self) -> Incoming:
        """The removal as a message of its own, with nothing in it."""
        return Incoming(f"{REMOVAL}{self.id}", self.place, self.speaker, "", self.at, self.id)


@dataclass(frozen=True, slots=True)
class Changed:
    """A message was edited: `id` is that message's, `text` what it says now."""

    id: str
    place: Place
    speaker: Speaker
    """Who edited it."""
    text: str
    at: float

    @property
    def as_message(self) -> Incoming:
        """The edit as a message of its own."""
        id = f"{EDIT}{self.id}:{self.at:.6f}"
        return Incoming(id, self.place, self.speaker, self.text, self.at, self.id)


Arrival = Incoming | Removed | Changed
REMOVAL: Final = "removed:"
EDIT: Final = "edited:"


def removal_of(message: Incoming) -> str:
    """The id of the message that this one removes; empty for what was said."""
    is_removal = message.id == f"{REMOVAL}{message.reply_to}" and not message.text
    return message.reply_to if is_removal else ""


def edit_of(message: Incoming) -> str:
    """The id of the message that this one is an edit of; empty for what was said."""
    return message.reply_to if message.id.startswith(f"{EDIT}{message.reply_to}:") else ""


@dataclass(frozen=True, slots=True)
class Button:
    """An act offered under a message: a verb as typed, and its label."""

    verb: str
    label: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A message before any network renders it. `facts` follow the glyph and its word.

    `body` and `notes` are Markdown; `mentions` are speaker ids whom it concerns.
    """

    glyph: str
    word: str
    facts: tuple[str, ...] = ()
    body: str = ""
    now: str = ""
    tasks: tuple[tuple[str, str], ...] = ()
    """(title, state) of each task, in order; states as in `bot.ports.journal.Task`."""
    notes: tuple[str, ...] = ()
    buttons: tuple[Button, ...] = ()
    mentions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Answers that a decision offers, numbered from 1."""
    goal: str = ""
    state: str = ""
    """The goal's state as the message tells it; empty where it tells none."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One send or edit. `edits` is the remote id of the message that it replaces."""

    key: str
    place: Place
    shape: Shape
    silent: bool = False
    edits: str = ""


class Chat(Protocol):
    """One network. Carries messages across; decides nothing."""

    network: Network

    @property
    def workspace(self) -> str | None:
        """Where nobody else can post, as in `Place.workspace`; None: any process posts anywhere."""

    async def listen(self, receive: Callable[[Arrival], Awaitable[None]]) -> None:
        """Give every message, edit and removal to `receive` until cancelled; acknowledge after it returned."""

    async def send(self, message: Outgoing) -> str:
        """Post or edit, and return the remote id.

        Raises:
            Wait: later, with `retry_after_s`; nothing was posted.
            OutcomeUnknown: it may have been posted; ask `find`.
            HeadwayError: it cannot be posted there, and why.
        """

    async def find(self, place: Place, key: str) -> str | None:
        """The remote id of the message sent with `key`, or None when there is none."""
