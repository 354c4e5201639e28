"""Tokens and prompt caching, estimated.

A token is four characters of compact JSON. A prefix of the prompt (tools, system, messages, in
that order) up to a `cache_control` breakpoint is remembered per model: the longest known prefix
is read from the cache, what follows up to the last breakpoint is written to it, the rest is plain
input. The lookup walks back over every block, as the real one does over twenty.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from adapters.rehearsal.script import Block, Reply, Request

CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt's tokens by class; their sum is the whole prompt."""

    input: int
    written_5m: int = 0
    written_1h: int = 0
    read: int = 0

    @property
    def written(self) -> int:
        """Tokens written to the cache, whatever their time to live."""
        return self.written_5m + self.written_1h

    @property
    def total(self) -> int:
        """The size of the context."""
        return self.input + self.written + self.read


class PromptCache:
    """The prefixes seen so far, by model."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def clear(self) -> None:
        """Forget every prefix."""
        self._known.clear()

    def take(self, request: Request, size_bytes: int) -> Prompt:
        """Count a prompt, and remember its prefixes up to each breakpoint.

        `size_bytes` is the request's length, which is all that is needed when nothing is marked.
        """
        last = _last_breakpoint(request)
        if last is None:
            return Prompt(_tokens(size_bytes))
        running = hashlib.blake2b(request["model"].encode(), digest_size=16)
        read = written = total = 0
        fresh: list[bytes] = []
        for place, words in _segments(request):
            running.update(words)
            total += len(words)
            if place > last:
                continue
            prefix = running.digest()
            if prefix in self._known:
                read = total
            fresh.append(prefix)
            written = total
        self._known.update(fresh)
        new = _tokens(written) - _tokens(read) if written > read else 0
        rest = max(1, _tokens(total) - _tokens(written))
        hour = _ttl_of(request) == "1h"
        return Prompt(rest, 0 if hour else new, new if hour else 0, _tokens(read))


def estimate(request: Request) -> int:
    """The prompt's tokens without caching, for the token counter."""
    return _tokens(sum(len(words) for _, words in _segments(request)))


def output_tokens(content: tuple[Block, ...]) -> int:
    """The tokens of a reply."""
    return _tokens(sum(_length(block) for block in content)) if content else 1


def usage_of(prompt: Prompt, reply: Reply, output: int, *, beta: bool) -> Block:
    """The `usage` object of a reply; what the script overrides wins."""
    usage: Block = {
        "input_tokens": prompt.input,
        "cache_creation_input_tokens": prompt.written,
        "cache_read_input_tokens": prompt.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": prompt.written_5m,
            "ephemeral_1h_input_tokens": prompt.written_1h,
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": _thinking_tokens(reply)},
        "server_tool_use": _server_tools(reply),
        "service_tier": "standard",
        "inference_geo": "not_available",
    }
    if beta:
        usage["iterations"] = None
    usage.update(reply.usage)
    return usage


def billed(usage: Block) -> dict[str, int]:
    """The four billed classes of a usage: over its iterations where present, else the top level."""
    entries = usage.get("iterations") or [usage]
    totals = dict.fromkeys(("input", "cache_write", "cache_read", "output"), 0)
    for entry in entries:
        totals["input"] += entry.get("input_tokens") or 0
        totals["cache_write"] += entry.get("cache_creation_input_tokens") or 0
        totals["cache_read"] += entry.get("cache_read_input_tokens") or 0
        totals["output"] += entry.get("output_tokens") or 0
    return totals


def _server_tools(reply: Reply) -> dict[str, int] | None:
    """The requests that the API's own tools made."""
    names = [block["name"] for block in reply.content if block["type"] == "server_tool_use"]
    if not names or reply.stop_reason == "pause_turn":
        return None
    return {
        "web_search_requests": names.count("web_search"),
        "web_fetch_requests": names.count("web_fetch"),
    }


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN) if chars else 0


def _segments(request: Request) -> Iterator[tuple[int, bytes]]:
    """Each block of the prompt: its place, and its bytes without the cache mark."""
    for place, block in enumerate(_blocks(request)):
        plain = block
        if "cache_control" in block:
            plain = {name: value for name, value in block.items() if name != "cache_control"}
        yield place, json.dumps(plain, separators=(",", ":")).encode()


def _blocks(request: Request) -> Iterator[Block]:
    yield from request.get("tools") or ()
    system = request.get("system")
    yield from [{"type": "text", "text": system}] if isinstance(system, str) else system or ()
    for message in request["messages"]:
        content = message["content"]
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from content


def _last_breakpoint(request: Request) -> int | None:
    blocks = list(_blocks(request))
    if request.get("cache_control"):
        return len(blocks) - 1
    marked = [place for place, block in enumerate(blocks) if block.get("cache_control")]
    return marked[-1] if marked else None


def _ttl_of(request: Request) -> str:
    marks = [b["cache_control"] for b in _blocks(request) if b.get("cache_control")]
    mark = request.get("cache_control") or marks[-1]
    return str(mark.get("ttl", "5m"))


def _length(block: Block) -> int:
    match block["type"]:
        case "text":
            return len(block["text"])
        case "thinking":
            return len(block["thinking"])
        case "tool_use" | "server_tool_use":
            return len(block["name"]) + len(json.dumps(block["input"]))
        case "compaction":
            return len(block.get("content") or "")
        case _:
            return len(json.dumps(block))


def _thinking_tokens(reply: Reply) -> int:
    return _tokens(sum(_length(b) for b in reply.content if b["type"] == "thinking"))
