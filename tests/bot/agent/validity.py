"""What the Messages API takes of a conversation, held strictly, and by the rehearsed API's rules too."""

import json
from collections.abc import Sequence
from typing import Any

from adapters.rehearsal.transcript import check_messages
from bot.ports.model import Json


def assert_valid(messages: Sequence[Json]) -> None:
    """Fail with the first thing that is wrong."""
    sent = json.loads(json.dumps(list(messages)))
    json.dumps(sent, ensure_ascii=False).encode("utf-8")
    assert sent, "there is no message"
    assert sent[0]["role"] == "user", "the first message is not the user's"
    for place, message in enumerate(sent):
        _assert_message(sent, place, message)
    _assert_end(sent[-1])
    problem = check_messages(sent, may_compact=True, may_prefill=False)
    assert problem is None, problem


def _assert_message(sent: list[Any], place: int, message: Any) -> None:
    assert set(message) == {"role", "content"}
    assert message["content"], f"message {place} is empty"
    if place:
        assert message["role"] != sent[place - 1]["role"], f"message {place} repeats its role"
    for block in message["content"]:
        assert "_partial" not in block
        if block["type"] == "text":
            assert block["text"].strip(), f"message {place} has an empty text"
    if message["role"] == "user":
        before = sent[place - 1] if place else {"content": []}
        _assert_results(before, message, place)
    elif any(block["type"] == "tool_use" for block in message["content"]):
        assert place + 1 < len(sent), "the last message has open calls"


def _assert_results(before: Any, message: Any, place: int) -> None:
    uses = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
    kinds = [block["type"] == "tool_result" for block in message["content"]]
    results = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
    assert sorted(uses) == sorted(results), f"message {place}: {uses} got {results}"
    assert kinds == sorted(kinds, reverse=True), f"message {place}: results do not come first"
    for block in message["content"]:
        if block["type"] == "tool_result":
            assert block["content"], f"message {place} has an empty result"


def _assert_end(last: Any) -> None:
    if last["role"] == "assistant":
        kinds = {block["type"] for block in last["content"]}
        assert "server_tool_use" in kinds, "the conversation ends with a reply that is whole"
        assert "tool_use" not in kinds
