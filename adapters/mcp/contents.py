"""What a tool of a server gave, as text for the agent: bounded, and of pictures and sounds a note. Pure."""

import json
from collections.abc import Iterable
from typing import Any, Final

from bot.ports.attached import size_of
from bot.tools.untrusted import one_line

TEXT_CHARS: Final = 30_000
PARTS_MOST: Final = 200
_NAME_CHARS: Final = 200


def text_of(contents: Iterable[Any], structured: object) -> str:
    """The parts of a result, in order; what is structured only where nothing else is said."""
    parts = []
    for number, content in enumerate(contents):
        if number == PARTS_MOST:
            parts.append(f"[more than {PARTS_MOST} parts; the rest is left out]")
            break
        parts.append(_part(content))
    text = "\n".join(part for part in parts if part)
    if not text.strip() and structured is not None:
        text = json.dumps(structured, ensure_ascii=False, default=str)
    return sound(cut_in_the_middle(text, TEXT_CHARS))


def cut_in_the_middle(text: str, most: int) -> str:
    """The beginning and the end of a text that is longer, saying so."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def sound(text: str) -> str:
    """Text that can be stored and sent: no NUL, no half characters."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _part(content: Any) -> str:
    match content.type:
        case "text":
            return str(content.text)
        case "image" | "audio":
            size = size_of(len(content.data) * 3 // 4)
            return (
                f"[{content.type}, {one_line(content.mime_type, 60)}, {size}: it cannot be shown]"
            )
        case "resource_link":
            name = one_line(content.name, _NAME_CHARS)
            return f"[resource {name}: {one_line(str(content.uri), _NAME_CHARS)}]"
        case "resource":
            return _resource(content.resource)
        case other:
            return f"[{one_line(str(other), 40)}: it cannot be shown]"


def _resource(resource: Any) -> str:
    uri = one_line(str(resource.uri), _NAME_CHARS)
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return f"[resource {uri}]\n{text}"
    size = size_of(len(getattr(resource, "blob", "")) * 3 // 4)
    return f"[resource {uri}, {one_line(str(resource.mime_type), 60)}, {size}: it cannot be shown]"
