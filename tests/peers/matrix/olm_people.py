"""
People on Matrix, played by mautrix with libolm: `python olm_people.py`, in an environment of its own.

The lines are those of people.mjs, of which this knows the calls below. Edits are applied here, as
mautrix leaves that to whoever uses it.
"""

import asyncio
import contextlib
import json
import logging
import sys
from typing import Any

from mautrix.api import HTTPAPI
from mautrix.client import Client
from mautrix.client.state_store import MemoryStateStore
from mautrix.crypto import OlmMachine
from mautrix.crypto.store import MemoryCryptoStore
from mautrix.types import EventType, Membership, PresenceState, RoomID, TOFUSigningKey, UserID

log = logging.getLogger(__name__)

RETRY_S = 0.05
TRIES = 200


class Rooms(MemoryStateStore):
    """What the encryption asks of rooms beside what the client does."""

    async def find_shared_rooms(self, user_id: UserID) -> list[RoomID]:
        """Encrypted rooms that somebody is in."""
        return [
            room
            for room, members in self.members.items()
            if user_id in members and self.encryption.get(room)
        ]


class Keys(MemoryCryptoStore):
    """The keys; those of an identity may be told of again, which mautrix's own trips over."""

    async def put_cross_signing_key(self, user_id: Any, usage: Any, key: Any) -> None:
        """Keep a user's public key, and which was the first."""
        known = self._cross_signing_keys.setdefault(user_id, {})
        first = known[usage].first if usage in known else key
        known[usage] = TOFUSigningKey(key=key, first=first)


class Person:
    """One login."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.client: Client
        self.told: dict[str, dict[str, Any]] = {}
        self.edits: dict[str, dict[str, Any]] = {}

    async def login(self, url: str, user: str, password: str, device: str, **_: Any) -> Any:
        """Log in, with encryption, and sync from now on."""
        self.rooms_store = Rooms()
        store = Keys(user, "pickled by a test")
        self.client = Client(base_url=url, state_store=self.rooms_store, sync_store=store)
        made = await self.client.login(
            identifier=user, password=password, device_id=device or None, device_name="mautrix"
        )
        await store.put_device_id(made.device_id)
        self.client.crypto = OlmMachine(self.client, store, self.rooms_store)
        await self.client.crypto.load()
        await self.client.crypto.share_keys(0)
        self.client.add_event_handler(EventType.ALL, self.show)
        self.client.presence = PresenceState.OFFLINE
        self.syncing = self.client.start(None)
        return {"user": made.user_id, "device": made.device_id, "token": made.access_token}

    async def create(self, encrypted: bool, options: dict[str, Any]) -> str:
        """A new room."""
        lock = {
            "type": "m.room.encryption",
            "state_key": "",
            "content": {"algorithm": "m.megolm.v1.aes-sha2"},
        }
        state = [*options.pop("initial_state", []), *([lock] if encrypted else [])]
        wish = {**options, "initial_state": state}
        made = await self.call("POST", "createRoom", wish)
        await self.knows(made["room_id"], encrypted)
        return str(made["room_id"])

    async def join(self, room: str) -> str:
        """Join, and wait until the client knows the room."""
        await self.call("POST", f"join/{room}", {})
        await self.knows(room)
        return room

    async def knows(self, room: str, encrypted: bool = False) -> None:
        """The room came with a sync, with its encryption."""
        for _ in range(TRIES):
            me = await self.rooms_store.get_member(RoomID(room), self.client.mxid)
            is_locked = await self.rooms_store.is_encrypted(RoomID(room))
            if me and me.membership == Membership.JOIN and (is_locked or not encrypted):
                return
            await asyncio.sleep(RETRY_S)
        raise RuntimeError("the room did not come")

    async def send(self, room: str, thread: str, type: str, content: dict[str, Any]) -> str:
        """Any event, in a thread with the fall-back where one is named."""
        if thread:
            content["m.relates_to"] = {
                "rel_type": "m.thread",
                "event_id": thread,
                "is_falling_back": True,
                "m.in_reply_to": {"event_id": thread},
            }
        kind = EventType.find(type, EventType.Class.MESSAGE)
        return str(await self.client.send_message_event(RoomID(room), kind, content))

    async def invite(self, room: str, user: str) -> None:
        """Invite somebody."""
        await self.call("POST", f"rooms/{room}/invite", {"user_id": user})

    async def leave(self, room: str) -> None:
        """Leave."""
        await self.call("POST", f"rooms/{room}/leave", {})

    async def redact(self, room: str, event: str, reason: str) -> str:
        """Take an event back."""
        return str(await self.client.redact(RoomID(room), event, reason))

    async def rooms(self) -> dict[str, str]:
        """Its own membership by room."""
        invited = dict.fromkeys(self.invited, "invite")
        joined = await self.call("GET", "joined_rooms")
        return invited | dict.fromkeys(joined["joined_rooms"], "join")

    @property
    def invited(self) -> list[str]:
        """Rooms whose own membership is an invitation."""
        return [
            room
            for room, members in self.rooms_store.members.items()
            if (me := members.get(self.client.mxid)) and me.membership == Membership.INVITE
        ]

    async def logout(self) -> None:
        """End the login."""
        self.client.stop()
        await self.call("POST", "logout", {})

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """One call of the client API."""
        whole = f"{self.client.api.base_url}/_matrix/client/v3/{path}"
        headers = {"Authorization": f"Bearer {self.client.api.token}"}
        async with self.client.api.session.request(
            method, whole, json=body, headers=headers
        ) as answer:
            said = await answer.json()
            if answer.status >= 300:
                raise RuntimeError(f"{said}")
            return said

    async def show(self, event: Any) -> None:
        """Tell of an event of a room, and of the one that it edits."""
        room, id = getattr(event, "room_id", None), getattr(event, "event_id", None)
        if not room or not id:
            return
        line = described(event)
        # It comes twice: as it was sent, then decrypted.
        line["encrypted"] = line["encrypted"] or self.told.get(id, line)["encrypted"]
        self.told[id] = line
        if line["relation"].get("rel_type") == "m.replace":
            self.edits[line["relation"]["event_id"]] = line
            id = line["relation"]["event_id"]
            tell({"who": self.who, "room": room, "event": line})
        if id in self.told:
            tell({"who": self.who, "room": room, "event": self.edited(id)})

    def edited(self, id: str) -> dict[str, Any]:
        """An event with its newest edit."""
        line, edit = self.told[id], self.edits.get(id)
        if edit is None or edit["sender"] != line["sender"]:
            return line
        return {**line, "content": edit["content"].get("m.new_content", {}), "edited": True}


def described(event: Any) -> dict[str, Any]:
    """An event as people.mjs tells of it."""
    content = event.content.serialize() if hasattr(event.content, "serialize") else event.content
    relation = content.get("m.relates_to") or {}
    state_key = getattr(event, "state_key", None)
    return {
        "id": event.event_id,
        "sender": event.sender,
        "type": event.type.t,
        "state_key": state_key,
        "content": content,
        "original": content,
        "relation": relation,
        "thread": relation.get("event_id", "") if relation.get("rel_type") == "m.thread" else "",
        "redacts": getattr(event, "redacts", None) or "",
        "encrypted": event.type.t == "m.room.encrypted",
        "waits": event.type.t == "m.room.encrypted",
        "failure": "",
        "edited": False,
        "redacted": not content and state_key is None,
        "at": event.timestamp,
    }


def tell(line: dict[str, Any]) -> None:
    """One line to whoever drives this."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def answer(people: dict[str, Person], line: dict[str, Any]) -> None:
    """Do what a line asks for."""
    person = people.setdefault(line["who"], Person(line["who"]))
    try:
        result = await getattr(person, line["do"])(**line["with"])
        tell({"id": line["id"], "result": result})
    except Exception as error:
        log.exception("%s failed", line["do"])
        code = getattr(error, "errcode", "") or ""
        tell({"id": line["id"], "error": repr(error), "code": code})


async def play() -> None:
    """Answer lines until there are no more."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=100_000_000)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    people: dict[str, Person] = {}
    working: set[asyncio.Task[None]] = set()
    tell({"ready": True})
    while text := await reader.readline():
        task = asyncio.create_task(answer(people, json.loads(text)))
        working.add(task)
        task.add_done_callback(working.discard)
    for person in people.values():
        with contextlib.suppress(AttributeError):
            person.client.stop()
            await person.client.api.session.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    HTTPAPI.default_ua = "mautrix"
    asyncio.run(play())
