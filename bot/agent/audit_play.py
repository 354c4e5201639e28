"""
Plays labelled cases against an auditor, and reports how it did.

*Premature*: complete, where the objective is not met. *Needless*: continue, where that is not
right. *Serious*: a premature completion, or a finished goal that is not let go (continue, blocked).
Failed audits (time-out, refusal, unreadable) are no verdicts: wrong, and neither of these.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from bot.agent.audit_cases import Case
from bot.agent.audit_request import audit_request
from bot.agent.audit_verdict import NoVerdict, Verdict, is_known, verdict_from
from bot.agent.costs import cost_of
from bot.errors import BadRequest, ModelBusy
from bot.goals.events import VerdictKind
from bot.goals.money import NANO, Usage
from bot.ports.model import Model

AT_ONCE: Final = 8
_VERDICTS: Final = frozenset(get_args(VerdictKind))


@dataclass(frozen=True, slots=True)
class Played:
    """One case, and what the auditor said: a verdict, or the class of its failure."""

    case: Case
    said: str
    note: str = ""
    person: str = ""
    usage: Usage = field(default_factory=Usage)
    nano_usd: int | None = 0

    @property
    def is_right(self) -> bool:
        """The verdict is among the expected ones, and asks for what it should ask for."""
        asks_right = self.said != "needs_person" or self.case.person in {"", self.person}
        return self.said in self.case.expect and asks_right

    @property
    def is_premature(self) -> bool:
        """It ends what is not finished."""
        return self.said == "complete" and "complete" not in self.case.expect

    @property
    def is_needless(self) -> bool:
        """It goes on where that leads nowhere."""
        return self.said == "continue" and "continue" not in self.case.expect

    @property
    def is_serious(self) -> bool:
        """An error that a person would feel: see the module."""
        holds_on = self.case.is_finished and self.said in {"continue", "blocked"}
        return (self.is_premature or holds_on) and not self.case.is_border


@dataclass(frozen=True, slots=True)
class Counts:
    """How a group of cases went."""

    cases: int
    right: int
    premature: int
    needless: int
    serious: int


@dataclass(frozen=True, slots=True)
class Report:
    """How an auditor did, case by case."""

    model: str
    played: tuple[Played, ...]

    @property
    def total(self) -> Counts:
        """All cases together."""
        return _counts(self.played)

    @property
    def accuracy(self) -> float:
        """The share of right verdicts, 0..1."""
        return self.total.right / len(self.played) if self.played else 0.0

    @property
    def failures(self) -> tuple[Played, ...]:
        """Cases that got no verdict."""
        return tuple(one for one in self.played if one.said not in _VERDICTS)

    @property
    def usage(self) -> Usage:
        """Tokens of all calls that were answered."""
        return sum((one.usage for one in self.played), Usage())

    @property
    def nano_usd(self) -> int | None:
        """What they cost; None where a price is unknown."""
        costs = [one.nano_usd for one in self.played]
        return None if None in costs else sum(cost or 0 for cost in costs)

    def by(self, key: Callable[[Case], str]) -> dict[str, Counts]:
        """Counts of the groups that `key` makes, by name."""
        names = sorted({key(one.case) for one in self.played})
        return {
            name: _counts(one for one in self.played if key(one.case) == name) for name in names
        }


async def play(
    model: Model,
    cases: Sequence[Case],
    on_progress: Callable[[int, int], None],
    *,
    audit_model: str,
    at_once: int = AT_ONCE,
) -> Report:
    """Audit every case once.

    Args:
        model: the endpoint.
        cases: what to play.
        on_progress: told how many of how many are done.
        audit_model: the auditor's name there.
        at_once: calls in flight.

    Raises:
        BadRequest: the endpoint takes none of our requests (kind `invalid_request`).
    """
    room = asyncio.Semaphore(at_once)
    done = 0

    async def one(case: Case) -> Played:
        nonlocal done
        async with room:
            played = await _played(model, case, audit_model)
        done += 1
        on_progress(done, len(cases))
        return played

    on_progress(0, len(cases))
    tasks = [asyncio.ensure_future(one(case)) for case in cases]
    try:
        return Report(audit_model, tuple(await asyncio.gather(*tasks)))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def table(report: Report) -> str:
    """The report as text: totals, a table by kind and by language, and every error."""
    total = report.total
    lines = [
        f"{len(report.played)} cases, audited by {report.model}",
        f"right {total.right} ({report.accuracy:.1%}), serious errors {total.serious}",
        f"premature completions {total.premature}, needless continuations {total.needless}",
        f"no verdict {len(report.failures)}",
        f"{report.usage.tokens:,} tokens, {_dollars(report.nano_usd)}",
        "",
        *_rows("kind", report.by(lambda case: case.kind)),
        "",
        *_rows("language", report.by(lambda case: case.language)),
    ]
    wrong = [_error(one) for one in report.played if not one.is_right]
    return "\n".join([*lines, *(["", "Errors:"] if wrong else []), *wrong])


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "model": report.model,
        "accuracy": report.accuracy,
        "total": _as_json(report.total),
        "no_verdict": len(report.failures),
        "tokens": report.usage.tokens,
        "nano_usd": report.nano_usd,
        "by_kind": {k: _as_json(c) for k, c in report.by(lambda case: case.kind).items()},
        "by_language": {k: _as_json(c) for k, c in report.by(lambda case: case.language).items()},
        "errors": [
            {
                "case": one.case.id,
                "kind": one.case.kind,
                "expected": list(one.case.expect),
                "said": one.said,
                "note": one.note,
                "serious": one.is_serious,
            }
            for one in report.played
            if not one.is_right
        ],
    }


async def _played(model: Model, case: Case, audit_model: str) -> Played:
    try:
        reply = await model.call(audit_request(case.seen, model=audit_model, goal=case.id))
    except ModelBusy as busy:
        return Played(case, busy.kind)
    except BadRequest as error:
        if error.kind != "refusal":
            raise
        return Played(case, error.kind)
    verdict, cost = verdict_from(reply), cost_of(model, reply)
    if isinstance(verdict, NoVerdict):
        return Played(case, verdict.failure, verdict.why, usage=reply.usage, nano_usd=cost)
    person = verdict.person.kind if verdict.person is not None else ""
    return Played(case, _effect(case, verdict), verdict.note, person, reply.usage, cost)


def _effect(case: Case, verdict: Verdict) -> str:
    """What the verdict does: a wait that the records do not hold counts as continue."""
    known = {(wait.kind, wait.ref) for wait in case.seen.waits}
    if verdict.wait is not None and not is_known(verdict.wait, known, case.seen.now):
        return "continue"
    return verdict.kind


def _counts(played: Iterable[Played]) -> Counts:
    some = tuple(played)
    return Counts(
        len(some),
        sum(one.is_right for one in some),
        sum(one.is_premature for one in some),
        sum(one.is_needless for one in some),
        sum(one.is_serious for one in some),
    )


def _rows(name: str, groups: dict[str, Counts]) -> list[str]:
    head = f"{name:<26}{'cases':>6}{'right':>6}{'premature':>11}{'needless':>10}{'serious':>9}"
    return [head] + [
        f"{group:<26}{c.cases:>6}{c.right:>6}{c.premature:>11}{c.needless:>10}{c.serious:>9}"
        for group, c in groups.items()
    ]


def _error(one: Played) -> str:
    serious = " (serious)" if one.is_serious else ""
    expected = " or ".join(one.case.expect)
    return f"  {one.case.id}: expected {expected}, said {one.said}{serious}. {one.note}".rstrip()


def _as_json(counts: Counts) -> dict[str, int]:
    return {
        "cases": counts.cases,
        "right": counts.right,
        "premature": counts.premature,
        "needless": counts.needless,
        "serious": counts.serious,
    }


def _dollars(nano: int | None) -> str:
    return "price unknown" if nano is None else f"${nano / NANO:.4f}"
