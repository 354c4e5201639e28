"""
Where a request says "cache up to here": at most four marks (SDK, `cache_control` on blocks).

The order of a prompt is tools, system, messages, and a mark covers all before it. So: the end of the
tools, the end of the system text, and the last two messages of the user, the older of which finds
what the call before wrote.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from bot.ports.model import Json, ModelRequest

MARK: Final[dict[str, str]] = {"type": "ephemeral"}
"""Five minutes, the API's default time to live."""

MOST_MARKS: Final = 4
"""What the API takes; one more is an invalid request."""

_UNMARKABLE: Final = frozenset({"thinking", "redacted_thinking"})


def with_cache_points(request: ModelRequest) -> ModelRequest:
    """The request with its marks. Marks that are there already stay, and count."""
    left = MOST_MARKS - _marks(request)
    tools, left = _marked_end(request.tools, left)
    system, left = _marked_end(request.system, left)
    messages = list(request.messages)
    users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    for place in reversed(users[-2:]):
        marked = _marked_message(messages[place]) if left > 0 else None
        if marked is not None:
            messages[place] = marked
            left -= 1
    return replace(request, tools=tools, system=system, messages=tuple(messages))


def _marked_end(blocks: tuple[Json, ...], left: int) -> tuple[tuple[Json, ...], int]:
    marked = _marked(blocks) if left > 0 else None
    return (blocks, left) if marked is None else (tuple(marked), left - 1)


def _marked_message(message: Json) -> Json | None:
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list | tuple):
        return None
    marked = _marked(content)
    return None if marked is None else {**message, "content": marked}


def _marked(blocks: Sequence[Json]) -> list[Any] | None:
    """The blocks with the last one marked; None when it cannot be, or is already."""
    if not blocks:
        return None
    last = blocks[-1]
    is_empty = last.get("type") == "text" and not last.get("text")
    if is_empty or last.get("type") in _UNMARKABLE or "cache_control" in last:
        return None
    return [*blocks[:-1], {**last, "cache_control": MARK}]


def _marks(request: ModelRequest) -> int:
    found = sum("cache_control" in block for block in (*request.tools, *request.system))
    for message in request.messages:
        content = message.get("content")
        if isinstance(content, list | tuple):
            found += sum("cache_control" in block for block in content)
    return found
