"""
People and places of a chat network, and what is said there.

Rule 1: a place is typed per network; an adapter refuses a place of another network.
Rule 2: an incoming message is stored under its own identity before it is acknowledged, and so are
        its edits and its removal.
Rule 3: an outgoing one carries a key; `find` tells whether a send of unknown outcome arrived.
"""

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from bot.ports.positions import Position

Network = Literal["console", "slack", "matrix"]
Via = Literal["message", "command", "button", "form"]
"""A message, a command that shows nowhere (Slack's `/goal`), a press on a button, a form filled in."""


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
class Attachment:
    """A file that came with a message, or goes with one; its bytes are kept under their hash."""

    name: str
    """As people see it: one path component, no folder."""
    media_type: str
    size: int
    """Bytes."""
    hash: str
    """SHA-256, hexadecimal."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Something said: `id` is its identity on the network, claimed once."""

    id: str
    place: Place
    speaker: Speaker
    text: str
    at: float
    reply_to: str = ""
    """Remote id of the message it answers. Without a thread of its own, it is said in that one's."""
    is_aside: bool = False
    """It is addressed to others and not to the bot."""
    files: tuple[Attachment, ...] = ()
    via: Via = "message"
    """How it was said. What is no message stands nowhere: nothing hangs under it, and no mark."""
    form: tuple[tuple[str, str], ...] = ()
    """Of a form: `(FORM_ACT, what submitting it does)` and its short fields, by name; none is free text."""
    way_back: str = ""
    """Where it can be answered unseen by others, for a while: an address that opens by itself."""

    @property
    def act(self) -> str:
        """What submitting the form does; empty for all else."""
        return dict(self.form).get(FORM_ACT, "")


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


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction under a message: `id` is the reaction's own, `to` the message's."""

    id: str
    place: Place
    speaker: Speaker
    emoji: str
    to: str
    at: float
    text: str = ""
    """What the message says, where the reaction may make a goal of it and it can be read."""

    @property
    def as_message(self) -> Incoming:
        """The reaction as a message of its own: the emoji on a line, then the message's text."""
        text = f"{self.emoji}\n{self.text}" if self.text else self.emoji
        return Incoming(f"{REACTION}{self.id}", self.place, self.speaker, text, self.at, self.to)


@dataclass(frozen=True, slots=True)
class Unreacted:
    """A reaction was taken away, by whoever had put it; which of theirs, the network does not say.

    It is stored as the removal of the last such reaction that came, and not at all where none came.
    """

    place: Place
    speaker: Speaker
    emoji: str
    to: str
    at: float


@dataclass(frozen=True, slots=True)
class RoomLost:
    """The bot is no longer in a room: it left, was kicked or banned, or the room is gone.

    With an empty room in `place`: in none of the workspace, as it was uninstalled there.
    """

    id: str
    place: Place
    speaker: Speaker
    """Who did it."""
    how: Literal["left", "kicked", "banned", "gone", "uninstalled"]
    at: float
    reason: str = ""
    """As whoever did it says."""

    @property
    def as_message(self) -> Incoming:
        """The loss as a message of its own: how on a line, then the reason."""
        text = f"{self.how}\n{self.reason}"
        return Incoming(f"{LOSS}{self.id}", self.place, self.speaker, text, self.at)


@dataclass(frozen=True, slots=True)
class RoomMoved:
    """A room was replaced by another one, `to`, which the bot has joined."""

    id: str
    place: Place
    speaker: Speaker
    to: str
    at: float

    @property
    def as_message(self) -> Incoming:
        """The move as a message of its own: the new room's name."""
        return Incoming(f"{MOVE}{self.id}", self.place, self.speaker, self.to, self.at)


Arrival = Incoming | Removed | Changed | Reacted | Unreacted | RoomLost | RoomMoved
FORM_ACT: Final = "act"
THREAD_CLOSED: Final = "thread_closed"
"""Code of `Refused` where a goal's own thread takes nothing any more."""
REMOVAL: Final = "removed:"
EDIT: Final = "edited:"
REACTION: Final = "reacted:"
LOSS: Final = "lost:"
MOVE: Final = "moved:"


def removal_of(message: Incoming) -> str:
    """The id of the message that this one removes; empty for what was said."""
    is_removal = message.id == f"{REMOVAL}{message.reply_to}" and not message.text
    return message.reply_to if is_removal else ""


def edit_of(message: Incoming) -> str:
    """The id of the message that this one is an edit of; empty for what was said."""
    return message.reply_to if message.id.startswith(f"{EDIT}{message.reply_to}:") else ""


def reaction_of(message: Incoming) -> tuple[str, str] | None:
    """The emoji of a reaction, and what the message under which it stands says; else None."""
    if not message.id.startswith(REACTION):
        return None
    emoji, _, text = message.text.partition("\n")
    return emoji, text


def loss_of(message: Incoming) -> tuple[str, str] | None:
    """How the bot lost the room, and the reason as whoever did it says; else None."""
    if not message.id.startswith(LOSS):
        return None
    how, _, reason = message.text.partition("\n")
    return how, reason


def move_of(message: Incoming) -> str:
    """The room that replaces the message's; empty for all else."""
    return message.text if message.id.startswith(MOVE) else ""


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
    reactions: tuple[str, ...] = ()
    """Emoji that answer it, in order, where the network has reactions and no buttons."""
    goal: str = ""
    state: str = ""
    """The goal's state as the message tells it; empty where it tells none."""
    origin: str = ""
    """Id of the message of the same room that it goes back to, as a link where the network has such."""
    times: tuple[tuple[str, float], ...] = ()
    """Moments that its facts and notes name, as they name them, and when they are: where the network
    knows each reader's zone, it shows them in that."""
    is_yes_or_no: bool = False
    """The first of its options is a yes and the last one a no."""
    file: str = ""
    """What the file is called that its body becomes where a message cannot hold it; empty: any name."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One send or edit. `edits` is the remote id of the message that it replaces."""

    key: str
    place: Place
    shape: Shape
    silent: bool = False
    edits: str = ""
    files: tuple[Attachment, ...] = ()
    removes: bool = False
    """What it edits goes away for good; the shape is shown where a network cannot do that."""
    only_for: str = ""
    """Speaker id of whom alone it concerns: others do not see it, where the network can do that."""
    answers: str = ""
    """Id of the message that it answers, where that has a way back of its own."""
    created_at: float = 0.0
    """When it was first to be said; a look-up of it need not go back further."""


class Receive(Protocol):
    """Takes what came: all of it is stored in one transaction, with the position that covers it."""

    async def __call__(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Store it, or raise Wait or StoreUnusable: then nothing of it is, and it is given again."""


class Signs(Protocol):
    """What a network shows beside messages. Any of it may be lost, and is not tried again."""

    async def react(self, place: Place, message: str, emoji: str) -> str:
        """Put a reaction under a message; returns the reaction's id. Raises HeadwayError."""

    async def take_reaction(self, place: Place, reaction: str) -> None:
        """Take a reaction of ours away again. Raises HeadwayError."""

    async def show_working(self, places: frozenset[Place]) -> None:
        """Show that the bot is at work in these places and no others; called every few seconds."""


class Chat(Protocol):
    """One network. Carries messages across; decides nothing."""

    network: Network

    @property
    def workspace(self) -> str | None:
        """Where nobody else can post, as in `Place.workspace`; None: any process posts anywhere."""

    async def listen(self, receive: Receive) -> None:
        """Give whatever comes to `receive` until cancelled; acknowledge after it returned."""

    async def send(self, message: Outgoing) -> str:
        """Post or edit, and return the remote id.

        Raises:
            Wait: later, with `retry_after_s`; nothing was posted.
            OutcomeUnknown: it may have been posted; ask `find`.
            HeadwayError: it cannot be posted there, and why.
        """

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        """The remote id of the message sent with `key`, not before `since`, or None."""
