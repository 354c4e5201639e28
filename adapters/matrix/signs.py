"""
What a room shows beside messages: reactions, and that the bot is at work.

Any of it may be lost: it is dropped first where the homeserver limits us, and nobody waits for it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final
from uuid import uuid4

import nio

from adapters.matrix import finding, render
from adapters.matrix.errors import translated, unwrap
from adapters.matrix.pace import Rank
from adapters.matrix.sending import LEAST_S, Sender, transaction
from bot.errors import HeadwayError, Refused, Wait

log = logging.getLogger(__name__)

GIVEN_UP_S: Final = 120.0
"""How long the reactions under a card are tried."""
TYPING_S: Final = 30.0
"""How long a room shows that somebody is typing, unless it is told again."""
RENEWED_S: Final = 15.0
DUPLICATE: Final = "M_DUPLICATE_ANNOTATION"


class MatrixSigns:
    """Of one account; close it, so that nothing of it goes on."""

    def __init__(self, client: nio.AsyncClient, sender: Sender, clock: Callable[[], float]) -> None:
        self._client, self._sender, self._clock = client, sender, clock
        self._typing: dict[str, float] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    async def react(self, room_id: str, message: str, emoji: str) -> str:
        """Put a reaction under a message, unless it is there; returns its id. Raises HeadwayError."""
        content = render.reaction(message, emoji)
        try:
            return await self._sender.reaction(room_id, content, f"hw{uuid4().hex}", Rank.SIGN)
        except Refused as error:
            if error.code != DUPLICATE:
                raise
        return await finding.reaction_to(self._client, room_id, message, emoji)

    async def take_reaction(self, room_id: str, reaction: str) -> None:
        """Take a reaction of ours away. Raises HeadwayError."""
        await self._sender.redact(room_id, reaction, Rank.SIGN)

    def offer(self, room_id: str, card: str, reactions: Iterable[str]) -> None:
        """Put the reactions that answer a card under it, in their order, as the pace allows."""
        task = asyncio.create_task(self._offer(room_id, card, tuple(reactions)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def show_working(self, room_ids: frozenset[str]) -> None:
        """Show that the bot types in these rooms and in no others. Raises HeadwayError."""
        now = self._clock()
        for room_id in sorted(self._typing.keys() - room_ids):
            del self._typing[room_id]
            await self._type(room_id, False)
        for room_id in sorted(room_ids):
            if now - self._typing.get(room_id, -TYPING_S) >= RENEWED_S:
                # Before it is known to be shown: a room that refuses it is not asked at every call.
                self._typing[room_id] = now
                await self._type(room_id, True)

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _type(self, room_id: str, is_working: bool) -> None:
        with translated("That the bot is at work cannot be shown"):
            unwrap(
                await self._client.room_typing(room_id, is_working, timeout=int(TYPING_S * 1000))
            )

    async def _offer(self, room_id: str, card: str, reactions: tuple[str, ...]) -> None:
        until = self._clock() + GIVEN_UP_S
        for emoji in reactions:
            content, tx_id = render.reaction(card, emoji), transaction("offer", card, emoji)
            while True:
                try:
                    await self._sender.reaction(room_id, content, tx_id, Rank.EDIT)
                    break
                except Wait as error:
                    wait_s = max(error.retry_after_s or 1.0, LEAST_S)
                    if self._clock() + wait_s > until:
                        log.info("The reactions under %s are given up: %s", card, error)
                        return
                    await asyncio.sleep(wait_s)
                except Refused as error:
                    if error.code != DUPLICATE:
                        log.info("%s cannot have reactions: %s", card, error)
                        return
                    break
                except HeadwayError as error:
                    log.warning("%s cannot have reactions: %s", card, error)
                    return
