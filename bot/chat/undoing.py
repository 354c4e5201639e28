"""
A goal that is taken back before its first turn has ended: it is cancelled, and what was posted for it goes.

Rule: whoever may cancel it may take it back; later than its first turn, words end it.
"""

from bot.chat.desk import Desk
from bot.chat.rights import Act, Roles, may
from bot.errors import Refused
from bot.goals.events import Undone
from bot.goals.goal import Goal
from bot.ports.chat import Incoming
from bot.ports.journal import Unit


class Undoing:
    """Takes goals back."""

    def __init__(self, desk: Desk, roles: Roles) -> None:
        self._desk = desk
        self._roles = roles

    async def is_free_to(self, message: Incoming, goal: Goal, by: str) -> bool:
        """Whether whoever did it may take the goal back."""
        return may(Act.CANCEL, await self._roles(message), is_owner=by == goal.owner)

    async def undo(self, message: Incoming, goal: Goal, by: str) -> None:
        """Take it back; the message is handled with it.

        Raises:
            Refused: code `begun`: it has done a turn; code `final`: it has ended.
        """
        desk = self._desk
        unit = Unit(goal.id, (Undone(by),), handled=(message.id,), urgent=True)
        applied = await desk.journal.commit(unit)
        desk.wake(goal.id, applied.instructions)
        desk.posted()

    async def undo_quietly(self, message: Incoming, goal: Goal, by: str) -> None:
        """The same; where it is too late for it, nothing changes and nothing is said."""
        try:
            await self.undo(message, goal, by)
        except Refused:
            # Its first turn has ended: what it made is there, and is ended by words.
            await self._desk.inbox.handled(message.id)
