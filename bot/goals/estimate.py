"""
How many tokens a prompt may have, before it is sent: a bound from above, for reservations.

Rule 1: too much holds money back for a moment; too little lets a call start that cannot be paid.
        So every number here errs upwards.
Rule 2: what the prompt really had is the reply's to say; the reservation is then replaced.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

Json = Mapping[str, Any]

_written: Final = json.JSONEncoder(ensure_ascii=False, default=str).encode

ASCII_PER_TOKEN: Final = 3
"""English text has about 4 characters a token, code and JSON about 3
(https://platform.claude.com/docs/en/about-claude/glossary#tokens: about 3.5 in English)."""

BYTES_PER_TOKEN: Final = 2
"""UTF-8 bytes a token outside ASCII: a character of three bytes counts 1.5."""

IMAGE_TOKENS: Final = 1_600
"""An image of the largest size that is not scaled down
(https://platform.claude.com/docs/en/build-with-claude/vision: width x height / 750)."""

TOOL_USE_TOKENS: Final = 500
"""What the API adds to the system prompt when there are tools, rounded up
(https://platform.claude.com/docs/en/build-with-claude/tool-use: 290 to 410 by model)."""

MESSAGE_TOKENS: Final = 4
"""What says whose message it is, or so."""

FRAME_TOKENS: Final = 8
"""Braces, quotes and the name of the long part of a block."""

_LONG: Final[Mapping[Any, str]] = {"text": "text", "tool_result": "content"}
"""The part of a block that is long, by the block's type."""


def estimate_tokens(
    *, system: Iterable[Json] = (), tools: Iterable[Json] = (), messages: Iterable[Json] = ()
) -> int:
    """An upper bound of the prompt's tokens.

    Args:
        system, tools, messages: the request's parts, Messages API JSON.
    """
    tools = tuple(tools)
    total = TOOL_USE_TOKENS if tools else 0
    total += sum(_of_json(tool) for tool in tools)
    total += sum(estimate_block(block) for block in system)
    return total + sum(_of_message(message) for message in messages)


def estimate_block(block: Json) -> int:
    """An upper bound of one content block's tokens."""
    kind = block.get("type")
    if kind == "image":
        return IMAGE_TOKENS
    name = _LONG.get(kind, "")
    inner = block.get(name)
    if inner is None:
        return _of_json(block)
    # The long part is counted as the text it is: to write it as JSON first costs more than to count.
    around = _of_text("".join(f'"{key}":"{value}",' for key, value in block.items() if key != name))
    whole = _of_text(inner) if isinstance(inner, str) else _of_blocks(inner)
    return whole + FRAME_TOKENS + around


def _of_message(message: Json) -> int:
    content = message.get("content")
    whole = _of_text(content) if isinstance(content, str) else _of_blocks(content)
    return MESSAGE_TOKENS + whole


def _of_blocks(content: Any) -> int:
    return sum(estimate_block(block) for block in content or ())


def _of_json(value: Json) -> int:
    return _of_text(_written(value))


def _of_text(text: str) -> int:
    if text.isascii():
        return -(-len(text) // ASCII_PER_TOKEN)
    ascii_part = len(text.encode("ascii", "ignore"))
    other_bytes = len(text.encode("utf-8", "surrogatepass")) - ascii_part
    return -(-ascii_part // ASCII_PER_TOKEN) + -(-other_bytes // BYTES_PER_TOKEN)
