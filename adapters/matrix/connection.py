"""
One Matrix account as a network: an ear and a mouth on one session. Ports Chat, Signs and Members.

Rule: what is to be said while there is no session waits in the outbox; a session that was replaced is
      opened anew, and everything that stood on the old one with it.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from adapters.matrix import media
from adapters.matrix.account import Account, AccountFile
from adapters.matrix.cross_signing import Identity, Seeds
from adapters.matrix.errors import LoggedOut
from adapters.matrix.listening import Wishes, listening
from adapters.matrix.members import RoomMembers
from adapters.matrix.posting import Posting
from adapters.matrix.reading import Read
from adapters.matrix.render import Words
from adapters.matrix.session import Session, SessionReplaced, open_session
from adapters.matrix.start import First, account_there
from adapters.matrix.verification import MayVerify, Verifier
from adapters.matrix.ways import Ways
from bot.errors import BadSettings
from bot.ports.chat import Arrival, Incoming, Network, Outgoing, Place, Receive, Removed, Speaker
from bot.ports.clock import Clock
from bot.ports.files import Files
from bot.ports.people import Subject
from bot.ports.positions import Position, Positions

REPLACED_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Kept:
    """What the account works with that outlives the session."""

    file: AccountFile
    ways: Ways
    first: First
    positions: Positions
    files: Files
    clock: Clock


@dataclass(frozen=True, slots=True)
class _Live:
    """What there is while there is a session."""

    posting: Posting
    members: RoomMembers


class MatrixChat:
    """The account of a state folder, at work on Matrix."""

    network: Network = "matrix"

    def __init__(
        self,
        user_id: str,
        kept: Kept,
        words: Words,
        wishes: Wishes,
        may_verify: MayVerify,
        *,
        is_first_secret: Callable[[], Awaitable[bool]],
    ) -> None:
        """Ask nothing of the network yet.

        Args:
            user_id: whose places are ours, before any account is read.
            is_first_secret: as `account_there`.
        """
        self.workspace = user_id
        self._kept, self._words, self.wishes = kept, words, wishes
        self._may_verify, self._is_first_secret = may_verify, is_first_secret
        self._live: _Live | None = None

    async def listen(self, receive: Receive) -> None:
        """Give whatever comes to `receive` until cancelled; the position moves with it.

        Raises:
            ByOperator: the account cannot be used as it is kept.
        """
        kept = self._kept
        ways = replace(kept.ways, deaf=self.wishes.trouble)
        is_first = await self._is_first_secret()
        await account_there(kept.file, kept.first, ways, is_first_secret=lambda: is_first)
        while True:
            try:
                async with open_session(kept.file, ways) as session:
                    self._refuse_others(session.account)
                    await self._hear(session, receive)
            except SessionReplaced:
                await kept.clock.sleep(REPLACED_PAUSE_S)

    async def send(self, message: Outgoing) -> str:
        """Post, edit or remove, and return the remote id. Raises as `Chat.send`."""
        return await self._now.posting.send(message)

    async def find(self, place: Place, key: str, since: float = 0.0) -> str | None:
        """The id of the event that was sent with `key`, or None. Raises as `Chat.find`."""
        return await self._now.posting.find(place, key)

    async def react(self, place: Place, message: str, emoji: str) -> str:
        """Put a reaction under a message; returns the reaction's id. Raises HeadwayError."""
        return await self._now.posting.react(place, message, emoji)

    async def take_reaction(self, place: Place, reaction: str) -> None:
        """Take a reaction of ours away again. Raises HeadwayError."""
        await self._now.posting.take_reaction(place, reaction)

    async def show_working(self, places: frozenset[Place]) -> None:
        """Show that the bot is at work in these places and no others. Raises HeadwayError."""
        await self._now.posting.show_working(places)

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Whether they are in the room. Raises Wait."""
        return await self._now.members.is_member(room, who)

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """Always: who joined a room of Matrix is no guest there, of whatever server they are."""
        return True

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """Never: Matrix has no user groups."""
        return False

    async def is_direct(self, place: Place) -> bool:
        """Whether nobody but one person and the bot is in the room. Raises Wait."""
        return await self._now.members.is_direct(place)

    async def is_encrypted(self, place: Place) -> bool:
        """Whether what is said there is encrypted. Raises Wait."""
        return await self._now.members.is_encrypted(place)

    async def enter(self, room: Place) -> bool:
        """Always: the bot hears nothing of rooms in which it is not."""
        return True

    @property
    def _now(self) -> _Live:
        if self._live is None:
            raise LoggedOut("There is no session on Matrix at the moment. It is tried again.")
        return self._live

    def _refuse_others(self, account: Account) -> None:
        if account.user_id != self.workspace:
            raise BadSettings(
                f"The Matrix account is {account.user_id} now, and this process began as "
                f"{self.workspace}. Start Headway again."
            )

    async def _hear(self, session: Session, receive: Receive) -> None:
        kept, client = self._kept, session.client
        posting = Posting(client, self._words, kept.files, time.monotonic)
        members = RoomMembers(client, kept.clock)

        async def fetch(content: Any) -> Any:
            return await media.fetch(client, content, kept.files)

        wishes = replace(self.wishes, fetch=fetch)
        syncing = listening(session, kept.positions, kept.clock, wishes, members=members)
        verifier = Verifier(client, self._may_verify, master_key=partial(_master_key, session))
        syncing.overhear_to_device.append(verifier.on_to_device)
        syncing.overhear_in_room.append(partial(_overhear, verifier))
        verifying = asyncio.create_task(verifier.run(), name="verifying")
        self._live = _Live(posting, members)
        try:
            await syncing.run(partial(_seen, posting, receive))
        finally:
            self._live = None
            verifying.cancel()
            await asyncio.gather(verifying, return_exceptions=True)
            with contextlib.suppress(asyncio.CancelledError):
                await posting.close()


def _master_key(session: Session) -> str:
    """The public one of the bot's identity; empty while it has none."""
    account = session.account
    if not account.seeds:
        return ""
    return Identity(account.user_id, Seeds.of_text(account.seeds)).master_key


async def _seen(
    posting: Posting, receive: Receive, *arrivals: Arrival, upto: Position | None = None
) -> None:
    """Store what came; then what is said next is said after it."""
    await receive(*arrivals, upto=upto)
    for one in arrivals:
        match one:
            case Incoming():
                posting.saw(one.place, one.id)
            case Removed():
                posting.gone(one.id)
            case _:
                pass


async def _overhear(verifier: Verifier, room: str, read: Read) -> None:
    await verifier.on_room_event(room, read)
