"""
Goals and ordinary turns, as they begin: in which thread, under which name.

Rule 1: a message opens one goal, however often it is read; so does a message that is aimed at, whoever
        aims and however often.
Rule 2: a goal lives in the thread in which it is asked for; where one lives there already, in a new
        thread, whose first message links back; else in the thread that hangs under the message that
        asked. Where a room has no threads, it lives in the main timeline, one at a time.
Rule 3: what is asked for by no message gets a thread that begins with one of ours. Where the bot is not in
        the room, and may not enter, nothing begins: whoever asked is told, and what they asked is kept.
"""

from collections.abc import Callable
from dataclasses import replace

from bot.chat.abilities import is_unseen
from bot.chat.desk import Desk, Told
from bot.chat.gate_words import refuse_unfit_checks
from bot.chat.heard import Heard, goal_id_in
from bot.chat.parse import NAME
from bot.chat.replies import AGAIN
from bot.chat.repo_commands import refuse_unknown
from bot.chat.roots import root_text
from bot.errors import Refused
from bot.goals.events import GoalOpened
from bot.goals.limits import ASK_BUDGET
from bot.goals.money import Budget
from bot.ports.chat import Place
from bot.ports.journal import Applied, Content
from bot.ports.looking import with_looked_at
from bot.ports.mail import Thread


class Starting:
    """Opens goals."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def start(
        self,
        heard: Heard,
        objective: Content,
        *,
        under: str = "",
        goal: str = "",
        budget: Budget | None = None,
        plan_first: bool = False,
    ) -> None:
        """Open a goal.

        Args:
            under: the message that it hangs under, where not under `heard`.
            goal: its id, where not that of what `heard` opens.
            budget: where it is not the room's.
            plan_first: it begins with a plan that somebody approves, as each one does where the room says so.

        Raises:
            Refused: goals are off there, or one is live where there can be one only.
            BadInput: the objective names what the room has not, or checks that would be left out.
        """
        self.refuse_where_off(heard)
        refuse_unfit_checks(objective.text, self._desk.manner.texts)
        await refuse_unknown(self._desk, heard.message.place, objective.text)
        if await self._is_shut_out(heard):
            return
        place, objective = heard.message.place, with_looked_at(objective, heard.message)
        thread = await self._thread(heard, under)
        if thread.goal and not place.thread:
            if not heard.room.threads:
                raise Refused("The room has one goal at a time.", code="room_busy")
            thread = await self._desk.rooms.begin(_home(heard, under))
        elif thread.goal:
            thread = await self._desk.rooms.begin_new(_main(place), under or heard.name)
        opened = self.opened(heard, thread, objective, budget or self._desk.budget_in(place))
        opened = replace(
            opened, goal=goal or opened.goal, plan_first=plan_first or opened.plan_first
        )
        await self.open(heard, opened, objective)

    async def ask(self, heard: Heard, text: str) -> None:
        """An ordinary turn; its answer is posted when it ends."""
        if await self._is_shut_out(heard):
            return
        content = with_looked_at(Content(text, heard.person, heard.of), heard.message)
        thread = await self._thread(heard)
        opened = self.opened(heard, thread, content, ASK_BUDGET)
        await self.open(heard, replace(opened, kind="ask"), content)

    async def open(
        self,
        heard: Heard,
        opened: GoalOpened,
        content: Content,
        told: Told | None = None,
        *,
        further: tuple[Content, ...] = (),
    ) -> None:
        """Commit the opening with what is answered, and with `further` texts. Raises as `Journal.open`."""
        desk = self._desk
        told = await desk.told_held(heard, opened.session, opened.owner, told)
        reply = await desk.told_reply(heard, told)
        if reply is not None and is_unseen(heard.message):
            # It stands nowhere: what is answered belongs to what it begins.
            reply = replace(reply, session=opened.session)
        root = await self._root(opened, content)
        contents = (content, *further)
        applied = await desk.journal.open(opened, contents, (heard.id,), reply, root)
        desk.taken(heard.message, applied.goal)
        desk.wake(applied.goal.id, applied.instructions)
        desk.posted()

    def opened(self, heard: Heard, thread: Thread, content: Content, budget: Budget) -> GoalOpened:
        """A goal of whoever said it, with that objective."""
        return GoalOpened(
            goal=goal_id_in(heard.message.place, heard.name),
            session=thread.session,
            number=0,
            owner=heard.person,
            objective=content.hash,
            budget=budget,
            plan_first=heard.room.plan_first,
        )

    async def apart(self, heard: Heard) -> Thread:
        """A thread of its own for a goal, which begins with a message of ours.

        Raises:
            Refused: there are no threads, and a goal is live there.
        """
        main = _main(heard.message.place)
        if heard.room.threads:
            return await self._desk.rooms.begin_new(main, heard.name)
        thread = await self._desk.rooms.begin(main)
        if thread.goal:
            raise Refused("The room has one goal at a time.", code="room_busy")
        return thread

    def refuse_where_off(self, heard: Heard) -> None:
        """Raise Refused where no goal may start."""
        if not heard.room.goals:
            raise Refused("Goals are off in this room.", code="goals_off")

    async def _is_shut_out(self, heard: Heard) -> bool:
        """Whether the bot cannot speak where something is asked for; then whoever asks is told."""
        desk, place = self._desk, heard.message.place
        if not is_unseen(heard.message) or await desk.allow_list.members.enter(_main(place)):
            return False
        await desk.answer(
            heard, desk.manner.texts("said.shut_out", name=NAME), reason=f"{AGAIN}:{heard.name}"
        )
        return True

    async def _thread(self, heard: Heard, under: str = "") -> Thread:
        """Where it begins: in the thread in which it is asked for, or in a new one."""
        if is_unseen(heard.message) and not under and heard.room.threads:
            return await self._desk.rooms.begin_new(_main(heard.message.place), heard.name)
        return heard.thread or await self._desk.rooms.begin(_home(heard, under))

    async def _root(self, opened: GoalOpened, content: Content) -> Callable[[Applied], str]:
        """The first message of a thread that begins with one of ours."""
        texts, owner = self._desk.manner.texts, await self._desk.mention(opened.owner)

        return lambda applied: root_text(applied.goal, owner, content.text, texts)


def _home(heard: Heard, under: str = "") -> Place:
    """Where a goal lives that is asked for where none does."""
    place = heard.message.place
    if place.thread or not heard.room.threads:
        return place
    return replace(place, thread=under or heard.id)


def _main(place: Place) -> Place:
    """The main timeline of the place's room."""
    return replace(place, thread="")
