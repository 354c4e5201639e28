"""
One event on its way to the homeserver.

Rule 1: what the homeserver has not refused in its own words may have arrived.
Rule 2: once it limits us, one event is on its way at a time: what it says to that is known to the next.
Rule 3: whether the room is encrypted is asked right before, with nothing in between.
Rule 4: a room that was replaced takes nothing; what is to be said there waits until we are in the next one.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final
from urllib.parse import quote

import aiohttp
import nio

from adapters.matrix import wire
from adapters.matrix.errors import LoggedOut, translated, unwrap
from adapters.matrix.pace import Pace, Rank
from adapters.matrix.render import Content
from adapters.matrix.sealing import Sealing
from bot.errors import OutcomeUnknown, Refused, Wait

MESSAGE: Final = "m.room.message"
REACTION: Final = "m.reaction"
AGAIN_S: Final = 0.2
"""Until what was made for a room in clear is made again for an encrypted one."""
REPLACED_S: Final = 30.0
"""Between tries while nobody has let us into the room that has replaced another."""
LEAST_S: Final = 0.1
"""No wait is shorter: what asks again at once asks the same."""


def transaction(*parts: str | int) -> str:
    """The id of a transaction: the same for the same parts, and unlike any other's."""
    text = "\0".join(str(part) for part in parts)
    return f"hw{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:40]}"


class Sender:
    """Puts events into rooms, at the pace that the homeserver allows."""

    def __init__(self, client: nio.AsyncClient, pace: Pace, clock: Callable[[], float]) -> None:
        self._client, self._pace, self._clock = client, pace, clock
        self._sealing = Sealing(client)
        self._gate = asyncio.Lock()

    @property
    def user_id(self) -> str:
        """Whose events they are."""
        return str(self._client.user_id)

    def seems_sealed(self, room_id: str) -> bool:
        """Whether the room is encrypted, as far as is known without asking."""
        room = self._client.rooms.get(room_id)
        return room is not None and bool(room.encrypted)

    async def is_sealed(self, room_id: str) -> bool:
        """Whether the room is encrypted. Raises Wait, Refused."""
        return await self._sealing.ready(room_id)

    async def message(
        self, room_id: str, content: Content, tx_id: str, rank: Rank, *, sealed: bool
    ) -> str:
        """Send a message and return its event's id.

        Args:
            sealed: whether its content was made for an encrypted room.

        Raises:
            Wait: nothing was sent: the pace, a limit, keys that are missing; `retry_after_s` says.
            OutcomeUnknown: it may be there.
            Refused: the room does not take it.
        """
        async with self._turn(rank):
            if await self._sealing.ready(room_id) and not sealed:
                raise Wait("The room has become encrypted just now.", retry_after_s=AGAIN_S)
            return await self._sent(room_id, MESSAGE, content, tx_id)

    async def reaction(self, room_id: str, content: Content, tx_id: str, rank: Rank) -> str:
        """Send a reaction, which is never encrypted, and return its event's id. Raises as `message`."""
        async with self._turn(rank):
            if self.seems_sealed(room_id) or room_id not in self._client.rooms:
                await self._sealing.ready(room_id)
            return await self._sent(room_id, REACTION, content, tx_id)

    async def redact(self, room_id: str, event: str, rank: Rank) -> None:
        """Take an event of ours away; does nothing where it is gone. Raises as `message`."""
        async with self._turn(rank):
            asked_at = self._clock()
            try:
                with _sending():
                    response = await self._client.room_redact(
                        room_id, event, tx_id=transaction("redact", room_id, event)
                    )
                self._taken(response, asked_at)
            except Refused as error:
                if error.code != "M_NOT_FOUND":
                    raise

    async def _sent(self, room_id: str, kind: str, content: Content, tx_id: str) -> str:
        asked_at = self._clock()
        with _sending():
            response = await self._client.room_send(
                room_id, kind, content, tx_id=tx_id, ignore_unverified_devices=True
            )
        try:
            return self._taken(response, asked_at)
        except Refused as error:
            if error.code != "M_FORBIDDEN" or not await self._is_replaced(room_id):
                raise
            what = "The room was replaced, and the bot is not in the next one yet."
            raise Wait(what, retry_after_s=REPLACED_S) from error

    async def _is_replaced(self, room_id: str) -> bool:
        path = f"/rooms/{quote(room_id, safe='')}/state/m.room.tombstone"
        try:
            await wire.call(self._client, "GET", path, what="A room's end cannot be read")
        except Refused:
            return False
        return True

    def _taken(
        self,
        response: nio.RoomSendResponse | nio.RoomRedactResponse | nio.ErrorResponse,
        asked_at: float,
    ) -> str:
        try:
            answer = unwrap(response)
        except LoggedOut:
            raise
        except Wait as error:
            status = getattr(getattr(response, "transport_response", None), "status", 0)
            if status == 429:
                self._pace.refused(error.retry_after_s, asked_at)
                raise
            if 400 <= status < 500:
                raise
            raise OutcomeUnknown(str(error), retry_after_s=error.retry_after_s) from error
        self._pace.sent()
        return str(answer.event_id)

    @contextlib.asynccontextmanager
    async def _turn(self, rank: Rank) -> AsyncIterator[None]:
        async with self._gate if self._pace.is_limited else contextlib.nullcontext():
            wait_s = self._pace.wait_s(rank)
            if wait_s > 0:
                raise Wait(
                    "The homeserver limits how much is sent. It is sent in its turn.",
                    retry_after_s=max(wait_s, LEAST_S),
                )
            yield


@contextlib.contextmanager
def _sending() -> Iterator[None]:
    """Tell what was never sent from what may have arrived."""
    try:
        with translated("A message cannot be sent"):
            yield
    except LoggedOut:
        raise
    except Wait as error:
        if isinstance(error.__cause__, aiohttp.ClientConnectorError):
            raise
        raise OutcomeUnknown(str(error), retry_after_s=error.retry_after_s) from error
