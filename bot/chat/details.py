"""
What a goal did and cost, to be read: how it stands, what it did, decisions, files, cost by role. Pure.

Rule 1: one page: what is longer is counted, and the whole of it is told where to find.
Rule 2: nothing of the agent's internal talk: what tools were called, not with what.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.chat import views
from bot.chat.allowances import plan_line
from bot.chat.amounts import count, spent_of, usd
from bot.chat.cards import closed
from bot.chat.facts import Facts, Manner
from bot.chat.offers import in_brief
from bot.chat.shown_cards import came_of
from bot.chat.status import status, turns
from bot.chat.times import clock_time, moment
from bot.goals.events import CallSettled, CallStarted, ObjectiveEdited
from bot.ports.attached import size_of
from bot.ports.chat import Attachment, Shape
from bot.ports.journal import Line
from bot.ports.plain import unmarked
from bot.ports.records import DecisionRow, Spent, Step, Trace
from bot.ports.windows import Window

DECISIONS_MOST: Final = 8
FILES_MOST: Final = 12
TOOLS_MOST: Final = 6
STEPS_MOST: Final = 8
LINE_CHARS: Final = 90
OBJECTIVE_CHARS: Final = 600
DAY_S: Final = 86_400.0
_CAPITAL: Final = re.compile(r"(?<=[a-z])([A-Z])")
_WITHIN: Final = (CallStarted, CallSettled)
"""Steps within steps: what they cost stands under the cost."""
_FAILED: Final = frozenset({"error", "lost"})


@dataclass(frozen=True, slots=True)
class Whole:
    """All that is told of a goal."""

    facts: Facts
    trace: Trace
    spend: Sequence[Spent] = ()
    files: Sequence[Attachment] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    """Texts of decisions and their answers, by hash."""


def hashes_of(trace: Trace) -> tuple[str, ...]:
    """The content hashes of what is told of decisions."""
    rows = trace.decisions[-DECISIONS_MOST:]
    texts = {one for row in rows for one in (row.decision.text, row.answer)}
    grants = {row.decision.grant.what for row in rows if row.decision.grant is not None}
    return tuple(sorted((texts | grants) - {""}))


def people_of(trace: Trace) -> tuple[str, ...]:
    """The persons who are named beside those of the facts."""
    return tuple(sorted({row.by for row in trace.decisions[-DECISIONS_MOST:]} - {""}))


def details(whole: Whole, manner: Manner) -> Window:
    """The window; a part that has nothing to tell is not there."""
    texts, goal = manner.texts, whole.facts.goal
    parts = (
        _standing(whole.facts, manner),
        _work(whole, manner),
        _plan(whole.facts, manner),
        _decisions(whole, manner),
        _files(whole, manner),
        _cost(whole, manner),
        _steps(whole, manner),
    )
    return Window(
        texts("window.details", goal=texts("goal", number=goal.number)),
        sections=tuple(part for part in parts if part is not None),
        close=texts("window.close"),
    )


def _standing(facts: Facts, manner: Manner) -> Shape:
    shape = status(facts, manner)
    return replace(shape, body=views.one_line(shape.body, OBJECTIVE_CHARS), buttons=())


def _work(whole: Whole, manner: Manner) -> Shape:
    texts, goal = manner.texts, whole.facts.goal
    is_old = whole.facts.now - goal.opened_at >= DAY_S
    since = (
        moment(goal.opened_at, whole.facts.now, manner.zone, texts)
        if is_old
        else clock_time(goal.opened_at, manner.zone)
    )
    owner = whole.facts.name(goal.owner, texts)
    lines = [texts("details.work.turns", turns=turns(goal, manner), time=since, name=owner)]
    if tools := _tools([one for one in whole.trace.steps if one.kind == "tool"], manner):
        lines.append(texts("details.work.tools", tools=tools))
    if whole.trace.audits:
        verdicts = Counter(one.verdict or one.failure for one in whole.trace.audits)
        told = [f"{verdict.replace('_', ' ')} {n}×" for verdict, n in verdicts.items()]
        lines.append(texts("details.work.audits", audits=texts("list_of").join(told)))
    edits = sum(isinstance(line.entry.event, ObjectiveEdited) for line in whole.trace.lines)
    if edits:
        lines.append(texts("details.work.edited", n=edits))
    return _listed(texts("details.work"), lines)


def _tools(steps: Sequence[Step], manner: Manner) -> str:
    texts = manner.texts
    # A call that could not be read has no name.
    named = Counter(one.name for one in steps if one.name).most_common(TOOLS_MOST)
    told = [texts("details.work.tool", name=name, n=n) for name, n in named]
    if others := len(steps) - sum(n for _, n in named):
        told.append(texts("details.others", n=others))
    if failed := sum(one.state in _FAILED for one in steps):
        told.append(texts("details.work.failed", n=failed))
    return texts("list_of").join(told)


def _decisions(whole: Whole, manner: Manner) -> Shape | None:
    rows = whole.trace.decisions
    if not rows:
        return None
    lines = [_decision(row, whole, manner) for row in rows[-DECISIONS_MOST:]]
    if len(rows) > DECISIONS_MOST:
        lines.append(manner.texts("details.others", n=len(rows) - DECISIONS_MOST))
    return _listed(manner.texts("details.decisions"), lines)


def _decision(row: DecisionRow, whole: Whole, manner: Manner) -> str:
    texts = manner.texts
    facts = replace(whole.facts, contents={**whole.facts.contents, **whole.contents})
    answer = views.one_line(whole.contents.get(row.answer, ""), LINE_CHARS)
    # A reply that is stored while a turn runs leaves the row open, and is an answer already.
    came = texts(
        f"details.decision.{row.state}",
        answer=_answer(row, unmarked(answer) or "…", facts, whole.trace, manner),
        name=whole.facts.name(row.by, texts),
    )
    what = unmarked(views.one_line(in_brief(row.decision, facts, manner), LINE_CHARS))
    return texts("details.decisions.line", number=row.decision.number, what=what, came=came)


def _answer(row: DecisionRow, answer: str, facts: Facts, trace: Trace, manner: Manner) -> str:
    """What somebody answered; of a call, how far that goes."""
    card = closed(trace.lines, trace.goal.id, row.decision.number)
    if card is None or row.decision.kind == "question":
        return answer
    came = came_of(card, "answered", answer, facts, manner)
    return came.removeprefix("→ ").rstrip(".")


def _plan(facts: Facts, manner: Manner) -> Shape | None:
    """The plan that was approved."""
    text = facts.text(facts.goal.plan)
    if not text or facts.goal.planning:
        return None
    return Shape("", plan_line(facts, manner), body=views.one_text(text, views.PLAN_CHARS))


def _files(whole: Whole, manner: Manner) -> Shape | None:
    texts, files = manner.texts, whole.files
    if not files:
        return None
    lines = [
        texts("details.files.line", name=unmarked(one.name), size=size_of(one.size))
        for one in files[:FILES_MOST]
    ]
    if len(files) > FILES_MOST:
        lines.append(texts("details.others", n=len(files) - FILES_MOST))
    return _listed(texts("details.files"), lines)


def _cost(whole: Whole, manner: Manner) -> Shape:
    texts = manner.texts
    lines = [
        texts(
            "details.cost.line",
            role=one.role,
            money=_money(one, manner),
            calls=texts("spend.call" if one.calls == 1 else "spend.calls", n=one.calls),
            tokens=count(one.usage.tokens + one.estimated_tokens),
        )
        for one in whole.spend
        if one.calls
    ]
    if not lines:
        return _listed(texts("details.cost"), [texts("details.cost.none")])
    lines.append(texts("details.cost.total", spent=spent_of(whole.facts.goal, texts)))
    return _listed(texts("details.cost"), lines)


def _money(one: Spent, manner: Manner) -> str:
    texts = manner.texts
    shown = usd(one.nano_usd + one.estimated_nano_usd)
    if one.has_unknown_price:
        shown = texts("at_least", amount=shown)
    if one.estimated_nano_usd:
        shown += texts("spend.estimated", amount=usd(one.estimated_nano_usd))
    return shown


def _steps(whole: Whole, manner: Manner) -> Shape | None:
    told = [line for line in whole.trace.lines if not isinstance(line.entry.event, _WITHIN)]
    lines = told[-STEPS_MOST:]
    if not lines:
        return None
    texts = manner.texts
    shown = [views.one_line(_step(line, manner), LINE_CHARS) for line in lines]
    block = "\n".join(line.replace("`", "'") for line in shown)
    name = texts("goal", number=whole.facts.goal.number)
    more = (texts("details.more", goal=name),) if len(whole.trace.lines) > len(lines) else ()
    head = texts("details.last", n=len(lines), all=len(told))
    return Shape("", head, body=f"```\n{block}\n```", notes=more)


def _step(line: Line, manner: Manner) -> str:
    """`14:05 Tool ended: ok`: when and what, without the words of rules."""
    event = line.entry.event
    what = _CAPITAL.sub(r" \1", type(event).__name__).strip().capitalize()
    said = views.describe(event).replace("_", " ")
    return " ".join((clock_time(event.at, manner.zone), f"{what}: {said}" if said else what))


def _listed(heading: str, lines: Sequence[str]) -> Shape:
    return Shape("", heading, body="\n".join(f"- {line}" for line in lines))
