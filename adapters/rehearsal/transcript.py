"""What the real API refuses in the messages of a conversation: pure.

Everything here answers the first problem found as a sentence, or None. Consecutive messages of
one role are merged before calls and results are paired, as the real API does.
"""

from collections.abc import Iterator
from typing import Any

from adapters.rehearsal.script import Block
from adapters.rehearsal.signing import is_signed

_ALLOWED: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset(
        {"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}
    ),
    "tool_result": frozenset(
        {"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}
    ),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "cache_control", "citations", "context", "title"}),
    "compaction": frozenset(
        {"type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"}
    ),
}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "image": ("source",),
    "document": ("source",),
}
_SERVER_BLOCKS = frozenset(
    {
        "search_result",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "container_upload",
        "mcp_tool_use",
        "mcp_tool_result",
    }
)
_USER_ONLY = frozenset({"tool_result", "image", "document"})
_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})
_RESULT_PARTS = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)

Placed = tuple[int, int, Block]  # message index, block index, block


def check_messages(messages: list[Any], *, may_compact: bool, may_prefill: bool) -> str | None:
    """The first thing wrong with the messages of a request, or None."""
    if not messages:
        return "messages: at least one message is required"
    for place, message in enumerate(messages):
        problem = _message_problem(place, message, len(messages), may_compact)
        if problem:
            return problem
    if messages[0]["role"] != "user" and not _is_compacted(messages[0]):
        return 'messages: first message must use the "user" role'
    return _pairing_problem(messages) or _ending_problem(messages[-1], may_prefill)


def _message_problem(place: int, message: Any, count: int, may_compact: bool) -> str | None:
    if not isinstance(message, dict):
        return f"messages.{place}: Input should be an object"
    for name in message:
        if name not in ("role", "content"):
            return f"messages.{place}.{name}: Extra inputs are not permitted"
    for name in ("role", "content"):
        if name not in message:
            return f"messages.{place}.{name}: Field required"
    if message["role"] not in ("user", "assistant", "system"):
        return (
            f'messages.{place}: Unexpected role "{message["role"]}". Allowed roles are "user", '
            '"assistant" and "system"'
        )
    content = message["content"]
    if not isinstance(content, str | list):
        return f"messages.{place}.content: Input should be a valid list"
    if not content and not (place == count - 1 and message["role"] == "assistant"):
        return (
            f"messages.{place}: all messages must have non-empty content except for the optional "
            "final assistant message"
        )
    if isinstance(content, str):
        return _text_problem(content) if content else None
    for at, block in enumerate(content):
        problem = _block_problem(
            f"messages.{place}.content.{at}", block, message["role"], may_compact
        )
        if problem:
            return problem
    return None


def _block_problem(where: str, block: Any, role: str, may_compact: bool) -> str | None:
    kind = str(block.get("type")) if isinstance(block, dict) else "None"
    known = kind in _ALLOWED or kind in _SERVER_BLOCKS
    if not known or (kind == "compaction" and not may_compact):
        return (
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected "
            "tags: " + ", ".join(f"'{name}'" for name in sorted(_ALLOWED))
        )
    if role == "system" and kind != "text":
        return f"{where}: only text blocks are allowed in a system message"
    if role == "user" and kind in _ASSISTANT_ONLY:
        return f"{where}: `{kind}` blocks can only be in `assistant` messages"
    if role == "assistant" and kind in _USER_ONLY:
        return f"{where}: `{kind}` blocks can only be in `user` messages"
    for name in _REQUIRED.get(kind, ()):
        if name not in block:
            return f"{where}.{kind}.{name}: Field required"
    for name in block:
        if kind in _ALLOWED and name not in _ALLOWED[kind]:
            return f"{where}.{kind}.{name}: Extra inputs are not permitted"
    return _content_problem(where, block)


def _content_problem(where: str, block: Block) -> str | None:
    match block["type"]:
        case "text":
            return _text_problem(block["text"])
        case "thinking":
            if not is_signed("thinking", str(block["thinking"]), block["signature"]):
                return f"{where}: Invalid `signature` in `thinking` block"
        case "compaction":
            return _compaction_problem(where, block)
        case "tool_use":
            if not isinstance(block["input"], dict):
                return f"{where}.tool_use.input: Input should be a valid dictionary"
            if not isinstance(block["id"], str) or not block["id"]:
                return f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        case "tool_result":
            return _result_problem(where, block)
        case _:
            pass
    return None


def _text_problem(words: Any) -> str | None:
    if not isinstance(words, str):
        return "messages: text: Input should be a valid string"
    if not words:
        return "messages: text content blocks must be non-empty"
    if not words.strip():
        return "messages: text content blocks must contain non-whitespace text"
    return None


def _compaction_problem(where: str, block: Block) -> str | None:
    summary = block.get("content")
    if summary == "":
        return f"{where}.compaction.content: String should have at least 1 character"
    sealed = block.get("encrypted_content")
    if sealed is not None and not is_signed("compaction", summary or "", sealed):
        return f"{where}: `encrypted_content` does not belong to this `compaction` block"
    return None


def _result_problem(where: str, block: Block) -> str | None:
    if not isinstance(block["tool_use_id"], str):
        return f"{where}.tool_result.tool_use_id: Input should be a valid string"
    content = block.get("content")
    if block.get("is_error") and not content:
        return f"{where}.tool_result: content cannot be empty if `is_error` is true"
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return f"{where}.tool_result.content: Input should be a valid list"
    for at, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _RESULT_PARTS:
            return (
                f"{where}.tool_result.content.{at}: Input tag '{kind}' found using 'type' does "
                "not match any of the expected tags"
            )
        problem = _text_problem(part.get("text")) if kind == "text" else None
        if problem:
            return problem
    return None


def _pairing_problem(messages: list[Block]) -> str | None:
    waiting: list[tuple[int, str]] = []
    seen: set[str] = set()
    for role, blocks in _merged(messages):
        if role == "assistant":
            if waiting:
                return _unanswered(waiting)
            problem, waiting = _uses(blocks, seen)
        elif role == "user":
            problem, waiting = _answers(blocks, waiting)
        else:
            problem = None
        if problem:
            return problem
    return _unanswered(waiting) if waiting else None


def _merged(messages: list[Block]) -> Iterator[tuple[str, list[Placed]]]:
    role, blocks = "", list[Placed]()
    for place, message in enumerate(messages):
        if message["role"] != role and role:
            yield role, blocks
            blocks = []
        role = message["role"]
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [(place, at, block) for at, block in enumerate(listed)]
    yield role, blocks


def _uses(blocks: list[Placed], seen: set[str]) -> tuple[str | None, list[tuple[int, str]]]:
    waiting = []
    for place, at, block in blocks:
        if block["type"] != "tool_use":
            continue
        if block["id"] in seen:
            return f"messages.{place}.content.{at}: `tool_use` ids must be unique", []
        seen.add(block["id"])
        waiting.append((place, block["id"]))
    return None, waiting


def _answers(
    blocks: list[Placed], waiting: list[tuple[int, str]]
) -> tuple[str | None, list[tuple[int, str]]]:
    open_ids = {id for _, id in waiting}
    answered: set[str] = set()
    others = False
    for place, at, block in blocks:
        if block["type"] != "tool_result":
            others = True
            continue
        id = block["tool_use_id"]
        if id in answered:
            return (
                f"messages.{place}.content.{at}: each tool_use must have a single result. Found "
                f"multiple `tool_result` blocks with id: {id}"
            ), []
        if id not in open_ids:
            return (
                f"messages.{place}.content.{at}: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            ), []
        if others:
            return _unanswered(waiting), []
        answered.add(id)
    missing = [(place, id) for place, id in waiting if id not in answered]
    return (_unanswered(missing) if missing else None), []


def _unanswered(waiting: list[tuple[int, str]]) -> str:
    ids = ", ".join(id for _, id in waiting)
    return (
        f"messages.{waiting[0][0]}: `tool_use` ids were found without `tool_result` blocks "
        f"immediately after: {ids}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def _ending_problem(last: Block, may_prefill: bool) -> str | None:
    if last["role"] != "assistant" or _is_paused(last) or _is_compacted(last):
        return None
    if not may_prefill:
        return (
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
    content = last["content"]
    words = content if isinstance(content, str) else content[-1].get("text") if content else ""
    if words and words != words.rstrip():
        return "messages: final assistant content cannot end with trailing whitespace"
    return None


def _is_paused(message: Block) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(b["type"] == "server_tool_use" for b in content)


def _is_compacted(message: Block) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(b["type"] == "compaction" for b in content)
