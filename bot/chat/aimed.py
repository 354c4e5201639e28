"""The message that a goal is made of, as whoever aims at it means it: its whole text, and who said it."""

from dataclasses import dataclass
from itertools import count
from typing import Final

from bot.chat.desk import Desk
from bot.chat.heard import aimed_id_in, goal_id_in
from bot.chat.rights import Act, may
from bot.goals.goal import Goal
from bot.ports.attached import edited
from bot.ports.chat import Incoming, Place

OURS: Final = "agent"
"""Who wrote what was posted by the bot itself."""


@dataclass(frozen=True, slots=True)
class Aimed:
    """What a message says."""

    text: str
    author: str = ""
    """Person id, or `OURS`; empty where only the network knows it."""
    is_kept: bool = False
    """The store has the whole of it: it can be read again by its id."""
    is_wanted: bool = False
    """Whoever said it may start goals themselves: what it asks for beside the work counts."""


async def aimed(desk: Desk, message: Incoming, text: str = "") -> Aimed | None:
    """What the message `message.reply_to` says; None where it cannot be read.

    `text`: what its network says that it says now, which counts, save for posts of ours: of those the
    store has more than their network shows.
    """
    place, of = message.place, message.reply_to
    ours = await desk.rooms.posted(place, of)
    if ours is not None:
        there = await desk.journal.contents(ours.session, (ours.content,))
        said = there.get(ours.content, "")
        is_root = ours.kind == "root" and bool(ours.goal)
        if is_root:
            # Who aims at the first message of a thread means what it is about.
            said = await desk.objective(await desk.journal.goal(ours.goal))
        if said.strip():
            return Aimed(said, OURS, is_kept=True, is_wanted=is_root)
    target = await desk.doors.heeded(of)
    if target is not None:
        said = text or target.message.text
        if target.message.files:
            said = edited(said, target.message)
        author = await desk.rooms.person(place.network, target.message.speaker)
        is_kept = said == target.message.text
        roles = await desk.allow_list.roles(place, target.message.speaker)
        is_wanted = may(Act.START, roles, room=desk.allow_list.settings(place))
        return Aimed(said, author, is_kept=is_kept, is_wanted=is_wanted) if said.strip() else None
    return Aimed(text) if text.strip() else None


async def goal_of(desk: Desk, place: Place, of: str) -> Goal | None:
    """The goal that a message has opened, or that was made of it and not taken back."""
    found = await _goal(desk, goal_id_in(place, of))
    for one in count(1):
        if found is not None and found.reason != "undone":
            return found
        found = await _goal(desk, aimed_id_in(place, of, one))
        if found is None:
            return None
    return None


async def _goal(desk: Desk, id: str) -> Goal | None:
    try:
        return await desk.journal.goal(id)
    except KeyError:
        return None
