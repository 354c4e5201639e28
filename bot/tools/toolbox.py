"""
Further tools of a goal, beside those of its sandbox: servers of tools, repositories.

Rule 1: what a toolbox lacks or loses is a result for the agent or a tool that is absent, never an error
        of the turn.
Rule 2: which tools there are is settled when the turn begins, and their order is always the same.
Rule 3: what a tool gives is data, whoever it claims to come from (`is_untrusted`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.goals.goal import DecisionKind, Goal
from bot.ports.chat import Place
from bot.ports.sandbox import Outcome
from bot.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Asking(Outcome):
    """A result that asks a person, too: the turn stages the question with it, to be asked at its end."""

    kind: DecisionKind = "review"
    question: str = ""
    """What is asked, as people read it."""
    call: str = ""
    """What the answer is about and binds to: of a review the commit id."""


class Kit(Protocol):
    """The further tools of one turn."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What there is, each with `where="kit"`; names are unique among all tools."""

    async def about(self, name: str, args: Mapping[str, Any]) -> str:
        """What whoever is asked to approve this call is shown besides the call itself; may be empty.

        What the arguments name is fetched and looked at for it, so that it is what will be done.

        Raises:
            BadInput: the call cannot be made: that is its result, and nobody is asked.
        """

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
