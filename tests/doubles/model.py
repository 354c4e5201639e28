"""
A model in memory: plays what a test wrote, in order, and remembers what it was asked.

It keeps the port's promises and knows nothing of HTTP. Errors of the operator's class are waited
out until `mend` is called, as the real one waits for the key.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from bot.errors import ModelRefusesUs
from bot.goals.money import Price, Usage
from bot.ports.model import Json, ModelReply, ModelRequest

Answer = ModelReply | Exception
Script = Iterable[Answer] | Callable[[ModelRequest], Answer]

PRICE = Price(
    input=3_000, cache_write_5m=3_750, cache_write_1h=6_000, cache_read=300, output=15_000
)


class ScriptedModel:
    """The port `Model`, from a list of answers or a function of the request."""

    def __init__(
        self,
        script: Script,
        *,
        price: Price | None = PRICE,
        compacting: Iterable[str] = (),
    ) -> None:
        self._next = script if callable(script) else _one_by_one(script)
        self._price = price
        self._compacting = frozenset(compacting)
        self._mended = asyncio.Event()
        self.requests: list[ModelRequest] = []

    async def call(
        self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None
    ) -> ModelReply:
        while True:
            self.requests.append(request)
            # A real one always lets others run in between.
            await asyncio.sleep(0)
            answer = self._next(request)
            if isinstance(answer, ModelRefusesUs):
                await self._mended.wait()
                continue
            if isinstance(answer, Exception):
                raise answer
            _say(answer, on_text)
            return answer

    def withdraw(self, goal: str) -> None:
        """Nothing waits here but for the operator."""

    async def check(self) -> None:
        request = ModelRequest("double", 1, ({"role": "user", "content": "ping"},))
        answer = self._next(request)
        if isinstance(answer, Exception):
            raise answer

    def price(self, model: str, *, prompt_tokens: int = 0) -> Price | None:
        return self._price

    def has_compaction(self, model: str) -> bool:
        return model in self._compacting

    def mend(self) -> None:
        """Let the calls go on that wait for the operator."""
        self._mended.set()


def reply(
    *content: Json, stop_reason: str | None = None, usage: Usage | None = None, **more: Any
) -> ModelReply:
    """A reply of these blocks; `tool_use` among them makes it the stop reason."""
    called = any(block.get("type") == "tool_use" for block in content)
    return ModelReply(
        content=content,
        stop_reason=stop_reason or ("tool_use" if called else "end_turn"),
        usage=usage or Usage(input=100, output=20),
        model=more.pop("model", "double"),
        **more,
    )


def says(text: str, **more: Any) -> ModelReply:
    """A reply of one text."""
    return reply({"type": "text", "text": text}, **more)


def calls(name: str, arguments: Json, *, id: str = "toolu_1", **more: Any) -> ModelReply:
    """A reply that calls one tool."""
    return reply({"type": "tool_use", "id": id, "name": name, "input": arguments}, **more)


def _one_by_one(script: Iterable[Answer]) -> Callable[[ModelRequest], Answer]:
    answers = iter(script)

    def following(_: ModelRequest) -> Answer:
        answer = next(answers, None)
        if answer is None:
            raise AssertionError("The script has no answer left for this call.")
        return answer

    return following


def _say(answer: ModelReply, on_text: Callable[[str], None] | None) -> None:
    for block in answer.content:
        if on_text is not None and block.get("type") == "text":
            on_text(block["text"])
