"""
What a tool of a server gave, as text for the agent: bounded, and of pictures and sounds a note. Pure.

Rule: secrets are taken out before anything is cut: of one that lies over the cut a part would stay.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from bot.ports.attached import size_of
from bot.tools.untrusted import one_line

TEXT_CHARS: Final = 30_000
PARTS_MOST: Final = 200
_NAME_CHARS: Final = 200


def text_of(contents: Iterable[Any], structured: object, redacted: Callable[[str], str]) -> str:
    """The parts of a result, in order; what is structured only where nothing else is said.

    Args:
        redacted: a text without the values of secrets.
    """
    parts = []
    for number, content in enumerate(contents):
        if number == PARTS_MOST:
            parts.append(f"[more than {PARTS_MOST} parts; the rest is left out]")
            break
        parts.append(_part(content, redacted))
    text = "\n".join(part for part in parts if part)
    if not text.strip() and structured is not None:
        text = json.dumps(structured, ensure_ascii=False, default=str)
    return sound(cut_in_the_middle(redacted(text), TEXT_CHARS))


def cut_in_the_middle(text: str, most: int) -> str:
    """The beginning and the end of a text that is longer, saying so."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def sound(text: str) -> str:
    """Text that can be stored and sent: no NUL, no half characters."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _part(content: Any, redacted: Callable[[str], str]) -> str:
    def line(text: object, most: int = _NAME_CHARS) -> str:
        return one_line(redacted(str(text)), most)

    match content.type:
        case "text":
            return str(content.text)
        case "image" | "audio":
            size = size_of(len(content.data) * 3 // 4)
            return f"[{content.type}, {line(content.mime_type, 60)}, {size}: it cannot be shown]"
        case "resource_link":
            return f"[resource {line(content.name)}: {line(content.uri)}]"
        case "resource":
            return _resource(content.resource, line)
        case other:
            return f"[{line(other, 40)}: it cannot be shown]"


def _resource(resource: Any, line: Callable[..., str]) -> str:
    uri = line(resource.uri)
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return f"[resource {uri}]\n{text}"
    size = size_of(len(getattr(resource, "blob", "")) * 3 // 4)
    return f"[resource {uri}, {line(resource.mime_type, 60)}, {size}: it cannot be shown]"
