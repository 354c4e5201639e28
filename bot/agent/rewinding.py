"""
A session's lines without what was taken back, and what is told in its place: pure.

Rule 1: after `Rewound` the goal's lines behind the point are as if they had never been, but for its row.
        A later rewind may go to a point among them: then they count again.
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


def effective(lines: Sequence[Line], goal: str, upto: int) -> list[Line]:
    """The goal's lines that count at that entry: each rewind goes on where its point was."""
    own = [line for line in lines if line.goal == goal and line.entry.seq <= upto]
    for place in reversed(range(len(own))):
        event = own[place].entry.event
        if isinstance(event, Rewound):
            return [*effective(own[:place], goal, event.to_seq), *own[place:]]
    return own


def cut(lines: Sequence[Line], line: Line, event: Rewound, row: dict[str, Any]) -> Cut:
    """What a rewind leaves.

    Args:
        lines: all that came before it, what was taken back as well.
        line: of the rewind itself.
        row: the goal's, as its lines so far made it.
    """
    # What an earlier rewind took back and told is told again: that telling goes with this one.
    gone = [one for one in lines if one.goal == line.goal and one.entry.seq > event.to_seq]
    seq, owner = line.entry.seq, str(row.get("owner", ""))
    done = lasting((one.entry for one in lines if one.goal == line.goal), event.to_seq)
    who = prompts_rewind.who(event.by, owner)
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
    return Cut(dict(row), tuple(told))


def counting(lines: Sequence[Line]) -> list[Line]:
    """All lines of a session that count, in their order."""
    last = {line.goal: line.entry.seq for line in lines}
    kept = {
        (goal, line.entry.seq) for goal, seq in last.items() for line in effective(lines, goal, seq)
    }
    return [line for line in lines if (line.goal, line.entry.seq) in kept]
