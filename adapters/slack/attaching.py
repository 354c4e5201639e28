"""
Messages with the files that came with them.

Rule 1: nothing is fetched of whoever is not heard.
Rule 2: a file that does not come keeps no message back: the message says why it is not there.
Rule 3: a message is told of several times, as a mention and when Slack sends it again; its files are
        fetched once, and whoever asks meanwhile waits for the same ones.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from adapters.slack.calling import Json
from adapters.slack.errors import cause
from adapters.slack.media import described
from bot.errors import HeadwayError, StoreUnusable, Wait
from bot.ports.chat import Attachment, Incoming, Place, Speaker
from bot.ports.clock import Clock

log = logging.getLogger(__name__)

TRIES: Final = 3
PAUSE_S: Final = 2.0
LONGEST_S: Final = 30.0
FETCH_S: Final = 120.0
"""For all tries of all files of a message together: what is said after it waits."""
AT_ONCE: Final = 4
MOST: Final = 20
"""Files of one message."""
KEPT: Final = 500
"""Messages whose files are remembered, for when they are told of again."""
GOOD_S: Final = 1800.0
"""What was fetched before and is named by nothing may soon be deleted: it is fetched anew."""

Fetch = Callable[[str, Json], Awaitable[Attachment]]
"""(workspace, file): as `Media.fetch`."""
IsHeard = Callable[[Place, Speaker], Awaitable[bool]]
Unfetched = Callable[[str, str], str]
"""(name, why) as a note in the message's text."""
Given = tuple[tuple[Attachment, ...], tuple[str, ...]]


class Attaching:
    """Fetches on behalf of messages; close it, so that nothing of it goes on."""

    def __init__(
        self, fetch: Fetch, clock: Clock, *, is_heard: IsHeard, unfetched: Unfetched
    ) -> None:
        self._fetch, self._clock = fetch, clock
        self._is_heard, self._unfetched = is_heard, unfetched
        self._given: OrderedDict[str, tuple[float, asyncio.Task[Given]]] = OrderedDict()
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def with_files(self, message: Incoming, files: Sequence[Json]) -> Incoming:
        """The message with its files, and with a note of each that did not come.

        Raises:
            HeadwayError: whether they are heard cannot be asked at the moment.
        """
        if not files or not await self._is_heard(message.place, message.speaker):
            return message
        task = self._task(message, files)
        # Who gives up waiting takes them from nobody else.
        attached, notes = await asyncio.shield(task)
        text = "\n\n".join(filter(None, (message.text, "\n".join(notes))))
        return replace(message, text=text, files=(*message.files, *attached))

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = [task for _, task in self._given.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, message: Incoming, files: Sequence[Json]) -> "asyncio.Task[Given]":
        now = self._clock.now()
        at, task = self._given.get(message.id, (0.0, None))
        if task is None or task.cancelled() or now - at > GOOD_S:
            name = f"files of {message.id}"
            task = asyncio.create_task(self._all(message, files), name=name)
            self._given[message.id] = now, task
            self._forget()
        return task

    async def _all(self, message: Incoming, files: Sequence[Json]) -> Given:
        until = self._clock.now() + FETCH_S
        come = await asyncio.gather(*(self._one(message, file, until) for file in files[:MOST]))
        notes = [one for one in come if isinstance(one, str)]
        notes += [self._note(file, f"More than {MOST} came at once.") for file in files[MOST:]]
        return tuple(one for one in come if isinstance(one, Attachment)), tuple(notes)

    async def _one(self, message: Incoming, file: Json, until: float) -> Attachment | str:
        try:
            async with self._turns, asyncio.timeout(max(until - self._clock.now(), 0.0)):
                return await self._tried(message.place.workspace, file)
        except (HeadwayError, TimeoutError) as error:
            log.warning("A file of %s cannot be fetched: %s", message.id, error)
            why = cause(error) if isinstance(error, HeadwayError) else ""
            return self._note(file, why or f"It took more than {FETCH_S:.0f} s.")

    async def _tried(self, workspace: str, file: Json) -> Attachment:
        failures = 0
        while True:
            try:
                return await self._fetch(workspace, file)
            except (Wait, StoreUnusable) as error:
                failures += 1
                if failures >= TRIES:
                    raise
                asked_s = error.retry_after_s if isinstance(error, Wait) else None
                await self._clock.sleep(min(asked_s or PAUSE_S * failures, LONGEST_S))

    def _note(self, file: Json, why: str) -> str:
        return self._unfetched(described(file).name, why)

    def _forget(self) -> None:
        for id in list(self._given)[: max(len(self._given) - KEPT, 0)]:
            if self._given[id][1].done():
                del self._given[id]
