"""
The events of one streamed reply, folded into the raw JSON of its message.

Rule 1: blocks stay the wire's own JSON. Types and delta types that are not known here are kept.
Rule 2: nothing is parsed twice: pieces of text go to lists, the JSON of a tool's input is read once,
        at the block's end.
Rule 3: a reply is whole only after `message_stop`.
Rule 4: a call whose input was cut (by `max_tokens`, by the context window, or unreadable) carries
        `"_partial": true` and the raw text in `"_partial_json"`; it must not be run or sent back.
        Unreadable is whatever the endpoint would not take back: no JSON object, a number that is
        not finite, nested beyond all use.
Rule 5: no text holds a lone surrogate, which nothing can send, show or keep.
"""

import json
import math
from typing import Any, Final

Event = dict[str, Any]
Block = dict[str, Any]

CUTTING: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons that may cut the last block short."""

_JOINED: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""Delta types whose pieces are joined, and the key that holds the piece."""

DEEPEST: Final = 64
"""Levels of a call's input. What goes through it level by level must not run out of stack."""


class Torn(Exception):
    """The stream held something that is no event, or ended before its reply did."""


class StreamError(Exception):
    """The endpoint gave up within its reply; `body` is what it said."""

    def __init__(self, body: Event) -> None:
        super().__init__("the reply ended in an error")
        self.body = body


class Fold:
    """One reply in the making. Feed it every event, in order; then read the fields."""

    __slots__ = (
        "_key",
        "_last",
        "_pieces",
        "blocks",
        "container",
        "is_started",
        "is_whole",
        "message_id",
        "model",
        "stop_details",
        "stop_reason",
        "usage",
    )

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.is_started = False
        self.is_whole = False
        self.message_id: str | None = None
        self.model = ""
        self.stop_reason: str | None = None
        self.stop_details: dict[str, Any] | None = None
        self.container: str | None = None
        self.usage: dict[str, Any] = {}
        self._last: Block = {}
        self._key = ""
        self._pieces: list[str] = []

    def feed(self, event: Event) -> str:
        """Take one event; give back the visible text it added, or an empty string."""
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._add(event["delta"])
        if kind == "content_block_start":
            self._join()
            self._last = event["content_block"]
            self.blocks.append(self._last)
            if self._last.get("type") == "text":
                return str(self._last.get("text") or "")
        elif kind == "content_block_stop":
            self._join()
        elif kind == "message_start":
            self._start(event["message"])
        elif kind == "message_delta":
            self._settle(event)
        elif kind == "message_stop":
            self._stop()
        elif kind == "error":
            raise StreamError(event)
        return ""

    def _start(self, message: dict[str, Any]) -> None:
        self.is_started = True
        self.message_id = message.get("id")
        self.model = str(message.get("model") or "")
        usage = message.get("usage")
        self.usage = dict(usage) if isinstance(usage, dict) else {}
        self._take_container(message)

    def _add(self, delta: dict[str, Any]) -> str:
        kind = delta.get("type")
        key = _JOINED.get(kind or "")
        if key is not None:
            piece = str(delta.get(key) or "")
            if key != self._key:
                self._join()
                self._key = key
            self._pieces.append(piece)
            return piece if kind == "text_delta" else ""
        if kind == "citations_delta":
            self._last["citations"] = [*(self._last.get("citations") or ()), delta["citation"]]
        elif kind in {"signature_delta", "compaction_delta"}:
            # Whole values, sent once: they replace what the block's start held.
            self._last.update({k: v for k, v in delta.items() if k != "type"})
        else:
            _add_unknown(self._last, delta)
        return ""

    def _join(self) -> None:
        """Put the pieces gathered so far where they belong."""
        if not self._key:
            return
        text = _sound("".join(self._pieces))
        if self._key == "partial_json":
            _read_input(self._last, text)
        else:
            self._last[self._key] = str(self._last.get(self._key) or "") + text
        self._key = ""
        self._pieces = []

    def _settle(self, event: Event) -> None:
        delta = event.get("delta") or {}
        if delta.get("stop_reason") is not None:
            self.stop_reason = delta["stop_reason"]
        if delta.get("stop_details") is not None:
            self.stop_details = delta["stop_details"]
        self._take_container(delta)
        # Counts here are running totals; one left out keeps what `message_start` said.
        for name, value in (event.get("usage") or {}).items():
            if value is not None:
                self.usage[name] = value

    def _take_container(self, holder: dict[str, Any]) -> None:
        container = holder.get("container")
        if isinstance(container, dict) and container.get("id"):
            self.container = str(container["id"])

    def _stop(self) -> None:
        self._join()
        self.is_whole = True
        if self.stop_reason in CUTTING and self.blocks and "input" in self.blocks[-1]:
            _mark_partial(self.blocks[-1], json.dumps(self.blocks[-1]["input"]))


def _read_input(block: Block, text: str) -> None:
    # No text at all is a call without arguments: the start's `input` ({}) stands.
    if not text:
        return
    try:
        given = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if not isinstance(given, dict) or _is_deeper(given, DEEPEST):
            raise ValueError("That is no input of a tool.")
    except (ValueError, RecursionError):
        _mark_partial(block, text)
        return
    if "\\u" in text:
        given = json.loads(_sound(json.dumps(given, ensure_ascii=False)))
    block["input"] = given


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is no number of JSON.")
    return value


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def _sound(text: str) -> str:
    """The text with surrogates joined to their pairs, and lone ones replaced."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _mark_partial(block: Block, raw: str) -> None:
    if block.get("_partial"):
        return
    block["input"] = {}
    block["_partial"] = True
    block["_partial_json"] = raw


def _add_unknown(block: Block, delta: dict[str, Any]) -> None:
    """Keep a delta of a type not known here, the way the known ones behave."""
    for key, value in delta.items():
        if key == "type":
            continue
        held = block.get(key)
        if isinstance(value, str) and isinstance(held, str):
            block[key] = held + value
        elif isinstance(value, list) and isinstance(held, list):
            block[key] = [*held, *value]
        else:
            block[key] = value
