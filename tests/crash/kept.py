"""A bot that is started again whenever it was killed, as whatever runs it does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.journeys.bot import Bot


@contextmanager
def kept_alive(bot: Bot) -> Iterator[list[int]]:
    """The bot, started again by itself whenever it was killed; yields how it ended each time."""
    deaths: list[int] = []
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.05):
            process = bot.process
            if process is not None and (code := process.poll()) not in (None, 0):
                deaths.append(code)
                # It may be killed again before it answers anybody.
                with suppress(AssertionError):
                    Bot.start(bot)

    bot.start()
    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield deaths
    finally:
        over.set()
        keeper.join()
        bot.end()
