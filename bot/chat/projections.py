"""
Goals and their journals as plain values, for tables and JSON. Pure.

Money is in dollars where a price is known; an unknown price makes `cost_is_at_least` true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from bot.chat.facts import Manner
from bot.chat.status import shown_state
from bot.chat.views import describe
from bot.goals.events import Event
from bot.goals.goal import Goal
from bot.goals.machine import Entry
from bot.goals.money import NANO
from bot.ports.journal import Task
from bot.ports.records import GoalRow, Spent, Trace
from bot.ports.words import MARK
from bot.tools import calls

Row = dict[str, Any]


def hashes_of(trace: Trace) -> tuple[str, ...]:
    """The content hashes that a trace names, to be read at once."""
    goal = trace.goal
    found = {goal.objective, goal.reply, goal.note}
    for step in trace.steps:
        found.add(step.content)
    for audit in trace.audits:
        found |= {audit.note, audit.evidence}
    for row in trace.decisions:
        found |= {row.decision.text, row.answer}
    for line in trace.lines:
        for name in (
            "content",
            "text",
            "objective",
            "reply",
            "note",
            "evidence",
            "answer",
            "report",
        ):
            found.add(getattr(line.entry.event, name, ""))
    return tuple(sorted(found - {""}))


def goal_row(row: GoalRow, objective: str, manner: Manner, *, is_held: bool = False) -> Row:
    """One goal in a list."""
    goal = row.goal
    shown = "state.on_hold" if is_held else f"state.{shown_state(goal)}"
    return {
        "goal": manner.texts("goal", number=goal.number),
        "id": goal.id,
        "state": goal.state.value,
        "shown_state": manner.texts(shown),
        "is_on_hold": is_held,
        "owner": row.owner or MARK,
        "objective": objective,
        "turns": goal.turn,
        **_cost(goal),
        "opened_at": iso(goal.opened_at),
        "closed_at": iso(goal.closed_at),
        "thread": row.place.thread,
    }


def detail(
    row: GoalRow,
    trace: Trace,
    spend: Sequence[Spent],
    tasks: Sequence[Task],
    contents: Mapping[str, str],
    manner: Manner,
) -> Row:
    """All that is known of one goal."""
    goal = trace.goal
    return {
        **goal_row(row, contents.get(goal.objective, ""), manner),
        "reason": goal.reason,
        "revision": goal.revision,
        "continuations": goal.continuations,
        "allowance": goal.allowance,
        "budget": {
            "usd": dollars(goal.budget.nano_usd),
            "tokens": goal.budget.tokens,
            "hours": None if goal.budget.active_s is None else goal.budget.active_s / 3600,
        },
        "reply": contents.get(goal.reply, ""),
        "note": contents.get(goal.note, ""),
        "tasks": [
            {"title": task.title or MARK, "state": task.state, "evidence": task.evidence}
            for task in tasks
        ],
        "decisions": [
            {
                "number": one.decision.number,
                "kind": one.decision.kind,
                "state": one.state,
                "text": contents.get(one.decision.text, ""),
                "about": _about(contents.get(one.decision.text, "")),
                "answer": contents.get(one.answer, ""),
            }
            for one in trace.decisions
        ],
        "audits": [
            {
                "turn": one.turn,
                "verdict": one.verdict or None,
                "failure": one.failure or None,
                "rule": one.rule,
                "note": contents.get(one.note, ""),
                "evidence": contents.get(one.evidence, ""),
            }
            for one in trace.audits
        ],
        "spend": [_bill(bill) for bill in spend],
    }


def trace_rows(trace: Trace, contents: Mapping[str, str]) -> list[Row]:
    """The journal of a goal, an entry a row."""
    return [_entry(line.position, line.entry, contents) for line in trace.lines]


def iso(at: float | None) -> str | None:
    """A moment in ISO 8601, UTC, to the millisecond."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def dollars(nano: int | None) -> float | None:
    """Nano-dollars as dollars."""
    return None if nano is None else nano / NANO


def _cost(goal: Goal) -> Row:
    ledger = goal.ledger
    return {
        "cost_usd": dollars(ledger.nano_usd),
        "cost_is_at_least": ledger.has_unknown_price,
        "estimated_usd": dollars(ledger.estimated_nano_usd),
        "tokens": ledger.tokens,
        "calls": ledger.calls,
        "active_s": round(ledger.active_s, 3),
    }


def _bill(bill: Spent) -> Row:
    return {
        "role": bill.role,
        "calls": bill.calls,
        **{field.name: getattr(bill.usage, field.name) for field in fields(bill.usage)},
        "cost_usd": dollars(bill.nano_usd),
        "cost_is_at_least": bill.has_unknown_price,
        "estimated_usd": dollars(bill.estimated_nano_usd),
        "estimated_tokens": bill.estimated_tokens,
    }


def _about(text: str) -> str:
    """What a decision asks, in a line: of a call, what it would do."""
    call = calls.read(text)
    about = text if call is None else f"{call.tool}: {call.body}"
    return about.strip().split("\n")[0]


def _entry(position: int, entry: Entry, contents: Mapping[str, str]) -> Row:
    event = entry.event
    return {
        "position": position,
        "seq": entry.seq,
        "at": iso(event.at),
        "event": type(event).__name__,
        "rule": entry.rule,
        "before": entry.before.value if entry.before else None,
        "after": entry.after.value,
        "about": describe(event),
        "fields": _fields(event),
        "texts": _texts(event, contents),
    }


def _fields(event: Event) -> Row:
    return {
        field.name: _plain(getattr(event, field.name))
        for field in fields(event)
        if field.name != "at"
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def _texts(event: Event, contents: Mapping[str, str]) -> Row:
    named = ((field.name, getattr(event, field.name)) for field in fields(event))
    return {
        name: contents[value]
        for name, value in named
        if isinstance(value, str) and value in contents
    }
