"""
Answers of a homeserver, given to nio part by part, and events read one by one.

Rule 1: a part that nio cannot take costs that part: a stranger's broken to-device message or a
        member's broken event makes nobody deaf.
Rule 2: nio is given a room's events in clear, for what it knows of rooms. What came encrypted is opened
        here and changes nothing there: nio would take a membership out of it.
Rule 3: to-device messages first: the keys in an answer open the events in it.
"""

import itertools
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import nio

from adapters.matrix.parse import content_of, is_id, type_of
from bot.errors import Wait

log = logging.getLogger(__name__)

ENCRYPTED: Final = "m.room.encrypted"
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """An event as far as it can be read. `source` is what it says, opened where it came encrypted."""

    source: Json
    is_sealed: bool = False
    """It came encrypted."""
    is_shut: bool = False
    """It cannot be opened yet: `source` is the event as it came."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What came to this device in an answer of /sync."""

    to_device: tuple[Any, ...] = ()
    """As nio has them, opened."""
    keys: frozenset[str] = frozenset()
    """Megolm sessions whose key came."""


class Reader:
    """Reads with the keys of one client."""

    def __init__(self, client: nio.AsyncClient) -> None:
        self._client = client
        self._parts = itertools.count()

    async def take(self, answer: Json) -> Taken:
        """Let nio know what an answer of /sync says. Taken twice, it changes nothing more."""
        to_device: list[Any] = []
        for event in _list(_dict(answer.get("to_device")).get("events")):
            part = await self._give({"to_device": {"events": [event]}}, "a to-device message")
            to_device.extend(part.to_device_events if part else ())
        rooms = _dict(answer.get("rooms"))
        for room, info in _dict(rooms.get("join")).items():
            await self._take_room(room, _dict(info))
        for room, info in _dict(rooms.get("invite")).items():
            # nio takes what it reads out of the event.
            copy = json.loads(json.dumps(info))
            await self._give({"rooms": {"invite": {room: copy}}}, f"the invitation to {room}")
        rest = {key: value for key, value in answer.items() if key not in ("rooms", "to_device")}
        await self._give(rest, "what is not of a room", str(answer.get("next_batch", "")))
        came = (event for event in to_device if isinstance(event, _KEYS))
        keys = (getattr(event, "session_id", None) for event in came)
        return Taken(tuple(to_device), frozenset(key for key in keys if isinstance(key, str)))

    def read(self, event: object, room: str) -> Read | None:
        """The event as far as it can be read; None where nothing can ever be read of it."""
        if not isinstance(event, Mapping):
            return None
        if event.get("type") != ENCRYPTED:
            return Read(event)
        try:
            return self._open(dict(event), room)
        except nio.EncryptionError:
            return Read(event, is_sealed=True, is_shut=True)
        except Exception as error:  # noqa: BLE001 - what was encrypted is whatever somebody liked
            log.warning("An event of %s cannot be read: %s", room, type(error).__name__)
            return None

    def has_key(self, room: str, event: Json) -> bool:
        """Whether the key of an encrypted event is here."""
        return self._sender_key(room, content_of(event).get("session_id")) is not None

    async def _take_room(self, room: str, info: Json) -> None:
        events = _list(_dict(info.get("timeline")).get("events"))
        clear = [one for one in events if type_of(one) != ENCRYPTED]
        whole = {**info, "timeline": {**_dict(info.get("timeline")), "events": clear}}
        what = f"the room {room}"
        if await self._give({"rooms": {"join": {room: whole}}}, what) is not None:
            return
        state = _list(_dict(info.get("state")).get("events"))
        for one in [*state, *clear]:
            part = {"timeline": {"events": [one]}}
            await self._give({"rooms": {"join": {room: part}}}, f"an event of {room}")

    async def _give(
        self, part: dict[str, Any], what: str, next_batch: str = ""
    ) -> nio.SyncResponse | None:
        # nio passes over an answer with the position that it has, so that every part has its own.
        part["next_batch"] = next_batch or f"part {next(self._parts)}"
        try:
            response = nio.SyncResponse.from_dict(part)
            if not isinstance(response, nio.SyncResponse):
                raise TypeError(response.message)
            await self._client.receive_response(response)
        except Exception as error:  # noqa: BLE001 - nio fails in many ways on what others sent
            log.warning("The library cannot take %s: %s", what, type(error).__name__)
            return None
        return response

    def _open(self, event: dict[str, Any], room: str) -> Read | None:
        content = dict(content_of(event))
        if content.get("algorithm") != "m.megolm.v1.aes-sha2" or not is_id(event.get("event_id")):
            return None
        session = content.get("session_id")
        if not is_id(session) or self._client.olm is None:
            return None
        # Both may be left out: they say nothing that the session does not.
        content["sender_key"] = content.get("sender_key") or self._sender_key(room, session)
        content.setdefault("device_id", "")
        if content["sender_key"] is None:
            raise nio.EncryptionError("The session's key is not here.")
        sealed = nio.Event.parse_event({**event, "content": content})
        if not isinstance(sealed, nio.MegolmEvent):
            return None
        sealed.room_id = room
        opened = self._client.decrypt_event(sealed)
        source = getattr(opened, "source", None)
        if not isinstance(source, Mapping):
            return None
        if self._is_of_another(content["sender_key"], event.get("sender")):
            log.warning("An event of %s is encrypted by somebody else than it says", room)
            return None
        outer = {name: event.get(name) for name in ("event_id", "sender", "origin_server_ts")}
        return Read({**source, **outer, "unsigned": event.get("unsigned")}, is_sealed=True)

    def _is_of_another(self, sender_key: object, sender: object) -> bool:
        """Whether the key is known as that of another user's device; nio does not look.

        A homeserver could put one user's event under another's name (Matrix 1.17, "Validation of
        incoming decrypted events").
        """
        devices = self._client.device_store
        owners = {one.user_id for one in devices if one.curve25519 == sender_key}
        return bool(owners) and sender not in owners

    def _sender_key(self, room: str, session: object) -> str | None:
        """Who has made a Megolm session whose key is here."""
        olm = self._client.olm
        if olm is None:
            return None
        for sender_key, sessions in olm.inbound_group_store[room].items():
            if session in sessions:
                return str(sender_key)
        return None


def events_of(info: Json, part: str) -> list[Any]:
    """The events of a room's `timeline` or `state`."""
    return _list(_dict(info.get(part)).get("events"))


def rooms_of(answer: Json, kind: str) -> Iterator[tuple[str, Json]]:
    """(id, what it has) of each room that we have `join`ed, `leave`d or got an `invite` to."""
    for room, info in _dict(_dict(answer.get("rooms")).get(kind)).items():
        if is_id(room):
            yield room, _dict(info)


def position_of(answer: Json) -> str:
    """Where the next answer goes on. Raises Wait where the answer is none."""
    token = answer.get("next_batch")
    if not isinstance(token, str) or not token:
        raise Wait("The homeserver's answer has no position. It is tried again.")
    return token


def _dict(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


_KEYS: Final = (nio.RoomKeyEvent, nio.ForwardedRoomKeyEvent)
