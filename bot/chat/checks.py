"""
What is wrong with a form, before it is taken: by the name of the input, in a sentence each.

Rule 1: texts and amounts are read by the same parsers as what is typed.
Rule 2: what has become too late, or what somebody may not do, is said in the form: nothing that they
        wrote is lost. Whoever handles the form later asks again.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from bot.chat import views
from bot.chat.aimed import aimed, goal_of
from bot.chat.amounts import budget_changed, budget_with, read_amount
from bot.chat.answers import IN_WORDS, act_of
from bot.chat.desk import Desk
from bot.chat.forms import MOST, length
from bot.chat.parse import NAME, objective, wanted
from bot.chat.pressed import About, live, refusal, refuse, some
from bot.chat.rights import Act
from bot.chat.room_forms import RoomForms
from bot.chat.secret_forms import SecretForms
from bot.errors import BadInput, Refused
from bot.goals.money import Ledger
from bot.ports.chat import Place
from bot.ports.windows import BUDGET, ROOM, WORDS

Wrong = Mapping[str, str]
_NOTHING: Final[Wrong] = {}


class Checks:
    """One method an act."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._rooms = RoomForms(desk)
        self._of: dict[str, Callable[[About], Awaitable[Wrong]]] = {
            "start": self._start,
            "aim": self._aim,
            "edit": self._edit,
            "budget": self._budget,
            "answer": self._answer,
            "reopen": self._reopen,
            "room": self._room,
            "secret": SecretForms(desk).wrong,
        }

    async def wrong(self, found: About) -> Wrong:
        """What is wrong; nothing where it can be stored. Raises as the store does."""
        check = self._of.get(found.message.act)
        if check is None:
            return {WORDS: self._desk.manner.texts("window.unknown")}
        try:
            return await check(found)
        except (BadInput, Refused) as error:
            is_money = found.message.act == "budget" or not found.message.text
            return {BUDGET if is_money else WORDS: str(error)}

    async def _start(self, found: About) -> Wrong:
        place, texts = found.place, self._desk.manner.texts
        if not place.room:
            return {ROOM: texts("window.no_room")}
        wrong = {}
        members = self._desk.allow_list.members
        if not await members.is_member(place, found.message.speaker):
            wrong[ROOM] = texts("window.no_member")
        elif why := self._may_not_start(found) or await self._shut_out(place):
            wrong[ROOM] = why
        return {**wrong, **self._objective(found), **self._first_budget(found)}

    async def _aim(self, found: About) -> Wrong:
        first = WORDS if found.message.text else BUDGET
        if why := self._may_not_start(found):
            return {first: why}
        begun = await goal_of(self._desk, found.message.place, found.message.reply_to)
        if begun is not None:
            name = self._desk.name(begun)
            return {first: self._desk.manner.texts("said.aimed_already", goal=name)}
        if why := await self._shut_out(found.place):
            return {first: why}
        if found.message.text:
            return {**self._objective(found), **self._first_budget(found)}
        target = await aimed(self._desk, found.message)
        if target is None:
            return {first: self._desk.manner.texts("window.unreadable")}
        wanted(target.text, self._desk.manner.texts)
        return self._first_budget(found)

    async def _edit(self, found: About) -> Wrong:
        live(self._desk, found)
        refuse(self._desk, found, Act.EDIT)
        # An edit says what is wanted from now on: it may be short where the goal is known.
        objective(found.message.text, self._desk.manner.texts)
        return self._short_enough(found)

    async def _budget(self, found: About) -> Wrong:
        goal, texts = live(self._desk, found), self._desk.manner.texts
        refuse(self._desk, found, Act.BUDGET)
        amount = read_amount(_field(found, BUDGET), texts)
        if amount is None:
            raise BadInput(texts("window.amount"))
        budget_with(goal, amount, texts)
        return _NOTHING

    async def _answer(self, found: About) -> Wrong:
        texts, goal = self._desk.manner.texts, found.goal
        decision = goal.decision if goal else None
        is_it = decision is not None and found.decision in (0, decision.number)
        if goal is None or decision is None or decision.answered or not is_it:
            return {WORDS: texts("window.gone_decision")}
        refuse(self._desk, found, act_of(decision))
        if decision.kind not in IN_WORDS:
            return {WORDS: texts("window.by_button")}
        return self._words(found)

    async def _reopen(self, found: About) -> Wrong:
        desk, texts, goal = self._desk, self._desk.manner.texts, some(self._desk, found)
        name = desk.name(goal)
        if not goal.is_final:
            return {WORDS: texts("refused.not_final", goal=name)}
        if why := self._may_not_start(found):
            return {WORDS: why}
        if views.rest(goal) is None:
            return {WORDS: texts("bad.nothing_left", goal=name)}
        old = await desk.objective(goal)
        missing = found.message.text
        objective(texts("reopened.objective", old=old, missing=missing) if old else missing, texts)
        return self._words(found)

    async def _room(self, found: About) -> Wrong:
        form = found.message.form
        if why := refusal(self._desk, replace(found, goal=None), Act.SETTINGS):
            return {next((key for key, _ in form), WORDS): why}
        return self._rooms.wrong(form)

    def _objective(self, found: About) -> Wrong:
        try:
            wanted(found.message.text, self._desk.manner.texts)
        except BadInput as error:
            return {WORDS: str(error)}
        return self._short_enough(found)

    def _words(self, found: About) -> Wrong:
        texts, text = self._desk.manner.texts, found.message.text
        if not text.strip():
            return {WORDS: texts("window.empty")}
        if "\0" in text:
            return {WORDS: texts("bad.nul")}
        return self._short_enough(found)

    def _short_enough(self, found: About) -> Wrong:
        texts, size = self._desk.manner.texts, length(found.message.text)
        if size <= MOST:
            return _NOTHING
        return {WORDS: texts("window.longer", count=f"{size:,}", most=f"{MOST:,}")}

    def _first_budget(self, found: About) -> Wrong:
        texts, text = self._desk.manner.texts, _field(found, BUDGET)
        if not text:
            return _NOTHING
        try:
            amount = read_amount(text, texts)
            if amount is None:
                return {BUDGET: texts("window.amount")}
            budget_changed(self._desk.budget_in(found.place), Ledger(), amount, texts)
        except BadInput as error:
            return {BUDGET: str(error)}
        return _NOTHING

    async def _shut_out(self, place: Place) -> str:
        """Why nothing can be said in a room; empty where the bot is in it, or has just entered."""
        if await self._desk.allow_list.members.enter(replace(place, thread="")):
            return ""
        return self._desk.manner.texts("window.shut_out", name=NAME)

    def _may_not_start(self, found: About) -> str:
        if why := refusal(self._desk, replace(found, goal=None), Act.START):
            return why
        return "" if found.room.goals else self._desk.manner.texts("refused.goals_off")


def _field(found: About, name: str) -> str:
    return dict(found.message.form).get(name, "").strip()
