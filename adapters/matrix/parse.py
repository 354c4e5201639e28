"""
Events of a room as arrivals. Pure.

Rule 1: total: whatever JSON an event is, it gives an arrival or nothing.
Rule 2: nothing that a bot sent is given on: notices, our own events, whatever carries our mark.
Rule 3: what came encrypted is said by a person and changes no room: a membership, a removal or a room's
        end counts only in clear, where the homeserver has checked it.
Rule 4: what is addressed to us begins with `@headway`, and our name is taken out in front and nowhere
        else. The HTML of a message is looked through for names and never shown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from adapters.matrix.mentions import Names, addressed
from bot.ports.chat import (
    Arrival,
    Changed,
    Incoming,
    Place,
    Reacted,
    Removed,
    RoomLost,
    RoomMoved,
    Speaker,
)

NETWORK: Final = "matrix"
MARK: Final = "dev.headway"
"""The field of an event's content that says: Headway sent it."""
WITH_FILE: Final = frozenset({"m.file", "m.image", "m.audio", "m.video"})
_SPOKEN: Final = frozenset({"m.text", "m.emote", "m.location"}) | WITH_FILE
ID_MOST: Final = 255
"""Characters of an event's, a room's or a user's id, as the specification has it."""
EMOJI_MOST: Final = 100
LATEST_S: Final = 253_402_300_799.0
"""The end of the year 9999: a time after it is none."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hearer:
    """What is known where an event is read: who we are there, and who is called what."""

    place: Place
    """The room's main timeline."""
    names: Names
    name_of: Callable[[str], str] = str
    now: float = LATEST_S
    """Nothing was said after it."""

    @property
    def id(self) -> str:
        """Our own user id."""
        return self.names.id


def parse(event: object, hearer: Hearer, *, is_sealed: bool = False) -> Arrival | None:
    """What an event says; None where it says nothing that is for us.

    Args:
        event: the event as the homeserver gives it, or as it was decrypted.
        is_sealed: it came encrypted.
    """
    if not isinstance(event, Mapping) or not _is_sound(event):
        return None
    if is_redacted(event) or is_marked(event["content"]):
        return None
    match event["type"]:
        case "m.room.message":
            return _message(event, hearer)
        case "m.reaction":
            return _reaction(event, hearer)
        case "m.room.redaction" if not is_sealed:
            return _removal(event, hearer)
        case "m.room.member" if not is_sealed:
            return _loss(event, hearer)
        case "m.room.tombstone" if not is_sealed:
            return _move(event, hearer)
        case _:
            return None


def file_of(event: Json) -> Json | None:
    """The content of an event that brings a file, as `fetch` takes it; None for any other."""
    content = content_of(event)
    if type_of(event) != "m.room.message" or _text(content.get("msgtype")) not in WITH_FILE:
        return None
    has_bytes = _text(content.get("url")) or _text(_dict(content.get("file")).get("url"))
    return content if has_bytes and _relation(content).get("rel_type") != "m.replace" else None


def type_of(event: object) -> object:
    """What kind of event it says it is; None where it is none."""
    return event.get("type") if isinstance(event, Mapping) else None


def content_of(event: object) -> Json:
    """The event's content; empty where it has none."""
    return _dict(event.get("content")) if isinstance(event, Mapping) else {}


def is_own_membership(event: Json, user: str) -> bool:
    """Whether it says that `user` came, went or changed their name."""
    return event.get("type") == "m.room.member" and event.get("state_key") == user


def membership(event: Json) -> tuple[str, str]:
    """(before, after) of a membership event; before is empty where it is not told."""
    unsigned = _dict(event.get("unsigned"))
    before = _dict(unsigned.get("prev_content")) or _dict(event.get("prev_content"))
    after = content_of(event)
    return _text(before.get("membership")), _text(after.get("membership"))


def is_redacted(event: Json) -> bool:
    """Whether its content was taken back."""
    unsigned = _dict(event.get("unsigned"))
    return "redacted_because" in unsigned or "redacted_by" in unsigned


def is_marked(content: Json) -> bool:
    """Whether Headway sent it, ours or another."""
    return MARK in content or MARK in _dict(content.get("m.new_content"))


def thread_of(content: Json) -> str:
    """The id of the root of the thread that it says it is in, or empty."""
    relation = _relation(content)
    return _id(relation.get("event_id")) if relation.get("rel_type") == "m.thread" else ""


def said_at(event: Json, latest: float = LATEST_S) -> float:
    """Seconds since the epoch, between 0 and `latest`: servers' clocks are wrong, and people lie."""
    stamp = event.get("origin_server_ts")
    if not isinstance(stamp, int | float) or isinstance(stamp, bool) or stamp != stamp:
        return 0.0
    return float(min(max(stamp, 0), latest * 1000)) / 1000


def is_id(value: object) -> bool:
    """Whether it can be the id of an event, a room or a user."""
    is_short = isinstance(value, str) and 0 < len(value) <= ID_MOST
    return is_short and str(value).isprintable() and " " not in str(value)


def _is_sound(event: Json) -> bool:
    has_ids = is_id(event.get("event_id")) and is_id(event.get("sender"))
    return has_ids and isinstance(event.get("content"), Mapping) and "type" in event


def _message(event: Json, hearer: Hearer) -> Arrival | None:
    content: Json = event["content"]
    if event["sender"] == hearer.id or "state_key" in event:
        return None
    relation = _relation(content)
    if relation.get("rel_type") == "m.replace":
        return _edit(event, _id(relation.get("event_id")), hearer)
    if _text(content.get("msgtype")) not in _SPOKEN:
        return None
    thread, reply_to = thread_of(content), _replied(relation)
    said = addressed(_spoken(content, relation), content, hearer.names, is_reply=bool(reply_to))
    if not said.text.strip() and file_of(event) is None:
        return None
    return Incoming(
        id=event["event_id"],
        place=replace(hearer.place, thread=thread),
        speaker=_speaker(event, hearer),
        text=said.text,
        at=said_at(event, hearer.now),
        reply_to=reply_to,
        is_aside=said.is_aside,
    )


def _edit(event: Json, of: str, hearer: Hearer) -> Changed | None:
    content = _dict(event["content"].get("m.new_content"))
    if not of or _text(content.get("msgtype")) not in _SPOKEN:
        return None
    said = addressed(_spoken(content, {}), content, hearer.names)
    # Its time is a part of its identity: it is the same however often it is read.
    return Changed(of, hearer.place, _speaker(event, hearer), said.text, said_at(event))


def _reaction(event: Json, hearer: Hearer) -> Reacted | None:
    relation = _relation(event["content"])
    to, emoji = _id(relation.get("event_id")), _text(relation.get("key"))
    is_one = relation.get("rel_type") == "m.annotation" and 0 < len(emoji) <= EMOJI_MOST
    if event["sender"] == hearer.id or not to or not is_one or not emoji.isprintable():
        return None
    return Reacted(
        id=event["event_id"],
        place=hearer.place,
        speaker=_speaker(event, hearer),
        emoji=emoji,
        to=to,
        at=said_at(event, hearer.now),
    )


def _removal(event: Json, hearer: Hearer) -> Removed | None:
    # From room version 11 on it stands in the content.
    removed = _id(event["content"].get("redacts")) or _id(event.get("redacts"))
    if event["sender"] == hearer.id or not removed:
        return None
    speaker, at = _speaker(event, hearer), said_at(event, hearer.now)
    return Removed(removed, hearer.place, speaker, at)


def _loss(event: Json, hearer: Hearer) -> RoomLost | None:
    before, after = membership(event)
    if not is_own_membership(event, hearer.id) or after not in ("leave", "ban"):
        return None
    if before not in ("", "join"):
        # An invitation was taken back or declined, or a ban was lifted.
        return None
    return RoomLost(
        id=event["event_id"],
        place=hearer.place,
        speaker=_speaker(event, hearer),
        how="banned" if after == "ban" else "left" if event["sender"] == hearer.id else "kicked",
        at=said_at(event, hearer.now),
        reason=_text(event["content"].get("reason")),
    )


def _move(event: Json, hearer: Hearer) -> RoomMoved | None:
    to = event["content"].get("replacement_room")
    if event.get("state_key") != "" or not is_id(to) or to == hearer.place.room:
        return None
    speaker, at = _speaker(event, hearer), said_at(event, hearer.now)
    return RoomMoved(moved_as(hearer.place.room, str(to)), hearer.place, speaker, str(to), at)


def moved_as(room: str, to: str) -> str:
    """The identity of a room's move, the same whether the old room tells it or the new one."""
    return f"{room}>{to}"


def _spoken(content: Json, relation: Json) -> str:
    """What a message says: its body, or the caption of its file, without what it answers."""
    body = _text(content.get("body"))
    if _text(content.get("msgtype")) in WITH_FILE:
        name = _text(content.get("filename"))
        body = body if name and name != body else ""
    return _without_quote(body) if "m.in_reply_to" in relation else body


def _without_quote(body: str) -> str:
    """The body without the reply fall-back: the lines in front that quote what it answers."""
    if not body.startswith(("> <@", "> * <@")):
        return body
    lines = body.split("\n")
    quoted = next((at for at, line in enumerate(lines) if not line.startswith(">")), len(lines))
    return "\n".join(lines[quoted:]).removeprefix("\n")


def _replied(relation: Json) -> str:
    """What it answers. In a thread, clients that know of none are shown an answer that is none."""
    if relation.get("rel_type") == "m.thread" and relation.get("is_falling_back") is True:
        return ""
    return _id(_dict(relation.get("m.in_reply_to")).get("event_id"))


def _speaker(event: Json, hearer: Hearer) -> Speaker:
    return Speaker(event["sender"], hearer.name_of(event["sender"]))


def _relation(content: Json) -> Json:
    return _dict(content.get("m.relates_to"))


def _id(value: object) -> str:
    return str(value) if is_id(value) else ""


def _dict(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
