"""Turns as events, without an agent."""

from dataclasses import replace

from bot.goals.events import (
    Audited,
    AuditFailed,
    CallSettled,
    CallStarted,
    Event,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.money import NANO, Usage
from bot.ports.journal import content_hash
from tests.bot.chat.conftest import Bench


def began(goal: Goal) -> tuple[Event, ...]:
    """A turn whose first call carried all that was said so far."""
    call = f"c{goal.turn + 1}"
    started = CallStarted(call, "agent", "m", 100, 0, goal.messages, goal.revision)
    return TurnStarted(), started, CallSettled(call, Usage(input=100), NANO // 100)


async def complete(bench: Bench, goal: Goal, reply: str = "It is written.") -> Goal:
    """One turn with this reply, audited as complete."""
    return await bench.happens(
        goal,
        *began(goal),
        TurnEnded("done", content_hash(reply)),
        Audited(goal.revision, goal.turn + 1, goal.messages, "complete"),
        contents=[reply],
    )


async def over_budget(bench: Bench, goal: Goal, tokens: int, nano_usd: int) -> Goal:
    """A goal that has spent this, and was wrapped up."""
    call = CallStarted("c9", "agent", "m", 100, 0, goal.messages, goal.revision)
    return await bench.happens(
        goal,
        TurnStarted(),
        call,
        CallSettled("c9", Usage(input=tokens), nano_usd),
        replace(call, call="c10", tokens=10_000_000, nano_usd=9 * NANO),
        TurnEnded("budget"),
        AuditFailed(goal.revision, goal.turn + 1, goal.messages, "timeout"),
        TurnStarted(),
        TurnEnded("done"),
    )
