"""A bot as small as one can be that encrypts: it joins where it is asked to, and keeps what it reads."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nio

from adapters.matrix.cross_signing import Identity, Seeds
from adapters.matrix.errors import unwrap
from adapters.matrix.keys import ask_for_key, keep_up
from adapters.matrix.mended import mend
from adapters.matrix.verification import Verifier, is_verification
from tests.peers.synapse import Account, Synapse

UNTIL_S = 20.0


@dataclass
class Bot:
    """A client that syncs; `read` is what it could decrypt, `sealed` what it could not."""

    client: nio.AsyncClient
    verifier: Verifier
    invited: set[str]
    """Who is on its list."""
    read: list[tuple[str, str]] = field(default_factory=list)
    """Event id and words."""
    sealed: list[nio.MegolmEvent] = field(default_factory=list)
    asks: bool = True
    """For keys that are missing."""
    is_deaf: bool = False
    """To verification: as a process that has not yet started again."""

    async def say(self, room: str, words: str) -> str:
        """Post words; encrypted where the room is."""
        sent = unwrap(
            await self.client.room_send(
                room,
                "m.room.message",
                {"msgtype": "m.text", "body": words},
                ignore_unverified_devices=True,
            )
        )
        return str(sent.event_id)

    async def until_read(self, words: str) -> None:
        """Wait until it could read this."""
        async with asyncio.timeout(UNTIL_S):
            while words not in [read for _, read in self.read]:
                await asyncio.sleep(0.05)

    async def sync(self) -> None:
        """One round."""
        response = await self.client.sync(timeout=500)
        assert isinstance(response, nio.SyncResponse), response
        for event in response.to_device_events:
            if is_verification(event) and not self.is_deaf:
                await self.verifier.on_to_device(event)
        for room, joined in response.rooms.join.items():
            for said in joined.timeline.events:
                await self._take(room, said)
        for room in response.rooms.invite:
            await self.client.join(room)
        self._open_sealed()
        await keep_up(self.client)

    def _open_sealed(self) -> None:
        for event in [*self.sealed]:
            with contextlib.suppress(nio.EncryptionError):
                opened: Any = self.client.decrypt_event(event)
                self.sealed.remove(event)
                self.read.append((opened.event_id, opened.body))

    async def _take(self, room: str, event: Any) -> None:
        if isinstance(event, nio.MegolmEvent):
            self.sealed.append(event)
            if self.asks:
                await ask_for_key(self.client, event)
        elif is_verification(event):
            if not self.is_deaf:
                await self.verifier.on_room_event(room, event)
        elif isinstance(event, nio.RoomMessageText):
            self.read.append((event.event_id, event.body))


def client_of(synapse: Synapse, account: Account, folder: Path) -> nio.AsyncClient:
    """A client of this login with its crypto store in `folder`."""
    folder.mkdir(exist_ok=True)
    config = nio.AsyncClientConfig(
        max_limit_exceeded=0, max_timeouts=0, encryption_enabled=True, store_sync_tokens=False
    )
    client = nio.AsyncClient(synapse.url, account.user_id, store_path=str(folder), config=config)
    client.restore_login(account.user_id, account.device_id, account.token)
    mend(client)
    return client


@asynccontextmanager
async def encrypted_bot(
    synapse: Synapse,
    account: Account,
    folder: Path,
    *,
    seeds: Seeds | None = None,
    syncs: bool = True,
    **verifier: Any,
) -> AsyncIterator[Bot]:
    """The bot at work; `verifier` are further arguments of the Verifier."""
    client = client_of(synapse, account, folder)
    invited: set[str] = set()

    async def may_verify(user_id: str) -> bool:
        return user_id in invited

    master = Identity(account.user_id, seeds).master_key if seeds else ""
    bot = Bot(client, Verifier(client, may_verify, master_key=lambda: master, **verifier), invited)
    if client.should_upload_keys:
        unwrap(await client.keys_upload())

    async def sync() -> None:
        while True:
            await bot.sync()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(bot.verifier.run())]
        if syncs:
            tasks.append(group.create_task(sync()))
        try:
            yield bot
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await client.close()
