"""
Says in Matrix rooms what is to be said, and finds it again.

Rule 1: the id of a transaction is made of the key: the same key sent twice within a day is one event.
        An edit's is made of what it says, too, as an edit may be made again with another text.
Rule 2: what comes out of one thread arrives there in the order in which it was sent.
Rule 3: a text that no event can hold is a file under its first paragraph. A message of several events
        is there once all of them are. Of what is to be decided there is no card without its whole.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import nio

from adapters.matrix import finding, media, render
from adapters.matrix.pace import Edits, Pace, Rank
from adapters.matrix.render import Called, Content, Manner, Words
from adapters.matrix.sending import Sender, transaction
from adapters.matrix.signs import MatrixSigns
from bot.errors import Refused, Wait
from bot.ports.chat import Attachment, Outgoing, Place, Shape
from bot.ports.files import Files

log = logging.getLogger(__name__)

K = TypeVar("K")
V = TypeVar("V")
Upload = Callable[[bool], Awaitable[Content]]

WHOLE: Final = "result.md"
"""The file with a text that no event can hold."""
MARKDOWN: Final = "text/markdown"
STATUS: Final = ":status:"
"""What the key of a status message has, and no other's."""
REMEMBERED: Final = 4096
"""Threads whose latest event is known, and posts that are half sent."""


class Posting:
    """What one account says; close it, so that nothing of it goes on."""

    def __init__(
        self, client: nio.AsyncClient, words: Words, files: Files, clock: Callable[[], float]
    ) -> None:
        """Send nothing yet. `clock` gives seconds that never go back."""
        self._client, self._words, self._files = client, words, files
        self.pace = Pace(clock)
        self._edits = Edits(clock)
        self._sender = Sender(client, self.pace, clock)
        self._signs = MatrixSigns(client, self._sender, clock)
        self._threads: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._latest: dict[tuple[str, str], str] = {}
        self._parts: dict[str, dict[int, str]] = {}
        """Of what is half sent: the events that are there, by their part."""

    async def send(self, message: Outgoing) -> str:
        """Post, edit or remove, and return the remote id.

        Raises:
            Wait: later, with `retry_after_s`.
            OutcomeUnknown: it may have been posted; ask `find`.
            Refused: it cannot be posted there, and why.
        """
        place = message.place
        self._check(place)
        async with self._lock(place.room, place.thread):
            if message.removes and message.edits:
                return await self._remove(message)
            if message.edits:
                return await self._edit(message)
            return await self._post(message)

    async def find(self, place: Place, key: str) -> str | None:
        """The id of the event that was sent with `key`, once all its parts are there, else None.

        Raises:
            Wait: the homeserver cannot be asked at the moment.
            Refused: the bot may not read there.
        """
        self._check(place)
        parts, whole = await finding.parts_of(self._client, place.room, key)
        if parts and len(parts) < whole:
            _keep(self._parts, key, parts)
        return parts.get(0) if len(parts) >= whole else None

    async def react(self, place: Place, message: str, emoji: str) -> str:
        """Put a reaction under a message; returns the reaction's id. Raises HeadwayError."""
        self._check(place)
        return await self._signs.react(place.room, message, emoji)

    async def take_reaction(self, place: Place, reaction: str) -> None:
        """Take a reaction of ours away again. Raises HeadwayError."""
        self._check(place)
        await self._signs.take_reaction(place.room, reaction)

    async def show_working(self, places: frozenset[Place]) -> None:
        """Show that the bot is at work in these places and no others. Raises HeadwayError."""
        rooms = frozenset(place.room for place in places if place.network == "matrix")
        await self._signs.show_working(rooms)

    def saw(self, place: Place, event: str) -> None:
        """Somebody said something in a thread: what comes next answers it where threads are unknown."""
        if place.thread:
            _keep(self._latest, (place.room, place.thread), event)

    def gone(self, event: str) -> None:
        """Somebody removed an event: were it ours, it cannot be edited any more."""
        self._edits.gone(event)

    async def close(self) -> None:
        """Give up what is under way beside messages."""
        await self._signs.close()

    def _check(self, place: Place) -> None:
        if place.network != "matrix":
            raise Refused(f"This is no place on Matrix: {place.network}.", code="wrong_network")
        if place.workspace != self._sender.user_id:
            raise Refused(
                f"This is a place of {place.workspace}, and the bot is {self._sender.user_id}.",
                code="wrong_account",
            )

    def _lock(self, room_id: str, thread: str) -> asyncio.Lock:
        return self._threads.setdefault((room_id, thread), asyncio.Lock())

    async def _remove(self, message: Outgoing) -> str:
        await self._sender.redact(message.place.room, message.edits, Rank.POST)
        self._edits.gone(message.edits)
        return message.edits

    async def _edit(self, message: Outgoing) -> str:
        event, room_id, is_status = message.edits, message.place.room, _is_status(message)
        state = _state(message.shape)
        if is_status and self._edits.is_worn(event):
            return await self._post(message)
        wait_s = self._edits.wait_s(event, state) if is_status else 0.0
        if wait_s > 0:
            raise Wait("The status was told a moment ago.", retry_after_s=wait_s)
        sealed = self._sender.seems_sealed(room_id)
        main, further = self._contents(message, sealed)
        said = _digest(main)
        if is_status and self._edits.says(event, said):
            return event
        marked = render.marked(main, message.key, 0, 1 + len(further))
        content = render.replacing(marked, event)
        tx_id = transaction(message.key, "edit", event, said)
        rank = Rank.EDIT if is_status else Rank.POST
        await self._sender.message(room_id, content, tx_id, rank, sealed=sealed)
        if is_status:
            self._edits.shown(event, state, said)
        await self._send_parts(message, further, {0: event})
        return event

    async def _post(self, message: Outgoing) -> str:
        room_id = message.place.room
        sealed = self._sender.seems_sealed(room_id)
        main, further = self._contents(message, sealed)
        there = self._parts.get(message.key, {})
        if 0 not in there:
            if further and message.shape.is_yes_or_no:
                # What is to be decided is there as a whole before its card may be answered.
                sealed = await self._sender.is_sealed(room_id)
                further = [_uploaded(await upload(sealed)) for upload in further]
            content = self._placed(message, main, 0, 1 + len(further))
            tx_id = transaction(message.key, "post", 0)
            event = await self._sender.message(room_id, content, tx_id, Rank.POST, sealed=sealed)
            self.saw(message.place, event)
            there = {**there, 0: event}
            if _is_status(message):
                self._edits.shown(event, _state(message.shape), _digest(main))
        try:
            await self._send_parts(message, further, there)
        except Refused:
            if message.shape.is_yes_or_no:
                await self._sender.redact(room_id, there[0], Rank.POST)
                self._parts.pop(message.key, None)
            raise
        if message.shape.reactions:
            self._signs.offer(room_id, there[0], message.shape.reactions)
        return there[0]

    async def _send_parts(
        self, message: Outgoing, further: Sequence[Upload], there: dict[int, str]
    ) -> None:
        """Send the files that belong to a message, each as an event of its own, those that lack."""
        room_id = message.place.room
        for part, upload in enumerate(further, 1):
            if part in there:
                continue
            _keep(self._parts, message.key, there)
            # Asked before the upload: what was uploaded in clear is there in clear.
            sealed = await self._sender.is_sealed(room_id)
            content = {**await upload(sealed), "m.mentions": {}}
            placed = self._placed(message, content, part, 1 + len(further))
            tx_id = transaction(message.key, "post", part)
            event = await self._sender.message(room_id, placed, tx_id, Rank.POST, sealed=sealed)
            self.saw(message.place, event)
            there = {**there, part: event}
        self._parts.pop(message.key, None)

    def _contents(self, message: Outgoing, sealed: bool) -> tuple[Content, list[Upload]]:
        """What the message's own event holds, and how to make those of its files."""
        shape, files = message.shape, [self._attached(file) for file in message.files]
        if _is_in_place(message):
            shapes = [(render.shortened(shape, most), files) for most in render.BRIEF]
        else:
            with_whole = [self._whole(shape), *files]
            short = (
                render.excerpt(shape, most, shape.file or WHOLE, self._words)
                for most in render.EXCERPTS
            )
            whole = [(shape, files)] if len(shape.body) <= render.WHOLE_MOST else []
            shapes = [*whole, *((one, with_whole) for one in short)]
        for one, uploads in shapes:
            main = self._content(message, one)
            if _fits(message, main, sealed):
                return main, uploads
        raise Refused("What is to be said is too long for Matrix.", code="M_TOO_LARGE")

    def _content(self, message: Outgoing, shape: Shape) -> Content:
        room = self._client.rooms.get(message.place.room)
        manner = Manner(self._words, self._names(room))
        if _is_in_place(message):
            return render.quiet(shape, manner, message.place.room)
        called = (
            [] if message.edits else [_called(id, room) for id in shape.mentions if _is_user(id)]
        )
        return render.message(
            shape, manner, called=called, room=message.place.room, is_silent=message.silent
        )

    def _names(self, room: nio.MatrixRoom | None) -> tuple[str, ...]:
        id = self._sender.user_id
        shown = room.user_name(id) if room is not None else None
        return (id, _localpart(id), *([shown] if shown else []))

    def _attached(self, file: Attachment) -> Upload:
        async def upload(sealed: bool) -> Content:
            with await self._files.open(file.hash) as data:
                return await media.upload(
                    self._client, data, file.name, file.media_type, encrypted=sealed
                )

        return self._or_told(file.name, upload)

    def _whole(self, shape: Shape) -> Upload:
        data = shape.body.encode(errors="replace")

        name = shape.file or WHOLE

        async def upload(sealed: bool) -> Content:
            return await media.upload(self._client, data, name, MARKDOWN, encrypted=sealed)

        # What is to be decided must be there as a whole, or the card is not.
        return upload if shape.is_yes_or_no else self._or_told(name, upload)

    def _or_told(self, name: str, upload: Upload) -> Upload:
        """The upload, and in place of one that is refused a line that says so."""

        async def content(sealed: bool) -> Content:
            try:
                return await upload(sealed)
            except Refused as error:
                log.warning("%s cannot be sent: %s", name, error)
                return render.told(self._words.lost.format(name=name))

        return content

    def _placed(self, message: Outgoing, content: Content, part: int, of: int) -> Content:
        place = message.place
        marked = render.marked(content, message.key, part, of)
        if not place.thread:
            return marked
        latest = self._latest.get((place.room, place.thread), "")
        return render.in_thread(marked, place.thread, latest)


def _uploaded(content: Content) -> Upload:
    """What is uploaded already."""

    async def done(sealed: bool) -> Content:
        return content

    return done


def _keep(book: dict[K, V], key: K, value: V) -> None:
    """Note it as the newest; of too many the oldest are forgotten."""
    book.pop(key, None)
    book[key] = value
    while len(book) > REMEMBERED:
        del book[next(iter(book))]


def _state(shape: Shape) -> tuple[str, ...]:
    return shape.glyph, shape.word, shape.state


def _digest(content: Content) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _fits(message: Outgoing, main: Content, sealed: bool) -> bool:
    content = render.marked(main, message.key)
    if message.edits:
        content = render.replacing(content, message.edits)
    return render.fits(content, sealed=sealed)


def _is_status(message: Outgoing) -> bool:
    return message.silent and STATUS in message.key


def _is_in_place(message: Outgoing) -> bool:
    """Whether it is a status or a card, of which only a few lines are shown."""
    return _is_status(message) or (message.silent and bool(message.edits))


def _is_user(id: str) -> bool:
    """Whether it is somebody of Matrix: who owns a goal may be known from another network."""
    return id.startswith("@") and ":" in id


def _called(id: str, room: nio.MatrixRoom | None) -> Called:
    user = room.users.get(id) if room is not None else None
    return Called(id, (user.display_name if user else None) or _localpart(id))


def _localpart(id: str) -> str:
    return id.removeprefix("@").partition(":")[0]
