"""
Says in Slack what is to be said, and finds it again.

Rule 1: a post carries the key of its row, by which it is looked up where its outcome is unknown.
Rule 2: what comes out of one thread arrives there in the order in which it was sent.
Rule 3: a text that no message can hold is a file under its first paragraph. A post is there once its
        files are.
Rule 4: blocks that a Slack does not take are said in plainer ones.
Rule 5: what can be edited no more is said once more, in a new message, and after that not again.
"""

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from adapters.slack import finding, wording
from adapters.slack.blocks import Dialect
from adapters.slack.calling import Calls, Json
from adapters.slack.ephemeral import Ephemeral, WayBack, is_direct
from adapters.slack.errors import GONE, MISFIT, NOT_IN_ROOM, TOO_LONG, UNTHREADED, NotPermitted
from adapters.slack.ids import message_id, parted, ts_of
from adapters.slack.pace import Pace
from adapters.slack.payloads import text_of
from adapters.slack.payloads import ts as ts_in
from adapters.slack.people import Directory
from adapters.slack.render import Message, Words
from adapters.slack.upload import Upload, Uploads, of_attachment, of_bytes
from adapters.slack.wording import Make, digest_of, is_in_place, is_status, rare_in
from bot.errors import HeadwayError, OutcomeUnknown, Refused, Wait
from bot.ports.chat import THREAD_CLOSED, Outgoing, Place
from bot.ports.files import Files

log = logging.getLogger(__name__)

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED: Final = 4_096
SETTLES_S: Final = 3.0
"""So long after its answer was lost a post may yet come to be there."""
AT_WORK: Final = frozenset({"ready", "working", "auditing"})
"""States that another one will follow soon."""
WHAT: Final = "The message cannot be sent"


def _unheard(place: Place) -> None:
    """Nobody asks."""


class SlackPosting:
    """What the bot says in all workspaces of an app."""

    def __init__(
        self,
        calls: Calls,
        people: Directory,
        words: Words,
        files: Files,
        clock: Callable[[], float],
        way_back: WayBack,
        pace: Pace,
    ) -> None:
        """Send nothing yet.

        Args:
            clock: seconds that never go back.
            way_back: where a message can be answered unseen by others.
            pace: the budget of `calls`.
        """
        self._calls, self._people, self._words, self._files = calls, people, words, files
        self._pace, self._clock = pace, clock
        self._uploads = Uploads(calls, people, clock)
        self._ephemeral = Ephemeral(calls, way_back)
        self.said: Callable[[Place], None] = _unheard
        """Is told where the bot has just said something."""
        self._threads: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._lost: OrderedDict[str, float] = OrderedDict()
        """When the answers to posts were lost, by key."""
        self._half: OrderedDict[str, tuple[str, int]] = OrderedDict()
        """Ids of posts whose files are on their way, and of how many parts they are, by key."""
        self._shown: OrderedDict[str, str] = OrderedDict()
        """What messages that are edited in place say, by id."""
        self._anew: OrderedDict[str, None] = OrderedDict()
        """Ids of messages that stand for another that could not be edited."""
        self._dialects: OrderedDict[tuple[str, frozenset[str]], Dialect] = OrderedDict()

    async def send(self, message: Outgoing) -> str:
        """Post, edit or remove, and return the remote id.

        Raises:
            Wait: later, with `retry_after_s`.
            OutcomeUnknown: it may have been posted; ask `find`.
            Refused: it cannot be posted there, and why.
            ByOperator: the app may not.
        """
        place = message.place
        ts_of(place)
        async with self._lock(place):
            if message.removes and message.edits:
                return await self._remove(message)
            if message.edits:
                return await self._edit(message)
            if message.only_for and not is_direct(place):
                said = wording.single(message, message.shape, self._words)
                return await self._ephemeral.tell(place, message.only_for, message.answers, said)
            return await self._posted_there(message)

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        """The id of the message that was sent with `key`, once its files are there, too, else None.

        Raises:
            Wait: Slack cannot be asked at the moment.
            Refused: the bot may not read there.
        """
        home = await self._people.home(place.workspace)
        there = await finding.found(self._calls, home, place, key, since)
        if there is None:
            self._settle(key)
            return None
        if there.of > 1:
            # Whether its files are there is looked up when it is sent again, which sends those alone.
            _keep(self._half, key, (there.id, there.of))
            return None
        return there.id

    def _settle(self, key: str) -> None:
        """A post that was lost on its way a moment ago may yet arrive: raise Wait until it cannot."""
        left_s = self._lost.get(key, -math.inf) + SETTLES_S - self._clock()
        if left_s > 0:
            raise Wait(
                "The message may be on its way. It is looked up again.", retry_after_s=left_s
            )
        self._lost.pop(key, None)

    def _lock(self, place: Place) -> asyncio.Lock:
        return self._threads.setdefault((place.room, place.thread), asyncio.Lock())

    async def _remove(self, message: Outgoing) -> str:
        channel, ts = parted(message.edits)
        try:
            await self._calls.call(
                message.place.workspace, "chat.delete", what="The message cannot be removed",
                channel=channel, ts=ts,
            )  # fmt: skip
        except Refused as error:
            if error.code == "cant_delete_message":
                return await self._edit(replace(message, removes=False))
            if error.code not in GONE:
                raise
        self._shown.pop(message.edits, None)
        return message.edits

    async def _posted_there(self, message: Outgoing) -> str:
        """Say it in its thread; where that takes nothing any more, in the channel, so that it is said.

        How the work goes on is said in no other place; that it rests is.
        """
        try:
            return await self._post(message)
        except Refused as error:
            if error.code not in UNTHREADED or not message.place.thread:
                raise
            if is_status(message) and message.shape.state in AT_WORK:
                raise Refused(str(error), code=THREAD_CLOSED) from error
            log.info("%s is said outside of its thread: %s", message.key, error)
        return await self._post(replace(message, place=replace(message.place, thread="")))

    async def _post(self, message: Outgoing) -> str:
        """Say it, unless that was done, and give its files."""
        half = self._half.get(message.key)
        is_again = half is not None
        if half is not None:
            id, of = half
            _, uploads = await self._contents(message, 0)
            if len(uploads) < of - 1:
                # It was said in fewer words than would have seemed to fit.
                _, uploads = await self._contents(message, 1)
        else:
            id, uploads = await self._fitting(message, self._said)
        if uploads:
            _keep(self._half, message.key, (id, 1 + len(uploads)))
            await self._share(message, id, uploads, is_again=is_again)
            self._half.pop(message.key, None)
        return id

    async def _fitting(
        self, message: Outgoing, say: Callable[[Outgoing, Make, int], Awaitable[str]]
    ) -> tuple[str, list[Upload]]:
        """Say it as whole as Slack takes it; returns its id, and the files that go with it."""
        shorter = 0
        while True:
            make, uploads = await self._contents(message, shorter)
            try:
                return await say(message, make, 1 + len(uploads)), uploads
            except Refused as error:
                if error.code not in TOO_LONG:
                    raise
                log.info("%s is said in fewer words: %s", message.key, error)
                shorter += 1

    async def _said(self, message: Outgoing, make: Make, of: int) -> str:
        place = message.place
        answer = await self._in_dialects(place, make, lambda said: self._entered(message, said, of))
        if not (ts := ts_in(answer.get("ts"))):
            raise OutcomeUnknown(f"{WHAT}: Slack does not say where it is. It is looked up.")
        id = message_id(text_of(answer.get("channel")) or place.room, ts)
        if is_status(message):
            self._pace.edited(id)
            _keep(self._shown, id, digest_of(make(Dialect.WHOLE)))
        self.said(place)
        return id

    async def _entered(self, message: Outgoing, said: Message, of: int) -> Json:
        """Post it; a channel that the bot is not in is entered first, where it may."""
        try:
            return await self._posted(message, said, of)
        except Refused as error:
            if error.code != NOT_IN_ROOM or is_direct(message.place):
                raise
            refused = error
        place = message.place
        try:
            await self._calls.call(
                place.workspace, "conversations.join", what=WHAT, channel=place.room
            )
        except (Refused, NotPermitted) as error:
            raise refused from error
        return await self._posted(message, said, of)

    async def _posted(self, message: Outgoing, said: Message, of: int) -> Json:
        place, root = message.place, ts_of(message.place)
        try:
            return await self._calls.call(
                place.workspace,
                "chat.postMessage",
                what=WHAT,
                channel=place.room,
                text=said.text,
                blocks=list(said.blocks) or None,
                metadata=finding.mark(message.key, of),
                thread_ts=root or None,
                reply_broadcast=False if root else None,
                unfurl_links=False,
                unfurl_media=False,
            )
        except OutcomeUnknown:
            _keep(self._lost, message.key, self._clock())
            raise

    async def _edit(self, message: Outgoing) -> str:
        id, place, is_one = message.edits, message.place, is_status(message)
        parted(id)
        is_resting = message.shape.state not in AT_WORK
        wait_s = self._pace.status_s(place.workspace, id, is_resting=is_resting) if is_one else 0.0
        if wait_s > 0 and not await self._says(message):
            raise Wait("The status was told a moment ago.", retry_after_s=wait_s)
        try:
            _, uploads = await self._fitting(message, self._replaced)
        except Refused as error:
            if error.code not in GONE:
                raise
            return await self._again(message)
        if uploads:
            await self._share(message, id, uploads, is_again=True)
        return id

    async def _says(self, message: Outgoing) -> bool:
        """Whether the message that it edits says exactly this already."""
        make, _ = await self._contents(message, 0)
        return self._shown.get(message.edits) == digest_of(make(Dialect.WHOLE))

    async def _replaced(self, message: Outgoing, make: Make, of: int) -> str:
        """Edit a message, unless it is one that is edited in place and says this already."""
        id, digest = message.edits, digest_of(make(Dialect.WHOLE))
        if is_in_place(message) and self._shown.get(id) == digest:
            return id
        await self._in_dialects(message.place, make, lambda said: self._updated(message, said, of))
        if is_status(message):
            self._pace.edited(id)
        _keep(self._shown, id, digest)
        return id

    async def _updated(self, message: Outgoing, said: Message, of: int) -> Json:
        channel, ts = parted(message.edits)
        return await self._calls.call(
            message.place.workspace,
            "chat.update",
            what="The message cannot be edited",
            channel=channel,
            ts=ts,
            text=said.text,
            blocks=list(said.blocks),
            metadata=finding.mark(message.key, of),
        )

    async def _again(self, message: Outgoing) -> str:
        """Say in a new message what the old one can say no more; of that one, nothing further."""
        if message.edits in self._anew:
            log.info("%s is gone again, and said no more.", message.key)
            return message.edits
        home = await self._people.home(message.place.workspace)
        there = await finding.found(
            self._calls, home, message.place, message.key, message.created_at, but=message.edits
        )
        id = there.id if there else await self._posted_there(replace(message, edits=""))
        _keep(self._anew, id, None)
        return id

    async def _share(
        self, message: Outgoing, id: str, uploads: Sequence[Upload], *, is_again: bool
    ) -> None:
        """Give the files of a post; those that cannot be given are named."""
        _, ts = parted(id)
        place = message.place if message.place.thread else replace(message.place, thread=id)
        try:
            shared = await self._uploads.share(
                place, message.key, uploads, after=ts, is_again=is_again
            )
            lost = shared.lost
        except (Refused, NotPermitted) as error:
            log.warning("The files of %s cannot be given: %s", message.key, error)
            lost = tuple(one.name for one in uploads)
        if lost:
            of, message = 1 + len(uploads), replace(message, place=place, files=())
            await self._tell_lost(message, id, lost, of=of, is_again=is_again)

    async def _tell_lost(
        self, message: Outgoing, id: str, lost: Sequence[str], *, of: int, is_again: bool
    ) -> None:
        """Say which files are not there, once. What a card asks about must be there to be answered."""
        if wording.whole_of(message.shape) in lost and message.shape.options:
            said = wording.without_answers(message, self._words)
            await self._updated(replace(message, edits=id), said, of)
        line, told = wording.of_lost(message, lost, self._words)
        if is_again:
            home, since = await self._people.home(line.place.workspace), line.created_at
            if await finding.found(self._calls, home, line.place, line.key, since):
                return
        try:
            await self._posted(line, told, 1)
        except HeadwayError as error:
            log.warning("That files of %s are not there cannot be told: %s", message.key, error)

    async def _in_dialects(self, place: Place, make: Make, call: Callable[[Message], Any]) -> Json:
        """Send it in the richest blocks that are taken."""
        known = (place.workspace, rare_in(make(Dialect.WHOLE).blocks))
        dialect = self._dialects.get(known, Dialect.WHOLE)
        while True:
            said = make(dialect)
            if not said.fits:
                raise Refused(wording.TOO_LONG, code="msg_too_long")
            try:
                answer: Json = await call(said)
            except Refused as error:
                if error.code not in MISFIT or dialect is Dialect.WORDS:
                    raise
                log.info("Slack does not take these blocks, plainer ones are tried: %s", error)
                dialect = Dialect(dialect + 1)
                continue
            if dialect is not Dialect.WHOLE and known[1]:
                _keep(self._dialects, known, dialect)
            return answer

    async def _contents(self, message: Outgoing, shorter: int) -> tuple[Make, list[Upload]]:
        """How it is said, and the files that go with it."""
        origin = await self._link(message)
        make, is_cut = wording.made(message, self._words, origin, shorter=shorter)
        whole = (
            [of_bytes(wording.whole_of(message.shape), message.shape.body.encode(errors="replace"))]
            if is_cut
            else []
        )
        return make, [*whole, *(of_attachment(file, self._files) for file in message.files)]

    async def _link(self, message: Outgoing) -> str:
        """The address of the message that it goes back to; none where Slack gives none."""
        if not message.shape.origin:
            return ""
        try:
            channel, ts = parted(message.shape.origin)
            answer = await self._calls.call(
                message.place.workspace, "chat.getPermalink", channel=channel, message_ts=ts
            )
        except HeadwayError as error:
            log.info("There is no link to %s: %s", message.shape.origin, error)
            return ""
        return text_of(answer.get("permalink"))


def _keep(book: OrderedDict[K, V], key: K, value: V) -> None:
    """Note it as the newest; of too many the oldest are forgotten."""
    book.pop(key, None)
    book[key] = value
    while len(book) > REMEMBERED:
        book.popitem(last=False)
