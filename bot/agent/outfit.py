"""
What one turn works with: its session, its way to the network, its tools.

Rule 1: which tools there are is settled when the turn begins: those of the table, then those of each
        toolbox, in a fixed order. A name that is taken already is left out.
Rule 2: what a toolbox lacks or loses is a result for the agent, never an error of the turn.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from bot.agent.background import for_whom
from bot.agent.calls import Offer, offer
from bot.agent.hands import Hands
from bot.agent.permits import Rules
from bot.agent.reach import Lines
from bot.agent.reached import reached_once
from bot.agent.record import Record
from bot.errors import HeadwayError
from bot.goals.goal import Goal, State
from bot.goals.hands import Profile
from bot.ports.chat import Place
from bot.ports.model import Json
from bot.ports.sandbox import Line, Outcome, Sandbox
from bot.tools.table import offered
from bot.tools.tool import Tool
from bot.tools.toolbox import Kit, Toolbox

log = logging.getLogger(__name__)

Endpoints = Callable[[Place, Profile], tuple[Json, ...]]
"""The tools that the model's endpoint runs itself, for a goal of that profile that lives there."""


def no_endpoints(place: Place, profile: Profile) -> tuple[Json, ...]:
    """None of them."""
    return ()


class Way:
    """The goal's way to the network."""

    def __init__(self, lines: Lines | None, record: Record, place: Place) -> None:
        self._lines, self._record, self._place = lines, record, place

    async def line(self) -> Line | None:
        """As it is now. Raises NoSandbox: it should be there and cannot be opened."""
        return await self._lines.open(self._record.goal, self._place) if self._lines else None

    async def take_up(self) -> None:
        """Let it reach again what somebody allowed until the end of this turn, which another process began."""
        if self._lines is None:
            return
        record = self._record
        for host in reached_once(record.transcript.own, record.contents, record.parsed):
            await self._lines.widen(record.goal, self._place, host)

    def note(self) -> str:
        """What was refused since this was asked last; empty: nothing."""
        return self._lines.note(self._record.goal.id) if self._lines else ""


class Outfit:
    """The tools of one turn, and what they work with."""

    def __init__(
        self,
        record: Record,
        hands: Hands,
        way: Way,
        kits: Sequence[Kit],
        *,
        read_only: bool,
        endpoints: tuple[Json, ...] = (),
    ) -> None:
        """`endpoints`: the tools that the model's endpoint runs itself."""
        self._record, self.hands, self.way, self._kits = record, hands, way, kits
        own = offered(hands.are_on, read_only)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in own}
        self._kit_of: dict[str, Kit] = {}
        for kit in kits:
            for tool in kit.tools:
                if self.tools.setdefault(tool.name, tool) is tool:
                    self._kit_of[tool.name] = kit
        further = tuple(self.tools[name].as_json() for name in self._kit_of)
        kind = record.goal.kind
        self.offer: Offer = offer(kind, tools_on=hands.are_on, read_only=read_only).with_tools(
            (*further, *endpoints)
        )

    async def about(self, name: str, args: Mapping[str, Any]) -> str:
        """What whoever is asked to approve a call is shown besides. Raises BadInput: there is no such call."""
        kit = self._kit_of.get(name)
        return await kit.about(name, args) if kit is not None else ""

    async def call(
        self, name: str, args: Mapping[str, Any], *, tool_use: str, timeout_s: float
    ) -> Outcome:
        """Run a call of a kit."""
        try:
            return await self._kit_of[name].call(name, args, tool_use=tool_use, timeout_s=timeout_s)
        except HeadwayError as error:
            return Outcome(False, str(error))

    async def close(self) -> None:
        """End everything that the turn started, whatever of it fails to end."""
        # An ordinary turn is a guest: what the thread's goal has running there is not its own.
        is_guest = self._record.goal.kind == "ask"
        lives_on = for_whom(self._record)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.hands.close, lives_on=lives_on, spares=is_guest)
            for kit in reversed(self._kits):
                stack.push_async_callback(kit.close)


async def fit_out(
    record: Record,
    sandbox: Sandbox | None,
    rules: Rules,
    lines: Lines | None,
    toolboxes: Sequence[Toolbox],
    endpoints: Endpoints = no_endpoints,
) -> Outfit:
    """What the goal's turn works with, as things stand."""
    goal = record.goal
    read_only = only_looks(goal)
    place = await rules.place(goal)
    law = await rules.law(goal)
    looks = read_only or law.profile == "read_only"
    way = Way(None if read_only else lines, record, place)
    hands = Hands(sandbox, goal.session, "read_only" if looks else "workspace", line=way.line)
    kits = await _opened(toolboxes, goal, place, read_only=read_only or goal.planning)
    own = () if read_only else endpoints(place, law.profile)
    return Outfit(record, hands, way, kits, read_only=read_only, endpoints=own)


async def _opened(
    toolboxes: Sequence[Toolbox], goal: Goal, place: Place, *, read_only: bool
) -> list[Kit]:
    """A kit of each. Cut off, those that were opened are closed."""
    kits: list[Kit] = []
    async with AsyncExitStack() as stack:
        for box in toolboxes:
            kit = await box.open(goal, place, read_only=read_only)
            stack.push_async_callback(kit.close)
            kits.append(kit)
        stack.pop_all()
    return kits


def wraps_up(goal: Goal) -> bool:
    """Whether the turn that runs or comes next is the goal's wrap-up."""
    return goal.wrapping_up or (goal.state is State.READY and goal.opening == "wrap_up")


def only_looks(goal: Goal) -> bool:
    """Whether that turn has nothing but the tools that read."""
    return wraps_up(goal) or goal.kind == "ask"
