"""Whoever owns the state folder answers a command; where nobody does, the command takes the folder."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bot.errors import AlreadyOwned, HeadwayError
from bot.settings import Settings
from scheduler.control import Request, ask_owner

Alone = Callable[[Settings, Request], Awaitable[dict[str, Any] | None]]
"""Answers with the folder taken. Raises AlreadyOwned where somebody has it."""

STARTING_S: Final = 10.0
"""How long an owner that does not answer yet may take: it starts, or it is a command, which ends soon."""
LOOK_S: Final = 0.1


async def answered(settings: Settings, request: Request, alone: Alone) -> dict[str, Any]:
    """The owner's answer, or that of `alone` where nobody owns the folder.

    Raises:
        HeadwayError: as the answer says, or the owner does not come to answer.
    """
    until = time.monotonic() + STARTING_S
    while True:
        answer = await ask_owner(settings.state_dir, request)
        if answer is not None:
            return answer
        try:
            answer = await alone(settings, request)
        except AlreadyOwned as error:
            if time.monotonic() > until:
                raise HeadwayError(
                    f"The Headway that owns {settings.state_dir} does not answer yet. "
                    "Try again in a moment."
                ) from error
            await asyncio.sleep(LOOK_S)
        else:
            assert answer is not None
            return answer
