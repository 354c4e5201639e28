"""What the real API refuses before its model sees anything: pure.

The rules follow the types of `anthropic` 2.14 (API version 2026-10-21) and the messages follow
those that people report from the real API; a client must not match on the wording. The messages
of a conversation are checked in `transcript.py`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from adapters.rehearsal.script import Block, Request
from adapters.rehearsal.transcript import check_messages

MAX_REQUEST_BYTES = 32 * 1024 * 1024  # platform.claude.com/docs/en/api/errors, Messages API
MAX_OUTPUT_TOKENS = 128_000
MAX_CACHE_BREAKPOINTS = 4
COMPACT_BETA = "compact-2026-01-12"
CONTEXT_BETAS = frozenset({COMPACT_BETA, "context-management-2025-06-27"})
MIN_COMPACTION_TRIGGER = 50_000
NO_SAMPLING_SINCE = "2026-10-21"  # temperature, top_p and top_k are refused from here on

_COUNTED = frozenset(
    {
        "messages",
        "model",
        "cache_control",
        "output_config",
        "speed",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
_PLAIN = _COUNTED | {
    "max_tokens",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
}
_BETA = frozenset(
    {
        "billing_policy",
        "compaction",
        "context_management",
        "fallback_credit_token",
        "fallbacks",
        "mcp_servers",
        "output_format",
        "thread",
    }
)
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_SERVER_TOOLS = {
    "web_search": frozenset({"20250305", "20260209", "20260318"}),
    "web_fetch": frozenset({"20250910", "20260209", "20260309", "20260318"}),
    "code_execution": frozenset({"20250522", "20250825", "20260120", "20260521"}),
}
"""Tools that the API runs itself, with their versions (SDK, `tool_union_param`)."""
_SERVER_FIELDS = frozenset(
    {"type", "name", "allowed_callers", "cache_control", "defer_loading", "strict"}
)
_WEB_FIELDS = frozenset({"allowed_domains", "blocked_domains", "max_uses", "response_inclusion"})
_FIELDS_OF = {
    "web_search": _WEB_FIELDS | {"user_location"},
    "web_fetch": _WEB_FIELDS | {"citations", "max_content_tokens", "url_sources", "use_cache"},
}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_BETA_NAME = re.compile(r"[a-z0-9-]+-\d{4}-\d{2}-\d{2}\Z")
# The models before 4.6 still take prefill, and have no compaction.
_BEFORE_46 = re.compile(r"claude-(2|3|instant|(opus|sonnet|haiku)-4(-[015])?(-\d{8})?\Z)")


class Refused(Exception):
    """The request is refused: `status`, the error's `type` and the message for its body."""

    def __init__(
        self, message: str, status: int = 400, error_type: str = "invalid_request_error"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_type = error_type


@dataclass(frozen=True, slots=True)
class Headers:
    """The request headers that change what is accepted."""

    version: str | None = None
    betas: frozenset[str] = frozenset()

    @property
    def may_compact(self) -> bool:
        """Whether compaction blocks and edits are understood."""
        return COMPACT_BETA in self.betas


def parse(body: bytes) -> Request:
    """The body as a JSON object.

    Raises: Refused for anything else, lone surrogates included (NUL is valid JSON).
    """
    try:
        words = body.decode("utf-8")
        request = json.loads(words, parse_constant=_no_constant)
        if b"\\ud" in body or b"\\uD" in body:
            json.dumps(request, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise Refused(f"The request body is not valid JSON: {error}") from error
    except UnicodeEncodeError as error:
        raise Refused(
            f"The request body is not valid JSON: no low surrogate in string: line 1 column "
            f"{error.start + 1} (char {error.start})"
        ) from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Refused(f"The request body is not valid JSON: {error}") from error
    if not isinstance(request, dict):
        raise Refused("Input should be a valid dictionary or object to extract fields from")
    return request


def check(request: Request, headers: Headers, *, counting: bool = False) -> None:
    """Check a request to /v1/messages, or to its token counter if `counting`.

    Raises: Refused.
    """
    _check_headers(headers)
    _check_fields(request, headers, counting)
    _check_limits(request, counting)
    _check_system(request.get("system"))
    tools = _check_tools(request.get("tools"))
    _check_choice(request.get("tool_choice"), tools)
    _check_thinking(request, counting)
    _check_context_management(request, headers)
    _check_breakpoints(request)
    problem = check_messages(
        request["messages"],
        may_compact=headers.may_compact,
        may_prefill=_BEFORE_46.match(request["model"]) is not None,
    )
    if problem:
        raise Refused(problem)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _check_headers(headers: Headers) -> None:
    if not headers.version:
        raise Refused("anthropic-version: header is required")
    unknown = [name for name in headers.betas if not _BETA_NAME.match(name)]
    if unknown:
        named = ", ".join(f"`{name}`" for name in sorted(unknown))
        raise Refused(f"Unexpected value(s) {named} for the `anthropic-beta` header.")


def _check_fields(request: Request, headers: Headers, counting: bool) -> None:
    known = _COUNTED if counting else _PLAIN
    if headers.betas:
        known = known | _BETA if not counting else known | {"context_management", "mcp_servers"}
    if (headers.version or "") < NO_SAMPLING_SINCE and not counting:
        known = known | _SAMPLING
    if not headers.betas & CONTEXT_BETAS:
        known = known - {"context_management"}
    for name in request:
        if name not in known:
            raise Refused(f"{name}: Extra inputs are not permitted")
    needed = ("model", "messages") if counting else ("model", "messages", "max_tokens")
    for name in needed:
        if name not in request:
            raise Refused(f"{name}: Field required")
    if not isinstance(request["model"], str) or not request["model"]:
        raise Refused("model: String should have at least 1 character")
    if not isinstance(request["messages"], list):
        raise Refused("messages: Input should be a valid list")


def _check_limits(request: Request, counting: bool) -> None:
    if counting:
        return
    most = request["max_tokens"]
    if not isinstance(most, int) or isinstance(most, bool):
        raise Refused("max_tokens: Input should be a valid integer")
    if most < 0 or (most == 0 and request.get("stream")):
        raise Refused("max_tokens: must be greater than or equal to 1")
    if most > MAX_OUTPUT_TOKENS:
        raise Refused(
            f"max_tokens: {most} > {MAX_OUTPUT_TOKENS}, which is the maximum allowed number of "
            f"output tokens for {request['model']}"
        )
    if not isinstance(request.get("stream", False), bool):
        raise Refused("stream: Input should be a valid boolean")
    metadata = request.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise Refused("metadata: Input should be an object")
    for name in metadata or ():
        if name != "user_id":
            raise Refused(f"metadata.{name}: Extra inputs are not permitted")


def _check_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise Refused("system: Input should be a valid list")
    for place, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise Refused(f"system.{place}.type: Input should be 'text'")
        if not isinstance(block.get("text"), str):
            raise Refused(f"system.{place}.text: Field required")
        if not block["text"]:
            raise Refused("system: text content blocks must be non-empty")


def _check_tools(tools: Any) -> frozenset[str]:
    if tools is None:
        return frozenset()
    if not isinstance(tools, list):
        raise Refused("tools: Input should be a valid list")
    names = [_tool_name(place, tool) for place, tool in enumerate(tools)]
    if len(set(names)) != len(names):
        raise Refused("tools: Tool names must be unique.")
    return frozenset(names)


def _tool_name(place: int, tool: Any) -> str:
    if not isinstance(tool, dict):
        raise Refused(f"tools.{place}: Input should be an object")
    kind = tool.get("type") or "custom"
    if kind != "custom":  # tools that the API defines: name fixed, no schema
        return _server_tool(place, kind, tool)
    for needed in ("name", "input_schema"):
        if needed not in tool:
            raise Refused(f"tools.{place}.custom.{needed}: Field required")
    if not isinstance(tool["name"], str) or not _TOOL_NAME.match(tool["name"]):
        raise Refused(
            f"tools.{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )
    schema = tool["input_schema"]
    if not isinstance(schema, dict):
        raise Refused(f"tools.{place}.custom.input_schema: Input should be an object")
    if schema.get("type") != "object":
        raise Refused(f"tools.{place}.custom.input_schema.type: Input should be 'object'")
    return tool["name"]


def _server_tool(place: int, kind: str, tool: Block) -> str:
    """The name of a tool that the API defines, held against its type where that is known here."""
    stem = next((name for name in _SERVER_TOOLS if kind.startswith(f"{name}_2")), None)
    if stem is None:
        return str(tool.get("name") or kind)
    if kind.removeprefix(f"{stem}_") not in _SERVER_TOOLS[stem]:
        raise Refused(
            f"tools.{place}: Input tag '{kind}' found using 'type' does not match any of the "
            "expected tags"
        )
    if tool.get("name") != stem:
        raise Refused(f"tools.{place}.{kind}.name: Input should be '{stem}'")
    for name in tool:
        if name not in _SERVER_FIELDS | _FIELDS_OF.get(stem, frozenset()):
            raise Refused(f"tools.{place}.{kind}.{name}: Extra inputs are not permitted")
    if "allowed_domains" in tool and "blocked_domains" in tool:
        raise Refused(f"tools.{place}.{kind}: only one of allowed_domains and blocked_domains")
    for domain in tool.get("allowed_domains") or ():
        if not isinstance(domain, str) or "://" in domain or not domain:
            raise Refused(f"tools.{place}.{kind}.allowed_domains: '{domain}' is no domain")
    uses = tool.get("max_uses", 1)
    if type(uses) is not int or uses < 1:
        raise Refused(f"tools.{place}.{kind}.max_uses: Input should be greater than 0")
    return stem


def _check_choice(choice: Any, tools: frozenset[str]) -> None:
    if choice is None:
        return
    if not isinstance(choice, dict) or choice.get("type") not in ("auto", "any", "tool", "none"):
        raise Refused(
            "tool_choice: Input tag found using 'type' does not match any of the expected tags: "
            "'auto', 'any', 'tool', 'none'"
        )
    kind = choice["type"]
    if kind == "tool" and not isinstance(choice.get("name"), str):
        raise Refused("tool_choice.tool.name: Field required")
    if kind != "none" and not tools:
        raise Refused(f"tool_choice.{kind}: may only be specified while providing tools")
    if kind == "tool" and choice["name"] not in tools:
        raise Refused(f"Tool '{choice['name']}' not found in provided tools")


def _check_thinking(request: Request, counting: bool) -> None:
    thinking = request.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("enabled", "disabled", "adaptive", "between_tools"):
        raise Refused(
            "thinking: Input tag found using 'type' does not match any of the expected tags: "
            "'enabled', 'disabled', 'adaptive', 'between_tools'"
        )
    choice = request.get("tool_choice") or {}
    if kind in ("enabled", "adaptive") and choice.get("type") in ("any", "tool"):
        raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
    if kind != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < 1024:
        raise Refused(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if not counting and request["max_tokens"] <= budget:
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _check_context_management(request: Request, headers: Headers) -> None:
    config = request.get("context_management")
    if config is None:
        return
    edits = config.get("edits", []) if isinstance(config, dict) else None
    if not isinstance(edits, list):
        raise Refused("context_management.edits: Input should be a valid list")
    for place, edit in enumerate(edits):
        kind = edit.get("type") if isinstance(edit, dict) else None
        if kind == "compact_20260112" and _BEFORE_46.match(request["model"]):
            raise Refused(f"compact_20260112 is not supported for {request['model']}")
        if kind == "compact_20260112" and headers.may_compact:
            _check_compaction(place, edit)
        elif kind not in ("clear_tool_uses_20250919", "clear_thinking_20251015"):
            raise Refused(
                f"context_management.edits.{place}: Input tag '{kind}' found using 'type' does "
                "not match any of the expected tags"
            )


def _check_compaction(place: int, edit: Block) -> None:
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 150_000}
    value = trigger.get("value") if isinstance(trigger, dict) else None
    if (
        not isinstance(trigger, dict)
        or trigger.get("type") != "input_tokens"
        or not isinstance(value, int)
    ):
        raise Refused(f"context_management.edits.{place}.trigger: Input should be 'input_tokens'")
    if value < MIN_COMPACTION_TRIGGER:
        raise Refused(
            f"context_management.edits.{place}.trigger.value: Input should be greater than or "
            f"equal to {MIN_COMPACTION_TRIGGER}"
        )


def _check_breakpoints(request: Request) -> None:
    found = 1 if request.get("cache_control") else 0
    for part in (request.get("tools"), request.get("system")):
        if isinstance(part, list):
            found += sum(1 for block in part if block.get("cache_control"))
    for message in request["messages"]:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            found += sum(1 for b in content if isinstance(b, dict) and b.get("cache_control"))
    if found > MAX_CACHE_BREAKPOINTS:
        raise Refused(
            f"A maximum of {MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {found}."
        )
