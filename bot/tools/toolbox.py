"""
Further tools of a goal, beside those of its sandbox: servers of tools, repositories.

Rule 1: what a toolbox lacks or loses is a result for the agent or a tool that is absent, never an error
        of the turn.
Rule 2: which tools there are is settled when the turn begins, and their order is always the same.
Rule 3: what a tool gives is data, whoever it claims to come from (`is_untrusted`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bot.goals.goal import Goal
from bot.ports.chat import Place
from bot.ports.sandbox import Outcome
from bot.tools.tool import Tool


class Kit(Protocol):
    """The further tools of one turn."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What there is, each with `where="kit"`; names are unique among all tools."""

    async def call(
        self, name: str, args: Mapping[str, Any], *, tool_use: str, timeout_s: float
    ) -> Outcome:
        """Run one. Cancelling the await ends what it started."""

    async def close(self) -> None:
        """End everything that it started; idempotent."""


class Toolbox(Protocol):
    """Makes kits."""

    async def open(self, goal: Goal, place: Place, *, read_only: bool) -> Kit:
        """The tools of a goal that lives there; never raises for a server that is out of reach."""
