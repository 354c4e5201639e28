"""
Goals that are made of a message, by a reaction or by a shortcut on it.

Rule: a message that is aimed at opens one goal, whoever aims and however often; once that was taken back,
another one.
"""

from dataclasses import replace
from itertools import count

from bot.chat.abilities import is_unseen
from bot.chat.aimed import OURS, aimed, goal_of
from bot.chat.commands import Commands
from bot.chat.desk import Desk
from bot.chat.heard import Heard, aimed_id_in, goal_id_in
from bot.chat.parse import wanted
from bot.chat.rights import Act
from bot.goals.goal import Goal
from bot.goals.money import Budget
from bot.goals.objective_lines import without_checks
from bot.ports.attached import keeping
from bot.ports.chat import Incoming, Place
from bot.ports.journal import Content


class Aiming:
    """Makes goals of messages."""

    def __init__(self, desk: Desk, commands: Commands) -> None:
        self._desk = desk
        self._commands = commands

    async def aim(
        self,
        heard: Heard,
        text: str,
        *,
        objective: str = "",
        budget: Budget | None = None,
        plan_first: bool = False,
    ) -> None:
        """Make a goal of what a message answers; one that has opened one already opens no other.

        Args:
            text: what the message says, where it came along.
            objective: what it is to be instead, as whoever aims has put it.
            budget: of the goal, where it is not the room's.
            plan_first: it begins with a plan.

        Raises:
            Refused: goals are off there, or one is live where there can be one only.
            BadInput: nobody could tell when that is done, or it is no objective.
        """
        desk, message = self._desk, heard.message
        goal = await self._free_name(message)
        if goal is None:
            await self._taken(heard)
            return
        if not await self._commands.may(heard, Act.START):
            return
        said = await self._said(heard, text)
        if objective:
            # The files of the message stand in no form.
            said = Content(keeping(objective, said.text if said else ""), heard.person)
        if said is None:
            await self._commands.complain(heard, desk.manner.texts("said.aim_unreadable"))
            return
        content = replace(said, text=wanted(said.text, desk.manner.texts))
        await self._commands.starting.start(
            heard, content, under=message.reply_to, goal=goal, budget=budget, plan_first=plan_first
        )

    async def _taken(self, heard: Heard) -> None:
        """The message has its goal: a reaction says nothing more; who asked in words is told."""
        desk, message = self._desk, heard.message
        found = await self.opened_by(message.place, message.reply_to)
        if found is None or not is_unseen(message):
            await desk.inbox.handled(heard.id)
            return
        text = desk.manner.texts("said.aimed_already", goal=desk.name(found))
        await self._commands.complain(heard, text)

    async def opened_by(self, place: Place, of: str) -> Goal | None:
        """The goal that a message has opened, or that was made of it and not taken back."""
        return await goal_of(self._desk, place, of)

    async def aimed(self, reaction: Incoming) -> Goal | None:
        """The live goal that a reaction opened."""
        owner = await self._desk.rooms.person(reaction.place.network, reaction.speaker)
        for one in count(1):
            goal = await self._goal(aimed_id_in(reaction.place, reaction.reply_to, one))
            if goal is None:
                break
            if not goal.is_final:
                return goal if goal.owner == owner else None
        return None

    async def _said(self, heard: Heard, text: str) -> Content | None:
        """What the message says, with who said it; None where it cannot be read."""
        found = await aimed(self._desk, heard.message, text)
        if found is None:
            return None
        of = "" if found.author == OURS else heard.message.reply_to
        text = found.text if found.is_wanted else without_checks(found.text)
        return Content(text, found.author or heard.person, of)

    async def _free_name(self, message: Incoming) -> str | None:
        """The id of the goal that aiming opens; None where the message has opened one."""
        own = await self._goal(goal_id_in(message.place, message.reply_to))
        if own is not None and own.reason != "undone":
            return None
        for one in count(1):
            id = aimed_id_in(message.place, message.reply_to, one)
            goal = await self._goal(id)
            if goal is None:
                return id
            if goal.reason != "undone":
                return None
        return None

    async def _goal(self, id: str) -> Goal | None:
        try:
            return await self._desk.journal.goal(id)
        except KeyError:
            return None
