"""
The messages of a request, from the session's journal: pure.

Rule 1: every `tool_use` has exactly one `tool_result` in the next user message, results first. What
        is missing is filled in as interrupted, or as outcome unknown where it may have had effects.
Rule 2: assistant content goes back as the raw JSON that came. Left out are only calls that were cut
        (`_partial`), texts without a character, and server tool calls whose reply went no further.
Rule 3: after `pause_turn` the reply goes back alone; otherwise the last message is a user's.
Rule 4: a text that was erased is `[removed]`.
Rule 5: what a tool gave from outside the conversation stands between tags that it cannot end.

A reply is kept as the JSON list of its blocks, or, where the endpoint named a container to go on in,
as an object of `content` and `container`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bot.agent import denials, prompts
from bot.agent.pieces import Piece, Replied, Said
from bot.agent.results import result
from bot.agent.transcript import Transcript
from bot.goals.estimate import MESSAGE_TOKENS, estimate_block
from bot.goals.events import ToolEnded, ToolStarted
from bot.ports.journal import Line
from bot.ports.model import Json
from bot.tools.untrusted import fenced, unlabelled

Block = dict[str, Any]

CUTTING: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons after which a reply is not whole."""

KEPT_COMPACTIONS: Final = 3
"""Compactions of the endpoint's own that stay; it ignores all before the last one anyway."""

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


@dataclass(slots=True)
class Parsed:
    """What was made of contents before: blocks, which nobody changes, and their weight."""

    replies: dict[str, list[Block]] = field(default_factory=dict)
    results: dict[tuple[str, str, str], tuple[str, Block]] = field(default_factory=dict)
    said: dict[Said, tuple[str, Block]] = field(default_factory=dict)
    """With the texts that they were made of: a text may be forgotten in part under its hash."""
    _tokens: dict[int, tuple[Block, int]] = field(default_factory=dict)
    """By the block's identity, which holds as long as the block is kept here."""

    def keep(self, block: Block) -> Block:
        """Remember what it weighs."""
        self._tokens[id(block)] = (block, estimate_block(block))
        return block

    def tokens(self, messages: Iterable[Json]) -> int:
        """As `estimate_tokens` of those messages."""
        total = 0
        for message in messages:
            total += MESSAGE_TOKENS
            for block in message["content"]:
                known = self._tokens.get(id(block))
                total += estimate_block(block) if known is None else known[1]
        return total


def build(lines: Iterable[Line], contents: Mapping[str, str], *, goal: str) -> tuple[Json, ...]:
    """The messages of the goal's next call.

    Args:
        lines: the session's journal in order. Where it ends with the call's own `CallStarted`, the
            request carries the people's messages and edits that this one says, else all of them.
        contents: the texts by hash; one that is missing was erased.
        goal: whose request it is.
    """
    transcript = Transcript(goal)
    for line in lines:
        transcript.feed(line)
    strand = transcript.own
    if not strand.open_call and not is_alone(strand.pieces, contents):
        strand.flush()
    return messages(strand.pieces, contents)


def messages(
    pieces: Sequence[Piece],
    contents: Mapping[str, str],
    *,
    parsed: Parsed | None = None,
    asides: Mapping[int, str] | None = None,
) -> tuple[Json, ...]:
    """The messages of a conversation.

    Args:
        pieces: of the transcript, in order.
        contents: the texts by hash.
        parsed: what was parsed before; added to.
        asides: what is told besides, after the piece at that entry or before it.
    """
    parsed = Parsed() if parsed is None else parsed
    left = dict(asides or {})
    out = _Messages()
    for piece in pieces:
        for seq in [seq for seq in left if seq < piece.seq]:
            out.user([_text(left.pop(seq))])
        if isinstance(piece, Said):
            out.user([_said(piece, contents, parsed)])
        else:
            _add_reply(out, piece, contents, parsed)
    for text in left.values():
        out.user([_text(text)])
    return out.finished()


def is_alone(pieces: Sequence[Piece], contents: Mapping[str, str]) -> bool:
    """True when the last reply was paused and goes back with nothing after it."""
    last = pieces[-1] if pieces else None
    if not isinstance(last, Replied) or last.stop_reason != "pause_turn":
        return False
    return _is_paused(last, blocks_of(last, contents, Parsed()))


def blocks_of(reply: Replied, contents: Mapping[str, str], parsed: Parsed) -> list[Block]:
    """The reply's blocks as they may be sent back; one text where they were erased."""
    known = parsed.replies.get(reply.content)
    raw = contents.get(reply.content)
    if raw is None:
        return [_text(prompts.REMOVED)]
    if known is None:
        known = parsed.replies[reply.content] = [
            parsed.keep(block) for block in _loaded(raw) if _is_sendable(block)
        ]
    return known


def kept_reply(blocks: Sequence[Json], container: str | None) -> str:
    """The content that keeps a reply."""
    listed = [dict(block) for block in blocks]
    whole = listed if container is None else {"container": container, "content": listed}
    return json.dumps(whole, ensure_ascii=False)


def container_of(pieces: Iterable[Piece], contents: Mapping[str, str]) -> str | None:
    """The container that the conversation's last reply with one named."""
    found = None
    for piece in pieces:
        raw = contents.get(piece.content, "") if isinstance(piece, Replied) else ""
        if raw.startswith("{"):
            found = json.loads(raw).get("container", found)
    return found


def was_cut(reply: Replied, contents: Mapping[str, str]) -> bool:
    """True for a reply that is not whole, or that held a call whose arguments could not be read."""
    if reply.stop_reason in CUTTING:
        return True
    raw = contents.get(reply.content, "")
    return '"_partial"' in raw and any(block.get("_partial") for block in _loaded(raw))


def uses_of(blocks: Iterable[Block]) -> list[Block]:
    """The calls in a reply, in order."""
    return [block for block in blocks if block.get("type") == "tool_use"]


def visible_text(blocks: Iterable[Json]) -> str:
    """What a reply says to people."""
    texts = [str(b.get("text") or "").strip() for b in blocks if b.get("type") == "text"]
    return "\n\n".join(text for text in texts if text)


def forced_text(raw: str) -> str:
    """The `text` that a reply's forced tool call holds, else what the reply says."""
    blocks = _loaded(raw)
    for use in uses_of(blocks):
        given = use.get("input")
        if isinstance(given, dict) and isinstance(given.get("text"), str):
            return str(given["text"])
    return visible_text(blocks)


class _Messages:
    """Messages in the making: roles alternate, and nothing is empty."""

    def __init__(self) -> None:
        self._messages: list[tuple[str, list[Block]]] = []
        self._objective = ""
        """To be put back in the next message of the user."""
        self._is_paused = False

    def user(self, blocks: list[Block]) -> None:
        if not blocks:
            return
        self._add("user", blocks)
        if self._objective:
            self._add("user", [_text(self._objective)])
            self._objective = ""
        self._is_paused = False

    def assistant(
        self, blocks: list[Block], *, objective: Callable[[], str], is_paused: bool
    ) -> None:
        if not blocks:
            return
        if not self._messages:
            self.user([_text(objective())])
        elif self._messages[-1][0] == "assistant" and not self._is_paused:
            self.user([_text(prompts.GO_ON)])
        self._add("assistant", blocks)
        self._is_paused = is_paused
        if any(block.get("type") == "compaction" for block in blocks):
            self._objective = objective()

    def finished(self) -> tuple[Json, ...]:
        if not self._messages or (self._messages[-1][0] == "assistant" and not self._is_paused):
            self.user([_text(prompts.GO_ON)])
        whole = self._messages
        last = len(whole) - 1 if self._is_paused else len(whole)
        done: list[tuple[str, list[Block]]] = []
        for place, (role, blocks) in enumerate(whole):
            if role == "assistant" and place != last:
                blocks = _without_dangling(blocks)
            if not blocks:
                continue
            if done and done[-1][0] == role:
                done[-1] = (role, [*done[-1][1], *blocks])
            else:
                done.append((role, blocks))
        return tuple({"role": role, "content": blocks} for role, blocks in _shortened(done))

    def _add(self, role: str, blocks: list[Block]) -> None:
        if self._messages and self._messages[-1][0] == role:
            self._messages[-1][1].extend(blocks)
        else:
            self._messages.append((role, list(blocks)))


def _add_reply(out: _Messages, reply: Replied, contents: Mapping[str, str], parsed: Parsed) -> None:
    blocks = blocks_of(reply, contents, parsed)

    def objective() -> str:
        wanted = unlabelled(_content(reply.objective, contents))
        return f"{prompts.put_back()}\n{wanted}"

    out.assistant(blocks, objective=objective, is_paused=_is_paused(reply, blocks))
    out.user([_result(reply, use["id"], contents, parsed) for use in uses_of(blocks)])
    if was_cut(reply, contents):
        out.user([_text(prompts.CUT)])


def _result(reply: Replied, use: str, contents: Mapping[str, str], parsed: Parsed) -> Block:
    ended = reply.ended.get(use)
    if ended is None:
        return _filled(use, reply)
    started = reply.started.get(use)
    key = (use, ended.content, f"{ended.outcome} {started and started.effects}")
    known, raw = parsed.results.get(key), contents.get(ended.content)
    if known is not None and known[0] == raw:
        return known[1]
    given = prompts.REMOVED if raw is None else _given(raw, started, ended)
    block: Block = {"type": "tool_result", "tool_use_id": use, "content": given}
    if ended.outcome != "ok":
        block["is_error"] = True
    if raw is not None:
        parsed.results[key] = (raw, parsed.keep(block))
    return block


def _given(raw: str, started: ToolStarted | None, ended: ToolEnded) -> str:
    """What a call gave, as the agent is told: what ran outside the conversation, as data."""
    text = _sound(result(raw).text)
    if not text.strip():
        return prompts.NOTHING
    ran_outside = started is not None and started.effects != "conversation"
    is_theirs = ran_outside and ended.outcome in ("ok", "error")
    return fenced(text, ended.tool_use) if is_theirs else text


def _filled(use: str, reply: Replied) -> Block:
    started = reply.started.get(use)
    if started is None:
        text = denials.WITHDRAWN if use in reply.asked else prompts.NOT_RUN
    elif started.effects in ("none", "conversation"):
        text = prompts.INTERRUPTED
    else:
        text = prompts.UNKNOWN
    return {"type": "tool_result", "tool_use_id": use, "content": text, "is_error": True}


def _said(said: Said, contents: Mapping[str, str], parsed: Parsed) -> Block:
    text = contents.get(said.content) if said.content else ""
    if text is None:
        return _text(_spoken(said, contents))
    known = parsed.said.get(said)
    if known is None or known[0] != text:
        known = parsed.said[said] = (text, parsed.keep(_text(_spoken(said, contents))))
    return known[1]


def _spoken(said: Said, contents: Mapping[str, str]) -> str:
    if not said.content:
        return said.label
    text = _content(said.content, contents)
    if said.is_forced:
        text = forced_text(text)
    return f"{said.label}\n{unlabelled(text)}" if text.strip() else said.label


def _content(hash: str, contents: Mapping[str, str]) -> str:
    return contents.get(hash, prompts.REMOVED)


def _text(text: str) -> Block:
    return {"type": "text", "text": _sound(text)}


def _sound(text: str) -> str:
    """The text without lone surrogates, which no JSON reader of the endpoint takes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _loaded(raw: str) -> list[Block]:
    try:
        blocks = json.loads(raw)
    except ValueError:
        return [_text(prompts.REMOVED)]
    if isinstance(blocks, dict):
        blocks = blocks.get("content")
    if not isinstance(blocks, list):
        return [_text(prompts.REMOVED)]
    return [block for block in blocks if isinstance(block, dict)]


def _is_sendable(block: Block) -> bool:
    if block.get("_partial"):
        return False
    return block.get("type") != "text" or bool(str(block.get("text") or "").strip())


def _is_paused(reply: Replied, blocks: Iterable[Block]) -> bool:
    if reply.stop_reason != "pause_turn":
        return False
    kinds = {block.get("type") for block in blocks}
    return "tool_use" not in kinds and bool(kinds & _SERVER_CALLS)


def _without_dangling(blocks: list[Block]) -> list[Block]:
    """The blocks without server tool calls that have no result among them."""
    answered = {block.get("tool_use_id") for block in blocks}
    return [
        block
        for block in blocks
        if block.get("type") not in _SERVER_CALLS or block.get("id") in answered
    ]


def _shortened(done: list[tuple[str, list[Block]]]) -> list[tuple[str, list[Block]]]:
    """The messages without what the endpoint has long compacted; the first one stays."""
    compacted = [
        place
        for place, (role, blocks) in enumerate(done)
        if role == "assistant" and any(block.get("type") == "compaction" for block in blocks)
    ]
    if len(compacted) < KEPT_COMPACTIONS or compacted[-KEPT_COMPACTIONS] <= 1:
        return done
    first = done[0][1]
    opening = [block for block in first if block.get("type") != "tool_result"][:1]
    return [("user", opening), *done[compacted[-KEPT_COMPACTIONS] :]]
