"""
Our own events of a room, looked through for one of them, newest first.

What was encrypted with keys that this device lost cannot be told apart, and is not found.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import nio

from adapters.matrix import render
from adapters.matrix.errors import translated, unwrap

PAGES: Final = 5
PAGE: Final = 100
"""Pages that are looked through, and events of each: what is further back is older than any row
that is looked for."""
MESSAGES: Final = ("m.room.message", "m.room.encrypted", "m.sticker")
REACTIONS: Final = ("m.reaction",)


async def parts_of(client: nio.AsyncClient, room_id: str, key: str) -> tuple[dict[int, str], int]:
    """The events that were sent with `key`, by their part, and how many parts there should be.

    An edit stands for the event that it edits.

    Raises:
        Wait: the homeserver cannot be asked at the moment.
        Refused: the bot may not read there.
    """
    parts: dict[int, str] = {}
    whole = 0
    async for id, content in _own(client, room_id, MESSAGES):
        mark = render.mark_of(content)
        if mark is None or mark[0] != key:
            continue
        _, part, of = mark
        parts.setdefault(part, render.edited_by(content) or id)
        whole = max(whole, of)
        if len(parts) >= whole:
            break
    return parts, whole


async def reaction_to(client: nio.AsyncClient, room_id: str, to: str, emoji: str) -> str:
    """The id of our reaction of this kind under `to`, or nothing. Raises as `parts_of`."""
    async for id, content in _own(client, room_id, REACTIONS):
        relation = content.get(render.RELATION)
        if (
            isinstance(relation, dict)
            and relation.get("event_id") == to
            and relation.get("key") == emoji
        ):
            return id
    return ""


async def _own(
    client: nio.AsyncClient, room_id: str, types: tuple[str, ...]
) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
    start: str | None = None
    wanted = {"senders": [client.user_id], "types": list(types)}
    for _ in range(PAGES):
        with translated("What was said in the room cannot be read"):
            page = unwrap(
                await client.room_messages(room_id, start=start, limit=PAGE, message_filter=wanted)
            )
        for event in page.chunk:
            content = event.source.get("content")
            if isinstance(content, dict):
                yield str(event.source.get("event_id", "")), content
        start = page.end
        if not start:
            return
