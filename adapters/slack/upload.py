"""
Files that the bot gives in Slack.

Rule 1: what was uploaded is seen by nobody until it is shared, so an upload may be made again; the share
        is one call for all files of a post, and is there as a whole or not at all.
Rule 2: a share has no metadata by which it could be found. It is looked up by the ids that Slack gave
        the files, and where a former process knew those, as a message of ours after the post that it
        belongs to and before our next one, with files of these names and sizes.
Rule 3: Slack shares a file in its own time: a share that was asked for a moment ago and is not there is
        waited for.

https://docs.slack.dev/messaging/working-with-files
"""

import asyncio
import io
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import aiohttp

from adapters.slack.calling import Calls, Json, proxy_for
from adapters.slack.errors import refusal, translated
from adapters.slack.ids import ts_of
from adapters.slack.media import CONNECT_S, LEAST_RATE, SILENT_S, is_slacks
from adapters.slack.payloads import METADATA, fields, rows, text_of
from adapters.slack.payloads import ts as a_ts
from adapters.slack.people import Directory, Home
from bot.errors import HeadwayError, OutcomeUnknown, Refused, Wait
from bot.ports.chat import Attachment, Place
from bot.ports.files import Files

log = logging.getLogger(__name__)

SETTLES_S: Final = 30.0
"""So long after it was asked for a share may still come to be there."""
LOOK_AGAIN_S: Final = 5.0
TICKETS: Final = 1_000
"""Posts whose files' ids are remembered."""
PAGES_MOST: Final = 10
EMPTY: Final = "empty_file"
"""Code of a file without a byte: Slack takes none."""
LOST_TICKET: Final = frozenset({"file_not_found", "file_deleted"})


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to be given: its name as people see it, its size in bytes, and how to read it."""

    name: str
    size: int
    open: Callable[[], Awaitable[BinaryIO]]


@dataclass(frozen=True, slots=True)
class Shared:
    """What became of the files of a post: whether a message brings them, and those Slack refuses."""

    is_there: bool
    lost: tuple[str, ...] = ()
    """Names."""


@dataclass(slots=True)
class _Ticket:
    """Ids of the files of a post, and when their share was asked for last; None: not yet."""

    ids: tuple[str, ...]
    lost: tuple[str, ...]
    asked_at: float | None = None


class Uploads:
    """Gives files in the channels of an app's workspaces."""

    def __init__(self, calls: Calls, people: Directory, clock: Callable[[], float]) -> None:
        """Give nothing yet. `clock`: seconds that never go back."""
        self._calls, self._people, self._clock = calls, people, clock
        self._tickets: OrderedDict[str, _Ticket] = OrderedDict()

    async def share(
        self,
        place: Place,
        key: str,
        uploads: Sequence[Upload],
        *,
        after: str,
        is_again: bool = False,
        comment: str = "",
    ) -> Shared:
        """Give the files of a post, once, in one message.

        Args:
            key: of the post; the same key gives the same files.
            after: timestamp of the post's own message, or of when it was first to be said.
            is_again: a former process may have given them: they are looked up first.
            comment: text of the message that brings them, in Slack's mrkdwn.

        Raises:
            Wait: later; they may be there by then.
            OutcomeUnknown: they may be there: call it again.
            Refused: they cannot be given in that channel.
        """
        ticket = self._tickets.get(key)
        if ticket is not None:
            if ticket.asked_at is not None and await self._is_shared(place, ticket):
                return self._done(key, Shared(True, ticket.lost))
        elif is_again and await self.find(place, key, uploads, after=after):
            return Shared(True)
        if ticket is None:
            ticket = await self._uploaded(place.workspace, uploads)
            self._keep(key, ticket)
        if not ticket.ids:
            return self._done(key, Shared(False, ticket.lost))
        titles = [one.name for one in uploads if one.name not in ticket.lost]
        ticket.asked_at = self._clock()
        try:
            await self._complete(place, ticket.ids, titles, comment)
        except OutcomeUnknown:
            raise
        except HeadwayError as error:
            ticket.asked_at = None
            if getattr(error, "code", "") not in LOST_TICKET:
                raise
            # The files are given already, or their upload was too long ago.
            self._tickets.pop(key, None)
            raise OutcomeUnknown(f"{error} It is looked up.") from error
        return self._done(key, Shared(True, ticket.lost))

    async def find(self, place: Place, key: str, uploads: Sequence[Upload], *, after: str) -> bool:
        """Whether a message of ours brings these files already. Raises Wait, or Refused."""
        home = await self._people.home(place.workspace)
        wanted = {(one.name, one.size) for one in uploads}
        async for messages in self._messages(place, after):
            in_order = bool(place.thread)
            if is_shared(messages, wanted, key=key, after=after, home=home, in_order=in_order):
                return True
        return False

    async def _uploaded(self, workspace: str, uploads: Sequence[Upload]) -> _Ticket:
        ids: list[str] = []
        lost: list[str] = []
        for one in uploads:
            try:
                ids.append(await self._upload(workspace, one))
            except Refused as error:
                log.warning("%s cannot be given: %s", one.name, error)
                lost.append(one.name)
        return _Ticket(tuple(ids), tuple(lost))

    async def _upload(self, workspace: str, upload: Upload) -> str:
        if upload.size <= 0:
            raise Refused("It is empty, and Slack takes no empty file.", code=EMPTY)
        what = f"{upload.name} cannot be uploaded"
        answer = await self._calls.call(
            workspace, "files.getUploadURLExternal", what=what,
            filename=upload.name, length=upload.size,
        )  # fmt: skip
        url, id = text_of(answer.get("upload_url")), text_of(answer.get("file_id"))
        if not id or not is_slacks(url, self._calls.api_url):
            raise Wait(f"{what}: Slack names no place for it. It is tried again.")
        data = await upload.open()
        try:
            await self._post(url, data, upload.size, what)
        finally:
            data.close()
        return id

    async def _post(self, url: str, data: BinaryIO, size: int, what: str) -> None:
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S)
        with translated(what):
            async with asyncio.timeout(SILENT_S + size / LEAST_RATE):
                answer = await self._calls.session.post(
                    url, data=data, headers=headers, allow_redirects=False,
                    timeout=limits, proxy=proxy_for(url),
                )  # fmt: skip
        try:
            if answer.status == 200:
                return
            error = refusal(what, answer)
            # What nobody sees may be uploaded again.
            raise Wait(str(error)) if isinstance(error, OutcomeUnknown) else error
        finally:
            answer.close()

    async def _complete(
        self, place: Place, ids: Sequence[str], titles: Sequence[str], comment: str
    ) -> None:
        listed = [{"id": id, "title": title} for id, title in zip(ids, titles, strict=True)]
        await self._calls.call(
            place.workspace,
            "files.completeUploadExternal",
            what="Files cannot be given",
            files=listed,
            channel_id=place.room,
            thread_ts=ts_of(place) or None,
            initial_comment=comment or None,
        )

    async def _is_shared(self, place: Place, ticket: _Ticket) -> bool:
        """Whether the share that was asked for is there. Raises Wait while it may still come."""
        try:
            answer = await self._calls.call(
                place.workspace, "files.info", what="A file cannot be looked at",
                file=ticket.ids[0],
            )  # fmt: skip
        except Refused as error:
            if error.code not in LOST_TICKET:
                raise
            answer = {}
        if place.room in channels_of(fields(answer.get("file"))):
            return True
        if self._clock() - (ticket.asked_at or 0.0) < SETTLES_S:
            raise OutcomeUnknown(
                "The files may be there in a moment. It is looked up again.",
                retry_after_s=LOOK_AGAIN_S,
            )
        return False

    async def _messages(self, place: Place, after: str) -> Any:
        """Pages of what was said there since."""
        root = ts_of(place)
        given: dict[str, Any] = {"channel": place.room, "oldest": after or None, "limit": 200}
        given |= {"ts": root} if root else {}
        method = "conversations.replies" if root else "conversations.history"
        what, number = "Files that were given cannot be looked up", 0
        async for page in self._calls.pages(
            place.workspace, method, what=what, include_all_metadata=True, **given
        ):
            yield rows(page.get("messages"), 1_000)
            number += 1
            if number >= PAGES_MOST:
                return

    def _done(self, key: str, shared: Shared) -> Shared:
        self._tickets.pop(key, None)
        return shared

    def _keep(self, key: str, ticket: _Ticket) -> None:
        self._tickets[key] = ticket
        while len(self._tickets) > TICKETS:
            self._tickets.popitem(last=False)


def of_attachment(file: Attachment, files: Files) -> Upload:
    """A kept file as one to be given."""
    return Upload(file.name, file.size, lambda: files.open(file.hash))


def of_bytes(name: str, data: bytes) -> Upload:
    """Bytes as a file to be given."""

    async def opened() -> BinaryIO:
        return io.BytesIO(data)

    return Upload(name, len(data), opened)


def is_shared(
    messages: Iterable[Json],
    wanted: set[tuple[str, int]],
    *,
    key: str,
    after: str,
    home: Home,
    in_order: bool = True,
) -> bool:
    """Whether one of these messages brings the wanted files (name and size) of the post `key`.

    Args:
        messages: of one thread or timeline, in any order.
        after: timestamp of the post's own message.
        home: who we are.
        in_order: it is a thread, in which each post's files come before the next post.
    """
    ours = sorted(
        (one for one in messages if _is_ours(one, home) and _moment(one) > _at(after)), key=_moment
    )
    for message in ours:
        posted = fields(message.get("metadata"))
        of = text_of(fields(posted.get("event_payload")).get("key"))
        if in_order and text_of(posted.get("event_type")) == METADATA and of != key:
            # The next post: what comes now belongs to it.
            return False
        there = {(_name(one), one.get("size")) for one in rows(message.get("files"))}
        if wanted and there and there <= wanted:
            return True
    return False


def channels_of(file: Json) -> frozenset[str]:
    """Ids of the channels in which a file is shared, as `files.info` tells."""
    shares = fields(file.get("shares"))
    kinds = [fields(shares.get(kind)) for kind in ("public", "private")]
    listed = [file.get(kind) for kind in ("channels", "groups", "ims")]
    named = [one for some in listed if isinstance(some, list) for one in some]
    return frozenset(
        [*(id for kind in kinds for id in kind), *(one for one in named if isinstance(one, str))]
    )


def _is_ours(message: Json, home: Home) -> bool:
    by_user = bool(home.bot_user) and message.get("user") == home.bot_user
    return by_user or (bool(home.bot) and message.get("bot_id") == home.bot)


def _name(file: Json) -> str:
    return text_of(file.get("title")) or text_of(file.get("name"))


def _moment(message: Json) -> tuple[int, int]:
    return _at(a_ts(message.get("ts")))


def _at(stamp: str) -> tuple[int, int]:
    """A timestamp as what can be compared: a float would lose its last digits."""
    whole, _, part = stamp.partition(".")
    return int(whole or 0), int((part + "000000")[:6])
