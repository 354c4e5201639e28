"""
Events of Slack as arrivals. Pure.

Rule 1: total: whatever JSON a payload is, it gives what was heard or nothing.
Rule 2: nothing that we said is given on, nor what any Headway posted: two of them never talk. What
        another bot said is marked as such.
Rule 3: a message is known by its channel and timestamp, under whatever event it comes and however often.
Rule 4: Slack has checked who may change or delete a message. It tells the editor; of a deletion it does
        not say whose it was, and it counts as the author's.
"""

from dataclasses import dataclass
from typing import Final

from adapters.slack.emoji import emoji_of
from adapters.slack.ids import NETWORK, at_of, message_id, person_id
from adapters.slack.mentions import Names, addressed, forwarded
from adapters.slack.payloads import (
    Json,
    authorization,
    channel_of,
    fields,
    is_of_headway,
    rows,
    text_of,
    ts,
    user_id,
)
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
    Unreacted,
)

SPEECH: Final = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
"""Subtypes of messages in which somebody says something."""
GONE: Final = frozenset({"channel_archive", "channel_deleted", "group_archive", "group_deleted"})
PUT_OUT: Final = frozenset({"channel_left", "group_left"})
LATEST_S: Final = 253_402_300_799.0
"""The end of the year 9999: a time after it is none."""
FORWARDED_MOST: Final = 10
UNREADABLE: Final = "UREVOKEDU"
"""Who says what Slack may not show us: nobody."""


@dataclass(frozen=True, slots=True)
class Hearer:
    """What is known where a payload is read."""

    workspace: str
    """As in `Place.workspace`."""
    names: Names
    install: str = ""
    """Key of the install by whose right it came; a channel may be known under another's."""
    teams: frozenset[str] = frozenset()
    """Teams and the enterprise whose people all belong to `names.home`."""
    app: str = ""
    """Id of our app."""
    bot: str = ""
    """Id of our bot, which is not that of its user."""

    def place(self, channel: str, thread: str = "") -> Place:
        """A channel's main timeline, or the thread under a timestamp."""
        root = message_id(channel, thread) if thread else ""
        return Place(NETWORK, self.workspace, channel, root)

    def home_of(self, user: str, said: Json) -> str:
        """Where a user belongs: by what is known, by what Slack says beside them, else with us."""
        known = self.names.people.get(user)
        if known is not None and known.home:
            return known.home
        given = [user_id(said.get(name)) for name in ("user_team", "source_team", "team")]
        given.append(user_id(fields(said.get("user_profile")).get("team")))
        if any(one in self.teams for one in given):
            return self.names.home
        orgs = (one for one in given if one.startswith("E"))
        return next(orgs, "") or next((one for one in given if one), self.names.home)

    def speaker(self, user: str, said: Json) -> Speaker:
        """A user as the rest of the product knows them."""
        profile = fields(said.get("user_profile"))
        label = text_of(profile.get("display_name")) or text_of(profile.get("real_name"))
        id = person_id(self.home_of(user, said), user)
        return Speaker(id, self.names.name(user, label) or user)


@dataclass(frozen=True, slots=True)
class Heard:
    """What an event brings."""

    arrival: Arrival
    files: tuple[Json, ...] = ()
    """Those of the message, as Slack gives them."""
    is_bot: bool = False
    """A bot says it: it counts only if it is listed."""


def parse(body: Json, hearer: Hearer) -> Heard | None:
    """What an event says, as Slack sends it; None where it says nothing that is for us."""
    event = fields(body.get("event"))
    match text_of(event.get("type")):
        case "message" | "app_mention":
            return _message(event, hearer)
        case "reaction_added" | "reaction_removed":
            return _reaction(event, hearer)
        case kind if kind in GONE or kind in PUT_OUT:
            return _loss(event, hearer, kind)
        case "member_left_channel" if user_id(event.get("user")) in hearer.names.us:
            return _loss(event, hearer, "")
        case "channel_id_changed":
            return _move(event, hearer)
        case "agent_session_stopped":
            return _stop(event, hearer)
        case _:
            return None


def users_of(body: Json) -> tuple[str, str]:
    """The user who did it, and the text in which others may be mentioned; empty what there is not."""
    event = fields(body.get("event"))
    after, before = fields(event.get("message")), fields(event.get("previous_message"))
    # What stands where a message was deleted is Slack's own; who is meant said what was there.
    is_gone = text_of(after.get("subtype")) == "tombstone"
    inner = before if is_gone or not after else after
    # Where somebody is told of whole, as when a profile changes, there is nobody to ask for.
    user = user_id(text_of(event.get("user"))) or user_id(fields(inner.get("edited")).get("user"))
    return user or user_id(inner.get("user")), text_of(event.get("text")) or text_of(
        inner.get("text")
    )


def room_of(body: Json) -> str:
    """The channel of an event; empty where it is about none."""
    event = fields(body.get("event"))
    found = channel_of(event.get("channel")) or channel_of(fields(event.get("item")).get("channel"))
    return found or channel_of(event.get("old_channel_id"))


def us_in(body: Json) -> str:
    """Our own user where an event happened, by the right under which it was sent."""
    by = authorization(body)
    return user_id(by.get("user_id")) if by.get("is_bot") is True else ""


def is_ours(message: Json, hearer: Hearer) -> bool:
    """Whether we said it, or another Headway did."""
    profile = fields(message.get("bot_profile"))
    apps = {text_of(message.get("app_id")), text_of(profile.get("app_id"))} - {""}
    return (
        user_id(message.get("user")) in hearer.names.us
        or (bool(hearer.app) and hearer.app in apps)
        or (bool(hearer.bot) and text_of(message.get("bot_id")) == hearer.bot)
        or is_of_headway(message)
    )  # fmt: skip


def thread_of(message: Json) -> str:
    """The timestamp of the thread that a message is in; empty where it opens one or is in none."""
    root = ts(message.get("thread_ts"))
    return "" if root == ts(message.get("ts")) else root


def when(stamp: str) -> float:
    """Seconds since the epoch."""
    return min(at_of(stamp), LATEST_S)


def incoming(
    message: Json, channel: str, hearer: Hearer, *, is_said: bool = True
) -> Incoming | None:
    """A message as it is given on; None where it is no speech. `is_said`: it may be without words."""
    user, stamp = user_id(message.get("user")), ts(message.get("ts"))
    speaker = hearer.speaker(user, message) if user else _bot(message, hearer)
    if not channel or not stamp or speaker is None or user == UNREADABLE:
        return None
    said = addressed(text_of(message.get("text")), hearer.names)
    quoted = forwarded(rows(message.get("attachments"), FORWARDED_MOST), hearer.names)
    text = "\n\n".join(filter(None, (said.text, quoted)))
    if is_said and not text.strip() and not rows(message.get("files")):
        return None
    place, at = hearer.place(channel, thread_of(message)), when(stamp)
    return Incoming(message_id(channel, stamp), place, speaker, text, at, is_aside=said.is_aside)


def _message(event: Json, hearer: Hearer) -> Heard | None:
    subtype, channel = text_of(event.get("subtype")), channel_of(event.get("channel"))
    if subtype in ("message_changed", "message_deleted") and channel:
        return _rewritten(event, channel, hearer, is_deleted=subtype == "message_deleted")
    if subtype not in SPEECH or is_ours(event, hearer) or event.get("hidden") is True:
        return None
    said = incoming(event, channel, hearer)
    if said is None:
        return None
    return Heard(said, rows(event.get("files")), _is_of_bot(event, hearer))


def _rewritten(event: Json, channel: str, hearer: Hearer, *, is_deleted: bool) -> Heard | None:
    before, after = fields(event.get("previous_message")), fields(event.get("message"))
    # A message under which a thread hangs stays, and is empty.
    if is_deleted or text_of(after.get("subtype")) == "tombstone":
        return _removal(event, before, after, channel, hearer)
    if text_of(after.get("subtype")) not in SPEECH or is_ours(after, hearer):
        return None
    if _said(before) == _said(after):
        # A link was unfurled, a reply came, a file got a thumbnail.
        return None
    said, stamp = incoming(after, channel, hearer, is_said=False), ts(event.get("event_ts"))
    edited = fields(after.get("edited"))
    stamp = ts(edited.get("ts")) or stamp or ts(event.get("ts"))
    if said is None or not stamp:
        return None
    editor = user_id(edited.get("user"))
    is_other = editor not in ("", user_id(after.get("user")))
    speaker = hearer.speaker(editor, {}) if is_other else said.speaker
    changed = Changed(said.id, said.place, speaker, said.text, when(stamp))
    return Heard(changed, is_bot=_is_of_bot(after, hearer))


def _removal(event: Json, before: Json, after: Json, channel: str, hearer: Hearer) -> Heard | None:
    removed = ts(event.get("deleted_ts")) or ts(after.get("ts")) or ts(before.get("ts"))
    if not removed or is_ours(before, hearer):
        return None
    user = user_id(before.get("user"))
    unknown = Speaker(person_id(hearer.names.home, "U0"), "")
    speaker = hearer.speaker(user, before) if user else _bot(before, hearer) or unknown
    stamp = ts(event.get("event_ts")) or ts(event.get("ts")) or removed
    place = hearer.place(channel, thread_of({**before, "ts": removed}))
    return Heard(Removed(message_id(channel, removed), place, speaker, when(stamp)))


def _reaction(event: Json, hearer: Hearer) -> Heard | None:
    item, user = fields(event.get("item")), user_id(event.get("user"))
    channel, of = channel_of(item.get("channel")), ts(item.get("ts"))
    name, stamp = text_of(event.get("reaction")), ts(event.get("event_ts"))
    emoji = emoji_of(name)
    if not (channel and of and user and emoji and stamp) or user in hearer.names.us:
        return None
    place, to, at = hearer.place(channel), message_id(channel, of), when(stamp)
    speaker = hearer.speaker(user, event)
    is_bot = _is_of_bot(event, hearer)
    if text_of(event.get("type")) == "reaction_removed":
        return Heard(Unreacted(place, speaker, emoji, to, at), is_bot=is_bot)
    id = f"{to}:{user}:{emoji}:{stamp}"
    return Heard(Reacted(id, place, speaker, emoji, to, at), is_bot=is_bot)


def _loss(event: Json, hearer: Hearer, kind: str) -> Heard | None:
    channel, stamp = channel_of(event.get("channel")), ts(event.get("event_ts"))
    actor = user_id(event.get("actor_id")) or ("" if not kind else user_id(event.get("user")))
    if not channel or not stamp:
        return None
    us = next(iter(sorted(hearer.names.us)), "U0")
    is_known = bool(actor) and actor not in hearer.names.us
    speaker = hearer.speaker(actor if is_known else us, {})
    how = "gone" if kind in GONE else "kicked" if is_known else "left"
    lost = RoomLost(
        message_id(channel, stamp), hearer.place(channel), speaker, how, when(stamp)  # type: ignore[arg-type]
    )  # fmt: skip
    return Heard(lost)


def _move(event: Json, hearer: Hearer) -> Heard | None:
    """Slack gave a channel another id, as when it is shared with another organisation."""
    old, new = channel_of(event.get("old_channel_id")), channel_of(event.get("new_channel_id"))
    stamp = ts(event.get("event_ts"))
    if not old or not new or old == new or not stamp:
        return None
    speaker = hearer.speaker(next(iter(sorted(hearer.names.us)), "U0"), {})
    return Heard(RoomMoved(f"{old}>{new}", hearer.place(old), speaker, new, when(stamp)))


def _stop(event: Json, hearer: Hearer) -> Heard | None:
    """Somebody pressed the stop sign that Slack shows while the bot is at work."""
    channel, root = channel_of(event.get("channel")), ts(event.get("thread_ts"))
    user, stamp = user_id(event.get("user")), ts(event.get("event_ts"))
    if not (channel and root and user and stamp):
        return None
    place, id = hearer.place(channel, root), f"button:{message_id(channel, root)}:{user}:{stamp}"
    speaker = hearer.speaker(user, event)
    return Heard(Incoming(id, place, speaker, "stop", when(stamp), via="button"))


def _said(message: Json) -> tuple[str, tuple[str, ...]]:
    files = tuple(text_of(one.get("id")) for one in rows(message.get("files")))
    return text_of(message.get("text")), files


def _is_of_bot(message: Json, hearer: Hearer) -> bool:
    known = hearer.names.people.get(user_id(message.get("user")))
    says_so = bool(text_of(message.get("bot_id"))) or "bot_profile" in message
    is_one = says_so or text_of(message.get("subtype")) == "bot_message"
    return is_one or (known is not None and known.is_bot)


def _bot(message: Json, hearer: Hearer) -> Speaker | None:
    """A bot that has no user: an integration of old, or a workflow."""
    bot = user_id(message.get("bot_id"))
    name = text_of(message.get("username")) or text_of(
        fields(message.get("bot_profile")).get("name")
    )
    home = hearer.home_of(bot, message)
    return Speaker(person_id(home, bot), name or bot) if bot else None
