"""What the tests here share: requests, and checks of answers against the SDK's own types."""

from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel, TypeAdapter

MODEL = "claude-sonnet-5"
GLOB = {"name": "glob", "description": "Finds files.", "input_schema": {"type": "object"}}
VERDICT = {"name": "verdict", "description": "The audit.", "input_schema": {"type": "object"}}
FORCED: dict[str, Any] = {"type": "tool", "name": "verdict"}


def asking(words: str = "Hello.", **more: Any) -> dict[str, Any]:
    """A small request, as keyword arguments for `messages.create`."""
    messages = [{"role": "user", "content": words}]
    return {"model": MODEL, "max_tokens": 1024, "messages": messages, **more}


async def all_of(stream: AsyncIterator[Any]) -> list[Any]:
    """Every event of a stream."""
    return [event async for event in stream]


def assert_valid(events: list[Any], union: Any) -> None:
    """Every event validates against the SDK's union, and has no field that it does not know."""
    adapter = TypeAdapter(union)
    for event in events:
        parsed = adapter.validate_python(event.model_dump(exclude_unset=True))
        assert_known(parsed)


def assert_known(model: BaseModel, where: str = "") -> None:
    """Neither this model nor one inside it has a field that its type does not declare."""
    name = f"{where}.{type(model).__name__}"
    assert not model.model_extra, f"{name} has unknown fields {model.model_extra}"
    for value in model.__dict__.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, BaseModel):
                assert_known(part, name)


def joined(events: list[Any], kind: str, name: str) -> str:
    """The deltas of one kind, put together."""
    deltas = [e.delta for e in events if e.type == "content_block_delta" and e.delta.type == kind]
    return "".join(getattr(delta, name) for delta in deltas)
