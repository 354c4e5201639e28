"""
What a goal may reach, and the line that its sandbox gets for it.

Rule 1: a goal has a line where there is something behind it, a host that it may reach or a value that it was
        given, and where it works in a room that lets people be asked: what is refused there is told with the
        way to ask for it. Turns that only look (a plan, an ordinary turn, a wrap-up) have none.
Rule 2: what a person allows counts at once, and for as long as they said: a yes to one call until that
        turn has ended.
Rule 3: what is taken away (a profile, a permission, a host of the room) is cut within seconds.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from bot.agent import prompts_reach
from bot.errors import HeadwayError
from bot.goals.goal import Goal
from bot.hosts import PORTS, expanded, is_covered, read_rule
from bot.ports.chat import Place
from bot.ports.gateway import Gateway, Reach
from bot.ports.journal import Journal
from bot.ports.permissions import Permissions
from bot.ports.room_settings import RoomSettings
from bot.ports.sandbox import Line
from bot.ports.secret_uses import SecretUses
from bot.tools.policy.verdict import ByDefault, law_of

log = logging.getLogger(__name__)

FOLLOW_S: Final = 3.0
"""How soon what is taken away is cut."""
TOLD: Final = 20
"""Hosts that are named after one call of a tool, and as many that were refused."""


class Lines(Protocol):
    """The ways of goals to the network, as a turn sees them."""

    async def open(self, goal: Goal, place: Place) -> Line | None:
        """The goal's line, or None where it has none. It reaches what goal, room and people allow now.

        Raises:
            NoSandbox: it should have one, which cannot be opened.
        """

    async def reaches(self, goal: Goal, place: Place, host: str) -> bool:
        """Whether the goal may reach what an entry means already."""

    async def widen(self, goal: Goal, place: Place, host: str) -> bool:
        """Let the goal reach a host, too, until its turn has ended; False where it has no line."""

    def note(self, goal: str) -> str:
        """What went over the line since this was asked last, and what was refused; empty: nothing.

        It stands behind the result of a tool: so it is a part of the goal's record.
        """


@dataclass(frozen=True, slots=True)
class _Opened:
    place: Place
    turn: int = 0
    until_its_end: frozenset[str] = frozenset()
    """Hosts that were allowed for this turn."""


class Reaching:
    """Port Lines."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        permissions: Permissions,
        uses: SecretUses,
        settings_of: Callable[[Place], RoomSettings],
        by_default: ByDefault,
        hosts: tuple[str, ...],
    ) -> None:
        """`by_default` and `hosts`: where a room says nothing."""
        self._gateway, self._journal = gateway, journal
        self._permissions, self._uses = permissions, uses
        self._settings_of = settings_of
        self._by_default, self._hosts = by_default, hosts
        self._opened: dict[str, _Opened] = {}

    async def open(self, goal: Goal, place: Place) -> Line | None:
        """As in the port."""
        self._opened[goal.id] = self._known(goal, place)
        reach = await self.reach(goal, place)
        if reach is None:
            return None
        return await self._gateway.open(goal, place, reach)

    async def reaches(self, goal: Goal, place: Place, host: str) -> bool:
        """As in the port."""
        reach, rule = await self.reach(goal, place), read_rule(host)
        ports = PORTS if rule.port is None else (rule.port,)
        if reach is None:
            return False
        is_any = reach.is_open and rule.port is None
        return is_any or all(is_covered(reach.hosts, rule.name, port) for port in ports)

    async def widen(self, goal: Goal, place: Place, host: str) -> bool:
        """As in the port."""
        known = self._known(goal, place)
        self._opened[goal.id] = replace(known, until_its_end=known.until_its_end | {host})
        reach = await self.reach(goal, place)
        if reach is None:
            return False
        self._gateway.change(goal.id, reach)
        return True

    def note(self, goal: str) -> str:
        """As in the port."""
        passed, refused = self._gateway.passed(goal), self._gateway.refused(goal)
        told = tuple(dict.fromkeys((one.host, one.why) for one in refused))
        notes = (
            prompts_reach.passed(passed[-TOLD:], len(passed)) if passed else "",
            prompts_reach.refused(told[-TOLD:], len(told)) if told else "",
        )
        return "\n".join(filter(None, notes))

    async def follow(self) -> None:
        """Let every line reach what its goal may reach now, and end those of goals that have ended.

        Raises nothing that the store may raise: it is looked again soon.
        """
        for id, opened in list(self._opened.items()):
            try:
                goal = await self._journal.goal(id)
                if goal.is_final:
                    await self._gateway.close(id)
                    self._opened.pop(id, None)
                    continue
                reach = await self.reach(goal, opened.place)
                self._gateway.change(id, reach or Reach())
            except KeyError:
                await self._gateway.close(id)
                self._opened.pop(id, None)
            except HeadwayError as error:
                log.warning("What goal %s may reach cannot be read: %s", id, error)

    def _known(self, goal: Goal, place: Place) -> _Opened:
        """What is known of the goal's line in this turn."""
        known = self._opened.get(goal.id)
        return known if known and known.turn == goal.turn else _Opened(place, goal.turn)

    async def reach(self, goal: Goal, place: Place) -> Reach | None:
        """What the goal may reach now; None where there is nothing behind a line."""
        if goal.kind != "goal" or goal.planning or goal.wrapping_up:
            return None
        place = replace(place, thread="")
        room = self._settings_of(place)
        law = law_of(goal, room, self._by_default)
        profile = law.profile
        secrets = tuple(use.secret for use in await self._uses.of(place))
        hosts = await self._granted(goal)
        if goal.turn_open:
            # What lives on behind the turn has it no more.
            hosts |= self._known(goal, place).until_its_end
        if profile != "full":
            hosts |= await self._standing(place)
        if profile in ("networked", "full"):
            named = room.hosts.split(",") if room.hosts else self._hosts
            hosts |= expanded(named)
            hosts |= {host for one in secrets if one.mode == "proxied" for host in one.hosts}
        reach = Reach(hosts, profile == "full", secrets)
        may_ask = profile != "read_only" and law.beyond == "ask"
        is_given = any(one.mode == "given" for one in secrets)
        is_needed = hosts or reach.is_open or is_given or may_ask
        return reach if is_needed else None

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
    """Port Lines where there is no gateway: the operator is told, and goals work without a network."""

    async def open(self, goal: Goal, place: Place) -> Line | None:
        """None."""
        return None

    async def reaches(self, goal: Goal, place: Place, host: str) -> bool:
        """False."""
        return False

    async def widen(self, goal: Goal, place: Place, host: str) -> bool:
        """False."""
        return False

    def note(self, goal: str) -> str:
        """Nothing is refused where nothing is there."""
        return ""
