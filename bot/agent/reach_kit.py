"""
The tool `reach`, as a kit of its own: whoever weighs calls has weighed it when it comes here.

Rule: a host is reached from the moment that the call returns, or the agent is told that it is not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.agent import prompts_reach
from bot.agent.reach import Lines
from bot.errors import BadInput
from bot.goals.goal import Goal
from bot.hosts import is_inside
from bot.ports.chat import Place
from bot.ports.sandbox import Outcome
from bot.tools import reach
from bot.tools.tool import Tool
from bot.tools.toolbox import Kit


class ReachBox:
    """Port Toolbox: the one tool, where a goal works at something."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    async def open(self, goal: Goal, place: Place, *, read_only: bool) -> Kit:
        """As in the port."""
        return _ReachKit(self._lines, goal, place, () if read_only else (reach.TOOL,))


class _ReachKit:
    """Port Kit."""

    def __init__(self, lines: Lines, goal: Goal, place: Place, tools: Sequence[Tool]) -> None:
        self._lines, self._goal, self._place = lines, goal, place
        self._tools = tools

    @property
    def tools(self) -> Sequence[Tool]:
        """As in the port."""
        return self._tools

    async def about(self, name: str, args: Mapping[str, Any]) -> str:
        """As in the port: nobody is asked for what is there already, or never can be."""
        host = str(args["host"])
        if is_inside(host):
            raise BadInput(f"reach: {host} is no host of the open internet, and never reached.")
        if await self._lines.reaches(self._goal, self._place, host):
            raise BadInput(f"reach: {prompts_reach.reached(host)}")
        return ""

    async def call(
        self, name: str, args: Mapping[str, Any], *, tool_use: str, timeout_s: float
    ) -> Outcome:
        """As in the port."""
        host = str(args["host"])
        if not await self._lines.widen(self._goal, self._place, host):
            return Outcome(False, prompts_reach.NO_LINE)
        return Outcome(True, prompts_reach.reached(host))

    async def close(self) -> None:
        """As in the port."""
