"""The room in a terminal as a Chat. Carries messages across; decides nothing."""

import asyncio
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from adapters.console.blanking import take_out
from adapters.console.parse import (
    NETWORK,
    ROOM,
    Edited,
    Line,
    Posted,
    RemovedLine,
    SaidLine,
    Taken,
    outgoing,
    remote_id,
    room,
)
from adapters.console.room import RoomFile, room_path
from adapters.console.shelf import Shelf
from bot.errors import Refused, StoreUnusable, Wait
from bot.ports.chat import (
    Attachment,
    Incoming,
    Network,
    Outgoing,
    Place,
    Receive,
    Removed,
    Speaker,
)
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

LOOK_S = 0.1
GIVEN_AT_ONCE = 128
FULL_DISK_PAUSE_S = 5.0
EDITS_KEPT = 10_000
"""Edits that `find` knows: many more than a restart has to look up."""


class ConsoleChat:
    """One process's end of the room: it takes what people said and posts what Headway says."""

    network: Network = "console"

    def __init__(
        self,
        state_dir: Path,
        clock: Clock,
        workspace: str = "",
        redact: Callable[[str], str] = str,
        shelf: Shelf | None = None,
    ) -> None:
        """`redact`: what is said goes through it before it is written down."""
        self._redact = redact
        self.shelf = shelf
        self.workspace = workspace
        """The state folder's name, where several have one database."""
        path = self._path = room_path(state_dir)
        self._file = RoomFile(path)
        self._reader = RoomFile(path)
        self._clock = clock
        self._shown: dict[str, int] = {}
        """What each post shows now, as the hash of its shape: a room's posts are never forgotten."""
        self._edits: OrderedDict[str, str] = OrderedDict()
        """Keys of the last edits, with the id of the post that each changed."""
        self._open: dict[str, Incoming] = {}
        """Said and not taken yet."""
        self._removals: dict[str, RemovedLine] = {}
        """Taken back and not taken yet, by the id of each removal."""
        self._grown = asyncio.Event()
        self._unwritten: list[tuple[Line, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    @property
    def has_untaken(self) -> bool:
        """True while something said has not been given to `listen`'s receiver."""
        self._catch_up()
        return bool(self._open or self._removals)

    async def listen(self, receive: Receive) -> None:
        """Give each message that is not taken yet to `receive`, then mark it taken.

        Where the file or the store is out of reach, it is tried again: nothing that was said is
        lost by waiting.
        """
        while True:
            self._grown.clear()
            try:
                self._catch_up()
                await self._give(receive)
            except Wait as error:
                await self._clock.sleep(error.retry_after_s or LOOK_S)
            except StoreUnusable as error:
                log.warning("What was said cannot be taken in: %s", error)
                await self._clock.sleep(FULL_DISK_PAUSE_S)
            try:
                # Not `wait_for`, which in Python 3.11 may swallow the cancellation that ends this.
                async with asyncio.timeout(LOOK_S):
                    await self._grown.wait()
            except TimeoutError:
                continue

    async def send(self, message: Outgoing) -> str:
        """Append the post or edit; one that is there already is not written again.

        Raises:
            Refused: the place is of another network.
            Wait: the file cannot be read or written for now (a full disk).
        """
        self._refuse_others(message.place)
        if message.files:
            message = await self._laid_out(message)
        line = outgoing(message, self._clock.now())
        try:
            self._catch_up()
            if self._shown.get(line.id) == hash(line.shape):
                return line.id
            if isinstance(line, Posted) and line.id in self._shown:
                return line.id
            await self._append(line)
        except StoreUnusable as error:
            # A line that did get there is found by its key at the next try.
            raise Wait(str(error), retry_after_s=FULL_DISK_PAUSE_S) from error
        self._show(line)
        return line.id

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        """The id of the post with that key, or that a late edit with it changed, if it is there."""
        self._refuse_others(place)
        self._catch_up()
        id = remote_id(place.thread, key)
        return id if id in self._shown else self._edits.get(key)

    async def say(
        self,
        speaker: Speaker,
        text: str,
        thread: str = "",
        reply_to: str = "",
        files: tuple[Attachment, ...] = (),
    ) -> str:
        """Write down what a person said, under an id of its own, and return the id."""
        id, at = uuid.uuid4().hex, self._clock.now()
        said = Incoming(id, room(thread), speaker, self._redact(text), at, reply_to, files=files)
        await self._append(SaidLine(said))
        self._grown.set()
        return id

    async def remove(self, speaker: Speaker, id: str, thread: str = "") -> None:
        """Write down that a person takes back the message of that id, said in that thread."""
        await self._append(RemovedLine(id, thread, speaker, self._clock.now()))
        self._grown.set()

    async def _laid_out(self, message: Outgoing) -> Outgoing:
        """The message with where its files lie."""
        if self.shelf is None:
            raise Refused("This console has no place for files.", code="files")
        paths = [str(await self.shelf.lay_out(file)) for file in message.files]
        return replace(message, shape=replace(message.shape, now="\n".join(paths)))

    async def _give(self, receive: Receive) -> None:
        """Give what is open in its order, many at a time: a `stop` is not held up by a flood."""
        waiting = list(self._open.values())
        for start in range(0, len(waiting), GIVEN_AT_ONCE):
            batch = waiting[start : start + GIVEN_AT_ONCE]
            ends = await asyncio.gather(
                *(self._give_one(receive, message) for message in batch), return_exceptions=True
            )
            for end in ends:
                if end is not None:
                    raise end
        for line in list(self._removals.values()):
            await self._give_removal(receive, line)

    async def _give_one(self, receive: Receive, message: Incoming) -> None:
        place = replace(message.place, workspace=self.workspace)
        await receive(replace(message, place=place))
        await self._append(Taken(message.id))
        self._open.pop(message.id, None)

    async def _give_removal(self, receive: Receive, line: RemovedLine) -> None:
        """Hand a removal on, then take the message out of the file: until it is, it is tried again."""
        place = replace(room(line.thread), workspace=self.workspace)
        await receive(Removed(line.id, place, line.speaker, line.at))
        await asyncio.to_thread(take_out, self._path, line.id)
        await self._append(Taken(line.taken_as))
        self._removals.pop(line.taken_as, None)

    async def _append(self, line: Line) -> None:
        """Write a line for good, in one go with those that came while others were written."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unwritten.append((line, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        await asyncio.shield(done)

    async def _write(self) -> None:
        while self._unwritten:
            batch, self._unwritten = self._unwritten, []
            try:
                await asyncio.to_thread(self._file.append, *(line for line, _ in batch))
            except Exception as error:  # noqa: BLE001 - each caller gets it
                for _, done in batch:
                    done.set_exception(error)
                    # A caller that was cancelled meanwhile does not look.
                    done.exception()
            else:
                for _, done in batch:
                    done.set_result(None)

    def _catch_up(self) -> None:
        for line in self._reader.news():
            match line:
                case SaidLine(message):
                    self._open[message.id] = message
                case RemovedLine():
                    self._removals[line.taken_as] = line
                case Taken(id):
                    self._open.pop(id, None)
                    self._removals.pop(id, None)
                case Posted() | Edited():
                    self._show(line)

    def _show(self, line: Posted | Edited) -> None:
        self._shown[line.id] = hash(line.shape)
        if isinstance(line, Edited):
            self._edits[line.key] = line.id
            while len(self._edits) > EDITS_KEPT:
                self._edits.popitem(last=False)

    def _refuse_others(self, place: Place) -> None:
        if (place.network, place.workspace, place.room) != (NETWORK, self.workspace, ROOM):
            name = "/".join(filter(None, (place.network, place.workspace, place.room)))
            raise Refused(
                f"The console has no place {name}: it has one room of its own.", code="place"
            )
