"""What a script can answer, and what it can see of a request: pure.

A *script* is a callable that gets one request and decides the reply or the fault. Scripts that
look only at the request are stateless: a client that was killed and started again replays from
its own transcript and is answered the same way. `memory` is one dict for the server's life, for
scripts that cannot do without.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Block = dict[str, Any]
Request = dict[str, Any]
Memory = dict[Any, Any]

FaultKind = Literal[
    "status",
    "cut_before_headers",
    "cut_after_headers",
    "cut_mid_stream",
    "reply_lost",
    "hang",
    "garbage",
    "stream_error",
]

# Faults that happen to a reply which was generated, and is therefore billed.
BILLED_FAULTS: frozenset[str] = frozenset({"cut_mid_stream", "reply_lost", "stream_error"})

# https://platform.claude.com/docs/en/api/errors
ERROR_TYPES: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The request is invalid."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your API key does not have permission to use this resource."),
    404: ("not_found_error", "Not found"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out while processing."),
    529: ("overloaded_error", "Overloaded"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant message as the script wrote it.

    `stop_reason` None means `tool_use` if a tool is called, else `end_turn`. `usage` overrides
    single counts. `deltas` is the number of content deltas in the whole message, `duration_s` the
    time over which they are spread, `delay_s` the time before the first byte; None takes the
    server's pace. `cut` (0..1) ends the last block at that fraction, as `max_tokens` does.
    """

    content: tuple[Block, ...]
    stop_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    deltas: int | None = None
    duration_s: float | None = None
    delay_s: float = 0.0
    stop_sequence: str | None = None
    stop_details: Block | None = None
    cut: float | None = None
    is_free: bool = False
    """It may call tools that were not offered, as no real model can."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something other than a whole reply.

    `reply` is what would have been said, for the faults in `BILLED_FAULTS`; without one the
    script's own reply is used. `after_deltas` says where a stream breaks. `hold_s` bounds a hang.
    """

    kind: FaultKind = "status"
    status: int = 529
    error_type: str | None = None
    message: str | None = None
    retry_after: float | None = None
    details: Block | None = None
    after_deltas: int = 1
    hold_s: float | None = None
    reply: Reply | None = None


Answer = Reply | Fault
Script = Callable[[Request, int, Memory], Answer | Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call found in a transcript, with its result if there is one."""

    name: str
    input: Block
    id: str
    result: str | None = None
    is_error: bool = False


def text(words: str) -> Block:
    """A text block."""
    return {"type": "text", "text": words}


def thinking(words: str) -> Block:
    """A thinking block; the server signs it."""
    return {"type": "thinking", "thinking": words}


def tool_use(name: str, arguments: Block, *, id: str | None = None) -> Block:
    """A tool call; the server gives it an id when it has none."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def server_tool_use(name: str, arguments: Block) -> Block:
    """A call of a tool that the API itself runs (`web_search`)."""
    return {"type": "server_tool_use", "id": None, "name": name, "input": arguments}


def searched(query: str, *pages: tuple[str, str]) -> tuple[Block, Block]:
    """A search that the API itself made, with what it found: pairs of address and title."""
    id = _server_id("search", query)
    found = [
        {
            "type": "web_search_result", "url": url, "title": title, "page_age": None,
            "encrypted_content": hashlib.sha256(url.encode()).hexdigest(),
        }
        for url, title in pages
    ]  # fmt: skip
    use = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}
    return use, {"type": "web_search_tool_result", "tool_use_id": id, "content": found}


def fetched(url: str, words: str) -> tuple[Block, Block]:
    """A page that the API itself fetched."""
    id = _server_id("fetch", url)
    source = {"type": "text", "media_type": "text/plain", "data": words}
    page = {
        "type": "web_fetch_result", "url": url, "retrieved_at": None,
        "content": {"type": "document", "source": source, "title": None, "citations": None},
    }  # fmt: skip
    use = {"type": "server_tool_use", "id": id, "name": "web_fetch", "input": {"url": url}}
    return use, {"type": "web_fetch_tool_result", "tool_use_id": id, "content": page}


def compaction(summary: str | None) -> Block:
    """A compaction block; None is a compaction that failed."""
    return {"type": "compaction", "content": summary}


def say(words: str, **more: Any) -> Reply:
    """A reply of one text, ending the turn."""
    return Reply((text(words),), **more)


def call(name: str, arguments: Block, words: str = "", **more: Any) -> Reply:
    """A reply that calls one tool, after a word or two if given."""
    spoken = (text(words),) if words else ()
    return Reply((*spoken, tool_use(name, arguments)), **more)


def verdict(kind: str, note: str, **more: Any) -> Reply:
    """The audit's answer: the forced call of the `verdict` tool."""
    return Reply((tool_use("verdict", {"verdict": kind, "note": note, **more}),))


def refusal(category: str | None = None, explanation: str | None = None) -> Reply:
    """A reply stopped by the classifiers (`stop_reason: refusal`)."""
    details = {"type": "refusal", "category": category, "explanation": explanation}
    return Reply((), stop_reason="refusal", stop_details=details)


def role_of(request: Request) -> str:
    """`audit` for a forced `verdict`, another forced tool's own name, else `agent`."""
    choice = request.get("tool_choice") or {}
    if choice.get("type") != "tool":
        return "agent"
    name = str(choice.get("name"))
    return "audit" if name == "verdict" else name


def user_of(request: Request) -> str | None:
    """`metadata.user_id`, which a client sets to tell its conversations apart."""
    metadata = request.get("metadata") or {}
    user = metadata.get("user_id")
    return user if isinstance(user, str) else None


def conversation_key(request: Request) -> str:
    """Names a conversation: the hash of its first user text and of `metadata.user_id`."""
    named = f"{user_of(request) or ''}\n{first_user_text(request)}"
    return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:16]


def first_user_text(request: Request) -> str:
    """The text of the first user message ('' if it has none)."""
    for message in request.get("messages") or ():
        if message.get("role") == "user":
            return "\n".join(texts_of(message))
    return ""


def texts_of(message: Block) -> list[str]:
    """The texts of one message, tool results not included."""
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [b["text"] for b in content or () if b.get("type") == "text"]


def user_texts(request: Request) -> list[str]:
    """What people and the client itself said, in order, tool results not included."""
    messages = request.get("messages") or ()
    return [words for m in messages if m.get("role") == "user" for words in texts_of(m)]


def assistant_texts(request: Request) -> list[str]:
    """What the assistant said so far, in order."""
    messages = request.get("messages") or ()
    return [words for m in messages if m.get("role") == "assistant" for words in texts_of(m)]


def whole_text(request: Request) -> str:
    """Every text of a request, system prompt first, tool results included."""
    system = request.get("system") or ""
    parts = [system] if isinstance(system, str) else [b.get("text", "") for b in system]
    for message in request.get("messages") or ():
        parts += texts_of(message)
        parts += [result_text(b) for b in blocks_of(message) if b.get("type") == "tool_result"]
    return "\n".join(parts)


def blocks_of(message: Block) -> list[Block]:
    """The blocks of one message; a plain string has none."""
    content = message.get("content")
    return [] if content is None or isinstance(content, str) else list(content)


def result_text(block: Block) -> str:
    """The text of a `tool_result` block."""
    content = block.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") for b in content if b.get("type") == "text")


def calls_of(request: Request) -> list[Call]:
    """Every tool call of the transcript, in order, with its result."""
    results: dict[str, Block] = {}
    uses: list[Block] = []
    for message in request.get("messages") or ():
        for block in blocks_of(message):
            if block.get("type") == "tool_use":
                uses.append(block)
            elif block.get("type") == "tool_result":
                results[block["tool_use_id"]] = block
    return [_call(use, results.get(use["id"])) for use in uses]


def is_done(same: Iterable[Call], attempts: int) -> bool:
    """Whether one of these calls has a good result, or so many were made that it is given up."""
    made = list(same)
    good = [one for one in made if one.result is not None and not one.is_error]
    return bool(good) or len(made) >= attempts


def last_results(request: Request) -> list[Call]:
    """The calls whose results came in the last user message."""
    messages = request.get("messages") or ()
    if not messages:
        return []
    ids = {b.get("tool_use_id") for b in blocks_of(messages[-1]) if b.get("type") == "tool_result"}
    return [made for made in calls_of(request) if made.id in ids]


def assistant_messages(request: Request) -> int:
    """The number of assistant messages in the transcript."""
    return sum(1 for m in request.get("messages") or () if m.get("role") == "assistant")


def finished_turns(request: Request) -> int:
    """The number of assistant messages that called no tool, which is where turns end."""
    return sum(
        1
        for m in request.get("messages") or ()
        if m.get("role") == "assistant"
        and not any(b.get("type") in ("tool_use", "server_tool_use") for b in blocks_of(m))
    )


def offered(request: Request) -> frozenset[str]:
    """The names of the tools that the request offers."""
    return frozenset(t["name"] for t in request.get("tools") or () if "name" in t)


def linear(agent: list[Answer], audit: list[Answer] | None = None) -> Script:
    """A list per conversation; the last entry repeats.

    The agent's place in its list is the number of assistant messages it sent back, so a restarted
    client goes on where it was. An audit's place is counted per `metadata.user_id`.
    """

    def script(request: Request, number: int, memory: Memory) -> Answer:
        if role_of(request) == "agent":
            return agent[min(assistant_messages(request), len(agent) - 1)]
        answers = audit or [verdict("continue", "Go on.")]
        key = ("audits", user_of(request))
        place = int(memory.get(key, -1)) + 1
        memory[key] = place
        return answers[min(place, len(answers) - 1)]

    return script


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a rule-based script: every condition that is set must hold.

    `contains` is a regular expression over the whole text of the request, `last_result` one over
    the results in the last user message, `last_tool` the name of a tool answered there.
    """

    answer: Answer
    role: str | None = None
    assistant_messages: int | None = None
    turns: int | None = None
    contains: str | None = None
    last_result: str | None = None
    last_tool: str | None = None

    def holds(self, request: Request) -> bool:
        """Whether this line answers the request."""
        results = last_results(request)
        return (
            (self.role is None or self.role == role_of(request))
            and self.assistant_messages in (None, assistant_messages(request))
            and self.turns in (None, finished_turns(request))
            and (self.contains is None or _found(self.contains, whole_text(request)))
            and (
                self.last_result is None
                or any(_found(self.last_result, made.result or "") for made in results)
            )
            and (self.last_tool is None or any(made.name == self.last_tool for made in results))
        )


def rules(*lines: Rule) -> Script:
    """A stateless script: the first rule that holds answers; if none does, a 500 says so."""

    def script(request: Request, number: int, memory: Memory) -> Answer:
        for line in lines:
            if line.holds(request):
                return line.answer
        return Fault(status=500, message="The rehearsed script has no rule for this request.")

    return script


def _server_id(kind: str, of: str) -> str:
    return f"srvtoolu_{hashlib.sha256(f'{kind} {of}'.encode()).hexdigest()[:20]}"


def _call(use: Block, result: Block | None) -> Call:
    if result is None:
        return Call(use["name"], use["input"], use["id"])
    failed = bool(result.get("is_error"))
    return Call(use["name"], use["input"], use["id"], result_text(result), failed)


def _found(pattern: str, words: str) -> bool:
    return re.search(pattern, words, re.IGNORECASE | re.DOTALL) is not None
