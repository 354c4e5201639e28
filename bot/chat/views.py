"""What `status`, `list`, `tasks`, `trace`, `budget` and `help` answer. Pure."""

import difflib
from collections.abc import Sequence
from dataclasses import fields, replace

from bot.chat.allowances import plan_line
from bot.chat.amounts import LEAST_NANO_USD, count, spent, spent_of, usd
from bot.chat.facts import Facts, Manner
from bot.chat.offers import asked
from bot.chat.parse import COMMAND
from bot.chat.posts import reason
from bot.chat.status import shown_state, status
from bot.chat.times import clock_time
from bot.chat.verbs import START, VERBS, example, help_line, served
from bot.goals.events import DecisionAnswered, Event, GatesRan
from bot.goals.goal import Goal, State
from bot.goals.limits import LEAST_BUDGET_TOKENS
from bot.goals.money import Budget, Usage
from bot.ports.attached import as_shown
from bot.ports.chat import Network
from bot.ports.journal import Line, Task
from bot.ports.plain import TASK_GLYPHS, options, plain

LIST_MOST = 20
TRACE_MOST = 20
LINE_CHARS = 72
PLAN_CHARS = 1_500


def one_line(text: str, most: int = LINE_CHARS) -> str:
    """The text on one line, cut with an ellipsis."""
    flat = " ".join(as_shown(text).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def one_text(text: str, most: int) -> str:
    """The text, or as much of it as `most` characters hold."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def broken(text: str) -> str:
    """The text as Markdown that keeps its lines: each but the last ends in a hard break."""
    return "  \n".join(line.rstrip() for line in text.split("\n"))


def quoted(text: str) -> str:
    """The text as the inside of a Markdown quotation that begins with `> `."""
    return "\n> ".join(text.split("\n"))


def status_text(facts: Facts, manner: Manner) -> str:
    """How a goal stands, with what it waits for, why it stopped and what it cost."""
    goal, texts = facts.goal, manner.texts
    shape = replace(status(facts, manner), buttons=())
    further = []
    if goal.state is State.DECIDING and goal.decision is not None:
        question, offered = asked(goal.decision, goal.reason, facts, manner)
        further.append(question)
        further.append(options(replace(shape, options=offered)))
    # Of a plan whose text was erased there is nothing to show.
    if (line := plan_line(facts, manner)) and (plan := facts.text(goal.plan)):
        further.append(f"{line}:\n{one_text(plan, PLAN_CHARS)}")
    if goal.state is State.BLOCKED:
        further.extend(reason(goal.reason, facts, manner, facts.text(goal.note)))
    if goal.ledger.estimated_nano_usd:
        further.append(texts("estimated", amount=usd(goal.ledger.estimated_nano_usd)))
    return broken("\n".join(part for part in (plain(shape), *further) if part))


def list_text(
    goals: Sequence[tuple[Goal, str]],
    more: int,
    scope: str,
    manner: Manner,
    held: frozenset[str] = frozenset(),
) -> str:
    """A line a goal, each with its objective; `held` are ids of goals that are on hold."""
    texts = manner.texts
    if not goals:
        return texts("said.list.empty" if scope else "said.list.empty.live")
    lines = [
        texts(
            "said.list.line",
            goal=texts("goal", number=goal.number),
            state=texts("state.on_hold" if goal.id in held else f"state.{shown_state(goal)}"),
            facts=spent(goal, texts) if goal.is_final else spent_of(goal, texts),
            objective=one_line(objective),
        )
        for goal, objective in goals
    ]
    if more:
        lines.append(texts("said.list.more", n=more))
    return "\n".join(lines)


def overview_text(goals: Sequence[tuple[Goal, str]], manner: Manner) -> str:
    """Somebody's live goals, and three examples of what may be said."""
    texts = manner.texts
    shown = list_text(goals, 0, "", manner) if goals else texts("said.overview.none")
    examples = [example(verb, texts) for verb in (START, VERBS["ask"], VERBS["list"])]
    lines = [texts("said.overview.example", example=one) for one in examples]
    return "\n".join([shown, "", texts("said.overview.head"), *lines])


def tasks_text(goal: Goal, listed: Sequence[Task], manner: Manner) -> str:
    """A line a task, with its evidence."""
    if not listed:
        return manner.texts("said.tasks.empty", goal=manner.texts("goal", number=goal.number))
    return broken(
        "\n".join(
            f"{TASK_GLYPHS[task.state]} {task.title}"
            + (f" — {task.evidence}" if task.evidence else "")
            for task in listed
        )
    )


def trace_text(goal: Goal, lines: Sequence[Line], manner: Manner) -> str:
    """The last entries of a goal's journal."""
    texts = manner.texts
    shown = lines[-TRACE_MOST:]
    name = texts("goal", number=goal.number)
    top = texts("said.trace.head", n=len(shown), total=len(lines), goal=name)
    return "\n".join([top, "", *(f"    {trace_line(line, manner)}" for line in shown)])


def trace_line(line: Line, manner: Manner) -> str:
    """`14:05:07  ToolStarted bash  -> working`: when, what, the rule where it is not the event's."""
    event = line.entry.event
    time = clock_time(event.at, manner.zone)
    what = f"{type(event).__name__} {describe(event)}".strip()
    moved = line.entry.before is not None and line.entry.before != line.entry.after
    arrow = f"-> {line.entry.after}" if moved else ""
    return "  ".join(part for part in (time, what, f"({line.entry.rule})", arrow) if part)


def describe(event: Event) -> str:
    """The parts of an event that say something to a reader: names, kinds, counts; no hashes."""
    words = []
    if isinstance(event, GatesRan):
        return f"failing {len(event.failing)} broken {len(event.broken)}"
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, Usage):
            words.append(f"{count(value.tokens)} tokens")
        elif field.name in _TOLD and value not in ("", None, (), _UNASKED):
            words.append(str(value))
    if isinstance(event, DecisionAnswered):
        words.append("yes" if event.accepted else "edits" if event.edits else "no")
        words += [event.scope] if event.accepted and event.scope != "once" else []
    return " ".join(words)


_TOLD = frozenset(
    {"role", "model", "name", "outcome", "how", "failed", "verdict", "failure", "kind", "reason",
     "why", "person", "unkept", "stop_reason", "open", "done", "allowed", "profile"}
)  # fmt: skip
_UNASKED = "profile"
"""Of what ran as its profile lets it: nothing that a reader would look for."""


def help_text(verb: str, manner: Manner, network: Network = "console") -> str:
    """All verbs, or one with an example, as they are typed on a network."""
    texts = manner.texts
    name = verb.lstrip("/!").lower()
    if name in VERBS and not VERBS[name].is_served:
        return texts("said.not_here")
    if name in VERBS:
        one = VERBS[name]
        shown = {"syntax": one.syntax, "help": help_line(one, texts)}
        return texts("said.help.verb", **shown, example=example(one, texts))
    if name and difflib.get_close_matches(name, [v.name for v in served()], 1):
        return texts("said.help.unknown", verb=name)
    lines = [
        texts("said.help.line", syntax=one.syntax, help=help_line(one, texts)) for one in served()
    ]
    name = manner.commands.get(network, COMMAND)
    head = texts.first(f"said.help.head.{network}", "said.help.head", name=name)
    return "\n".join([head, *lines, "", texts("said.help.foot")])


def budget_text(budget: Budget, manner: Manner) -> str:
    """The limits of a budget, those that there are."""
    texts = manner.texts
    parts = []
    if budget.nano_usd is not None:
        parts.append(usd(budget.nano_usd))
    if budget.tokens is not None:
        parts.append(texts("tokens", n=count(budget.tokens)))
    if budget.active_s is not None:
        parts.append(texts("hours", n=f"{budget.active_s / 3600:.1f}".removesuffix(".0")))
    return texts("list_of").join(parts) or texts("said.budget.none")


def rest(goal: Goal) -> Budget | None:
    """What is left of a goal's budget, or None where it is too little to go on with."""
    budget, ledger = goal.budget, goal.ledger
    nano = None if budget.nano_usd is None else budget.nano_usd - ledger.nano_usd
    tokens = None if budget.tokens is None else budget.tokens - ledger.tokens
    active = None if budget.active_s is None else budget.active_s - ledger.active_s
    too_little = (
        (nano is not None and nano < LEAST_NANO_USD)
        or (tokens is not None and tokens < LEAST_BUDGET_TOKENS)
        or (active is not None and active <= 0)
    )
    return None if too_little else Budget(nano, tokens, active)
