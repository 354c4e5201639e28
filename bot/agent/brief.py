"""
Acceptance criteria of a long objective (a brief), distilled once a revision.

The agent sees the brief whole; the criteria are for looking at it at a glance, and are kept as the
content of the distilling call, so that `criteria` finds them in the journal.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from bot.agent import prompts
from bot.agent.request import forced_text
from bot.goals.events import CallSettled, CallStarted, GoalOpened, ObjectiveEdited
from bot.goals.limits import OBJECTIVE_CHARS
from bot.goals.machine import Entry
from bot.ports.model import Json

CRITERIA_CHARS: Final = 1_500
"""Design, section 2."""
CRITERIA_TOKENS: Final = 1_024

TOOL: Final[Json] = {
    "name": "distil",
    "description": "Keep the acceptance criteria.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The criteria, line by line."}},
        "required": ["text"],
        "additionalProperties": False,
    },
}
CHOICE: Final[Json] = {"type": "tool", "name": "distil"}


def is_brief(objective: str) -> bool:
    """True for an objective that is long enough to be distilled."""
    return len(objective) > OBJECTIVE_CHARS


def asked(objective: str) -> tuple[Json, ...]:
    """The messages of the distilling call."""
    wish = prompts.DISTIL.format(chars=CRITERIA_CHARS)
    text = f"{wish}\n\n{objective.encode('utf-8', 'replace').decode('utf-8')}"
    return ({"role": "user", "content": [{"type": "text", "text": text}]},)


def distilled(entries: Iterable[Entry]) -> str:
    """The content hash of the criteria of the goal's newest revision, or empty.

    Args:
        entries: the goal's own, in order.
    """
    found = ""
    calls: set[str] = set()
    for entry in entries:
        match entry.event:
            case GoalOpened() | ObjectiveEdited():
                found = ""
            case CallStarted(call=call, role="distil"):
                calls.add(call)
            case CallSettled(call=call, content=content) if call in calls and content:
                found = content
            case _:
                pass
    return found


def criteria(entries: Iterable[Entry], contents: Mapping[str, str]) -> str:
    """The criteria of the goal's newest revision, or an empty text.

    Args:
        entries: the goal's own, in order.
        contents: texts by hash, with that of `distilled` among them.
    """
    raw = contents.get(distilled(entries))
    return "" if raw is None else forced_text(raw)[:CRITERIA_CHARS]
