"""
Whether a call of a turn may run, by what holds where its goal lives.

Rule 1: what people answered to a call counts for that very call alone: its id and its hash. What an
        operator has denied since then stays denied.
Rule 2: everything is looked up when it is asked: a profile, a permission that is taken back, and whether
        there is anybody who may approve.
Rule 3: a turn that only looks (a plan, an ordinary turn, a wrap-up) is allowed nothing beyond that, and a
        goal whose profile is `full` neither asks nor uses a standing permission.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from bot.agent import denials
from bot.agent.approved import Approval
from bot.agent.record import Record
from bot.goals.goal import Goal
from bot.goals.hands import GrantKind
from bot.ports.chat import Place
from bot.ports.permissions import Permission
from bot.tools.calls import call_hash
from bot.tools.policy.verdict import Allowed, Asks, Denied, Law, Verdict, given, law_of, weigh
from bot.tools.tool import Tool

HERE: Final = Place("console", "", "")


class Rules(Protocol):
    """What holds where a goal lives, now."""

    async def place(self, goal: Goal) -> Place:
        """Where it lives."""

    async def law(self, goal: Goal) -> Law:
        """Its profile, and what becomes of calls beyond it."""

    async def standing(self, goal: Goal) -> Sequence[Permission]:
        """The standing permissions of its room that are in force, newest first."""

    async def has_approver(self, goal: Goal) -> bool:
        """Whether there is anybody who may approve its calls."""


class NoRules:
    """Port Rules where nobody has set anything."""

    async def place(self, goal: Goal) -> Place:
        """No place in particular."""
        return HERE

    async def law(self, goal: Goal) -> Law:
        """What holds by default."""
        return law_of(goal)

    async def standing(self, goal: Goal) -> Sequence[Permission]:
        """None."""
        return ()

    async def has_approver(self, goal: Goal) -> bool:
        """It is taken for granted."""
        return True


class Refusal(str):
    """Why a call does not run, as its result."""

    __slots__ = ()


class Permits:
    """Weighs the calls of one turn."""

    def __init__(self, record: Record, rules: Rules, *, lasts_s: float) -> None:
        """`lasts_s`: how long people have to answer."""
        self._record, self._rules, self._lasts_s = record, rules, lasts_s

    async def weigh(
        self, id: str, tool: Tool, args: Mapping[str, Any]
    ) -> Allowed | Asks | Denied | Refusal:
        """The verdict on a call whose arguments fit. Raises as the store, where that is asked."""
        approval, goal = self._answered(id), self._record.goal
        law = await self._rules.law(goal)
        if approval is not None:
            told = self._told(approval, tool, args)
            ruled = weigh(law, _nothing, tool, args)
            is_denied = isinstance(ruled, Denied) and ruled.beyond == "rule"
            return ruled if is_denied and isinstance(told, Allowed) else told
        verdict = await self._by_law(goal, law, tool, args)
        if isinstance(verdict, Asks) and not await self._rules.has_approver(goal):
            return Refusal(denials.nobody_approves(verdict.why))
        return verdict

    def _answered(self, id: str) -> Approval | None:
        last = self._record.transcript.own.last
        return last.approvals.get(id) if last is not None else None

    def _told(self, approval: Approval, tool: Tool, args: Mapping[str, Any]) -> Allowed | Refusal:
        """What follows from an answer that was given to this call."""
        if approval.said != "yes":
            goal = self._record.goal
            answer = self._record.contents.get(approval.answer, "")
            lasted_s = self._lasts_s
            return Refusal(denials.answered(approval, answer, owner=goal.owner, lasted_s=lasted_s))
        if approval.call != call_hash(tool.name, args):
            return Refusal(denials.OTHER_CALL)
        return Allowed(f"once:{approval.decision}")

    async def _by_law(self, goal: Goal, law: Law, tool: Tool, args: Mapping[str, Any]) -> Verdict:
        if goal.kind != "goal" or goal.planning or goal.wrapping_up:
            return weigh(law, _nothing, tool, args)
        by = self._record.transcript.own.granted
        verdict = weigh(law, given(goal, (), by), tool, args)
        is_ruled = isinstance(verdict, Denied) and verdict.beyond == "rule"
        if isinstance(verdict, Allowed) or is_ruled or law.profile == "full":
            return verdict
        standing = await self._rules.standing(goal)
        return weigh(law, given(goal, standing, by), tool, args) if standing else verdict


def _nothing(kind: GrantKind, what: str) -> str:
    """Nobody has allowed anything."""
    return ""
