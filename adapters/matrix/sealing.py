"""
What must be true before something is said in a room: whether it is encrypted, and who has the keys.

Rule 1: nothing is sent in clear into a room that is encrypted. What the sync tells may be old, so the
        homeserver is asked before every event that would go in clear.
Rule 2: a room that was encrypted once stays so, whatever anybody says later.
Rule 3: a message is not sent before every device that can have its key has it: a device that was left
        out never reads what follows.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import uuid4

import nio
from nio.crypto import Olm

from adapters.matrix.errors import translated, unwrap
from adapters.matrix.wire import call
from bot.errors import Refused, Wait

SOON_S: Final = 2.0
"""Until the next sync has told of a room what the homeserver knows."""
NOT_FOUND: Final = "M_NOT_FOUND"
ONE_TIME_KEY: Final = "signed_curve25519"


async def claim_keys(client: nio.AsyncClient, devices: Mapping[str, Iterable[str]]) -> None:
    """Begin a session with each of these devices that has a key left to give.

    nio's own call breaks on any answer that is none.

    Args:
        devices: device ids, by user id.

    Raises:
        Wait, LoggedOut, Refused: as `errors.unwrap`.
    """
    wanted = {user: dict.fromkeys(ids, ONE_TIME_KEY) for user, ids in devices.items()}
    what = "The keys of devices cannot be had"
    answer = await call(client, "POST", "/keys/claim", {"one_time_keys": wanted}, what=what)
    response = nio.KeysClaimResponse.from_dict({"one_time_keys": {}, **answer.body}, "")
    await client.receive_response(unwrap(response))


class Sealing:
    """Prepares rooms for what is sent there."""

    def __init__(self, client: nio.AsyncClient) -> None:
        self._client = client
        self._one_at_a_time: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ready(self, room_id: str) -> bool:
        """Whether what is sent there now is encrypted; if so, everybody there can read it.

        Raises:
            Wait: the homeserver cannot be asked, or keys cannot be given, at the moment.
            Refused: the bot is not in the room, or has no keys of its own.
        """
        async with self._one_at_a_time[room_id]:
            room = self._client.rooms.get(room_id)
            if room is None:
                raise await self._unknown(room_id)
            if not room.encrypted and not await self._is_encrypted(room_id):
                return False
            olm = self._client.olm
            if olm is None:
                raise Refused(
                    "The room is encrypted and the bot has no keys: headway matrix login",
                    code="no_keys",
                )
            if not room.encrypted:
                self._remember(room)
            await self._give_keys(room, olm)
            return True

    async def _unknown(self, room_id: str) -> Exception:
        with translated("The bot's rooms cannot be asked for"):
            rooms = unwrap(await self._client.joined_rooms()).rooms
        if room_id not in rooms:
            return Refused("The bot is not in that room: invite it again.", code="not_in_room")
        return Wait("The room is not known yet. It is tried again.", retry_after_s=SOON_S)

    async def _is_encrypted(self, room_id: str) -> bool:
        try:
            with translated("The room's state cannot be asked for"):
                unwrap(await self._client.room_get_state_event(room_id, "m.room.encryption"))
        except Refused as error:
            if error.code != NOT_FOUND:
                raise
            return False
        return True

    def _remember(self, room: nio.MatrixRoom) -> None:
        """Know it before the sync tells."""
        room.encrypted = True
        self._client.encrypted_rooms.add(room.room_id)
        if self._client.store is not None:
            self._client.store.save_encrypted_rooms({room.room_id})

    async def _give_keys(self, room: nio.MatrixRoom, olm: Olm) -> None:
        client = self._client
        with translated("The keys of a room cannot be given"):
            if not room.members_synced:
                unwrap(await client.joined_members(room.room_id))
            if client.should_query_keys:
                unwrap(await client.keys_query())
        if not olm.should_share_group_session(room.room_id):
            return
        missing = client.get_missing_sessions(room.room_id)
        if missing:
            await claim_keys(client, missing)
        await self._share(room, olm)
        if not self._all_have_it(room, olm):
            raise Wait(
                "The keys of a room have not reached everybody there. It is tried again.",
                retry_after_s=SOON_S,
            )

    async def _share(self, room: nio.MatrixRoom, olm: Olm) -> None:
        """Give the key of what is said next to every device that lacks it.

        Not by nio's own call: it takes a page of a proxy for success, and of a refusal it reads that
        it is logged out.
        """
        under_way = self._client.sharing_session
        if room.room_id in under_way:
            await under_way[room.room_id].wait()
            return
        done = under_way[room.room_id] = asyncio.Event()
        try:
            for devices, messages in olm.share_group_session_parallel(
                room.room_id, list(room.users), ignore_unverified_devices=True
            ):
                path = f"/sendToDevice/m.room.encrypted/{uuid4()}"
                what = "The keys of a room cannot be given"
                await call(self._client, "PUT", path, messages, what=what)
                olm.outbound_group_sessions[room.room_id].users_shared_with.update(devices)
            olm.outbound_group_sessions[room.room_id].shared = True
        finally:
            del under_way[room.room_id]
            done.set()

    def _all_have_it(self, room: nio.MatrixRoom, olm: Olm) -> bool:
        """Whether the key was taken for every device that it can be encrypted to."""
        client = self._client
        session = olm.outbound_group_sessions.get(room.room_id)
        if session is None:
            return False
        lacking = [
            device
            for user_id in room.users
            for device in client.device_store.active_user_devices(user_id)
            if (user_id, device.id) not in session.users_shared_with
            and (user_id, device.id) not in session.users_ignored
            and olm.session_store.get(device.curve25519)
            and not olm.is_device_blacklisted(device)
        ]
        if lacking:
            session.shared = False
        return not lacking
