"""A `ModelRequest` as the arguments of the SDK's `messages.create`. Content passes through unread."""

from collections.abc import Iterable
from typing import Any, Final

from adapters.claude.cache_points import with_cache_points
from bot.ports.model import Json, ModelRequest

COMPACTION_BETA: Final = "compact-2026-01-12"
COMPACTION_EDIT: Final = "compact_20260112"
"""Names of the SDK's `beta_compact_20260112_edit_param` and `anthropic_beta_param`."""


def arguments(request: ModelRequest, *, model: str, may_compact: bool) -> dict[str, Any]:
    """What `create` is called with, `timeout` aside. With `betas` it is the beta's `create`.

    Args:
        request: the call.
        model: the model that is asked, which may be a fall-back of the request's own.
        may_compact: the model compacts by itself; the beta is asked for only then.
    """
    if request.is_cached:
        request = with_cache_points(request)
    given: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": list(request.messages),
        "stream": True,
    }
    if request.system:
        given["system"] = list(request.system)
    if request.tools:
        given["tools"] = list(request.tools)
    if request.tool_choice is not None:
        given["tool_choice"] = dict(request.tool_choice)
    if request.goal:
        given["metadata"] = {"user_id": request.goal}
    if request.container is not None:
        given["container"] = request.container
    if may_compact and request.compact_at is not None:
        trigger = {"type": "input_tokens", "value": request.compact_at}
        given["context_management"] = {"edits": [{"type": COMPACTION_EDIT, "trigger": trigger}]}
        given["betas"] = [COMPACTION_BETA]
    elif _holds_compaction(request.messages):
        # An earlier call compacted: without the beta its block is not understood.
        given["betas"] = [COMPACTION_BETA]
    return given


def _holds_compaction(messages: Iterable[Json]) -> bool:
    return any(
        block.get("type") == "compaction"
        for message in messages
        if message.get("role") == "assistant" and not isinstance(message.get("content"), str)
        for block in message.get("content") or ()
    )
