"""
A session's lines without what was taken back, and what is told in its place: pure.

Rule 1: after `Rewound` the goal's lines behind the point are as if they had never been, but for its row.
Rule 2: what people said there is told where the conversation goes on, as said later; and what stays done
        in the world is told as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent import prompts_rewind
from bot.agent.pieces import Said
from bot.goals.events import DecisionAnswered, MessageReceived, ObjectiveEdited, Rewound
from bot.goals.rewinding import lasting
from bot.ports.journal import Line


@dataclass(frozen=True, slots=True)
class Cut:
    """What a rewind leaves: the goal's row just before it, and what is told of what it took back."""

    row: dict[str, Any]
    told: tuple[Said, ...]


def cut(
    lines: Sequence[Line], line: Line, event: Rewound, row: dict[str, Any]
) -> tuple[list[Line], Cut]:
    """The lines that still count, and what else there is.

    Args:
        line: of the rewind itself.
        row: the goal's, as its lines so far made it.
    """
    gone = [one for one in lines if one.goal == line.goal and one.entry.seq > event.to_seq]
    left = [one for one in lines if one.goal != line.goal or one.entry.seq <= event.to_seq]
    seq, owner = line.entry.seq, str(row.get("owner", ""))
    who = prompts_rewind.who(event.by, owner)
    done = lasting((one.entry for one in gone), event.to_seq)
    told = [Said(seq, prompts_rewind.rewound(who, done))]
    for one in gone:
        match one.entry.event:
            case MessageReceived(by=by, content=content):
                label = prompts_rewind.said_since(prompts_rewind.who(by, owner))
            case DecisionAnswered(by=by, answer=content) if content:
                label = prompts_rewind.said_since(prompts_rewind.who(by, owner))
            case ObjectiveEdited(by=by, objective=content):
                label = prompts_rewind.objective_since(prompts_rewind.who(by, owner))
            case _:
                continue
        told.append(Said(seq, label, content, is_persons=True))
    return left, Cut(dict(row), tuple(told))
