"""What a conversation is made of: what was said to the agent, and what it replied."""

from dataclasses import dataclass, field

from bot.agent.approved import Approval
from bot.goals.events import ToolEnded, ToolStarted


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of a user message: a label of ours, and a text by its hash."""

    seq: int
    label: str
    content: str = ""
    is_persons: bool = False
    """A person wrote it, and may erase it."""
    is_forced: bool = False
    """The content is a reply whose one tool call has the text."""


@dataclass(frozen=True, slots=True)
class Replied:
    """An assistant message, with what became of its calls."""

    seq: int
    call_seq: int
    """Of the `CallStarted` that it answers."""
    content: str
    stop_reason: str
    objective: str
    tokens: int
    """Of the whole conversation then: prompt and reply."""
    started: dict[str, ToolStarted] = field(default_factory=dict)
    ended: dict[str, ToolEnded] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    """Calls that were put before people, by their ids; `approvals`: what was said to them."""
    approvals: dict[str, Approval] = field(default_factory=dict)


Piece = Said | Replied
