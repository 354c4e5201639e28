"""
The calls beside the conversation: the summary of a compaction, and a brief's criteria.

Each is answered by a forced tool call. Neither ends a turn that could go on without it.
"""

from collections.abc import Sequence
from typing import Final

from bot.agent import brief, compaction
from bot.agent.agent_settings import AgentSettings
from bot.agent.calls import Calls, NoReply, Offer
from bot.agent.record import Record
from bot.agent.request import messages, visible_text
from bot.goals.events import Compacted
from bot.ports.journal import Content
from bot.ports.model import Json, ModelRequest

COMPACTIONS_IN_A_TURN: Final = 2


class Asides:
    """Makes the calls beside one turn's conversation."""

    def __init__(
        self,
        record: Record,
        calls: Calls,
        settings: AgentSettings,
        offer: Offer,
    ) -> None:
        self._record, self._calls, self._settings = record, calls, settings
        self._offer = offer
        self._compactions = 0
        self._has_distilled = False

    async def compact(self) -> NoReply | None:
        """Put a summary in the place of what is old, where there is something to cut.

        Raises:
            StoreBusy, StoreUnusable: as the journal.
        """
        record = self._record
        pieces = record.transcript.own.pieces
        upto = compaction.cut(pieces)
        if upto is None or self._compactions >= COMPACTIONS_IN_A_TURN:
            return None
        self._compactions += 1
        old = messages(compaction.old(pieces, upto), record.contents, parsed=record.parsed)
        request = self._request(
            compaction.asked(old), compaction.TOOL, compaction.CHOICE, self._settings.summary_tokens
        )
        reply = await self._calls.make("compaction", lambda: request, is_kept=False)
        if isinstance(reply, NoReply):
            return reply
        text = _forced(reply.content)[: compaction.SUMMARY_CHARS]
        if text:
            summary = Content(text, "agent")
            record.stage(Compacted(summary.hash, upto), contents=(summary,))
        return None

    async def distil(self) -> NoReply | None:
        """Distil a brief's criteria, once a revision. Raises as `compact`."""
        record = self._record
        objective = record.contents.get(record.goal.objective, "")
        is_there = self._has_distilled or record.transcript.own.is_distilled
        if is_there or not brief.is_brief(objective):
            return None
        self._has_distilled = True
        request = self._request(
            brief.asked(objective),
            brief.TOOL,
            brief.CHOICE,
            brief.CRITERIA_TOKENS,
            model=self._settings.distil_model,
        )
        reply = await self._calls.make("distil", lambda: request, is_kept=True)
        if isinstance(reply, NoReply) and reply.why == "budget":
            return reply
        return None

    def _request(
        self, asked: tuple[Json, ...], tool: Json, choice: Json, most: int, *, model: str = ""
    ) -> ModelRequest:
        return ModelRequest(
            model=model or self._settings.model,
            max_tokens=most,
            messages=asked,
            system=self._offer.system,
            # The conversation holds calls of the turn's own tools.
            tools=(*self._offer.tools, tool),
            tool_choice=choice,
            timeout_s=self._settings.call_timeout_s,
            goal=self._record.goal.id,
            is_cached=False,
        )


def _forced(blocks: Sequence[Json]) -> str:
    for block in blocks:
        given = block.get("input")
        if isinstance(given, dict) and isinstance(given.get("text"), str):
            return str(given["text"]).strip()
    return visible_text(blocks)
