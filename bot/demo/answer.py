"""What the person in the demo says: the objective, and the answer to the decision."""

import asyncio
import getpass
import sys
import time
import uuid
from typing import Final

from adapters.console.parse import SaidLine, room
from adapters.console.room import RoomFile
from bot.demo.screen import Screen
from bot.ports.chat import Incoming, Shape, Speaker

PAUSE_S: Final = 2.0
"""Before the demo answers by itself, so that the question can be read."""
YES: Final = "Yes, go ahead."
QUIT: Final = frozenset({"q", "quit", "exit"})


class Left(Exception):
    """The person ended the demo instead of answering."""


class Person:
    """The console's person: the system's user, who answers, or the demo in their place."""

    def __init__(self, file: RoomFile, thread: str, *, by_itself: bool) -> None:
        self.name = getpass.getuser()
        self._file, self._thread, self._by_itself = file, thread, by_itself

    def say(self, text: str) -> None:
        """Say something in the thread."""
        speaker = Speaker(self.name, self.name)
        message = Incoming(uuid.uuid4().hex, room(self._thread), speaker, text, time.time())
        self._file.append(SaidLine(message))

    async def answer(self, card: Shape, screen: Screen) -> None:
        """Answer a decision, in person or by itself, and show the answer.

        Raises:
            Left: the person said `q`, or their input ended.
        """
        if self._by_itself:
            screen.say("[dim]Nobody is asked here: the demo answers by itself.[/]")
            await asyncio.sleep(PAUSE_S)
            text = card.options[0] if card.options else YES
        else:
            text = await _typed(card)
        screen.said(self.name, text)
        self.say(text)


async def _typed(card: Shape) -> str:
    """What the person types, a number or words; asked again while it is empty."""
    most = len(card.options)
    numbers = f"1-{most}, or in words" if most else "in words"
    while True:
        sys.stdout.write(f"Your answer ({numbers}; q ends the demo): ")
        sys.stdout.flush()
        line = await _line()
        text = line.strip()
        if not line or text.lower() in QUIT:
            raise Left
        if text.isdecimal() and not 1 <= int(text) <= most:
            continue
        if text:
            return card.options[int(text) - 1] if text.isdecimal() else text


async def _line() -> str:
    """A line of standard input, without a thread that would outlive a Ctrl-C."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
