"""Bills, summed by whatever one asks, and how they are told. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Final

from bot.chat.amounts import count, usd
from bot.chat.facts import Manner
from bot.goals.money import NANO
from bot.ports.spending import Bill

MOST: Final = 15
"""Lines of an answer in a room."""


@dataclass(frozen=True, slots=True)
class Total:
    """What the bills under one name come to."""

    name: str
    calls: int = 0
    tokens: int = 0
    nano_usd: int = 0
    estimated_nano_usd: int = 0
    unpriced_tokens: int = 0


def keys(manner: Manner) -> Mapping[str, Callable[[Bill], str]]:
    """What bills may be summed by, and the name that each goes under."""
    return {
        "goal": lambda bill: _goal(bill, manner),
        "person": lambda bill: bill.owner_name,
        "room": lambda bill: f"{bill.network}:{bill.room}",
        "day": lambda bill: day(bill.at, manner.zone),
        "model": lambda bill: bill.model,
        "role": lambda bill: bill.role,
    }


def day(at: float, zone: tzinfo) -> str:
    """The local date, such as `2026-11-30`."""
    return datetime.fromtimestamp(at, zone).date().isoformat()


def summed(bills: Iterable[Bill], name: Callable[[Bill], str]) -> tuple[Total, ...]:
    """A total a name, in the order of the names' first bills."""
    found: dict[str, list[Bill]] = {}
    for bill in bills:
        found.setdefault(name(bill), []).append(bill)
    return tuple(total(key, rows) for key, rows in found.items())


def total(name: str, rows: Iterable[Bill | Total]) -> Total:
    """The sum of bills or of totals."""
    found = tuple(rows)
    return Total(
        name,
        sum(one.calls for one in found),
        sum(one.tokens for one in found),
        sum(one.nano_usd for one in found),
        sum(one.estimated_nano_usd for one in found),
        sum(one.unpriced_tokens for one in found),
    )


def money(one: Total, manner: Manner) -> str:
    """`$1.12`, or `at least $1.12` where the price of some tokens is unknown; with what is estimated."""
    texts = manner.texts
    shown = usd(one.nano_usd)
    if one.unpriced_tokens:
        shown = texts("at_least", amount=shown)
    if one.estimated_nano_usd:
        shown += texts("spend.estimated", amount=usd(one.estimated_nano_usd))
    return shown


def table_text(
    head: str, rows: Sequence[Total], everything: Total, foot: Sequence[str], manner: Manner
) -> str:
    """The answer in a room: a line a name, the dearest first unless it is days, and the sum."""
    texts = manner.texts
    if not everything.calls:
        return "\n".join([texts("spend.none"), *foot])
    lines = [_line("spend.line", one, manner) for one in rows[:MOST]]
    if len(rows) > MOST:
        rest = total(texts("spend.others", n=len(rows) - MOST), rows[MOST:])
        lines.append(_line("spend.line", rest, manner))
    if len(rows) > 1:
        lines.append(_line("spend.total", everything, manner))
    return "\n".join([head, *lines, *foot])


def dearest(rows: Iterable[Total]) -> tuple[Total, ...]:
    """The totals, the most expensive first."""
    return tuple(sorted(rows, key=lambda one: (-one.nano_usd, -one.tokens, one.name)))


def row(one: Total) -> dict[str, Any]:
    """A total as a program reads it."""
    return {
        "name": one.name,
        "calls": one.calls,
        "tokens": one.tokens,
        "cost_usd": one.nano_usd / NANO,
        "cost_is_at_least": bool(one.unpriced_tokens),
        "estimated_usd": one.estimated_nano_usd / NANO,
        "unpriced_tokens": one.unpriced_tokens,
    }


def _line(key: str, one: Total, manner: Manner) -> str:
    shown = money(one, manner)
    if one.unpriced_tokens:
        shown += manner.texts("spend.unpriced", tokens=count(one.unpriced_tokens))
    calls = manner.texts("spend.call" if one.calls == 1 else "spend.calls", n=one.calls)
    tokens = count(one.tokens)
    return manner.texts(key, name=one.name, money=shown, calls=calls, tokens=tokens)


def _goal(bill: Bill, manner: Manner) -> str:
    if not bill.number:
        return manner.texts("spend.asks")
    return manner.texts("goal", number=bill.number)
