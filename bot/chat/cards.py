"""The decision behind a card whose question is closed, as the journal tells it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.goals.events import DecisionAnswered
from bot.goals.goal import Decision
from bot.ports.journal import Line


@dataclass(frozen=True, slots=True)
class Closed:
    """A decision that is no longer open, and who answered it, if anybody did."""

    decision: Decision
    by: str = ""
    answer: str = ""
    """Content hash of what they answered."""
    at: float = 0.0
    """When."""


def closed(lines: Iterable[Line], goal: str, number: int) -> Closed | None:
    """The goal's decision of that number."""
    found: Closed | None = None
    for line in lines:
        if line.goal != goal:
            continue
        decision = line.entry.changes.get("decision")
        if isinstance(decision, Decision) and decision.number == number:
            found = replace(found or Closed(decision), decision=decision)
        event = line.entry.event
        if isinstance(event, DecisionAnswered) and found and event.decision == found.decision.id:
            found = Closed(found.decision, event.by, event.answer, event.at)
    return found


def number_in(key: str) -> int:
    """The decision's number in the key of its card (`GOAL:card:2`), or 0."""
    tail = key.rpartition(":")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0
