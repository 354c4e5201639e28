"""
The agent's turn: the loop over model and tools, one committed step after the other.

Rule 1: what comes next is read off the transcript alone, so that a turn which another process left
        in the middle goes on like any other.
Rule 2: a result and what follows from it are one unit: a reply with the calls it starts, a tool's
        end with the next call, the last reply with the turn's end.
Rule 3: people's words enter before the next call. A goal that has moved on gets its running step's
        record, and the turn's end.
Rule 4: a cancelled turn writes down what it knows before it goes: calls in flight as lost, tools as
        interrupted.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from bot.agent import compaction, prompts, prompts_rewind
from bot.agent.agent_settings import AgentSettings
from bot.agent.asides import COMPACTIONS_IN_A_TURN, Asides
from bot.agent.asks import Asks
from bot.agent.calls import Calls, NoReply
from bot.agent.cancellation import heed_cancellation
from bot.agent.ending import ActiveTime, end, leave
from bot.agent.filing import Filing, Shelves
from bot.agent.keeping import Keeping, Kept
from bot.agent.outfit import Endpoints, Outfit, fit_out, no_endpoints, wraps_up
from bot.agent.permits import NoRules, Permits, Rules
from bot.agent.pieces import Replied
from bot.agent.reach import Lines
from bot.agent.record import Record
from bot.agent.remembered import Remembered
from bot.agent.replies import blocks, is_compaction
from bot.agent.request import CUTTING, container_of, is_alone, uses_of, was_cut
from bot.agent.results import files_read
from bot.agent.tool_calls import ToolCalls
from bot.errors import HeadwayError, IllegalMove
from bot.goals.events import CallLost, CallReleased, Ended, TurnResumed, TurnStarted
from bot.goals.goal import Goal, State
from bot.goals.limits import Limits
from bot.ports.clock import Clock
from bot.ports.journal import Applied, Journal, Lease
from bot.ports.model import NOT_SENT, Model, ModelReply, ModelRequest
from bot.ports.sandbox import Sandbox
from bot.tools.toolbox import Toolbox

__all__ = ["AgentSettings", "Turns"]

LEAST_COMPACT_AT: Final = 50_000
"""The endpoint's own compaction takes no smaller trigger
(https://platform.claude.com/docs/en/build-with-claude/compaction)."""
MISSES: Final = 3
"""Units that a goal at work does not take, before it counts as a defect."""
EMPTY_REPLIES: Final = 2
READ_KEPT: Final = 200
"""Files whose hash is looked at when a turn is taken up again."""


class Turns:
    """Works at goals, one turn at a time. Holds what it remembers of conversations, no state."""

    def __init__(
        self,
        journal: Journal,
        model: Model,
        sandbox: Sandbox | None,
        clock: Clock,
        limits: Limits,
        ids: Callable[[], str],
        settings: AgentSettings,
        on_now: Callable[[str, str], None],
        shelves: Shelves | None = None,
        *,
        rules: Rules | None = None,
        lines: Lines | None = None,
        toolboxes: Sequence[Toolbox] = (),
        endpoints: Endpoints = no_endpoints,
        kept: Kept | None = None,
    ) -> None:
        """`on_now` is told what a goal does; `rules` of nobody: what holds by default; `kept`: where
        workspaces are kept."""
        self._kept = kept
        self._rules, self._lines, self._toolboxes = rules or NoRules(), lines, toolboxes
        self._endpoints = endpoints
        self._journal, self._model, self._sandbox = journal, model, sandbox
        self._shelves = shelves
        self._clock, self._limits, self._ids = clock, limits, ids
        self._settings, self._on_now = settings, on_now
        self._remembered = Remembered(settings.remembered_chars)
        self.is_draining = False

    def drain(self) -> None:
        """Let every turn end its running step and begin no other: each is gone on with later."""
        self.is_draining = True

    async def run(self, lease: Lease) -> Goal:
        """Run the goal's turn, or go on with the one that is open, until it has ended.

        Returns the goal as it stands: after `TurnEnded`, or moved on by someone else, or as it was
        when the lease was found to be gone, or between two steps after `drain`.

        Raises:
            StoreBusy, StoreUnusable: as the journal; the turn is taken up again later.
            CancelledError: what is known has been written down.
        """
        goal = lease.goal
        if goal.state not in (State.READY, State.WORKING):
            return goal
        remembered = self._remembered
        record = remembered.take(goal.id, goal.session)
        if record is None:
            record = Record(goal, self._journal, self._clock, self._limits)
        await record.attach(lease)
        erasures = remembered.erasures
        outfit = await fit_out(
            record, self._sandbox, self._rules, self._lines, self._toolboxes, self._endpoints
        )
        try:
            await _Turn(self, record, outfit).run()
        finally:
            await outfit.close()
        remembered.keep(record, erasures)
        return record.goal

    def heard(self, applied: Applied) -> None:
        """Take what this process, which is alone on the database, has written."""
        self._remembered.heard(applied)

    def forget_texts(self) -> None:
        """Keep no text that was read until now: some of them were erased."""
        self._remembered.forget_texts()


class _Turn:
    """One run of one goal's turn."""

    def __init__(self, turns: Turns, record: Record, outfit: Outfit) -> None:
        self._turns = turns
        self._record, self._clock, self._model = record, turns._clock, turns._model
        self._limits, self._settings = turns._limits, turns._settings
        self._active = ActiveTime(self._clock, self._settings.call_timeout_s)
        self._wraps_up = wraps_up(record.goal)
        self._hands, self._offer, self._way = outfit.hands, outfit.offer, outfit.way
        self._on_now, self._goal = turns._on_now, record.goal.id
        self._filing = Filing(turns._shelves, self._hands)
        self._keeping = Keeping(turns._kept, record, self._hands, self._filing)
        self._asks = Asks(
            record, turns._journal, self._clock, self._limits, turns._ids, self._filing,
            tools_on=self._hands.are_on, process=self._hands.process,
        )  # fmt: skip
        permits = Permits(record, turns._rules, lasts_s=self._limits.approval_expires_s)
        self._tools = ToolCalls(
            record, outfit, self._asks, permits, turns._ids, self._settings, self._now
        )
        self._calls = Calls(
            record, self._model, self._settings, turns._ids, self._offer, self._active
        )
        self._asides = Asides(record, self._calls, self._settings, self._offer)
        self._cuts = self._pauses = self._empties = self._compactions = 0
        self._output = self._misses = 0
        self._is_first = True

    async def run(self) -> None:
        """See `Turns.run`."""
        try:
            await self._begin()
            while not self._record.is_over:
                heed_cancellation()
                if self._turns.is_draining:
                    await self._record.commit()
                    return
                await self._step()
                self._active()
            await leave(self._record, self._active)
        except asyncio.CancelledError:
            with contextlib.suppress(HeadwayError):
                await self._interrupted()
            raise

    def _now(self, text: str) -> None:
        self._on_now(self._goal, text)

    async def _begin(self) -> None:
        record = self._record
        if record.goal.state not in (State.READY, State.WORKING):
            return
        is_new = record.goal.state is State.READY
        if is_new:
            resumes = record.goal.opening == "resume"
            record.stage(TurnStarted())
        else:
            resumes = True
            record.stage(TurnResumed())
            await record.commit()
        if not record.is_over and not await self._keeping.put_back():
            await self._end("failed", failed="workspace")
        if not self._wraps_up and not record.is_over:
            await self._asks.take_up_plan()
        await record.fetch(self._settings.persons_fresh_s)
        if not is_new and not record.is_over:
            await self._way.take_up()
        if resumes and not record.is_over:
            await self._name_stale()
        if record.goal.kind == "ask" and (name := record.transcript.to_be_put_back):
            seq, told = record.goal.seq, prompts_rewind.files_of_before(name)
            record.asides[seq] = "\n".join(filter(None, (record.asides.get(seq), told)))

    async def _name_stale(self) -> None:
        record = self._record
        replies = [p for p in record.transcript.own.pieces if isinstance(p, Replied)]
        ends = [record.contents.get(end.content, "") for r in replies for end in r.ended.values()]
        read = files_read(ends)
        stale = await self._hands.stale(dict(list(read.items())[-READ_KEPT:]))
        if stale:
            record.asides[record.goal.seq] = prompts.stale(stale)

    async def _step(self) -> None:
        """Do the next thing that the transcript asks for."""
        strand = self._record.transcript.own
        last = strand.last
        if last is None or strand.called_since:
            await self._speak()
        elif self._tools.missing():
            await self._tools.run()
            if self._tools.parks:
                await self._end("needs_approval", call=self._tools.parks)
        elif uses_of(blocks(self._record, last)):
            await self._speak()
        else:
            await self._after(last)

    async def _after(self, last: Replied) -> None:
        """What follows from a reply that calls nothing."""
        settings = self._settings
        if last.stop_reason == "model_context_window_exceeded" and not self._wraps_up:
            await self._make_room()
            if self._record.is_over:
                return
        if last.stop_reason == "pause_turn" and self._pauses < settings.pauses_in_a_row:
            self._pauses += 1
            await self._speak()
        elif was_cut(last, self._record.contents) and self._cuts < settings.cuts_in_a_row:
            self._cuts += 1
            await self._speak()
        elif not blocks(self._record, last):
            await self._said_nothing()
        elif is_compaction(self._record, last) and self._must_go_on_itself():
            self._compactions += 1
            await self._speak()
        else:
            await self._end("done")

    def _must_go_on_itself(self) -> bool:
        """No other turn goes on with this one, after a compaction."""
        is_last = self._wraps_up or self._record.goal.kind == "ask"
        return is_last and self._compactions < COMPACTIONS_IN_A_TURN

    async def _speak(self) -> None:
        """Make the agent's next call and keep its reply."""
        record = self._record
        if self._is_used_up():
            await self._end("done")
            return
        if not self._is_first:
            await record.catch_up()
            if record.is_over:
                return
        self._is_first = False
        await record.fetch(self._settings.persons_fresh_s)
        await self._prepare()
        if record.is_over:
            return
        await self._place_files()
        strand = record.transcript.own
        if not is_alone(strand.pieces, record.contents):
            strand.flush()
        self._now("thinking")
        reply = await self._calls.make(
            "wrap_up" if self._wraps_up else "agent", self._request, is_kept=True
        )
        if isinstance(reply, NoReply):
            await self._unanswered(reply)
        else:
            await self._heard(reply)

    async def _place_files(self) -> None:
        """Put what people gave where the call that is about to be made tells that it is."""
        record = self._record
        fresh = [record.contents.get(hash, "") for hash in record.transcript.own.uncarried()]
        note = await self._filing.place(record.goal.session, fresh)
        if note:
            seq = record.goal.seq
            record.asides[seq] = "\n".join(filter(None, (record.asides.get(seq), note)))

    async def _prepare(self) -> None:
        """Compact and distil where it is time."""
        if self._wraps_up:
            return
        pieces = self._record.transcript.own.pieces
        has_own = self._model.has_compaction(self._settings.model)
        if not has_own and compaction.tokens(pieces) > self._settings.compact_at:
            await self._make_room()
        if self._record.goal.kind == "goal" and not self._record.is_over:
            none = await self._asides.distil()
            if none is not None:
                await self._unanswered(none)

    async def _make_room(self) -> None:
        none = await self._asides.compact()
        if none is not None:
            await self._unanswered(none)

    async def _heard(self, reply: ModelReply) -> None:
        self._output += reply.usage.output
        if reply.stop_reason == "refusal":
            await self._end("failed", failed="refusal")
            return
        if reply.stop_reason not in CUTTING and not any("_partial" in b for b in reply.content):
            self._cuts = 0
        if reply.stop_reason != "pause_turn":
            self._pauses = 0
        if not reply.content:
            await self._said_nothing()

    async def _said_nothing(self) -> None:
        """An empty reply enters no transcript: it is asked for again, twice at most."""
        if self._empties >= EMPTY_REPLIES:
            await self._end("done")
            return
        self._empties += 1
        self._record.asides[self._record.goal.seq] = prompts.EMPTY
        await self._speak()

    async def _unanswered(self, none: NoReply) -> None:
        if none.why == "budget":
            await self._end("budget")
        elif none.why == "failed":
            await self._end("failed", failed=none.failed)
        elif not self._record.is_over:
            self._misses += 1
            if self._misses > MISSES:
                raise IllegalMove(f"Goal {self._goal} does not take what its turn writes.")

    def _request(self) -> ModelRequest:
        settings = self._settings
        most = settings.max_tokens
        if self._wraps_up:
            most = max(1, min(most, self._limits.wrap_up_output_tokens - self._output))
        has_own = self._model.has_compaction(settings.model)
        return ModelRequest(
            model=settings.model,
            max_tokens=most,
            messages=self._record.messages(),
            system=self._offer.system,
            tools=self._offer.tools,
            timeout_s=settings.call_timeout_s,
            goal=self._record.goal.id,
            compact_at=max(settings.compact_at, LEAST_COMPACT_AT) if has_own else None,
            container=container_of(self._record.transcript.own.pieces, self._record.contents),
        )

    def _is_used_up(self) -> bool:
        """A wrap-up has had its calls or its output."""
        if not self._wraps_up:
            return False
        calls = self._record.transcript.own.wrap_up_calls
        return (
            calls >= self._limits.wrap_up_calls
            or self._output >= self._limits.wrap_up_output_tokens
        )

    async def _end(self, how: Ended, *, failed: str = "", call: str = "") -> None:
        await end(self._record, how, self._active, self._keeping, failed=failed, call=call)

    async def _interrupted(self) -> None:
        """Write down what is known of a turn that is cancelled."""
        record = self._record
        if record.is_fenced:
            return
        if self._calls.open:
            call, is_sent = self._calls.open, self._calls.is_sent
            record.stage(CallLost(call, "interrupted") if is_sent else CallReleased(call, NOT_SENT))
        self._tools.interrupt()
        await record.commit()
        if record.is_over:
            await leave(record, self._active)
