"""
Our own compaction, for models whose endpoint has none: a summary takes the place of what is old.

Rule 1: it cuts only before a call of the agent, where no tool call is open, and keeps the last two
        exchanges.
Rule 2: the objective is not summarised: it is put back from the goal's row.
"""

from collections.abc import Sequence
from typing import Final

from bot.agent import prompts
from bot.agent.pieces import Piece, Replied
from bot.ports.model import Json

KEPT_EXCHANGES: Final = 2
SUMMARY_CHARS: Final = 40_000

TOOL: Final[Json] = {
    "name": "compaction",
    "description": "Keep the summary that takes the place of the conversation.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The summary."}},
        "required": ["text"],
        "additionalProperties": False,
    },
}
CHOICE: Final[Json] = {"type": "tool", "name": "compaction"}


def cut(pieces: Sequence[Piece]) -> int | None:
    """The goal's entry up to which a summary may stand in, or None where nothing can be cut."""
    replies = [piece for piece in pieces if isinstance(piece, Replied)]
    for place in range(len(replies) - KEPT_EXCHANGES, 0, -1):
        if replies[place - 1].stop_reason == "pause_turn":
            continue
        upto = replies[place].call_seq - 1
        if replies[place - 1].seq <= upto:
            return upto
    return None


def old(pieces: Sequence[Piece], upto: int) -> list[Piece]:
    """The pieces that the summary is to replace."""
    return [piece for piece in pieces if piece.seq <= upto]


def asked(messages: tuple[Json, ...]) -> tuple[Json, ...]:
    """The messages with the request for a summary at their end."""
    *before, last = messages
    wish = {"type": "text", "text": prompts.SUMMARISE}
    if last["role"] != "user":
        return (*messages, {"role": "user", "content": [wish]})
    return (*before, {"role": "user", "content": [*last["content"], wish]})


def tokens(pieces: Sequence[Piece]) -> int:
    """What the conversation had at its last reply."""
    last = next((piece for piece in reversed(pieces) if isinstance(piece, Replied)), None)
    return 0 if last is None else last.tokens
