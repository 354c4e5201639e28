"""
What people said yes to of a goal, as its journal tells it, remembered for as long as that is the same.

Reading a whole journal for each edit of a status message would cost the more the longer a goal works.
"""

from collections import OrderedDict
from typing import Final

from bot.chat.cards import Allowed, allowed_in
from bot.goals.goal import Goal
from bot.ports.journal import Journal

KEPT: Final = 500
"""Goals of which it is remembered."""


class Yeses:
    """Reads a goal's journal where something was allowed since it was read."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[object, tuple[Allowed, ...]]] = OrderedDict()

    async def of(self, goal: Goal, journal: Journal) -> tuple[Allowed, ...]:
        """Whose yes its plan and its grants have. Raises as the journal does."""
        if not (goal.grants or goal.plan):
            return ()
        now = (goal.plan, goal.grants)
        kept, found = self._known.get(goal.id, (None, ()))
        if kept != now:
            found = allowed_in(await journal.history(goal.session), goal)
        self._known.pop(goal.id, None)
        self._known[goal.id] = (now, found)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found
