"""
What every `Model` must do, whoever stands behind it.

A test class of an implementation inherits `ModelContract` and gives the fixture `play`, which makes
a model that answers with the given `Scene`s, one a call, and then with "Done.".
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from bot.errors import BadRequest, ModelBusy, ModelRefusesUs
from bot.goals.money import Usage
from bot.ports.model import Json, Model, ModelReply, ModelRequest

Broken = Literal["bad_request", "auth", "lost"]


@dataclass(frozen=True)
class Scene:
    """One answer: content blocks, or what goes wrong instead."""

    content: tuple[Json, ...] = ()
    stop_reason: str | None = None
    broken: Broken | None = None
    stop_details: Json | None = None
    cut: float | None = None


@dataclass(frozen=True)
class Stage:
    """A model, and the operator's hand that mends what was refused."""

    model: Model
    mend: Callable[[], Any]


Play = Callable[..., AbstractAsyncContextManager[Stage]]

TEXT: Json = {"type": "text", "text": "Looking at the file, then at the tests."}
CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.txt"}}

TOOL: Json = {
    "name": "read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}


def request(words: str = "Do it.", **more: Any) -> ModelRequest:
    messages = ({"role": "user", "content": words},)
    given: dict[str, Any] = {"model": "claude-sonnet-4-6", "max_tokens": 1000, "tools": (TOOL,)}
    return ModelRequest(messages=messages, **{**given, **more})


def text_of(reply: ModelReply) -> str:
    return "".join(block["text"] for block in reply.content if block["type"] == "text")


class ModelContract:
    """The promises of the port."""

    async def test_a_reply_holds_its_blocks_in_order(self, play: Play) -> None:
        async with play(Scene((TEXT, CALL))) as stage:
            reply = await stage.model.call(request())

        assert [block["type"] for block in reply.content] == ["text", "tool_use"]
        assert reply.content[0]["text"] == TEXT["text"]
        assert reply.content[1]["input"] == {"path": "a.txt"}
        assert reply.stop_reason == "tool_use"

    async def test_a_reply_says_what_it_used(self, play: Play) -> None:
        async with play(Scene((TEXT,))) as stage:
            reply = await stage.model.call(request())

        assert isinstance(reply.usage, Usage)
        assert reply.usage.tokens > 0
        assert reply.usage.output > 0
        assert reply.model

    async def test_visible_text_is_told_as_it_comes_and_nothing_else(self, play: Play) -> None:
        told: list[str] = []

        async with play(Scene((TEXT, CALL))) as stage:
            reply = await stage.model.call(request(), on_text=told.append)

        assert "".join(told) == text_of(reply)

    @pytest.mark.parametrize(
        "reason",
        ["end_turn", "max_tokens", "pause_turn", "refusal", "model_context_window_exceeded"],
    )
    async def test_a_stop_reason_comes_through(self, play: Play, reason: str) -> None:
        async with play(Scene((TEXT,), stop_reason=reason)) as stage:
            reply = await stage.model.call(request())

        assert reply.stop_reason == reason

    async def test_a_bad_request_is_told_to_its_caller(self, play: Play) -> None:
        async with play(Scene(broken="bad_request")) as stage:
            with pytest.raises(BadRequest) as caught:
                await stage.model.call(request())
            after = await stage.model.call(request())

        assert caught.value.kind == "invalid_request"
        assert text_of(after) == "Done."

    async def test_a_lost_reply_is_told_to_its_caller_and_may_have_been_served(
        self, play: Play
    ) -> None:
        async with play(Scene((TEXT,), broken="lost")) as stage:
            with pytest.raises(ModelBusy) as caught:
                await stage.model.call(request())
            after = await stage.model.call(request())

        assert caught.value.maybe_served
        assert text_of(after) == "Done."

    async def test_a_refused_key_is_waited_out(self, play: Play) -> None:
        async with play(Scene(broken="auth")) as stage:
            call = asyncio.create_task(stage.model.call(request()))
            await asyncio.sleep(0.1)
            waited = not call.done()
            await stage.mend()
            reply = await asyncio.wait_for(call, 10)

        assert waited
        assert text_of(reply) == "Done."

    async def test_a_check_tells_a_refused_key_at_once(self, play: Play) -> None:
        async with play(Scene(broken="auth")) as stage:
            with pytest.raises(ModelRefusesUs) as caught:
                await stage.model.check()

        assert caught.value.kind == "auth"

    async def test_a_check_of_a_good_endpoint_says_nothing(self, play: Play) -> None:
        async with play() as stage:
            await stage.model.check()

    async def test_a_cancelled_call_leaves_the_model_usable(self, play: Play) -> None:
        async with play(Scene((TEXT,)), Scene((TEXT,))) as stage:
            call = asyncio.create_task(stage.model.call(request()))
            await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            reply = await stage.model.call(request())

        assert reply.content
