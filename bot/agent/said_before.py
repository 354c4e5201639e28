"""What the agent says with a call that is put before people: its own reason for it. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bot.agent.request import visible_text

MOST: Final = 1_000
"""Characters; whoever is asked reads the call, and this beside it."""


def quoted_reason(blocks: Iterable[Mapping[str, Any]], tool_use: str) -> str:
    """The text between the last call before this one and it, as a quotation; empty where there is none.

    It is the agent's word, which may be anybody's: a quotation below the call, never a part of it.
    """
    said: list[Mapping[str, Any]] = []
    for block in blocks:
        if block.get("type") == "tool_use":
            if block.get("id") == tool_use:
                break
            said = []
        else:
            said.append(block)
    text = visible_text(said).strip()
    shown = text if len(text) <= MOST else f"{text[: MOST - 1].rstrip()}…"
    return "\n".join(f"> {line}".rstrip() for line in shown.splitlines())
