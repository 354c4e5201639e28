"""
Forms that were filled in: each does what typed words would do, with the same rights and sentences.

Rule 1: what a form is about is what it was opened for, whatever else the thread has by now.
Rule 2: an objective stands in a field of its own: no word of it is a command.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from bot.chat.aiming import Aiming
from bot.chat.amounts import budget_changed, read_amount
from bot.chat.commands import Commands
from bot.chat.deciding import Deciding
from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.parse import Command, objective, wanted
from bot.chat.pressed import about, refuse_outsiders
from bot.chat.rights import Act
from bot.chat.room_forms import RoomForms
from bot.chat.secret_forms import SecretForms
from bot.chat.verbs import VERBS
from bot.errors import BadInput
from bot.goals.goal import Goal, State
from bot.goals.money import Budget, Ledger
from bot.ports.attached import keeping
from bot.ports.journal import Content
from bot.ports.mail import Thread
from bot.ports.windows import BUDGET, DECISION, PLAN_FIRST, TICKED

RESTING: Final = frozenset({State.PAUSED, State.BLOCKED, State.OVER_BUDGET})
"""States in which a budget that is filled in lets the goal go on, as the form says."""


class Filled:
    """One method an act."""

    def __init__(self, desk: Desk, commands: Commands, deciding: Deciding, aiming: Aiming) -> None:
        self._desk = desk
        self._commands = commands
        self._deciding = deciding
        self._aiming = aiming
        self._rooms = RoomForms(desk)
        self._secrets = SecretForms(desk)

    async def handle(self, heard: Heard) -> None:
        """Do what submitting the form does. Raises Refused, BadInput, and as the store does."""
        anywhere: Mapping[str, Callable[[Heard], Awaitable[None]]] = {
            "start": self._start,
            "aim": self._aim,
            "room": self._room,
            "secret": self._secret,
        }
        of_goal: Mapping[str, Callable[[Heard, Goal], Awaitable[None]]] = {
            "edit": self._edit,
            "budget": self._budget,
            "answer": self._answer,
            "reopen": self._reopen,
        }
        act = heard.message.act
        if act in anywhere:
            await anywhere[act](heard)
            return
        near = await about_goal(self._desk, heard)
        if near.goal is None or near.goal.reason == "undone" or act not in of_goal:
            await self._commands.complain(heard, self._desk.manner.texts("said.form_gone"))
            return
        await of_goal[act](near, near.goal)

    async def _start(self, heard: Heard) -> None:
        if not await self._commands.may(heard, Act.START):
            return
        text = wanted(heard.message.text, self._desk.manner.texts)
        said = Content(text, heard.person, heard.of)
        await self._commands.starting.start(
            heard, said, budget=self._money(heard), plan_first=_is_planned(heard)
        )

    async def _aim(self, heard: Heard) -> None:
        text = heard.message.text
        await self._aiming.aim(
            heard,
            "",
            objective=text.strip(),
            budget=self._money(heard),
            plan_first=_is_planned(heard),
        )

    async def _edit(self, heard: Heard, goal: Goal) -> None:
        text = objective(heard.message.text, self._desk.manner.texts)
        # The files that came with it stand in no form.
        text = keeping(text, await self._desk.objective(goal))
        await self._commands.run(heard, Command(VERBS["edit"], text=text))

    async def _budget(self, heard: Heard, goal: Goal) -> None:
        texts = self._desk.manner.texts
        amount = read_amount(_field(heard, BUDGET), texts)
        if amount is None:
            raise BadInput(texts("bad.amount"))
        amount = replace(amount, resumes=goal.state in RESTING)
        await self._commands.run(heard, Command(VERBS["budget"], amount=amount))

    async def _answer(self, heard: Heard, goal: Goal) -> None:
        number = _field(heard, DECISION)
        found = await about(self._desk, heard.message)
        decision = int(number) if number.isascii() and number.isdigit() else found.decision
        card = await self._deciding.card(goal, decision)
        if card is None:
            await self._commands.complain(heard, self._desk.manner.texts("said.form_gone"))
            return
        text = heard.message.text.strip()
        if not text:
            raise BadInput(self._desk.manner.texts("bad.empty_answer"))
        await self._deciding.pressed(heard, card, text, in_words=True)

    async def _reopen(self, heard: Heard, goal: Goal) -> None:
        text = heard.message.text.strip()
        if not text:
            raise BadInput(self._desk.manner.texts("bad.empty.reopen"))
        await self._commands.run(heard, Command(VERBS["reopen"], text=text))

    async def _room(self, heard: Heard) -> None:
        if await self._commands.may(heard, Act.SETTINGS):
            await self._rooms.set(heard)

    async def _secret(self, heard: Heard) -> None:
        if await self._commands.may(heard, Act.SECRETS):
            await self._secrets.handle(heard)

    def _money(self, heard: Heard) -> Budget | None:
        """The budget that was filled in; None where it is the room's."""
        texts, text = self._desk.manner.texts, _field(heard, BUDGET)
        if not text:
            return None
        amount = read_amount(text, texts)
        if amount is None:
            raise BadInput(texts("bad.amount"))
        usual = self._desk.budget_in(heard.message.place)
        return budget_changed(usual, Ledger(), amount, texts)


async def about_goal(desk: Desk, heard: Heard) -> Heard:
    """A press or a form as if it were said in the thread of the goal that it is about.

    Raises:
        Refused: whoever it is has left the room since they were shown it: words are said in a room alone.
    """
    found = await about(desk, heard.message)
    if found.goal is None:
        return heard
    if found.roles:
        await refuse_outsiders(desk, found)
    live = "" if found.goal.is_final else found.goal.id
    return replace(
        heard,
        thread=Thread(found.goal.session, found.place, live),
        goal=found.goal,
        roles=found.roles,
        room=found.room,
    )


def _is_planned(heard: Heard) -> bool:
    return _field(heard, PLAN_FIRST) == TICKED


def _field(heard: Heard, name: str) -> str:
    return dict(heard.message.form).get(name, "").strip()
