"""
The calls of one reply, run as steps.

Rule 1: a call's start is committed before it runs, its result is staged after it.
Rule 2: calls that change nothing may run together; each of the others runs alone, in order.
Rule 3: at resume a call that was started runs again only if it changes nothing; of any other the
        outcome is unknown, and the agent is told so.
Rule 4: what cannot run (an unknown tool, bad arguments, a tool that the turn does not have) is an
        error result.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent import prompts
from bot.agent.agent_settings import AgentSettings
from bot.agent.asks import Asks
from bot.agent.hands import Hands
from bot.agent.record import Record
from bot.agent.request import Block, blocks_of, uses_of
from bot.agent.results import kept, of_outcome
from bot.errors import BadInput
from bot.goals.events import ToolEnded, ToolOutcome, ToolStarted
from bot.ports.journal import Content
from bot.ports.sandbox import Outcome
from bot.tools.table import TOOL_BY_NAME, offered
from bot.tools.tool import Tool

NOW_CHARS = 60


@dataclass(frozen=True, slots=True)
class Use:
    """One call that can run, its arguments checked."""

    id: str
    tool: Tool
    args: dict[str, Any]


class ToolCalls:
    """Runs the calls of the turn's last reply."""

    def __init__(
        self,
        record: Record,
        hands: Hands,
        asks: Asks,
        settings: AgentSettings,
        on_now: Callable[[str], None],
        *,
        read_only: bool,
    ) -> None:
        self._record, self._hands, self._asks = record, hands, asks
        self._settings, self._on_now = settings, on_now
        self._offered = {tool.name for tool in offered(hands.are_on, read_only)}
        self._begun: set[str] = set()

    def missing(self) -> list[Block]:
        """The calls of the last reply that have no result."""
        last = self._record.transcript.own.last
        if last is None:
            return []
        blocks = blocks_of(last, self._record.contents, self._record.parsed)
        return [use for use in uses_of(blocks) if use["id"] not in last.ended]

    async def run(self) -> None:
        """Run what has no result. Ends early where the goal moves on.

        Raises:
            StoreBusy, StoreUnusable: as the journal.
        """
        fit = [use for each in self.missing() if (use := self._fit(each)) is not None]
        for group in _groups(fit):
            if group[0].tool.where != "sandbox":
                await self._converse(group[0])
                continue
            if not await self._is_started(group):
                return
            await self._run(group)

    def interrupt(self) -> None:
        """Stage the end of every call that was started and has none."""
        last = self._record.transcript.own.last
        if last is None:
            return
        for id, started in last.started.items():
            if id in last.ended:
                continue
            if id not in self._begun:
                text = prompts.NOT_RUN
            elif started.effects == "none":
                text = prompts.INTERRUPTED
            else:
                text = f"{prompts.INTERRUPTED} What it had done until then stays: look first."
            self._end(id, "interrupted", kept(False, text), touched=id in self._begun)

    def _fit(self, use: Block) -> Use | None:
        """The call, if it can run; its result is staged if it cannot."""
        last = self._record.transcript.own.last
        assert last is not None
        started = last.started.get(use["id"])
        if started is not None and started.effects not in ("none", "conversation"):
            self._end(use["id"], "unknown", kept(False, prompts.UNKNOWN), touched=True)
            return None
        name = str(use.get("name"))
        tool = TOOL_BY_NAME.get(name)
        try:
            if tool is None or name not in self._offered:
                has = ", ".join(sorted(self._offered)) or "none"
                raise BadInput(f"There is no tool {name!r} in this turn. There are: {has}.")
            return Use(use["id"], tool, tool.check(use.get("input")))
        except BadInput as error:
            self._end(use["id"], "error", kept(False, str(error)))
            return None

    async def _converse(self, use: Use) -> None:
        self._record.stage(ToolStarted(use.id, use.tool.name, use.tool.effects))
        ok, text = await self._asks.take(use.tool.name, use.args, use.id)
        touched = use.tool.reads_outside
        self._end(use.id, "ok" if ok else "error", kept(ok, text), touched=touched)

    async def _is_started(self, group: Sequence[Use]) -> bool:
        """Commit the start of these calls; false where the goal did not take it."""
        self._record.stage(*(ToolStarted(use.id, use.tool.name, use.tool.effects) for use in group))
        rules = await self._record.commit()
        if rules and self._record.is_over and not self._record.is_fenced:
            self.interrupt()
        return bool(rules) and not self._record.is_over

    async def _run(self, group: Sequence[Use]) -> None:
        self._on_now(_doing(group[0]))
        self._begun |= {use.id for use in group}
        if len(group) == 1:
            outcomes = [await self._call(group[0])]
        else:
            outcomes = await asyncio.gather(*map(self._call, group))
        for use, outcome in zip(group, outcomes, strict=True):
            self._end(
                use.id,
                "ok" if outcome.ok else "error",
                of_outcome(outcome),
                touched=use.tool.reads_outside,
                changed=outcome.changed,
            )

    async def _call(self, use: Use) -> Outcome:
        return await self._hands.call(
            use.tool.name, use.args, timeout_s=self._settings.tool_timeout_s
        )

    def _end(
        self,
        id: str,
        outcome: ToolOutcome,
        text: str,
        *,
        touched: bool = False,
        changed: bool = False,
    ) -> None:
        content = Content(text, "tool")
        ended = ToolEnded(id, outcome, content.hash, touched=touched, changed=changed)
        self._record.stage(ended, contents=(content,))


def _groups(uses: Sequence[Use]) -> Iterator[list[Use]]:
    """Neighbours that change nothing together, every other call alone."""
    together: list[Use] = []
    for use in uses:
        if use.tool.where == "sandbox" and use.tool.effects == "none":
            together.append(use)
            continue
        if together:
            yield together
            together = []
        yield [use]
    if together:
        yield together


def _doing(use: Use) -> str:
    told = use.args.get("path") or use.args.get("command") or use.args.get("pattern") or ""
    first = str(told).strip().split("\n")[0]
    return f"{use.tool.name} {first[:NOW_CHARS]}".strip()
