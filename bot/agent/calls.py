"""
One model call as a step: reserved, started, sent, settled.

Rule 1: the start and its reservation are committed before anything is sent.
Rule 2: a reply lost in flight is charged in full and the call is made again, three times at most.
Rule 3: a reply is settled by what is staged; the next commit writes it, with what follows from it.
Rule 4: what the endpoint's own tools may bring crosses no budget: where it is not covered, they are left out.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from bot.agent import prompts
from bot.agent.agent_settings import AgentSettings
from bot.agent.costs import cost_of, dearest
from bot.agent.record import Record
from bot.agent.request import kept_reply
from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from bot.goals.estimate import estimate_tokens
from bot.goals.events import CallLost, CallReleased, CallRole, CallSettled, CallStarted
from bot.goals.money import Reservation
from bot.ports.journal import Content
from bot.ports.model import NOT_SENT, Json, Model, ModelReply, ModelRequest
from bot.tools.endpoint import most_nano, most_tokens, without_endpoint_tools
from bot.tools.table import tool_schemas


@dataclass(frozen=True, slots=True)
class NoReply:
    """Why there is none: `budget`, `moved` (the goal has), or `failed` with the class."""

    why: str
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """What stands before the conversation in every request of a turn, and its tokens at most."""

    system: tuple[Json, ...]
    tools: tuple[Json, ...]
    tokens: int

    def with_tools(self, further: tuple[Json, ...]) -> "Offer":
        """The same with further tools behind its own."""
        if not further:
            return self
        tokens = self.tokens + estimate_tokens(tools=further)
        return Offer(self.system, (*self.tools, *further), tokens)


@lru_cache(maxsize=16)
def offer(kind: str, *, tools_on: bool, read_only: bool) -> Offer:
    """What a turn of a goal or of an `ask` is offered."""
    system: tuple[Json, ...] = ({"type": "text", "text": prompts.system(kind, tools_on=tools_on)},)
    tools = tool_schemas(tools_on, read_only)
    return Offer(system, tools, estimate_tokens(system=system, tools=tools))


Prepare = Callable[[], ModelRequest]


class Calls:
    """Makes the calls of one turn."""

    def __init__(
        self,
        record: Record,
        model: Model,
        settings: AgentSettings,
        ids: Callable[[], str],
        offer: Offer,
        active_s: Callable[[], float],
    ) -> None:
        self._record, self._model, self._offer = record, model, offer
        self._settings, self._ids, self._active_s = settings, ids, active_s
        self.open = ""
        """The call whose start is staged or committed, and which is not settled."""
        self.is_sent = False

    async def make(
        self, role: CallRole, prepare: Prepare, *, is_kept: bool
    ) -> ModelReply | NoReply:
        """Make one call.

        Args:
            role: what for.
            prepare: the request, from the transcript as it then is.
            is_kept: the reply is kept as a content.

        Raises:
            StoreBusy, StoreUnusable: as the journal.
        """
        kind = ""
        for _ in range(self._settings.losses_in_a_row):
            request = self._within(role, prepare())
            refused = await self._start(role, request)
            if refused is not None:
                return refused
            if self._record.was_read_anew:
                # What others wrote while the start was committed may stand before it now.
                request = replace(prepare(), tools=request.tools)
            try:
                reply = await self._send(request)
            except ModelBusy as busy:
                kind = busy.kind
                if not busy.maybe_served:
                    return self._released(kind)
                self._record.stage(CallLost(self._taken(), kind))
            except (BadRequest, ModelRefusesUs) as error:
                return self._released(error.kind)
            else:
                self._settle(reply, is_kept)
                return reply
        return NoReply("failed", kind)

    async def _start(self, role: CallRole, request: ModelRequest) -> NoReply | None:
        record, strand = self._record, self._record.transcript.own
        call = self._ids()
        most = self._most(call, role, request)
        speaks = role in ("agent", "wrap_up")
        record.stage(
            CallStarted(
                call,
                role,
                request.model,
                most.tokens,
                most.nano_usd,
                messages=strand.carried_messages if speaks else 0,
                revision=strand.carried_revision if speaks else 0,
                active_s=round(self._active_s(), 3),
            )
        )
        self.open, self.is_sent = call, False
        rules = await record.commit()
        is_started = rules[-1:] == ("call_started",)
        if is_started and not record.is_over:
            return None
        self.open = ""
        if is_started and not record.is_fenced:
            record.stage(CallReleased(call, NOT_SENT))
        is_crossed = rules[-1:] == ("budget_crossed",) and not record.is_over
        return NoReply("budget" if is_crossed else "moved")

    def _within(self, role: CallRole, request: ModelRequest) -> ModelRequest:
        """The request, without the endpoint's own tools where the budget covers it only so."""
        plain = without_endpoint_tools(request.tools)
        last = self._record.transcript.own.last
        # What the endpoint paused is gone on with by the tools that it paused in.
        is_paused = last is not None and last.stop_reason == "pause_turn"
        if len(plain) == len(request.tools) or is_paused:
            return request
        if self._record.affords(self._most("", role, request)):
            return request
        return replace(request, tools=plain)

    def _most(self, call: str, role: CallRole, request: ModelRequest) -> Reservation:
        """What the call may cost."""
        # What the endpoint's own tools bring is read like the prompt.
        prompt = self._prompt(request) + most_tokens(request.tools)
        models = (request.model, *self._settings.fallback_models)
        nano = dearest(self._model, models, prompt, request.max_tokens, most_nano(request.tools))
        return Reservation(call, role, prompt + request.max_tokens, nano)

    def _prompt(self, request: ModelRequest) -> int:
        """Tokens of the prompt at most; what stands in every request is counted once."""
        if request.tools is self._offer.tools and request.system is self._offer.system:
            return self._offer.tokens + self._record.parsed.tokens(request.messages)
        return estimate_tokens(
            system=request.system, tools=request.tools, messages=request.messages
        )

    async def _send(self, request: ModelRequest) -> ModelReply:
        self.is_sent = True
        try:
            return await self._model.call(request)
        except asyncio.CancelledError as cancelled:
            self.is_sent = cancelled.args != (NOT_SENT,)
            raise

    def _settle(self, reply: ModelReply, is_kept: bool) -> None:
        contents: tuple[Content, ...] = ()
        if is_kept and reply.content and reply.stop_reason != "refusal":
            contents = (Content(kept_reply(reply.content, reply.container), "agent"),)
        self._record.stage(
            CallSettled(
                self._taken(),
                reply.usage,
                cost_of(self._model, reply),
                content=contents[0].hash if contents else "",
                stop_reason=reply.stop_reason,
            ),
            contents=contents,
        )

    def _released(self, kind: str) -> NoReply:
        self._record.stage(CallReleased(self._taken(), kind))
        return NoReply("failed", kind)

    def _taken(self) -> str:
        call, self.open, self.is_sent = self.open, "", False
        return call
