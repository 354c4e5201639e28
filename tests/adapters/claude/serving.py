"""The adapter over the rehearsed Messages API, with a clock that runs fast."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint import ClaudeModel
from adapters.rehearsal.script import Answer, Memory, Request, Script, say
from bot.ports.model import ModelRequest
from tests.adapters.claude.clocks import FastClock
from tests.peers.messages_api import KEY, MessagesApi, in_loop

MODEL = "claude-sonnet-4-6"


@asynccontextmanager
async def claude(api: MessagesApi, **more: Any) -> AsyncIterator[ClaudeModel]:
    """The adapter on a server; `endpoint` fields may be given by name, prefixed `endpoint_`."""
    fields = {name[9:]: more.pop(name) for name in list(more) if name.startswith("endpoint_")}
    endpoint = replace(Endpoint(base_url=api.url), **fields)
    given: dict[str, Any] = {"model": MODEL, "key": lambda: KEY, "clock": FastClock(200.0), **more}
    model = ClaudeModel(endpoint, **given)
    try:
        yield model
    finally:
        await model.aclose()


@asynccontextmanager
async def served(script: Script, **more: Any) -> AsyncIterator[tuple[MessagesApi, ClaudeModel]]:
    """A server playing `script`, and the adapter on it."""
    async with in_loop(script) as api, claude(api, **more) as model:
        yield api, model


def one_by_one(*answers: Answer) -> Script:
    """These answers, one a call, then "Done."."""
    left = list(answers)

    def script(request: Request, number: int, memory: Memory) -> Answer:
        return left.pop(0) if left else say("Done.")

    return script


def asked(words: str = "Do it.", **more: Any) -> ModelRequest:
    messages = ({"role": "user", "content": words},)
    return ModelRequest(**{"model": MODEL, "max_tokens": 500, "messages": messages, **more})
