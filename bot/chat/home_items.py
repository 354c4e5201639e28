"""
What stands in a home: a decision with its answers, a goal with its buttons. Pure.

Rule 1: every button names its goal: in a home that is shown for hours, another goal may live in the
        thread by now. What answers a decision goes by the id of its card.
Rule 2: what cannot be shown whole is not approved here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from bot.chat import views
from bot.chat.amounts import limit_reached, raise_of
from bot.chat.facts import Facts, Manner
from bot.chat.offers import asked
from bot.chat.posts import reason
from bot.chat.rights import Act
from bot.chat.shown_cards import deadline_key, further, head, in_a_form
from bot.chat.status import shown_state, status
from bot.chat.times import moment
from bot.goals.goal import FINAL, Goal, State
from bot.ports.chat import Button, Place, Shape
from bot.ports.windows import NEW, Home, Item, Part

Kind = Literal["decisions", "mine", "rooms", "ended"]
OBJECTIVE_CHARS: Final = 180
QUESTION_CHARS: Final = 1_500
"""Of a question or a call: a home has room for ten, and a network cuts none of this length."""
_ACTS: Final[Mapping[str, Act]] = {
    "pause": Act.PAUSE,
    "stop": Act.PAUSE,
    "resume": Act.RESUME,
    "budget": Act.BUDGET,
    "reopen": Act.START,
}
_OFFERED: Final[Mapping[State, tuple[str, ...]]] = {
    State.READY: ("pause", "stop"),
    State.WORKING: ("pause", "stop"),
    State.AUDITING: ("pause", "stop"),
    State.WAITING: ("pause",),
    State.DECIDING: ("pause",),
    State.PAUSED: ("resume",),
    State.BLOCKED: ("resume",),
    State.OVER_BUDGET: ("budget",),
    State.COMPLETE: ("reopen",),
    State.CANCELLED: (),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A goal of a page, with what its reader may do to it."""

    kind: Kind
    facts: Facts
    place: Place
    rights: frozenset[Act]
    manner: Manner
    card: str = ""
    """Id of the card of its decision."""
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """What is told of all pages together."""

    goals: Mapping[Kind, tuple[Goal, ...]] = field(default_factory=dict)
    hidden: int = 0
    """The reader's live goals that may not be named here."""
    spent: str = ""
    limits: tuple[str, ...] = ()
    is_known: bool = True
    """Whether the reader may do anything at all."""


def home_of(rows: Sequence[Row], sums: Sums, page: int, pages: int, manner: Manner) -> Home:
    """The page of a home."""
    texts = manner.texts
    if not sums.is_known:
        return Home((Part("", note=texts("home.stranger")),), Shape("", texts("home.title")))
    kinds: tuple[Kind, ...] = ("decisions", "mine", "rooms", "ended")
    parts = [_part(kind, rows, sums, manner) for kind in kinds]
    shown = [part for part in parts if part is not None]
    if not any(sums.goals.values()):
        shown.append(Part("", note=texts("home.empty")))
    if sums.hidden and page == pages:
        key = "home.hidden.one" if sums.hidden == 1 else "home.hidden.many"
        shown.append(Part("", note=texts(key, n=sums.hidden)))
    return Home(tuple(shown), _top(sums, manner), page, pages)


def _top(sums: Sums, manner: Manner) -> Shape:
    texts = manner.texts
    notes = (texts("home.today", spent=sums.spent), *sums.limits) if sums.spent else ()
    return Shape("", texts("home.title"), notes=notes, buttons=(Button(NEW, texts("home.new")),))


def _part(kind: Kind, rows: Sequence[Row], sums: Sums, manner: Manner) -> Part | None:
    own = [row for row in rows if row.kind == kind]
    if not own:
        return None
    texts = manner.texts
    about = "" if kind in ("decisions", "ended") else _summed(sums.goals.get(kind, ()), manner)
    return Part(texts(f"home.{kind}"), about, tuple(_item(row) for row in own))


def _summed(goals: Sequence[Goal], manner: Manner) -> str:
    """`2 Working · 1 Blocked`, in the order in which they are listed."""
    states = Counter(shown_state(goal) for goal in goals)
    told = [
        manner.texts("home.sum", n=n, state=manner.texts(f"state.{state}"))
        for state, n in states.items()
    ]
    return " · ".join(told)


def _item(row: Row) -> Item:
    if row.kind == "decisions":
        return Item(row.place, _decision(row), row.card)
    return Item(row.place, _goal(row))


def _decision(row: Row) -> Shape:
    facts, manner, texts = row.facts, row.manner, row.manner.texts
    goal, decision = facts.goal, row.facts.goal.decision
    assert decision is not None
    question, options = asked(decision, goal.reason, facts, manner)
    is_whole = len(question) <= QUESTION_CHARS
    can_answer = bool(row.card) and (is_whole or decision.kind == "question")
    key = deadline_key(decision)
    deadline = texts(key, time=moment(decision.expires_at, facts.now, manner.zone, texts))
    note = "" if can_answer else texts("home.by_hand" if is_whole else "home.too_long")
    free = in_a_form(decision, manner, row.place.network)
    return Shape(
        "❓",
        texts("decision", number=decision.number),
        (*head(facts, decision, manner), *_whose(row)),
        body=question if is_whole else views.one_line(question, QUESTION_CHARS),
        now=texts("home.for", objective=views.one_line(facts.text(goal.objective))),
        options=options if can_answer else (),
        notes=tuple(filter(None, (*further(decision, facts, manner), deadline, note))),
        buttons=(*(free if can_answer else ()), _details(row)),
        goal=goal.id,
        state="deciding",
        is_yes_or_no=decision.kind != "question",
    )


def _goal(row: Row) -> Shape:
    facts, goal = row.facts, row.facts.goal
    shape = status(facts, row.manner)
    what = ""
    if goal.state is State.BLOCKED:
        what, _ = reason(goal.reason, facts, row.manner, facts.text(goal.note))
    elif not goal.is_final and shape.now != row.manner.texts("status.paused"):
        # A button stands beneath it for what that line says.
        what = shape.now
    return replace(
        shape,
        facts=(shape.facts[0], *_whose(row), *shape.facts[1:]),
        body=views.one_line(shape.body, OBJECTIVE_CHARS),
        now=views.one_line(what, OBJECTIVE_CHARS),
        tasks=(),
        notes=(*_progress(facts, row.manner), *shape.notes),
        buttons=(*_buttons(row), _details(row)),
        state=goal.state,
    )


def _whose(row: Row) -> tuple[str, ...]:
    texts = row.manner.texts
    owner = row.facts.name(row.facts.goal.owner, texts)
    return () if row.is_owner else (texts("home.owner", name=owner),)


def _progress(facts: Facts, manner: Manner) -> tuple[str, ...]:
    counted = [task for task in facts.tasks if task.state != "dropped"]
    if not counted or facts.goal.state in FINAL:
        return ()
    done = sum(task.state == "done" for task in counted)
    return (manner.texts("home.progress", done=done, all=len(counted)),)


def _buttons(row: Row) -> tuple[Button, ...]:
    goal, texts = row.facts.goal, row.manner.texts
    name = texts("goal", number=goal.number)
    wait = goal.wait
    is_held = goal.state is State.WAITING and wait is not None and wait.is_held
    offered = ("pause",) if is_held else _OFFERED[goal.state]
    found: list[Button] = []
    for verb in offered:
        if _ACTS[verb] not in row.rights:
            continue
        if verb == "budget":
            typed, shown = raise_of(goal, limit_reached(goal) or "usd", texts)
            found.append(
                Button(f"budget {name} {typed} and resume", texts("button.add", amount=shown))
            )
            found.append(Button(f"budget {name}", texts("button.other_amount")))
            continue
        label = "not_done" if verb == "reopen" else verb
        found.append(Button(f"{verb} {name}", texts(f"button.{label}")))
    return tuple(found)


def _details(row: Row) -> Button:
    name = row.manner.texts("goal", number=row.facts.goal.number)
    return Button(f"trace {name}", row.manner.texts("button.details"))
