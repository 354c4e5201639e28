"""What other commands may ask of the process that owns the state folder."""

import getpass
import os
from collections.abc import Awaitable, Callable
from typing import Any

from adapters.console.connection import ConsoleChat
from bot.errors import HeadwayError
from bot.ports.chat import Speaker
from scheduler.control import Request


class Control:
    """What other commands may ask of the owner."""

    def __init__(self, console: ConsoleChat) -> None:
        self._console = console
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
                )
                return {"id": id}
            case {"do": "settle"}:
                if self.settle is not None:
                    await self.settle()
                return {}
            case _:
                raise HeadwayError("That request is unknown here: both must be of one version.")
