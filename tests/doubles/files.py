"""Files in memory, and which there are."""

import hashlib
import io
from collections.abc import AsyncIterable, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, BinaryIO

from bot.errors import BadInput, Refused
from bot.ports.chat import Attachment
from bot.ports.files import Kept


class MemoryFiles:
    """Keeps bytes in a dict; `age` makes all of them old."""

    def __init__(self, most: int = 1_000_000) -> None:
        self.most = most
        self.blobs: dict[str, bytes] = {}
        self._fresh: set[str] = set()

    def age(self) -> None:
        self._fresh.clear()

    async def keep(self, pieces: AsyncIterable[bytes]) -> Kept:
        content = b""
        async for piece in pieces:
            content += piece
            if len(content) > self.most:
                raise BadInput(f"It is larger than {self.most} bytes, which a file may have here.")
        hash = hashlib.sha256(content).hexdigest()
        self.blobs[hash] = content
        self._fresh.add(hash)
        return Kept(hash, len(content))

    async def open(self, hash: str) -> BinaryIO:
        if hash not in self.blobs:
            raise Refused("The file is not kept any more: give it again.", code="file_gone")
        return io.BytesIO(self.blobs[hash])

    async def sweep(self, named: Callable[[], Awaitable[Collection[str]]]) -> int:
        old = set(self.blobs) - self._fresh
        if not old:
            return 0
        gone = old - set(await named())
        for hash in gone:
            del self.blobs[hash]
        return len(gone)


class MemoryAttachments:
    """Port Attachments, over the rows of a store in memory."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    async def came(
        self, session: str, names: Sequence[str]
    ) -> Mapping[str, tuple[Attachment, ...]]:
        place = self._rows.sessions[session]
        messages = [row.received.message for row in self._rows.inbox.values()]
        files = {
            one.id: tuple(file for file in one.files if file.name in names)
            for one in messages
            if (one.place.network, one.place.workspace, one.place.room)
            == (place.network, place.workspace, place.room)
        }
        return {id: found for id, found in files.items() if found}

    async def of_goal(self, goal: str) -> tuple[Attachment, ...]:
        keys = [key for key, row in self._rows.outbox.items() if row.due.goal == goal]
        return tuple(one for key in keys for one in self._rows.files.get(key, ()))

    async def named(self) -> frozenset[str]:
        came = [row.received.message.files for row in self._rows.inbox.values()]
        return frozenset(one.hash for files in (*came, *self._rows.files.values()) for one in files)
