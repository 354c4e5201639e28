"""The status message: one a goal, edited in place. Pure."""

from bot.chat.allowances import allowed_lines, plan_line
from bot.chat.amounts import spent, spent_of
from bot.chat.caps import held_by, warnings
from bot.chat.facts import Facts, Manner, lost_room
from bot.chat.gate_words import failing_line
from bot.chat.held import since, why
from bot.chat.repo_words import shown_in
from bot.chat.times import clock_time, duration, moment
from bot.goals.goal import Goal, State
from bot.ports.attached import as_shown
from bot.ports.chat import Button, Shape
from bot.ports.holds import Hold

GLYPHS = {
    State.READY: "⏳",
    State.WORKING: "⏳",
    State.AUDITING: "⏳",
    State.WAITING: "⏸",
    State.DECIDING: "❓",
    State.PAUSED: "⏸",
    State.BLOCKED: "⛔",
    State.OVER_BUDGET: "💰",
    State.COMPLETE: "✅",
    State.CANCELLED: "✖",
}

_BUTTONS = {
    State.READY: ("pause", "stop"),
    State.WORKING: ("pause", "stop"),
    State.AUDITING: ("pause", "stop"),
    State.WAITING: ("resume", "pause", "cancel"),
    State.DECIDING: ("pause", "cancel"),
    State.PAUSED: ("resume", "cancel"),
    State.BLOCKED: ("resume", "cancel"),
    State.OVER_BUDGET: ("cancel",),
    State.COMPLETE: (),
    State.CANCELLED: (),
}
"""Verbs offered beside Details, by state."""


def status(facts: Facts, manner: Manner) -> Shape:
    """How the goal stands now."""
    goal, texts = facts.goal, manner.texts
    if facts.held is not None and not goal.is_final:
        return _on_hold(facts, facts.held, manner)
    return Shape(
        glyph=GLYPHS[shown_state(goal)],
        word=texts(f"state.{shown_state(goal)}"),
        facts=(texts("goal", number=goal.number), *_facts(facts, manner)),
        body=as_shown(facts.text(goal.objective)),
        now=_now(facts, manner),
        tasks=tuple((task.title, task.state) for task in facts.tasks),
        notes=(
            *_said_yes(facts, manner),
            *shown_in(facts.text(goal.objective), texts),
            *failing_line(facts, manner),
            *warnings(facts, manner),
        ),
        buttons=(*buttons(manner, *_offered(goal)), details(manner)),
        goal=goal.id,
        state=goal.state,
        times=_times(facts, manner),
    )


def _on_hold(facts: Facts, hold: Hold, manner: Manner) -> Shape:
    """That nothing of it runs, and how it stood and stands."""
    goal, texts = facts.goal, manner.texts
    before = texts("held.now", state=texts(f"state.{shown_state(goal)}"))
    return Shape(
        glyph="✋",
        word=texts("state.on_hold"),
        facts=(texts("goal", number=goal.number), since(hold, facts.now, manner)),
        body=as_shown(facts.text(goal.objective)),
        now=" ".join(part for part in (before, why(hold, manner)) if part),
        tasks=tuple((task.title, task.state) for task in facts.tasks),
        buttons=(*buttons(manner, *_offered(goal)), details(manner)),
        goal=goal.id,
        state=goal.state,
    )


def shown_state(goal: Goal) -> State:
    """The state as people are told it: a goal that waits for its turn is queued, as one not begun."""
    is_queued = goal.state is State.WAITING and goal.wait is not None and goal.wait.kind == "slot"
    return State.READY if is_queued else goal.state


def turns(goal: Goal, manner: Manner) -> str:
    """`9 turns`."""
    return manner.texts("turns.one" if goal.turn == 1 else "turns.many", n=goal.turn)


def buttons(manner: Manner, *verbs: str) -> tuple[Button, ...]:
    """A button for each verb."""
    return tuple(Button(verb, manner.texts(f"button.{verb}")) for verb in verbs)


def details(manner: Manner) -> Button:
    """The button that shows what happened."""
    return Button("trace", manner.texts("button.details"))


def _offered(goal: Goal) -> tuple[str, ...]:
    is_held = goal.state is State.WAITING and goal.wait is not None and goal.wait.is_held
    return ("pause", "cancel") if is_held else _BUTTONS[goal.state]


def _facts(facts: Facts, manner: Manner) -> tuple[str, ...]:
    goal, texts = facts.goal, manner.texts
    if goal.is_final:
        lasted = duration((goal.closed_at or facts.now) - goal.opened_at, texts)
        return lasted, turns(goal, manner), spent(goal, texts)
    money = spent_of(goal, texts)
    if goal.state is State.PAUSED and not goal.by:
        return (money,)
    if goal.state is State.PAUSED:
        return texts("by", name=facts.name(goal.by, texts)), money
    if shown_state(goal) is State.READY and goal.state is State.WAITING:
        return (money,)
    if goal.state is State.WAITING and goal.wait is not None:
        until = moment(goal.wait.until, facts.now, manner.zone, texts)
        return texts("until", time=until), money
    if goal.state in (State.BLOCKED, State.OVER_BUDGET, State.DECIDING):
        return turns(goal, manner), money
    turn = max(goal.turn, 1)
    most = max(turn, turn - goal.continuations - 1 + goal.allowance)
    since = texts("since", time=clock_time(goal.opened_at, manner.zone))
    return texts("turn_of", turn=turn, most=most), money, since


def _times(facts: Facts, manner: Manner) -> tuple[tuple[str, float], ...]:
    """The moments that the facts name."""
    goal = facts.goal
    if goal.is_final:
        return ()
    opened = (clock_time(goal.opened_at, manner.zone), goal.opened_at)
    if goal.wait is None:
        return (opened,)
    until = moment(goal.wait.until, facts.now, manner.zone, manner.texts)
    return (until, goal.wait.until), opened


def _said_yes(facts: Facts, manner: Manner) -> tuple[str, ...]:
    """Whose yes it works by: to its plan, and to what it may beyond its profile."""
    if facts.goal.is_final:
        return ()
    return tuple(filter(None, (plan_line(facts, manner), *allowed_lines(facts, manner))))


def _now(facts: Facts, manner: Manner) -> str:
    goal, texts = facts.goal, manner.texts
    match goal.state:
        case State.READY if goal.turn == 0:
            return texts("status.opening")
        case State.WAITING if goal.wait is not None and goal.wait.is_held:
            return held_by(goal.wait, facts, manner)
        case State.WAITING if goal.wait is not None:
            why = facts.text(goal.wait.reason)
            return why or texts(f"wait.{goal.wait.kind}", ref=goal.wait.ref)
        case State.DECIDING if goal.decision is not None:
            return texts("status.decision", number=goal.decision.number)
        case State.PAUSED if goal.reason.startswith("owner_lost:"):
            return texts(f"status.owner_lost.{goal.reason.partition(':')[2]}")
        case State.PAUSED if goal.reason.startswith("room_lost:"):
            return f"{_lost(facts, manner)} {texts('status.paused')}"
        case State.PAUSED:
            return texts("status.paused")
        case State.WORKING | State.AUDITING | State.READY:
            if goal.opening == "wrap_up":
                return texts("now", what=texts("now.wrap_up"))
            if goal.planning:
                return texts("now", what=texts("status.planning"))
            doing = next((task.title for task in facts.tasks if task.state == "doing"), "")
            return texts("now", what=doing) if doing else ""
        case _:
            return ""


def _lost(facts: Facts, manner: Manner) -> str:
    """How the goal's room was lost."""
    how, note = lost_room(facts.goal)
    why, key = facts.text(note), f"status.room_lost.{how}"
    name = facts.name(facts.goal.by, manner.texts)
    return manner.texts.first(*((f"{key}.why",) if why else ()), key, name=name, why=why)
