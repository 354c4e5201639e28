"""Why a message was not taken: the same rules as taking it, asked again. Pure."""

from typing import Literal

from bot.chat.abilities import is_unseen
from bot.chat.parse import Command, Greeting, Speech, Talk, is_command, parse
from bot.chat.rights import Act, may
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.chat import reaction_of
from bot.ports.doors import Heeded
from bot.ports.people import Role
from bot.ports.room_settings import Mention, RoomSettings

Why = Literal[
    "taken", "waiting", "failed", "stranger", "aside", "others", "unaddressed", "always", "before",
    "may_not", "reaction", "off", "bad", "empty",
]  # fmt: skip


def why_untaken(
    heeded: Heeded,
    roles: frozenset[Role],
    room: RoomSettings,
    texts: Texts,
    *,
    in_thread: bool,
    mention: Mention,
    is_direct: bool = False,
    is_shared: bool = False,
) -> Why:
    """The reason by the rights and settings as they are now; `taken` where there is none.

    `mention`: how the bot is addressed in that place; in a thread that was there before a goal came to
    live in it, by name alone, whatever the room has.
    """
    if heeded.state != "handled":
        return "failed" if heeded.state == "failed" else "waiting"
    text = heeded.message.text.strip()
    if not text and not is_unseen(heeded.message):
        return "empty"
    if not roles:
        return "stranger"
    if reaction_of(heeded.message) is not None:
        return "reaction"
    if heeded.message.via in ("button", "form"):
        return "taken"
    if text.startswith("//"):
        return "aside"
    if heeded.message.is_aside and not is_command(text):
        return "others"
    try:
        said = parse(
            text,
            texts,
            in_thread=in_thread,
            mention=mention,
            is_direct=is_direct,
            is_shared=is_shared,
        )
    except BadInput:
        return "bad"
    match said:
        case Talk():
            if not in_thread or mention != "always":
                return "unaddressed"
            return "always" if room.mention == "always" else "before"
        case Speech():
            return "taken" if may(Act.STEER, roles) else "may_not"
        case Command(verb=verb) if verb.name in ("", "reopen") and not room.goals:
            return "off"
        case Command(verb=verb) if verb.act is Act.START and not may(Act.START, roles):
            return "may_not"
        case Greeting() | Command():
            return "taken"
