"""Secrets that a room's repositories and servers of tools name: its own, or whose an admin of everywhere says."""

from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.room_forms import room_of
from bot.errors import Refused
from bot.ports.chat import Place


async def refuse_foreign(desk: Desk, heard: Heard, place: Place, name: str) -> None:
    """Raise Refused where a secret is named that is not the room's; empty: none is named."""
    if not name or await desk.allow_list.is_chief(place, heard.message.speaker):
        return
    uses = await desk.secrets.uses.of(room_of(place)) if desk.secrets is not None else ()
    if not any(use.secret.name == name for use in uses):
        raise Refused(desk.manner.texts("refused.secret_not_here", name=name), code="other")
