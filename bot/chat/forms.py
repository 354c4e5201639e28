"""
Forms to fill in: a new goal, an edit, a budget, an answer in words, what is missing.

Rule 1: a form that somebody may not submit, or that has become pointless, is a sentence in its place.
Rule 2: nothing of a text is cut: one that is longer than a form takes is not put into one.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from bot.chat import views
from bot.chat.aimed import Aimed, aimed, goal_of
from bot.chat.amounts import limit_reached, raise_of, spent
from bot.chat.answers import IN_WORDS, act_of
from bot.chat.desk import Desk
from bot.chat.facts import gather
from bot.chat.offers import asked
from bot.chat.parse import wanted
from bot.chat.pressed import About, live, refuse, some
from bot.chat.rights import Act
from bot.chat.status import status
from bot.errors import BadInput, Refused
from bot.goals.goal import DecisionKind, State
from bot.ports.attached import without_lines
from bot.ports.chat import Place, Shape
from bot.ports.windows import (
    AIM,
    BUDGET,
    DECISION,
    GOAL,
    NEW,
    PLAN_FIRST,
    ROOM,
    TICKED,
    WORDS,
    Input,
    Window,
)

MOST: Final = 3_000
"""Characters of a text in a form, as Slack's text input takes them."""
BEGINNING: Final = 300
"""Characters that are shown of a text which is taken whole."""
_ANSWERS: Final[Mapping[DecisionKind, tuple[str, str, str, str]]] = {
    "question": (
        "window.answer", "window.answer.label", "window.answer.hint", "window.answer.submit",
    ),
    "approval": ("window.deny", "window.deny.label", "window.deny.hint", "window.deny.submit"),
    "plan": ("window.change", "window.change.label", "window.change.hint", "window.change.submit"),
}  # fmt: skip
"""The sentences of the form that takes an answer in words, by kind: title, label, hint, button."""
_RESTS: Final = (State.PAUSED, State.BLOCKED, State.OVER_BUDGET)


class Forms:
    """One method a form."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.of: dict[str, Callable[[About], Awaitable[Window]]] = {
            NEW: self._new,
            AIM: self._aim,
            "edit": self._edit,
            "budget": self._budget,
            "": self._answer,
            "reopen": self._reopen,
        }
        """By the verb that opens it; `""` is the button that answers in words."""

    async def _new(self, found: About) -> Window:
        texts, place = self._desk.manner.texts, found.place
        where = Input(
            ROOM, texts("window.room"), "place", place.room, hint=texts("window.room.hint")
        )
        return Window(
            texts("window.new"),
            "start",
            replace(place, thread=""),
            inputs=(where, self._objective(""), self._money(place), self._plan_first(place)),
            submit=texts("window.start"),
            close=texts("window.cancel"),
        )

    async def _aim(self, found: About) -> Window:
        desk, texts, message = self._desk, self._desk.manner.texts, found.message
        refuse(self._desk, found, Act.START)
        if not found.room.goals:
            raise Refused(texts("refused.goals_off"), code="goals_off")
        begun = await goal_of(desk, message.place, message.reply_to)
        if begun is not None:
            raise Refused(texts("said.aimed_already", goal=desk.name(begun)), code="aimed_already")
        target = await aimed(desk, message, message.text.partition("\n")[2])
        if target is None:
            raise Refused(texts("window.unreadable"), code="unreadable")
        size = length(target.text)
        if size > MOST and not target.is_kept:
            raise Refused(
                texts("window.too_long", count=f"{size:,}", most=f"{MOST:,}"), code="long"
            )
        money, plan_first = self._money(message.place), self._plan_first(message.place)
        form = Window(
            texts("window.aim"),
            "aim",
            message.place,
            message.reply_to,
            submit=texts("window.start"),
            close=texts("window.cancel"),
        )
        if size > MOST:
            return replace(
                form, sections=(self._beginning(target, size),), inputs=(money, plan_first)
            )
        wanted_now = self._objective(without_lines(_wanted(target.text, desk)))
        return replace(form, inputs=(wanted_now, money, plan_first))

    async def _edit(self, found: About) -> Window:
        texts, goal = self._desk.manner.texts, live(self._desk, found)
        refuse(self._desk, found, Act.EDIT)
        objective, name = await self._desk.objective(goal), self._desk.name(goal)
        if (size := length(objective)) > MOST:
            values = {"goal": name, "count": f"{size:,}", "most": f"{MOST:,}"}
            raise Refused(texts("window.edit_long", **values), code="long")
        return Window(
            texts("window.edit", goal=name),
            "edit",
            *self._at(found),
            inputs=(self._objective(without_lines(objective)),),
            fixed=((GOAL, name),),
            submit=texts("window.save"),
            close=texts("window.cancel"),
        )

    async def _budget(self, found: About) -> Window:
        desk, texts, goal = self._desk, self._desk.manner.texts, live(self._desk, found)
        refuse(self._desk, found, Act.BUDGET)
        facts = await gather(goal, desk.journal, desk.rooms, desk.clock.now())
        shown = status(facts, desk.manner_in(found.place))
        typed, _ = raise_of(goal, limit_reached(goal) or "usd", texts)
        hint = texts("window.more.hint", spent=spent(goal, texts))
        name = desk.name(goal)
        return Window(
            texts("window.budget", goal=name),
            "budget",
            *self._at(found),
            sections=(replace(shown, body="", tasks=(), buttons=(), now=""),),
            inputs=(Input(BUDGET, texts("window.money"), value=typed, most=40, hint=hint),),
            fixed=((GOAL, name),),
            submit=texts("window.set_and_resume" if goal.state in _RESTS else "window.set"),
            close=texts("window.cancel"),
        )

    async def _answer(self, found: About) -> Window:
        desk, texts, goal = self._desk, self._desk.manner.texts, found.goal
        decision = goal.decision if goal else None
        is_it = decision is not None and found.decision in (0, decision.number)
        if goal is None or decision is None or decision.answered or not is_it:
            raise Refused(texts("refused.too_late"), code="too_late")
        refuse(self._desk, found, act_of(decision))
        if decision.kind not in IN_WORDS:
            raise Refused(texts("window.by_button"), code="by_button")
        facts = await gather(goal, desk.journal, desk.rooms, desk.clock.now())
        question, options = asked(decision, goal.reason, facts, desk.manner_in(found.place))
        numbered = options if decision.kind == "question" else ()
        listed = "\n".join(f"{n}. {option}" for n, option in enumerate(numbered, 1))
        name, (title, label, hint, submit) = desk.name(goal), _ANSWERS[decision.kind]
        hint = texts(hint, most=f"{MOST:,}")
        return Window(
            texts(title, goal=name, number=decision.number),
            "answer",
            *self._at(found),
            sections=(Shape("", "", body="\n\n".join(filter(None, (question, listed)))),),
            inputs=(Input(WORDS, texts(label), "words", most=MOST, hint=hint),),
            fixed=((GOAL, name), (DECISION, str(decision.number))),
            submit=texts(submit),
            close=texts("window.cancel"),
        )

    async def _reopen(self, found: About) -> Window:
        desk, texts, goal = self._desk, self._desk.manner.texts, some(self._desk, found)
        name = desk.name(goal)
        if not goal.is_final:
            raise Refused(texts("refused.not_final", goal=name), code="not_final")
        refuse(self._desk, found, Act.START)
        rest = views.rest(goal)
        if rest is None:
            raise Refused(texts("bad.nothing_left", goal=name), code="nothing_left")
        hint = texts("window.missing.hint", rest=views.budget_text(rest, desk.manner))
        return Window(
            texts("window.reopen", goal=name),
            "reopen",
            *self._at(found),
            inputs=(Input(WORDS, texts("window.missing"), "words", most=MOST, hint=hint),),
            fixed=((GOAL, name),),
            submit=texts("window.go_on"),
            close=texts("window.cancel"),
        )

    def _objective(self, value: str) -> Input:
        texts = self._desk.manner.texts
        hint = texts("window.objective.hint", most=f"{MOST:,}")
        return Input(WORDS, texts("window.objective"), "words", value, MOST, hint)

    def _money(self, place: Place) -> Input:
        texts = self._desk.manner.texts
        usual = views.budget_text(self._desk.budget_in(place), self._desk.manner)
        hint = texts("window.money.hint", usual=usual)
        return Input(BUDGET, texts("window.money"), most=40, hint=hint, is_optional=True)

    def _plan_first(self, place: Place) -> Input:
        texts, room = self._desk.manner.texts, self._desk.allow_list.settings(place)
        told = (("", texts("window.plan_first.label")),)
        value = TICKED if room.plan_first else ""
        name = texts("window.plan_first")
        hint = texts("window.plan_first.hint")
        return Input(PLAN_FIRST, name, "tick", value, hint=hint, options=told, is_optional=True)

    def _beginning(self, target: Aimed, size: int) -> Shape:
        text = self._desk.manner.texts("window.whole", count=f"{size:,}")
        shown = views.one_line(target.text, BEGINNING)
        return Shape("", "", body=f"{text}\n\n> {views.quoted(shown)}")

    def _at(self, found: About) -> tuple[Place, str]:
        """Where the form is said, and the message that it is about."""
        return found.place, found.message.reply_to


def length(text: str) -> int:
    """Characters as networks of JavaScript count them: UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _wanted(text: str, desk: Desk) -> str:
    try:
        return wanted(text, desk.manner.texts)
    except BadInput:
        return text.strip()
