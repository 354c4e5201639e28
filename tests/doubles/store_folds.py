"""Steps, audits and bills folded from a journal, with no rows of their own."""

from collections.abc import Iterable
from dataclasses import replace

from bot.goals.events import (
    Audited,
    AuditFailed,
    CallReleased,
    CallSettled,
    CallStarted,
    ToolEnded,
    ToolStarted,
)
from bot.goals.machine import Entry
from bot.goals.money import Ledger, Usage
from bot.ports.records import AuditRow, Spent, Step


def steps(entries: Iterable[Entry]) -> tuple[Step, ...]:
    """The model and tool calls of a journal, in the order of their first start."""
    found: dict[str, Step] = {}
    ledger, turn = Ledger(), 0
    for entry in entries:
        before, ledger = ledger, entry.changes.get("ledger", ledger)
        turn = entry.changes.get("turn", turn)
        _follow(found, entry, turn)
        _charge(found, entry, before, ledger)
    return tuple(found.values())


def audits(entries: Iterable[Entry]) -> tuple[AuditRow, ...]:
    """The audits of a journal."""
    rows = []
    for entry in entries:
        match entry.event:
            case Audited() as e:
                rows.append(
                    AuditRow(
                        entry.seq, e.turn, e.revision, e.verdict, "", entry.rule, e.note, e.evidence,
                        e.at,
                    )
                )  # fmt: skip
            case AuditFailed() as e:
                rows.append(
                    AuditRow(entry.seq, e.turn, e.revision, "", e.failure, entry.rule, "", "", e.at)
                )
            case _:
                pass
    return tuple(rows)


def spend(found: Iterable[Step]) -> tuple[Spent, ...]:
    """What calls cost, by role."""
    bills: dict[str, Spent] = {}
    for step in found:
        if step.kind == "tool":
            continue
        bill = bills.get(step.name, Spent(step.name, 0, Usage(), 0, 0, 0, False))
        bills[step.name] = replace(
            bill,
            calls=bill.calls + (step.state in ("settled", "lost")),
            usage=bill.usage + step.usage,
            nano_usd=bill.nano_usd + (step.nano_usd or 0),
            estimated_tokens=bill.estimated_tokens + step.estimated_tokens,
            estimated_nano_usd=bill.estimated_nano_usd + step.estimated_nano_usd,
            has_unknown_price=bill.has_unknown_price or step.nano_usd is None,
        )
    return tuple(bills[role] for role in sorted(bills))


def _follow(found: dict[str, Step], entry: Entry, turn: int) -> None:
    match entry.event:
        case CallStarted() as e if entry.rule == "call_started":
            found[e.call] = Step(
                e.call, "call", e.role, turn, "started", model=e.model, started_at=e.at
            )
        case ToolStarted() as e:
            runs = found[e.tool_use].runs + 1 if e.tool_use in found else 1
            found[e.tool_use] = Step(
                e.tool_use, "tool", e.name, turn, "started", effects=e.effects, started_at=e.at,
                runs=runs,
            )  # fmt: skip
        case CallSettled() as e:
            found[e.call] = replace(
                found.get(e.call, Step(e.call, "call", "", turn, "settled")),
                state="settled",
                usage=e.usage,
                nano_usd=e.nano_usd,
                content=e.content,
                ended_at=e.at,
            )
        case CallReleased() as e if e.call in found:
            found[e.call] = replace(found[e.call], state="released", ended_at=e.at)
        case ToolEnded() as e:
            found[e.tool_use] = replace(
                found.get(e.tool_use, Step(e.tool_use, "tool", "", turn, e.outcome)),
                state=e.outcome,
                content=e.content,
                ended_at=e.at,
            )
        case _:
            pass


def _charge(found: dict[str, Step], entry: Entry, before: Ledger, after: Ledger) -> None:
    answered = isinstance(entry.event, CallSettled | CallReleased) and entry.event.call
    for call in before.open:
        if call not in after.open and call.call != answered:
            found[call.call] = replace(
                found[call.call],
                state="lost",
                nano_usd=None if call.nano_usd is None else 0,
                estimated_tokens=call.tokens,
                estimated_nano_usd=call.nano_usd or 0,
                ended_at=entry.event.at,
            )
    if isinstance(entry.event, CallSettled):
        for call in before.lost:
            if call.call == entry.event.call:
                found[call.call] = replace(
                    found[call.call], estimated_tokens=0, estimated_nano_usd=0
                )
