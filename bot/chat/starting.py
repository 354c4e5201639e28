"""
Goals and ordinary turns, as they begin: in which thread, under which name.

Rule 1: a message opens one goal, however often it is read; so does a message that is aimed at, whoever
        aims and however often.
Rule 2: a goal lives in the thread in which it is asked for; where one lives there already, in a new
        thread, whose first message links back; else in the thread that hangs under the message that
        asked. Where a room has no threads, it lives in the main timeline, one at a time.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bot.chat.desk import Desk, Told
from bot.chat.heard import Heard, goal_id
from bot.chat.views import one_line
from bot.errors import Refused
from bot.goals.events import GoalOpened
from bot.goals.limits import ASK_BUDGET
from bot.goals.money import Budget
from bot.ports.chat import Place
from bot.ports.journal import Applied, Content
from bot.ports.mail import Thread

ROOT_CHARS: Final = 300
"""Of an objective in the first message of its thread."""


class Starting:
    """Opens goals."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def start(
        self, heard: Heard, objective: Content, *, under: str = "", goal: str = ""
    ) -> None:
        """Open a goal. `under`: the message that it hangs under, `goal`: its id, where not by `heard`.

        Raises:
            Refused: goals are off there, or one is live where there can be one only.
        """
        self.refuse_where_off(heard)
        place = heard.message.place
        thread = heard.thread or await self._desk.rooms.begin(_home(heard, under))
        if thread.goal and not place.thread:
            if not heard.room.threads:
                raise Refused("The room has one goal at a time.", code="room_busy")
            thread = await self._desk.rooms.begin(_home(heard, under))
        elif thread.goal:
            thread = await self._desk.rooms.begin_new(replace(place, thread=""), under or heard.id)
        opened = self.opened(heard, thread, objective, self._desk.budget_in(heard.message.place))
        await self.open(heard, replace(opened, goal=goal or opened.goal), objective)

    async def ask(self, heard: Heard, text: str) -> None:
        """An ordinary turn; its answer is posted when it ends."""
        content = Content(text, heard.person)
        thread = heard.thread or await self._desk.rooms.begin(_home(heard))
        opened = self.opened(heard, thread, content, ASK_BUDGET)
        await self.open(heard, replace(opened, kind="ask"), content)

    async def open(
        self, heard: Heard, opened: GoalOpened, content: Content, told: Told | None = None
    ) -> None:
        """Commit the opening with what is answered. Raises as `Journal.open`."""
        desk = self._desk
        told = await desk.told_held(heard, opened.session, opened.owner, told)
        reply = await desk.told_reply(heard, told)
        root = await self._root(opened, content)
        applied = await desk.journal.open(opened, (content,), (heard.id,), reply, root)
        desk.taken(heard.message, applied.goal)
        desk.wake(applied.goal.id, applied.instructions)
        desk.posted()

    def opened(self, heard: Heard, thread: Thread, content: Content, budget: Budget) -> GoalOpened:
        """A goal of whoever said it, with that objective."""
        return GoalOpened(
            goal=goal_id(heard.message),
            session=thread.session,
            number=0,
            owner=heard.person,
            objective=content.hash,
            budget=budget,
        )

    def refuse_where_off(self, heard: Heard) -> None:
        """Raise Refused where no goal may start."""
        if not heard.room.goals:
            raise Refused("Goals are off in this room.", code="goals_off")

    async def _root(self, opened: GoalOpened, content: Content) -> Callable[[Applied], str]:
        """The first message of a thread that begins with one of ours."""
        texts, owner = self._desk.manner.texts, await self._desk.mention(opened.owner)

        def said(applied: Applied) -> str:
            goal, what = self._desk.name(applied.goal), one_line(content.text, ROOT_CHARS)
            return texts("root.goal", goal=goal, owner=owner, objective=what)

        return said


def _home(heard: Heard, under: str = "") -> Place:
    """Where a goal lives that is asked for where none does."""
    place = heard.message.place
    if place.thread or not heard.room.threads:
        return place
    return replace(place, thread=under or heard.id)
