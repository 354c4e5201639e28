"""What holds for the calls of a room's goals, as the allow-list, the room and the store have it now."""

import shlex
from collections.abc import Sequence

from bot.chat.allow_list import AllowList
from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.permissions import Permission, Permissions
from bot.settings import Settings
from bot.tools.policy.verdict import ByDefault, Law, law_of


class RoomRules:
    """Port Rules of the turns."""

    def __init__(
        self, allow_list: AllowList, permissions: Permissions, by_default: ByDefault
    ) -> None:
        self._allow_list, self._permissions = allow_list, permissions
        self._by_default = by_default

    async def place(self, goal: Goal) -> Place:
        """As in the port."""
        return await self._allow_list.home(goal.session)

    async def law(self, goal: Goal) -> Law:
        """As in the port."""
        room = self._allow_list.settings(await self.place(goal))
        return law_of(goal, room, self._by_default)

    async def standing(self, goal: Goal) -> Sequence[Permission]:
        """As in the port."""
        return await self._permissions.of(await self.place(goal))

    async def has_approver(self, goal: Goal) -> bool:
        """As in the port."""
        return await self._allow_list.has_approver(goal)


def by_default(settings: Settings) -> ByDefault:
    """What holds in rooms that say nothing."""
    return ByDefault(
        settings.profile,
        settings.approvals,
        settings.unattended,
        ask=tuple(tuple(shlex.split(one)) for one in settings.ask_commands),
        deny=tuple(tuple(shlex.split(one)) for one in settings.deny_commands),
    )
