"""
Parts that let no known secret value through: put around the ports, so that nobody has to remember it.

Rule 1: what tools give and what a reply says or asks of tools is redacted before it is kept: no
        file, row or later request holds a value that is known by then. Thinking, its signature and
        what servers sealed stay byte for byte, as the endpoint wants them back.
Rule 2: errors that pass are redacted in place: their texts reach people, rows and logs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final

from adapters.store.reading import Reading
from bot.errors import BadInput, HeadwayError
from bot.ports.model import Json, Model, ModelReply, ModelRequest
from bot.ports.sandbox import Access, Line, Outcome, Sandbox, Session
from bot.ports.web import Answer, Serve
from bot.ports.web import Request as Asked
from bot.redaction import Redactor
from scheduler.control import Answer as Answers
from scheduler.control import Request

if TYPE_CHECKING:
    from adapters.telemetry.listener import Route


OVERLAP: Final = 8192
"""Bytes that are looked at twice, so that no value hides where two pieces of a file meet."""


class DiscreetModel:
    """A model whose replies and errors hold no known secret."""

    def __init__(self, model: Model, redactor: Redactor) -> None:
        self._model, self._redactor = model, redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def call(
        self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None
    ) -> ModelReply:
        """As the model's."""
        with discreetly(self._redactor):
            reply = await self._model.call(request, on_text=on_text)
        content = tuple(self._block(block) for block in reply.content)
        return reply if content == reply.content else replace(reply, content=content)

    async def check(self) -> None:
        """As the model's."""
        with discreetly(self._redactor):
            await self._model.check()

    def _block(self, block: Json) -> Json:
        match block.get("type"):
            case "text":
                return {**block, "text": self._redactor.all(block.get("text"))}
            case "tool_use":
                return {**block, "input": self._redactor.all(block.get("input"))}
            case _:
                return block


class DiscreetSandbox:
    """A sandbox whose tools give no known secret."""

    def __init__(self, sandbox: Sandbox, redactor: Redactor) -> None:
        self._sandbox, self._redactor = sandbox, redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def open(self, workspace: str, access: Access, line: Line | None = None) -> Session:
        """As the sandbox's."""
        with discreetly(self._redactor):
            session = await self._sandbox.open(workspace, access, line)
        discreet: Any = _DiscreetSession(session, self._redactor)
        return discreet  # type: ignore[no-any-return]


class _DiscreetSession:
    def __init__(self, session: Session, redactor: Redactor) -> None:
        self._session, self._redactor = session, redactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def call(self, tool: str, args: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        """As the session's."""
        with discreetly(self._redactor):
            outcome = await self._session.call(tool, args, timeout_s=timeout_s)
        text = self._redactor.text(outcome.text)
        return outcome if text == outcome.text else replace(outcome, text=text)

    async def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        """As the session's. Raises BadInput, too, where a known secret's value is in the file."""
        before = b""
        async for piece in self._session.take(path, most=most):
            text = (before + piece).decode("utf-8", "replace")
            told = await asyncio.to_thread(self._redactor.text, text)
            if told != text:
                names = ", ".join(self._redactor.names_in(text))
                raise BadInput(f"A secret's value is in {path} ({names}). Take it out first.")
            before = piece[-OVERLAP:]
            yield piece


class DiscreetReads:
    """A part that only reads: what its methods return, awaited or not, holds no known secret."""

    def __init__(self, part: Any, redactor: Redactor) -> None:
        self._part, self._redactor = part, redactor

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._part, name)
        if not iscoroutinefunction(method):
            return method

        async def read(*args: Any, **kwargs: Any) -> Any:
            return self._redactor.all(await method(*args, **kwargs))

        return read


def discreet_reading(store: Reading, redactor: Redactor) -> Reading:
    """The store for reading, without known secrets in what is read."""
    parts: dict[str, Any] = {
        field.name: DiscreetReads(getattr(store, field.name), redactor)
        for field in fields(store)
        # Whoever asks for these needs the values themselves.
        if field.name not in ("secrets", "installs")
    }
    return replace(store, **parts)


def discreet_routes(routes: Mapping[str, "Route"], redactor: Redactor) -> dict[str, "Route"]:
    """What is served for machines, without known secrets."""

    def discreet(route: "Route") -> "Route":
        async def answered() -> Answer:
            return _discreet_answer(await route(), redactor)

        return answered

    return {path: discreet(route) for path, route in routes.items()}


def discreet_serve(serve: Serve, redactor: Redactor) -> Serve:
    """What a network is answered, without known secrets."""

    async def served(request: Asked) -> Answer:
        return _discreet_answer(await serve(request), redactor)

    return served


def discreet_answers(answer: Answers, redactor: Redactor) -> Answers:
    """Answers of the control socket without known secrets, its errors too."""

    async def discreet(request: Request) -> dict[str, Any]:
        with discreetly(redactor):
            return redactor.within(await answer(request))

    return discreet


@contextmanager
def discreetly(redactor: Redactor) -> Iterator[None]:
    """Errors of ours that pass tell no known secret."""
    try:
        yield
    except HeadwayError as error:
        error.args = redactor.all(error.args)
        raise


def _discreet_answer(answer: Answer, redactor: Redactor) -> Answer:
    text = answer.body.decode("utf-8", "surrogateescape")
    told = redactor.text(text)
    return answer if told == text else replace(answer, body=told.encode("utf-8", "surrogateescape"))
