"""A reply as it goes over the wire: JSON message and server-sent events, as bytes: pure.

The shapes are those of `anthropic.types` (`message.py`, `raw_*_event.py`) and of their beta
twins. Encoded deltas are remembered, so that a reply said a thousand times is encoded once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adapters.rehearsal.script import Block, Reply
from adapters.rehearsal.signing import sign

CHARS_PER_DELTA = 24  # without a count asked for, about what the real API sends
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


@dataclass(frozen=True, slots=True)
class Message:
    """A reply made ready: every block complete, counted, with ids and signatures."""

    id: str
    model: str
    content: tuple[Block, ...]
    stop_reason: str
    usage: Mapping[str, Any]
    stop_sequence: str | None = None
    stop_details: Block | None = None
    context_management: Block | None = None
    deltas: int | None = None
    cut: float | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of one message: one chunk for each delta, then what ends the message.

    A chunk also holds the events that come before its delta (`message_start`, block starts).
    """

    deltas: tuple[bytes, ...]
    tail: bytes


def dumps(value: object) -> str:
    """JSON as compact text, not escaped to ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def event(name: str, body: object) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {dumps(body)}\n\n".encode()


def completed(block: Block, id: str) -> Block:
    """A block as the API answers it: ids, signatures and the fields that are always there."""
    match block["type"]:
        case "tool_use":
            caller = {"type": "direct"}
            return {**block, "id": block.get("id") or f"toolu_{id}", "caller": caller}
        case "server_tool_use":
            caller = {"type": "direct"}
            return {**block, "id": block.get("id") or f"srvtoolu_{id}", "caller": caller}
        case "thinking":
            words = block["thinking"]
            return {"signature": sign("thinking", words), **block}
        case "compaction":
            sealed = sign("compaction", block.get("content") or "")
            return {"encrypted_content": sealed, **block}
        case "text":
            return {"citations": None, **block}
        case _:
            return block


def stop_reason_of(reply: Reply) -> str:
    """The reply's stop reason, or the one that follows from its content."""
    if reply.stop_reason:
        return reply.stop_reason
    called = any(block["type"] == "tool_use" for block in reply.content)
    return "tool_use" if called else "end_turn"


def as_json(message: Message) -> bytes:
    """The whole message, as answered without streaming."""
    body = _envelope(message)
    body["content"] = [_cut_block(b, message) if last else b for b, last in _marked(message)]
    body["stop_reason"] = message.stop_reason
    body["stop_sequence"] = message.stop_sequence
    if message.stop_details is not None:
        body["stop_details"] = message.stop_details
    if message.context_management is not None:
        body["context_management"] = message.context_management
    body["usage"] = dict(message.usage)
    return dumps(body).encode()


def as_stream(message: Message) -> Stream:
    """The message as events, split into the number of deltas asked for."""
    start = _envelope(message)
    first = {**message.usage, "output_tokens": min(1, int(message.usage["output_tokens"]))}
    first.pop("iterations", None)
    start["usage"] = first
    pending = event("message_start", {"type": "message_start", "message": start})
    pinged = False
    shares = _shares(message)
    chunks: list[bytes] = []
    for index, (block, last) in enumerate(_marked(message)):
        pending += _start_event(index, block)
        if not pinged:
            pending += PING
            pinged = True
        cut = message.cut if last else None
        for delta in _deltas(index, block, shares[index], cut):
            chunks.append(pending + delta)
            pending = b""
        pending += _stop_event(index)
    return Stream(tuple(chunks), pending + _ending(message))


def _marked(message: Message) -> list[tuple[Block, bool]]:
    count = len(message.content)
    return [(block, place == count - 1) for place, block in enumerate(message.content)]


def _envelope(message: Message) -> Block:
    return {
        "id": message.id,
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _start_event(index: int, block: Block) -> bytes:
    empty: Block
    match block["type"]:
        case "text":
            empty = {**block, "text": ""}
        case "tool_use" | "server_tool_use":
            empty = {**block, "input": {}}
        case "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
        case "compaction":
            empty = {"type": "compaction", "content": None, "encrypted_content": None}
        case _:
            empty = block
    body = {"type": "content_block_start", "index": index, "content_block": empty}
    return event("content_block_start", body)


@lru_cache(maxsize=256)
def _stop_event(index: int) -> bytes:
    return event("content_block_stop", {"type": "content_block_stop", "index": index})


def _ending(message: Message) -> bytes:
    delta: Block = {
        "stop_reason": message.stop_reason,
        "stop_sequence": message.stop_sequence,
        "stop_details": message.stop_details,
    }
    left_out = ("cache_creation", "service_tier", "inference_geo", "speed")
    usage = {name: count for name, count in message.usage.items() if name not in left_out}
    body: Block = {"type": "message_delta", "delta": delta, "usage": usage}
    if message.context_management is not None:
        body["context_management"] = message.context_management
    return event("message_delta", body) + b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def _shares(message: Message) -> list[int]:
    """How many deltas each block gets, by its length."""
    lengths = [len(_streamed(block)) for block in message.content]
    if message.deltas is None:
        return [max(1, length // CHARS_PER_DELTA) for length in lengths]
    whole = sum(lengths) or 1
    return [max(1, round(message.deltas * length / whole)) for length in lengths]


def _streamed(block: Block) -> str:
    match block["type"]:
        case "text":
            return str(block["text"])
        case "thinking":
            return str(block["thinking"])
        case "tool_use" | "server_tool_use":
            return dumps(block["input"])
        case _:
            return ""


def _deltas(index: int, block: Block, count: int, cut: float | None) -> tuple[bytes, ...]:
    kind = block["type"]
    words = _streamed(block)
    if cut is not None:
        words = words[: int(len(words) * cut)]
    match kind:
        case "text":
            return _pieces(index, "text_delta", "text", words, count)
        case "tool_use" | "server_tool_use":
            opening = _piece(index, "input_json_delta", "partial_json", "")
            parts = _pieces(index, "input_json_delta", "partial_json", words, count)
            return (opening + parts[0], *parts[1:]) if parts else (opening,)
        case "thinking":
            signed = _piece(index, "signature_delta", "signature", block["signature"])
            parts = _pieces(index, "thinking_delta", "thinking", words, count)
            return (*parts[:-1], parts[-1] + signed) if parts else (signed,)
        case "compaction":
            delta = {
                "type": "compaction_delta",
                "content": block.get("content"),
                "encrypted_content": block.get("encrypted_content"),
            }
            return (_delta_event(index, delta),)
        case _:
            return ()


@lru_cache(maxsize=2048)
def _pieces(index: int, kind: str, name: str, words: str, count: int) -> tuple[bytes, ...]:
    size = max(1, -(-len(words) // max(1, count)))
    starts = range(0, len(words), size)
    return tuple(_piece(index, kind, name, words[at : at + size]) for at in starts)


def _piece(index: int, kind: str, name: str, words: str) -> bytes:
    return _delta_event(index, {"type": kind, name: words})


def _delta_event(index: int, delta: Block) -> bytes:
    body = {"type": "content_block_delta", "index": index, "delta": delta}
    return event("content_block_delta", body)


def _cut_block(block: Block, message: Message) -> Block:
    if message.cut is None:
        return block
    match block["type"]:
        case "text":
            words = block["text"]
            return {**block, "text": words[: int(len(words) * message.cut)]}
        case "tool_use":
            return {**block, "input": {}}
        case _:
            return block
