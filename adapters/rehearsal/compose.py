"""From the script's reply to the message that is sent: pure but for the ids it is given.

What the API does around its model happens here: tools that were not offered are not called,
`max_tokens` cuts, an over-full context is compacted when the request asks for it, and everything
is counted.
"""

from collections.abc import Mapping
from dataclasses import replace

from adapters.rehearsal.script import Block, Reply, Request, compaction, offered, text
from adapters.rehearsal.usage import CHARS_PER_TOKEN, Prompt, output_tokens, usage_of
from adapters.rehearsal.wire import Message, completed, stop_reason_of

SUMMARY = "Summary of the conversation so far, written by the rehearsed model."
COMPACTION_OUTPUT_TOKENS = 350


def compose(
    request: Request,
    reply: Reply,
    prompt: Prompt,
    *,
    id: str,
    beta: bool,
    deltas: int | None = None,
) -> Message:
    """The message that answers the request.

    `id` is unique for this server; block ids are made from it. `deltas` is the server's own
    count, for replies that name none.
    """
    reply = _within(_allowed(reply, request), request["max_tokens"])
    reply, iterations, applied = _compacted(reply, request, prompt, beta)
    usage = usage_of(prompt, reply, output_tokens(reply.content), beta=beta)
    if iterations:
        usage = {**usage, **iterations}
    content = tuple(completed(b, f"{id}_{place}") for place, b in enumerate(reply.content))
    return Message(
        id=f"msg_{id}",
        model=request["model"],
        content=content,
        stop_reason=stop_reason_of(reply),
        usage=usage,
        stop_sequence=reply.stop_sequence,
        stop_details=reply.stop_details,
        context_management={"applied_edits": []} if applied else None,
        deltas=reply.deltas or deltas,
        cut=reply.cut,
    )


def compaction_edit(request: Request) -> Block | None:
    """The compaction edit that the request asks for, if any."""
    config = request.get("context_management") or {}
    edits = config.get("edits") or ()
    return next((edit for edit in edits if edit["type"] == "compact_20260112"), None)


def _allowed(reply: Reply, request: Request) -> Reply:
    """The reply without calls of tools that were not offered: a model cannot call those."""
    if reply.is_free:
        return reply
    names = offered(request)
    missing = [b for b in reply.content if b["type"] == "tool_use" and b["name"] not in names]
    forbidden = (request.get("tool_choice") or {}).get("type") == "none"
    if not missing and not forbidden:
        return reply
    kept = tuple(b for b in reply.content if b["type"] != "tool_use")
    named = ", ".join(b["name"] for b in reply.content if b["type"] == "tool_use")
    if not named:
        return reply
    return replace(reply, content=(*kept, text(f"I cannot call {named} here.")), stop_reason=None)


def _within(reply: Reply, max_tokens: int) -> Reply:
    """The reply cut at `max_tokens`, in the middle of a block if need be."""
    if max_tokens == 0:  # only the prompt cache is warmed
        return Reply((), stop_reason="max_tokens", usage={"output_tokens": 0, **reply.usage})
    if reply.stop_reason == "max_tokens" and reply.cut is None and reply.content:
        return replace(reply, cut=0.5)
    if reply.cut is not None or output_tokens(reply.content) <= max_tokens:
        return reply
    kept: list[Block] = []
    for block in reply.content:
        size = output_tokens((block,))
        kept.append(block)
        if output_tokens(tuple(kept)) > max_tokens:
            before = tuple(kept[:-1])
            left = max_tokens - (output_tokens(before) if before else 0)
            if left <= 0:
                return replace(reply, content=before, stop_reason="max_tokens")
            return replace(
                reply, content=tuple(kept), stop_reason="max_tokens", cut=min(1.0, left / size)
            )
    return reply


def _compacted(
    reply: Reply, request: Request, prompt: Prompt, beta: bool
) -> tuple[Reply, Mapping[str, object], bool]:
    edit = compaction_edit(request)
    if edit is None:
        config = request.get("context_management")
        return _iterated(reply, prompt, beta), {}, config is not None
    trigger = (edit.get("trigger") or {}).get("value", 150_000)
    context = prompt.total - _forgotten(request)
    if context < trigger:
        return reply, {}, True
    summing = {
        "type": "compaction",
        "input_tokens": prompt.input,
        "cache_creation_input_tokens": prompt.written,
        "cache_read_input_tokens": prompt.read,
        "output_tokens": COMPACTION_OUTPUT_TOKENS,
    }
    block = compaction(SUMMARY)
    if edit.get("pause_after_compaction"):
        paused = Reply((block,), stop_reason="compaction")
        return paused, {"input_tokens": 0, "output_tokens": 0, "iterations": [summing]}, True
    size = COMPACTION_OUTPUT_TOKENS
    talking = {
        "type": "message",
        "input_tokens": size,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens(reply.content),
    }
    top = {name: count for name, count in talking.items() if name != "type"}
    whole = replace(reply, content=(block, *reply.content))
    return whole, {**top, "iterations": [summing, talking]}, True


def _iterated(reply: Reply, prompt: Prompt, beta: bool) -> Reply:
    """A reply whose script wrote a compaction itself, with iterations that account for it."""
    written = any(block["type"] == "compaction" for block in reply.content)
    if not beta or not written or "iterations" in reply.usage:
        return reply
    summing = {
        "type": "compaction",
        "input_tokens": prompt.total,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": COMPACTION_OUTPUT_TOKENS,
    }
    return replace(reply, usage={**reply.usage, "iterations": [summing]})


def _forgotten(request: Request) -> int:
    """The tokens of the messages before the last compaction block, which the API drops."""
    messages = request["messages"]
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place]["content"]
        if isinstance(content, list) and any(b["type"] == "compaction" for b in content):
            dropped = sum(len(str(m["content"])) for m in messages[:place])
            return dropped // CHARS_PER_TOKEN
    return 0
