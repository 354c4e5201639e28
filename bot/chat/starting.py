"""
Goals and ordinary turns, as they begin: in which thread, under which name.

Rule 1: a message opens one goal, however often it is read; so does a message that is aimed at, whoever
        aims and however often.
Rule 2: a goal lives in the thread in which it is asked for, else in the one that hangs under the message
        that asked; where a room has no threads, in its main timeline, one at a time.
"""

from dataclasses import replace

from bot.chat.desk import Desk, Told
from bot.chat.heard import Heard, goal_id
from bot.errors import Refused
from bot.goals.events import GoalOpened
from bot.goals.limits import ASK_BUDGET
from bot.goals.money import Budget
from bot.ports.chat import Place
from bot.ports.journal import Content
from bot.ports.mail import Thread


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
        thread = await self._own_thread(heard, under)
        opened = self.opened(heard, thread, objective, self._desk.budget_in(heard.message.place))
        await self.open(heard, replace(opened, goal=goal or opened.goal), objective)

    async def ask(self, heard: Heard, text: str) -> None:
        """An ordinary turn; its answer is posted when it ends."""
        content = Content(text, heard.person)
        thread = heard.thread or await self._own_thread(heard)
        opened = self.opened(heard, thread, content, ASK_BUDGET)
        await self.open(heard, replace(opened, kind="ask"), content)

    async def open(
        self, heard: Heard, opened: GoalOpened, content: Content, told: Told | None = None
    ) -> None:
        """Commit the opening with what is answered. Raises as `Journal.open`."""
        desk = self._desk
        told = await desk.told_held(heard, opened.session, opened.owner, told)
        reply = await desk.told_reply(heard, told)
        applied = await desk.journal.open(opened, (content,), (heard.id,), reply)
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

    async def _own_thread(self, heard: Heard, under: str = "") -> Thread:
        """The thread of the message, or the one that begins with it."""
        if heard.thread is not None:
            return heard.thread
        return await self._desk.rooms.begin(_home(heard, under))


def _home(heard: Heard, under: str) -> Place:
    place = heard.message.place
    if place.thread or not heard.room.threads:
        return place
    return replace(place, thread=under or heard.id)
