"""What is only looked at: `list`, `status`, `tasks`, `trace`, `files`, and the command's bare name."""

import contextlib
from collections.abc import Iterable

from bot.chat import views
from bot.chat.desk import LIVE, Desk
from bot.chat.facts import gather
from bot.chat.file_words import files_text
from bot.chat.heard import Heard
from bot.chat.held import held_among
from bot.chat.parse import Command
from bot.chat.secret_commands import readable
from bot.errors import BadInput, StoreUnusable
from bot.goals.goal import Goal


class Showing:
    """One method a verb; each answers where it was asked, and changes nothing."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def overview(self, heard: Heard) -> None:
        """The command's bare name: the live goals of whoever said it, and three examples."""
        goals = await self._desk.rooms.goals(states=LIVE, room=heard.message.place)
        mine = [goal for goal in goals if heard.is_owner_of(goal)][: views.LIST_MOST]
        text = views.overview_text(await self._with_objectives(mine), self._desk.manner)
        await self._desk.answer(heard, text)

    async def goals(self, heard: Heard, scope: str) -> None:
        """The room's goals."""
        states = () if scope else LIVE
        goals = await self._desk.rooms.goals(states=states, room=heard.message.place)
        shown = [goal for goal in goals if scope != "mine" or heard.is_owner_of(goal)]
        lines = await self._with_objectives(shown[: views.LIST_MOST])
        held = await held_among(self._desk.holds, [goal for goal, _ in lines])
        more = len(shown) - len(lines)
        text = views.list_text(lines, more, scope, self._desk.manner, held)
        await self._desk.answer(heard, text)

    async def status(self, heard: Heard, goal: Goal, command: Command) -> None:
        """How a goal stands."""
        desk = self._desk
        facts = await gather(
            goal, desk.journal, desk.rooms, desk.clock.now(), spending=desk.spending,
            holds=desk.holds, room=heard.room,
        )  # fmt: skip
        manner = desk.manner_in(heard.message.place)
        parts = (views.status_text(facts, manner), await readable(desk, heard.message.place))
        await desk.answer(heard, "\n".join(filter(None, parts)))

    async def tasks(self, heard: Heard, goal: Goal, command: Command) -> None:
        """A goal's list of tasks."""
        tasks = await self._desk.journal.tasks(goal.id)
        await self._desk.answer(heard, views.tasks_text(goal, tasks, self._desk.manner))

    async def trace(self, heard: Heard, goal: Goal, command: Command) -> None:
        """What a goal's journal says."""
        lines = await self._desk.journal.history(goal.session)
        own = [line for line in lines if line.goal == goal.id]
        manner = self._desk.manner_in(heard.message.place)
        await self._desk.answer(heard, views.trace_text(goal, own, manner))

    async def files(self, heard: Heard, goal: Goal, command: Command) -> None:
        """What a goal made, and what lies in its workspace."""
        desk, entries = self._desk, None
        made = await desk.checkpoints.artifacts(goal.id) if desk.checkpoints is not None else ()
        if desk.checkpoints is not None and desk.snapshots is not None:
            tree = goal.restore or await desk.checkpoints.latest(goal.session)
            with contextlib.suppress(BadInput, StoreUnusable):
                # What is not kept any more, cannot be read, or is on another machine is not shown.
                entries = await desk.snapshots.entries(tree or "")
        manner = desk.manner_in(heard.message.place)
        await desk.answer(heard, files_text(goal, made, entries, desk.clock.now(), manner))

    async def _with_objectives(self, goals: Iterable[Goal]) -> list[tuple[Goal, str]]:
        return [(goal, await self._desk.objective(goal)) for goal in goals]
