"""What other commands may ask of the process that owns the state folder."""

import getpass
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any

from adapters.console.connection import ConsoleChat
from bot.errors import HeadwayError
from bot.ports.chat import Attachment, Speaker
from bot.wiring.watch import Watch
from scheduler.control import Answer, Request

Desk = Callable[[Request], Awaitable[dict[str, Any] | None]]
"""Answers the requests that it knows, and any other with None."""


def with_desks(desks: Sequence[Desk], others: Answer) -> Answer:
    """Answers by the first desk that knows the request, else by `others`."""

    async def answer(request: Request) -> dict[str, Any]:
        for desk in desks:
            told = await desk(request)
            if told is not None:
                return told
        return await others(request)

    return answer


class Control:
    """What other commands may ask of the owner."""

    def __init__(self, console: ConsoleChat, watch: Watch) -> None:
        self._console = console
        self._watch = watch
        self.settle: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, request: Request) -> dict[str, Any]:
        match request:
            case {"do": "ping"}:
                return {"pid": os.getpid()}
            case {"do": "say", "text": str(text)}:
                who = str(request.get("speaker") or getpass.getuser())
                id = await self._console.say(
                    Speaker(who, who),
                    text,
                    str(request.get("thread", "")),
                    str(request.get("reply_to", "")),
                    tuple(Attachment(**file) for file in request.get("files", ())),
                )
                return {"id": id}
            case {"do": "attach", "path": str(path)} if self._console.shelf is not None:
                return asdict(await self._console.shelf.attach(path))
            case {"do": "remove", "id": str(id)}:
                who = str(request.get("speaker") or getpass.getuser())
                thread = str(request.get("thread", ""))
                await self._console.remove(Speaker(who, who), id, thread)
                return {}
            case {"do": "status"}:
                return await self._watch.status()
            case {"do": "settle"}:
                if self.settle is not None:
                    await self.settle()
                return {}
            case _:
                raise HeadwayError("That request is unknown here: both must be of one version.")
