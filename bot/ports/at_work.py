"""
Which goal a task works at: said by the worker, read by whoever writes a log line.

A context variable, so that everything a goal's task starts knows it, and nothing is passed along.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from bot.goals.goal import Goal, State


@dataclass(frozen=True, slots=True)
class AtWork:
    """A goal and the turn that it is in or about to begin."""

    goal: str
    number: int
    turn: int


AT_WORK: Final[ContextVar[AtWork | None]] = ContextVar("at_work", default=None)


def work_at(goal: Goal) -> None:
    """Say that this task works at `goal` from here on."""
    begins = goal.state is State.READY
    AT_WORK.set(AtWork(goal.id, goal.number, goal.turn + begins))
