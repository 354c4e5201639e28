"""
What is posted: a row of the outbox with its goal becomes a message. Pure.

Rule 1: the shapes are those of the golden files, the same on every network.
Rule 2: a reason is a code; its sentence says what is true of that code, and the mend.
"""

from bot.chat.amounts import limit_reached, raise_of, spent, spent_of
from bot.chat.facts import Facts, Manner
from bot.chat.gate_words import passed
from bot.chat.offers import shown_call
from bot.chat.shown_cards import closed_card, open_card
from bot.chat.status import buttons, details, status, turns
from bot.chat.times import duration
from bot.ports.attached import size_of
from bot.ports.chat import Button, Shape
from bot.ports.mail import Due


def shape(due: Due, facts: Facts, manner: Manner) -> Shape:
    """The message that the row stands for, as things are now."""
    match due.kind:
        case "status":
            return status(facts, manner)
        case "complete":
            return _complete(due, facts, manner)
        case "blocked":
            return _blocked(due, facts, manner)
        case "over_budget":
            return _over_budget(due, facts, manner)
        case "decision" | "reminder":
            return open_card(due, facts, manner)
        case "card":
            return closed_card(due, facts, manner)
        case "answer":
            return _answer(due, facts, manner)
        case "file":
            return _file(due, facts, manner)
        case _:
            text = facts.text(due.content)
            return Shape("", "", body=text or manner.texts("notice", reason=due.reason))


def reason(code: str, facts: Facts, manner: Manner, note: str = "") -> tuple[str, str]:
    """What stands in the way, and the mend, for a code such as `stall:same_reply`."""
    texts = manner.texts
    kind, _, detail = code.partition(":")
    values = {
        "detail": facts.text(detail) if kind == "gate" else (detail or kind).replace("_", " "),
        "note": note,
        "allowance": facts.goal.allowance,
        "name": facts.name(facts.goal.owner, texts),
    }
    bare = (f"blocked.{kind}.bare",) if kind == "audits" and not note else ()
    what = texts.first(*bare, f"blocked.{code}", f"blocked.{kind}", "blocked.other", **values)
    keys = (f"blocked.{code}.mend", f"blocked.{kind}.mend", "blocked.other.mend")
    return what, texts.first(*keys, **values)


def _head(facts: Facts, manner: Manner, *further: str) -> tuple[str, ...]:
    return (manner.texts("goal", number=facts.goal.number), *further)


def _complete(due: Due, facts: Facts, manner: Manner) -> Shape:
    goal, texts = facts.goal, manner.texts
    lasted = duration((goal.closed_at or facts.now) - goal.opened_at, texts)
    told = texts("gates.and").join(filter(None, (passed(facts, texts), facts.text(goal.note))))
    checked = (texts("complete.checked", note=told),) if told else ()
    shared = texts("list_of").join(dict.fromkeys(file.name for file in facts.files))
    return Shape(
        "✅",
        texts("state.complete"),
        _head(facts, manner, lasted, turns(goal, manner), spent(goal, texts)),
        body=_result(due, facts) or texts("complete.empty"),
        notes=(*checked, texts("complete.files", names=shared)) if shared else checked,
        buttons=(Button("reopen", texts("button.not_done")), details(manner)),
        mentions=(goal.owner,),
        goal=goal.id,
        state="complete",
    )


def _result(due: Due, facts: Facts) -> str:
    """The final reply, whole, under the agent's closing note where that says anything more."""
    reply, note = facts.text(due.content), facts.text(facts.goal.finish_note)
    if not note or note in reply:
        return reply
    return note if reply in note else f"{note}\n\n{reply}"


def _blocked(due: Due, facts: Facts, manner: Manner) -> Shape:
    is_call = due.reason == "needs_approval"
    note = "" if is_call else facts.text(due.content)
    what, mend = reason(due.reason, facts, manner, note)
    return Shape(
        "⛔",
        manner.texts("state.blocked"),
        _head(facts, manner, what),
        body=shown_call(facts.text(due.content), manner) if is_call else "",
        notes=(mend,),
        buttons=(*buttons(manner, "resume", "cancel"), details(manner)),
        mentions=(facts.goal.owner,),
        goal=facts.goal.id,
        state="blocked",
    )


def _over_budget(due: Due, facts: Facts, manner: Manner) -> Shape:
    goal, texts = facts.goal, manner.texts
    typed, shown = raise_of(goal, limit_reached(goal) or "usd", texts)
    return Shape(
        "💰",
        texts("state.over_budget"),
        _head(facts, manner, spent_of(goal, texts)),
        body=facts.text(due.content) or _done_and_left(facts, manner),
        buttons=(
            Button(f"budget {typed} and resume", texts("button.add", amount=shown)),
            Button("budget", texts("button.other_amount")),
            *buttons(manner, "cancel"),
        ),
        mentions=(goal.owner,),
        goal=goal.id,
        state="over_budget",
    )


def _done_and_left(facts: Facts, manner: Manner) -> str:
    """The notice written from the journal, when no wrap-up could be had."""
    texts = manner.texts
    if facts.tasks:
        done = texts("list_of").join(t.title for t in facts.tasks if t.state == "done")
        left = texts("list_of").join(t.title for t in facts.tasks if t.state in ("open", "doing"))
        nothing = texts("budget.nothing")
        return texts("budget.tasks", done=done or nothing, left=left or nothing)
    reply = facts.text(facts.goal.reply).split("\n\n")[0]
    key = "budget.turns" if reply else "budget.silent"
    return texts(key, turns=turns(facts.goal, manner), reply=reply)


def _file(due: Due, facts: Facts, manner: Manner) -> Shape:
    """What is said with a file that the agent shares."""
    names = manner.texts("list_of").join(file.name for file in facts.files)
    size = size_of(sum(file.size for file in facts.files))
    goal = facts.goal.id
    return Shape("📎", names, _head(facts, manner, size), facts.text(due.content), goal=goal)


def _answer(due: Due, facts: Facts, manner: Manner) -> Shape:
    texts = manner.texts
    code = due.reason
    body = facts.text(due.content)
    if not body:
        kind = code.partition(":")[0]
        key = "empty" if kind == "done" else kind
        body = texts.first(f"answer.{key}", "answer.failed", detail=code.replace("_", " "))
    return Shape("", "", body=body, goal=facts.goal.id)
