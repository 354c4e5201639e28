"""Parts that let no known value through."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from bot.errors import HeadwayError, ModelRefusesUs
from bot.goals.money import Usage
from bot.ports.model import Model, ModelReply, ModelRequest
from bot.ports.sandbox import Outcome, Sandbox
from bot.ports.web import Answer
from bot.redaction import Redactor
from bot.wiring.discreet import (
    DiscreetModel,
    DiscreetReads,
    DiscreetSandbox,
    discreet_answers,
    discreet_routes,
)

KEY = "planted-key"
MARK = "[secret api_key]"
REQUEST = ModelRequest("m", 10, ())
THINKING = {"type": "thinking", "thinking": f"the key is {KEY}", "signature": "c2lnbmVk"}


class _Model:
    def __init__(self, *content: Mapping[str, Any], error: Exception | None = None) -> None:
        self._content, self._error = content, error

    async def call(self, request: ModelRequest, *, on_text: Any = None) -> ModelReply:
        if self._error is not None:
            raise self._error
        return ModelReply(self._content, "end_turn", Usage(), "m")

    def has_compaction(self, model: str) -> bool:
        return model == "m"


def discreet(model: _Model) -> DiscreetModel:
    return DiscreetModel(cast(Model, model), Redactor({"api_key": KEY}))


async def test_a_replys_words_and_calls_are_redacted_and_what_is_signed_stays() -> None:
    model = _Model(
        THINKING,
        {"type": "text", "text": f"It is {KEY}.", "citations": None},
        {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": ["echo", KEY]}},
        {"type": "web_search_tool_result", "content": [{"encrypted_content": KEY}]},
    )

    reply = await discreet(model).call(REQUEST)

    assert reply.content == (
        THINKING,
        {"type": "text", "text": f"It is {MARK}.", "citations": None},
        {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": ["echo", MARK]}},
        {"type": "web_search_tool_result", "content": [{"encrypted_content": KEY}]},
    )


async def test_a_reply_without_a_secret_is_the_very_one_that_came() -> None:
    blocks = (THINKING, {"type": "text", "text": "Nothing."}, {"type": "tool_use", "input": None})

    reply = await discreet(_Model(*blocks)).call(REQUEST)

    assert all(mine is theirs for mine, theirs in zip(reply.content, blocks, strict=True))


async def test_an_error_that_passes_tells_no_secret() -> None:
    error = ModelRefusesUs(f"invalid x-api-key: {KEY}. Mend it.", kind="auth")

    with pytest.raises(ModelRefusesUs, match="invalid") as raised:
        await discreet(_Model(error=error)).call(REQUEST)

    assert str(raised.value) == f"invalid x-api-key: {MARK}. Mend it."
    assert raised.value.kind == "auth"


def test_all_else_is_the_models() -> None:
    assert discreet(_Model()).has_compaction("m")


class _Sandbox:
    name = "none"

    async def open(self, workspace: str, access: str, line: Any = None) -> "_Sandbox":
        return self

    async def call(self, tool: str, args: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        return Outcome(True, f"KEY={KEY}\nHOME=/", read={"a": "hash"}, exit_code=0)


async def test_what_a_tool_gives_is_redacted() -> None:
    sandbox = DiscreetSandbox(cast(Sandbox, _Sandbox()), Redactor({"api_key": KEY}))

    session = await sandbox.open("w", "workspace")
    outcome = await session.call("bash", {}, timeout_s=1)

    assert sandbox.name == "none"
    assert outcome == Outcome(True, f"KEY={MARK}\nHOME=/", read={"a": "hash"}, exit_code=0)
    assert replace(outcome, text="") == Outcome(True, "", read={"a": "hash"}, exit_code=0)


async def test_what_is_read_and_what_is_answered_hold_no_secret() -> None:
    class Part:
        async def rows(self, of: str) -> tuple[str, str]:
            return of, KEY

    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "fail":
            raise HeadwayError(f"No {KEY}.")
        return {"told": [KEY]}

    redactor = Redactor({"api_key": KEY})
    answers = discreet_answers(answer, redactor)

    assert await DiscreetReads(Part(), redactor).rows("x") == ("x", MARK)
    assert await answers({"do": "x"}) == {"told": [MARK]}
    with pytest.raises(HeadwayError, match=r"No \[secret api_key\]\."):
        await answers({"do": "fail"})


async def test_what_is_served_for_machines_holds_no_secret() -> None:
    async def health() -> Answer:
        return Answer(503, f'{{"why": "{KEY}"}}'.encode())

    async def fine() -> Answer:
        return fine_answer

    fine_answer = Answer(200, b"ok \xff", "text/plain")
    routes = discreet_routes({"/a": health, "/b": fine}, Redactor({"api_key": KEY}))

    assert await routes["/a"]() == Answer(503, f'{{"why": "{MARK}"}}'.encode())
    assert await routes["/b"]() is fine_answer
