"""A screen that joined a running Headway outlives it: it waits, says so, and goes on with the next one."""

import os
import pty
import re
import select
import signal
import time

import pytest

from tests.journeys.bot import COMMAND, Bot
from tests.journeys.conftest import Begin
from tests.peers.messages_api import ROOT, BlockingMessagesApi

pytestmark = pytest.mark.process
LONGEST_S = 40.0


class Screen:
    """A terminal with `headway chat` on it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.told = ""
        self._pid, self._screen = pty.fork()
        if self._pid == 0:
            os.chdir(ROOT)
            os.execvpe(COMMAND[0], [*COMMAND, "chat"], environment)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def until(self, words: str) -> None:
        end = time.monotonic() + LONGEST_S
        while words not in " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.told).split()):
            assert time.monotonic() < end, self.told[-3000:]
            ready, _, _ = select.select([self._screen], [], [], 0.2)
            if ready:
                self.told += os.read(self._screen, 65536).decode("utf-8", "replace")

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._screen)


def test_a_joined_screen_waits_for_the_next_headway(api: BlockingMessagesApi, begin: Begin) -> None:
    bot: Bot = begin(api)
    screen = Screen({**bot.env, "TERM": "xterm", "COLUMNS": "100"})
    try:
        screen.until("headway ›")
        bot.stop(signal.SIGKILL)
        screen.until("This screen waits until one runs")
        bot.start()
        screen.until("Headway is back")
        screen.type("/goal write it\r")
        screen.until("Complete · G1")
    finally:
        screen.close()
