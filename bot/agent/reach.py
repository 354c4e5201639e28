"""
What a goal may reach, and the line that its sandbox gets for it.

Rule 1: a goal has a line where there is something behind it: a host that it may reach, or a value that
        it was given. Turns that only look (a plan, an ordinary turn, a wrap-up) have none.
Rule 2: what a person grants widens the line of a turn that runs; a goal that may reach less from now on
        (a profile, a permission taken back) does so from its next look, which each call of a tool is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from bot.agent import prompts_reach
from bot.goals.goal import Goal
from bot.goals.hands import PROFILES, Profile
from bot.hosts import expanded
from bot.ports.chat import Place
from bot.ports.gateway import Gateway, Reach
from bot.ports.journal import Journal
from bot.ports.permissions import Permissions
from bot.ports.room_settings import RoomSettings
from bot.ports.sandbox import Line
from bot.ports.secret_uses import SecretUses

REFUSALS: Final = 10
"""Told after one call of a tool."""


class Lines(Protocol):
    """The ways of goals to the network, as a turn sees them."""

    async def open(self, goal: Goal, place: Place) -> Line | None:
        """The goal's line, or None where it has none. Its reach is as the goal, its room and people have it now.

        Raises:
            NoSandbox: it should have one, which cannot be opened.
        """

    async def look(self, goal: Goal, place: Place) -> None:
        """Let a line that is open reach what the goal may reach now. Raises nothing."""

    def note(self, goal: str) -> str:
        """What was refused since this was asked last, to stand behind a tool's result; empty: nothing."""

    async def close(self, goal: str) -> None:
        """The goal has ended: so does its line. Idempotent."""


class Reaching:
    """Port Lines."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        permissions: Permissions,
        uses: SecretUses,
        settings_of: Callable[[Place], RoomSettings],
        *,
        profile: Profile,
        hosts: tuple[str, ...],
    ) -> None:
        """`profile` and `hosts`: where a room says nothing."""
        self._gateway, self._journal = gateway, journal
        self._permissions, self._uses = permissions, uses
        self._settings_of = settings_of
        self._profile, self._hosts = profile, hosts

    async def open(self, goal: Goal, place: Place) -> Line | None:
        """As in the port."""
        reach = await self.reach(goal, place)
        if reach is None:
            return None
        return await self._gateway.open(goal, place, reach)

    async def look(self, goal: Goal, place: Place) -> None:
        """As in the port."""
        self._gateway.change(goal.id, await self.reach(goal, place) or Reach())

    def note(self, goal: str) -> str:
        """As in the port."""
        refused = self._gateway.refused(goal)
        told = dict.fromkeys((one.host, one.why) for one in refused)
        return prompts_reach.refused(tuple(told)[-REFUSALS:], len(told)) if told else ""

    async def close(self, goal: str) -> None:
        """As in the port."""
        await self._gateway.close(goal)

    async def reach(self, goal: Goal, place: Place) -> Reach | None:
        """What the goal may reach now; None where there is nothing behind a line."""
        if goal.kind != "goal" or goal.planning or goal.wrapping_up:
            return None
        room = self._settings_of(place)
        profile = _profile(goal.profile, room.profile, self._profile)
        secrets = tuple(use.secret for use in await self._uses.of(place))
        hosts = await self._granted(goal)
        if profile != "full":
            hosts |= await self._standing(place)
        if profile in ("networked", "full"):
            named = room.hosts.split(",") if room.hosts else self._hosts
            hosts |= expanded(named)
            hosts |= {host for one in secrets if one.mode == "proxied" for host in one.hosts}
        reach = Reach(hosts, profile == "full", secrets)
        if not hosts and not reach.is_open:
            given = tuple(one for one in secrets if one.mode == "given")
            reach = replace(reach, secrets=given)
        return None if reach.is_none else reach

    async def _granted(self, goal: Goal) -> frozenset[str]:
        """What people granted to this goal."""
        hashes = tuple(grant.what for grant in goal.grants if grant.kind == "host")
        if not hashes:
            return frozenset()
        texts = await self._journal.contents(goal.session, hashes)
        return expanded(texts.values())

    async def _standing(self, place: Place) -> frozenset[str]:
        """What people granted to all goals of the room."""
        standing = await self._permissions.of(place)
        return expanded(one.what for one in standing if one.kind == "host")


class NoLines:
    """Port Lines where there is no gateway: goals that need none work, and the others are told."""

    def __init__(self, why: str = "") -> None:
        self._why = why

    async def open(self, goal: Goal, place: Place) -> Line | None:
        """None."""
        return None

    async def look(self, goal: Goal, place: Place) -> None:
        """Nothing is open."""

    def note(self, goal: str) -> str:
        """Why nothing can be reached."""
        return self._why

    async def close(self, goal: str) -> None:
        """Nothing is open."""


def _profile(*levels: str) -> Profile:
    """The first level that says one."""
    found = next((level for level in levels if level in PROFILES), "workspace")
    return next(profile for profile in PROFILES if profile == found)
