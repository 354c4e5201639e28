"""
What a tool call gave, as it is kept: the content that a `ToolEnded` names.

The content is a JSON object: `ok` (bool), `text` (what the agent is told) and, where files were
read, `read` (sha256 by workspace path). Anything else is taken as the text itself.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.ports.sandbox import Outcome


@dataclass(frozen=True, slots=True)
class Result:
    """A kept result."""

    ok: bool
    text: str
    read: Mapping[str, str] = field(default_factory=dict)


def kept(ok: bool, text: str, read: Mapping[str, str] | None = None) -> str:
    """The content of a result."""
    given: dict[str, Any] = {"ok": ok, "text": text}
    if read:
        given["read"] = dict(read)
    return json.dumps(given, ensure_ascii=False)


def of_outcome(outcome: Outcome) -> str:
    """The content of what the sandbox gave."""
    return kept(outcome.ok, outcome.text, outcome.read)


def result(content: str) -> Result:
    """The result in a content."""
    try:
        given = json.loads(content)
    except ValueError:
        return Result(True, content)
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        return Result(True, content)
    read = given.get("read")
    return Result(
        bool(given.get("ok", True)), given["text"], read if isinstance(read, dict) else {}
    )


def files_read(contents: Iterable[str]) -> dict[str, str]:
    """The hash of each file as the results, in order, last showed it."""
    seen: dict[str, str] = {}
    for content in contents:
        seen.update(result(content).read)
    return seen
