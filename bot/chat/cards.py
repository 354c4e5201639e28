"""Decisions that are closed, as the journal tells them: the one of a card, and what was allowed. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.goals.events import DecisionAnswered, DecisionExpired
from bot.goals.goal import Decision, Goal
from bot.goals.hands import Grant, Scope
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
    is_accepted: bool = False
    scope: Scope = "once"
    edits: bool = False
    """Of a plan: they said what should be different."""
    has_expired: bool = False
    """Nobody answered it in time. Neither that nor answered: the goal moved on without it."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A yes of a person that still counts: to a plan (no grant), or to calls of a kind."""

    by: str
    scope: Scope
    grant: Grant | None = None


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
            found = replace(
                found, by=event.by, answer=event.answer, at=event.at,
                is_accepted=event.accepted, scope=event.scope, edits=event.edits,
            )  # fmt: skip
        elif isinstance(event, DecisionExpired) and found and event.decision == found.decision.id:
            found = replace(found, at=event.at, has_expired=True)
        elif found and not found.at and "decision" in line.entry.changes and decision is None:
            found = replace(found, at=line.entry.event.at)
    return found


def allowed_in(lines: Iterable[Line], goal: Goal) -> tuple[Allowed, ...]:
    """Who approved the goal's plan, and who allowed each of its grants."""
    open_one: Decision | None = None
    plan: tuple[Allowed, ...] = ()
    given: dict[Grant, Allowed] = {}
    for line in lines:
        if line.goal != goal.id:
            continue
        event, before = line.entry.event, open_one
        if "decision" in line.entry.changes:
            open_one = line.entry.changes["decision"]
        is_yes = isinstance(event, DecisionAnswered) and event.accepted
        if before is None or not isinstance(event, DecisionAnswered) or not is_yes:
            continue
        if before.kind == "plan" and before.text == goal.plan:
            plan = (Allowed(event.by, "goal"),)
        elif before.kind == "approval" and before.grant is not None and event.scope != "once":
            given[before.grant] = Allowed(event.by, event.scope, before.grant)
    return (*plan, *(given[grant] for grant in goal.grants if grant in given))


def number_in(key: str) -> int:
    """The decision's number in the key of its card (`GOAL:card:2`), or 0."""
    tail = key.rpartition(":")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0
