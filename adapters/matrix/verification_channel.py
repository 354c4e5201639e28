"""
How verification messages travel: to a device, or in a room as events that refer to the request.

Rule: to-device messages name a `transaction_id`; events in a room refer to the request's event
      (`m.reference`) and are encrypted where the room is. The rest of their content is the same.
"""

from dataclasses import dataclass
from typing import Any, Final

import nio
from nio.event_builders import ToDeviceMessage

from adapters.matrix.errors import translated, unwrap
from adapters.matrix.sealing import Sealing

Json = dict[str, Any]

PREFIX: Final = "m.key.verification."
REQUEST: Final = "m.key.verification.request"
ANY_DEVICE: Final = "*"
LONGEST_ID: Final = 255


@dataclass(frozen=True, slots=True)
class Channel:
    """One verification's way to the other side."""

    user_id: str
    device_id: str
    """`*` while it is not known which."""
    room_id: str
    """Empty: to-device."""
    id: str
    """The transaction's, or the request's event id."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells one verification from another; a stranger's message never has it."""
        return self.room_id, self.user_id, self.id


@dataclass(frozen=True, slots=True)
class Heard:
    """One verification message as it came."""

    kind: str
    """`request`, `ready`, `start`, `accept`, `key`, `mac`, `done`, `cancel`, or unknown."""
    channel: Channel
    content: Json
    sent_ms: int | None
    """When it was sent, as far as it says so."""


def is_verification(event: object) -> bool:
    """Whether an event of nio belongs to a verification, in a room or to a device."""
    source = getattr(event, "source", None)
    return isinstance(source, dict) and bool(_kind(source))


def read(event: object, room_id: str = "") -> Heard | None:
    """The verification message that an event of nio holds, if it holds one that can be read."""
    source = getattr(event, "source", None)
    if not isinstance(source, dict):
        return None
    kind, content, sender = _kind(source), source.get("content"), source.get("sender")
    if not kind or not isinstance(content, dict) or not isinstance(sender, str):
        return None
    found = _room_id_of(kind, source, content) if room_id else content.get("transaction_id")
    if not isinstance(found, str) or not 0 < len(found) <= LONGEST_ID:
        return None
    device_id = content.get("from_device")
    is_named = isinstance(device_id, str) and 0 < len(device_id) <= LONGEST_ID
    channel = Channel(sender, str(device_id) if is_named else ANY_DEVICE, room_id, found)
    sent = source.get("origin_server_ts") if room_id else content.get("timestamp")
    return Heard(kind, channel, content, sent if isinstance(sent, int) else None)


async def send(client: nio.AsyncClient, channel: Channel, kind: str, content: Json) -> None:
    """Send one message.

    Raises:
        Wait, LoggedOut, Refused: as `errors.unwrap`.
    """
    what = "The verification cannot go on"
    if channel.room_id:
        relation = {"rel_type": "m.reference", "event_id": channel.id}
        await Sealing(client).ready(channel.room_id)
        with translated(what):
            # The same request is answered once, also where it is heard again after a crash.
            sent = await client.room_send(
                channel.room_id,
                PREFIX + kind,
                content | {"m.relates_to": relation},
                tx_id=f"{kind}-{channel.id}",
                ignore_unverified_devices=True,
            )
        unwrap(sent)
        return
    content = content | {"transaction_id": channel.id}
    message = ToDeviceMessage(PREFIX + kind, channel.user_id, channel.device_id, content)
    with translated(what):
        told = await client.to_device(message)
    unwrap(told)


async def request_of(client: nio.AsyncClient, channel: Channel) -> Heard | None:
    """The request that an event in a room refers to, asked for from the homeserver.

    Raises:
        Wait, LoggedOut: as `errors.unwrap`; Refused, where it is not there.
    """
    with translated("The verification's request cannot be read"):
        answer = unwrap(await client.room_get_event(channel.room_id, channel.id))
    event = answer.event
    if isinstance(event, nio.MegolmEvent):
        event.room_id = channel.room_id
        try:
            event = client.decrypt_event(event)
        except nio.EncryptionError:
            return None
    heard = read(event, channel.room_id)
    return heard if heard is not None and heard.kind == "request" else None


def _kind(source: Json) -> str:
    """`m.key.verification.X` gives X; a request in a room is a message of that sort."""
    type_, content = source.get("type"), source.get("content")
    if not isinstance(type_, str):
        return ""
    if type_.startswith(PREFIX):
        return type_.removeprefix(PREFIX)
    is_request = isinstance(content, dict) and content.get("msgtype") == REQUEST
    return "request" if type_ == "m.room.message" and is_request else ""


def _room_id_of(kind: str, source: Json, content: Json) -> object:
    """The id of the request's event."""
    if kind == "request":
        return source.get("event_id")
    relation = content.get("m.relates_to")
    is_reference = isinstance(relation, dict) and relation.get("rel_type") == "m.reference"
    return relation.get("event_id") if isinstance(relation, dict) and is_reference else None
