"""
The verb `forget`, and messages that their authors take back.

Rule 1: `forget me` asks once, and says before what it ends; the yes is a row that survives the process.
Rule 2: a text is gone in the transaction that stored its removal; what follows for the goal is done
        here, when the removal is handled.
"""

from dataclasses import replace
from typing import Final

from bot.chat.desk import LIVE, Desk
from bot.chat.heard import Heard
from bot.chat.parse import Command
from bot.errors import Refused
from bot.goals.events import Paused
from bot.goals.goal import Goal
from bot.ports.chat import Incoming, removal_of
from bot.ports.forgetting import Wanted
from bot.ports.journal import Reply, Unit
from bot.ports.people import Answer

DELAY_S: Final = 3.0
"""So long the answer has to reach its network before it is forgotten with the rest."""
QUIET_S: Final = 20.0
"""A stranger who says it again within it is heard, and not answered."""
KEPT: Final = 20_000


class ForgetCommands:
    """The verb `forget`."""

    verbs: Final = frozenset({"forget"})

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._told: dict[tuple[str, bool], float] = {}

    async def run(self, heard: Heard, command: Command) -> None:
        """Ask once, then write down that the person is to be forgotten."""
        desk, texts = self._desk, self._desk.manner.texts
        assert desk.forgetting is not None
        live = [goal for goal in await desk.rooms.goals(states=LIVE) if heard.is_owner_of(goal)]
        ends = texts("said.forget_ends", goals=_listed(desk, live)) if live else ""
        is_quiet = not heard.roles and self._was_told((heard.person, command.is_confirmed))
        if not command.is_confirmed:
            if is_quiet:
                await desk.inbox.handled(heard.id)
            else:
                await desk.answer(heard, texts("said.forget_sure", ends=ends))
            return
        answer = await desk.reply(heard, texts("said.forgetting"), is_public=False)
        if is_quiet:
            answer = Answer((), answer.handled)
        await desk.forgetting.want(Wanted(heard.person), DELAY_S, answer)
        desk.posted()

    def _was_told(self, what: tuple[str, bool]) -> bool:
        """Whether a stranger was answered here a moment ago: a flood gets no flood of answers."""
        now, at = self._desk.clock.now(), self._told.get(what)
        if at is not None and now - at < QUIET_S:
            return True
        if len(self._told) >= KEPT:
            self._told.clear()
        self._told[what] = now
        return False


class Removals:
    """What follows when a message was deleted or redacted."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def handle(self, message: Incoming) -> None:
        """Pause the goal whose objective is gone with it, and ask its owner. Raises as the store."""
        await self._desk.withdraw(removal_of(message))
        goal = await self._goal(message)
        if goal is None:
            await self._desk.inbox.handled(message.id)
            return
        desk, texts = self._desk, self._desk.manner.texts
        owner = await desk.mention(goal.owner)
        text = texts("said.objective_removed", goal=desk.name(goal), owner=owner)
        key = f"reply:{message.id}"
        by = await desk.rooms.person(message.place.network, message.speaker)
        reply = Reply(goal.session, key, lambda _: text)
        unit = Unit(goal.id, (Paused(by),), handled=(message.id,), reply=reply, urgent=True)
        try:
            applied = await desk.journal.commit(unit)
        except Refused:
            # It rests already, in a state that a pause does not change.
            await desk.outbox.say(goal.session, key, text, (message.id,))
        else:
            desk.wake(goal.id, applied.instructions)
        desk.posted()

    async def _goal(self, message: Incoming) -> Goal | None:
        """The live goal that the removed message opened, if its objective still is that message's."""
        goal = await self._desk.opened_by(replace(message, id=removal_of(message)))
        if goal is None:
            return None
        there = await self._desk.journal.contents(goal.session, (goal.objective,))
        return None if goal.objective in there else goal


def _listed(desk: Desk, goals: list[Goal]) -> str:
    return desk.manner.texts("list_of").join(desk.name(goal) for goal in reversed(goals))
