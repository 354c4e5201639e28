"""What a turn's replies say, read from its record."""

from bot.agent.pieces import Replied
from bot.agent.record import Record
from bot.agent.request import CUTTING, blocks_of, uses_of, visible_text


def blocks(record: Record, reply: Replied) -> list[dict[str, object]]:
    """The reply's content blocks; none where its text was erased."""
    return blocks_of(reply, record.contents, record.parsed)


def is_compaction(record: Record, reply: Replied) -> bool:
    """True when the reply ends with the endpoint's own summary and says nothing after it."""
    found = blocks(record, reply)
    return bool(found) and found[-1].get("type") == "compaction"


def final_reply(record: Record) -> str:
    """The visible text of the turn's last reply, with the parts before it that were cut or paused."""
    strand = record.transcript.own
    own = [p for p in strand.pieces if isinstance(p, Replied) and p.seq > strand.turn_seq]
    parts: list[str] = []
    for reply in reversed(own):
        found = blocks(record, reply)
        goes_on = reply.stop_reason in (*CUTTING, "pause_turn") and not uses_of(found)
        if parts and not goes_on:
            break
        parts.insert(0, visible_text(found))
    return "\n\n".join(part for part in parts if part)
