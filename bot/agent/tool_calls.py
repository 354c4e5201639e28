"""
The calls of one reply, run as steps.

Rule 1: a call's start is committed before it runs, its result is staged after it.
Rule 2: calls that change nothing may run together; each of the others runs alone, in order.
Rule 3: at resume a call that was started runs again only if it changes nothing and nobody had to approve
        it, or if twice is once for it; of any other the outcome is unknown, and the agent is told so.
Rule 4: what cannot run (an unknown tool, bad arguments, a call that is not allowed) is an error result.
Rule 5: what takes a yes is asked for when all that takes none has run: one call after the other, each
        suspending the turn.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.agent import denials, prompts
from bot.agent.agent_settings import AgentSettings
from bot.agent.asks import Asks
from bot.agent.outfit import Outfit
from bot.agent.permits import Permits, Refusal
from bot.agent.record import Record
from bot.agent.request import Block, blocks_of, uses_of
from bot.agent.results import kept, of_outcome
from bot.agent.said_before import quoted_reason
from bot.agent.uses import Use, doing, groups, read_use
from bot.errors import BadInput, HeadwayError, StoreBusy, StoreUnusable
from bot.goals.events import DecisionAsked, ToolEnded, ToolOutcome, ToolStarted
from bot.goals.hands import Grant
from bot.ports.journal import Content
from bot.ports.sandbox import Access, Outcome
from bot.tools.calls import call_hash, written
from bot.tools.policy.verdict import Allowed, Denied
from bot.tools.policy.verdict import Asks as AsksFirst
from bot.tools.toolbox import Asking
from bot.tools.untrusted import fenced

_CHANGES_NOTHING: Final = ("none", "conversation")


@dataclass(frozen=True, slots=True)
class _Weighed:
    """Calls that may run, that take a yes first, and that nobody is expected to say yes to."""

    allowed: list[Use] = field(default_factory=list)
    asked: list[tuple[Use, AsksFirst]] = field(default_factory=list)
    parked: list[tuple[Use, Denied]] = field(default_factory=list)


class ToolCalls:
    """Runs the calls of the turn's last reply."""

    def __init__(
        self,
        record: Record,
        outfit: Outfit,
        asks: Asks,
        permits: Permits,
        ids: Callable[[], str],
        settings: AgentSettings,
        on_now: Callable[[str], None],
    ) -> None:
        self._record, self._outfit, self._asks, self._permits = record, outfit, asks, permits
        self._ids, self._settings, self._on_now = ids, settings, on_now
        self._begun: set[str] = set()
        self.parks = ""
        """Content hash of the call for whose approval the goal rests; empty: for none."""

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
        weighed = await self._weighed(fit)
        for place, group in enumerate(groups(weighed.allowed)):
            if group[0].tool.where in ("bot", "both"):
                await self._converse(group[0])
                continue
            if place and not (group := await self._weighed_anew(group, weighed)):
                continue
            if not await self._is_started(group):
                return
            await self._run(await self._still_allowed(group))
        if weighed.parked:
            self._park(weighed.parked)
        elif weighed.asked:
            await self._ask(*weighed.asked[0])

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
        if started is not None and not self._may_repeat(use, started):
            self._end(use["id"], "unknown", kept(False, prompts.UNKNOWN), touched=True)
            return None
        try:
            return read_use(use, self._outfit.tools)
        except BadInput as error:
            self._fail(use["id"], str(error))
            return None

    def _may_repeat(self, use: Block, started: ToolStarted) -> bool:
        """Whether a call that was started, and whose end was not seen, runs again."""
        tool = self._outfit.tools.get(str(use.get("name")))
        if tool is not None and tool.is_repeatable:
            # The same call again is allowed by the same answer.
            return True
        return started.effects in _CHANGES_NOTHING and not started.allowed.startswith("once:")

    async def _weighed(self, uses: Sequence[Use]) -> _Weighed:
        """The calls by their verdicts; those that do not run have their results."""
        weighed = _Weighed()
        for use in uses:
            verdict = await self._permits.weigh(use.id, use.tool, use.args)
            if isinstance(verdict, Allowed):
                weighed.allowed.append(use.allowed(verdict))
            elif isinstance(verdict, AsksFirst):
                weighed.asked.append((use, verdict))
            elif isinstance(verdict, Refusal):
                self._fail(use.id, verdict)
            elif verdict.beyond == "park":
                weighed.parked.append((use, verdict))
            else:
                self._fail(use.id, denials.denied(verdict))
        return weighed

    async def _weighed_anew(self, group: Sequence[Use], weighed: _Weighed) -> list[Use]:
        """Those that may still run: what ran before them took its time, and a permission may be gone."""
        now = await self._weighed(group)
        weighed.asked.extend(now.asked)
        weighed.parked.extend(now.parked)
        return now.allowed

    def _park(self, parked: Sequence[tuple[Use, Denied]]) -> None:
        """Stage their results. They are to be committed with the end of the turn, or not at all."""
        for use, verdict in parked:
            self._fail(use.id, denials.denied(verdict))
        first, why = parked[0]
        text = Content(written(first.tool.name, first.args, why.why), "agent")
        self._record.stage(contents=(text,))
        self.parks = text.hash

    async def _ask(self, use: Use, verdict: AsksFirst) -> None:
        """Put the call before people: the turn rests here until somebody has answered."""
        try:
            about = await self._outfit.about(use.tool.name, use.args)
        except (StoreBusy, StoreUnusable):
            raise
        except HeadwayError as error:
            # It may hold what a program printed: data, as everything that a kit gives.
            self._fail(use.id, fenced(str(error), use.id))
            return
        about = "\n\n".join(filter(None, (about, self._reason_for(use))))
        contents = [Content(written(use.tool.name, use.args, verdict.why, about), "agent")]
        grant = None
        if verdict.offer is not None:
            kind, what = verdict.offer
            contents.append(Content(what, "agent"))
            grant = Grant(kind, contents[-1].hash)
        asked = DecisionAsked(
            self._ids(),
            "approval",
            contents[0].hash,
            use.id,
            call=call_hash(use.tool.name, use.args),
            grant=grant,
        )
        self._record.stage(asked, contents=contents)
        await self._record.commit()

    def _reason_for(self, use: Use) -> str:
        """What the agent said with a call, as whoever is asked about it sees that."""
        last = self._record.transcript.own.last
        blocks = blocks_of(last, self._record.contents, self._record.parsed) if last else []
        return quoted_reason(blocks, use.id)

    async def _converse(self, use: Use) -> None:
        self._record.stage(ToolStarted(use.id, use.tool.name, use.tool.effects))
        ok, text = await self._asks.take(use.tool.name, use.args, use.id)
        touched = use.tool.reads_outside
        self._end(use.id, "ok" if ok else "error", kept(ok, text), touched=touched)

    async def _is_started(self, group: Sequence[Use]) -> bool:
        """Commit the start of these calls; false where the goal did not take it."""
        self._record.stage(
            *(
                ToolStarted(use.id, use.tool.name, use.tool.effects, allowed=use.permit.why)
                for use in group
            )
        )
        rules = await self._record.commit()
        if rules and self._record.is_over and not self._record.is_fenced:
            self.interrupt()
        return bool(rules) and not self._record.is_over

    async def _still_allowed(self, group: Sequence[Use]) -> Sequence[Use]:
        """Those that may run after all, where somebody has written since they were weighed."""
        if not self._record.was_read_anew:
            return group
        still = []
        for use in group:
            verdict = await self._permits.weigh(use.id, use.tool, use.args)
            if isinstance(verdict, Allowed):
                still.append(use)
            else:
                self._end(use.id, "interrupted", kept(False, denials.CHANGED))
        return still

    async def _run(self, group: Sequence[Use]) -> None:
        if not group:
            return
        self._on_now(doing(group[0]))
        self._begun |= {use.id for use in group}
        if len(group) == 1:
            outcomes = [await self._call(group[0])]
        else:
            outcomes = await asyncio.gather(*map(self._call, group))
        for use, outcome in zip(group, outcomes, strict=True):
            self._took(use, outcome)

    def _took(self, use: Use, outcome: Outcome) -> None:
        """Stage what a call gave, with the question that it asks of a person."""
        if isinstance(outcome, Asking) and outcome.ok:
            text = Content(outcome.question, "agent")
            if outcome.kind == "review" or text.hash not in self._record.goal.questions:
                asked = DecisionAsked(
                    self._ids(), outcome.kind, text.hash, use.id, call=outcome.call
                )
                self._record.stage(asked, contents=(text,))
        self._end(
            use.id,
            "ok" if outcome.ok else "error",
            of_outcome(outcome),
            touched=use.tool.reads_outside,
            changed=outcome.changed,
        )

    async def _call(self, use: Use) -> Outcome:
        name, outfit = use.tool.name, self._outfit
        timeout_s = self._settings.tool_timeout_s
        if use.tool.where == "kit":
            return await outfit.call(name, use.args, tool_use=use.id, timeout_s=timeout_s)
        access: Access = "workspace" if use.permit.writes else "read_only"
        outcome = await outfit.hands.call(name, use.args, timeout_s=timeout_s, access=access)
        note = outfit.way.note() if use.tool.effects != "none" else ""
        return replace(outcome, text=f"{outcome.text}\n\n{note}") if note else outcome

    def _fail(self, id: str, text: str) -> None:
        self._end(id, "error", kept(False, text))

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
