"""
What a copy of a goal knows from the one that it was made of.

Rule 1: it is read where it was said: what is erased there is erased for the copy, too.
Rule 2: it ends at the point that was copied, whatever that goal did afterwards.
Rule 3: of a copy of a copy, all that is above it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.agent.pieces import Piece
from bot.agent.transcript import Transcript
from bot.goals.goal import Goal
from bot.ports.journal import Journal, Line

DEPTH_MOST: Final = 20
"""Copies of copies that are followed."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """What stands above a goal's own conversation, and the sessions that its texts are in."""

    pieces: tuple[Piece, ...] = ()
    sessions: tuple[str, ...] = ()


NOTHING: Final = Inherited()


async def inherited(goal: Goal, journal: Journal, depth: int = DEPTH_MOST) -> Inherited:
    """What the goal knows of those that it is a copy of. Raises as the journal does."""
    if not goal.forks or not depth:
        return NOTHING
    parent = await journal.goal(goal.forks)
    above = await inherited(parent, journal, depth - 1)
    transcript = Transcript(parent.id, above.pieces)
    for line in until(await journal.history(parent.session), parent.id, goal.fork_seq):
        transcript.feed(line)
    # They come before the copy's own entries, the first of which is 1.
    pieces = tuple(replace(piece, seq=0) for piece in transcript.own.take())
    return Inherited(pieces, (parent.session, *above.sessions))


def until(lines: Sequence[Line], goal: str, seq: int) -> Sequence[Line]:
    """The lines up to that entry of that goal."""
    for place, line in enumerate(lines):
        if line.goal == goal and line.entry.seq == seq:
            return lines[: place + 1]
    return ()
