"""
Forgets people who are to be forgotten, and what has been kept long enough.

Rule 1: who is to be forgotten is a row until all of it is done; whatever ends the work in between, the
        next sweep begins again and finds what is left.
Rule 2: a person's live goals end first, and nothing is blanked while a worker may still write for one.
Rule 3: the texts go in small transactions, the name last, and then every copy of the bytes.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bot.errors import HeadwayError, IllegalMove, Refused
from bot.goals.events import Cancelled
from bot.goals.instructions import Instruction
from bot.ports.forgetting import (
    Counts,
    Forgetting,
    Kept,
    Retention,
    Scrub,
    Step,
    Traces,
    Trail,
    Wanted,
)
from bot.ports.journal import Journal, Unit

log = logging.getLogger(__name__)

SWEEP_S: Final = 2.0
TIDY_S: Final = 86_400.0
TIDY_FIRST_S: Final = 60.0
"""After a start: a process that is started daily tidies, too."""
RESTS_S: Final = 20.0
"""How long a person's goals may take to come to rest before their texts are taken all the same."""
PASSES: Final = 5
POSTED_S: Final = 0.3
"""So long a post that was made of a text may take to be where it goes."""
LOOK_S: Final = 0.1

Told = Callable[[Step], None]


def _untold(step: Step) -> None:
    return


async def _nothing() -> None:
    return


class Workspaces(Protocol):
    """The folders of the goals, in this machine."""

    async def names(self) -> tuple[str, ...]:
        """Of all that there are."""

    async def remove(self, name: str) -> None:
        """Remove one."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What forgetting works with."""

    journal: Journal
    forgetting: Forgetting
    retention: Retention
    scrub: Scrub
    workspaces: Workspaces
    traces: Sequence[Traces]
    wake: Callable[[str, Sequence[Instruction]], None] = lambda goal, asked: None
    forget_cached: Callable[[], Awaitable[None]] = _nothing
    """Drops the texts and names that are kept in memory."""


class Forgetter:
    """One at a time: sweeps, commands and tidying wait for each other."""

    def __init__(self, parts: Parts, *, texts_days: float, workspaces_days: float) -> None:
        self._parts = parts
        self._texts_days = texts_days
        self._workspaces_days = workspaces_days
        self._turn = asyncio.Lock()

    async def sweep(self) -> None:
        """Forget whoever is to be forgotten by now; what cannot be done waits for the next sweep."""
        async with self._turn:
            try:
                wanted = await self._parts.forgetting.wanted()
                for one in wanted:
                    await self._forget(one, _untold)
                if wanted:
                    await self._finish([one.person for one in wanted])
            except HeadwayError as error:
                log.info("Forgetting goes on later: %s", error)

    async def forget(self, wanted: Wanted, told: Told = _untold) -> Counts:
        """Forget one person now; `told` hears of each step.

        Raises:
            KeyError: nobody has that id.
            StoreBusy, StoreUnusable: what is left is done by the next sweep.
        """
        async with self._turn:
            await self._parts.forgetting.want(wanted)
            counts = await self._forget(wanted, told)
            await self._finish([wanted.person])
            return counts

    async def preview(self, wanted: Wanted) -> Counts:
        """What forgetting them would take, by kind; nothing is changed. Raises KeyError."""
        parts = self._parts
        trail = await parts.forgetting.trail(wanted.person)
        counts: Counter[str] = Counter(live=len(trail.live), goal=len(trail.goals))
        async for step in parts.forgetting.texts(trail, wanted, is_dry=True):
            counts[step.kind] += step.count
        _add(counts, await self._traces(trail, is_dry=True))
        async for step in parts.forgetting.name(trail, is_dry=True):
            counts[step.kind] += step.count
        return +counts

    async def tidy(self) -> None:
        """Take away what has been kept long enough, as the rooms and the settings say."""
        kept = (Kept(self._texts_days), Kept(self._workspaces_days))
        async with self._turn:
            try:
                counts = await self._old(*kept, _untold)
            except HeadwayError as error:
                log.info("Tidying goes on later: %s", error)
                return
        if counts:
            log.info("Kept long enough and taken away: %s", dict(counts))

    async def take_older(
        self, days: float, room: str = "", told: Told = _untold, *, is_dry: bool = False
    ) -> Counts:
        """Take away all that ended longer ago, whatever rooms say; then every copy of the bytes."""
        kept = Kept(days, room, is_forced=True)
        async with self._turn:
            counts = await self._old(kept, kept, told, is_dry=is_dry)
            if counts and not is_dry:
                await self._parts.forget_cached()
                await self._parts.scrub()
        return counts

    async def _forget(self, wanted: Wanted, told: Told) -> Counts:
        parts, counts = self._parts, Counter[str]()

        def note(steps: Iterable[Step]) -> None:
            for step in steps:
                counts[step.kind] += step.count
                told(step)

        trail = await parts.forgetting.trail(wanted.person)
        note(await self._end_goals(trail))
        for _ in range(PASSES):
            before = counts.total()
            note(await self._traces(trail))
            async for step in parts.forgetting.texts(trail, wanted):
                note([step])
            if counts.total() == before and not await parts.forgetting.at_work(trail.goals):
                break
        # What was being posted meanwhile; with the texts gone nothing more can be.
        await asyncio.sleep(POSTED_S if trail.live else 0)
        note(await self._traces(trail))
        async for step in parts.forgetting.name(trail):
            note([step])
        log.warning("A person was forgotten: %s", dict(counts))
        return +counts

    async def _finish(self, persons: Sequence[str]) -> None:
        """Leave no copy of the bytes; only then is it done."""
        await self._parts.forget_cached()
        await self._parts.scrub()
        for person in persons:
            await self._parts.forgetting.done(person)

    async def _end_goals(self, trail: Trail) -> list[Step]:
        """Cancel their live goals, and wait until nobody works at any."""
        parts, ended = self._parts, 0
        for goal in trail.live:
            try:
                applied = await parts.journal.commit(
                    Unit(goal, (Cancelled(trail.person.id),), urgent=True)
                )
            except (IllegalMove, Refused):
                continue
            parts.wake(goal, applied.instructions)
            ended += 1
        for _ in range(int(RESTS_S / LOOK_S)):
            if not await parts.forgetting.at_work(trail.goals):
                break
            await asyncio.sleep(LOOK_S)
        return [Step("live", ended)] if ended else []

    async def _traces(self, trail: Trail, *, is_dry: bool = False) -> list[Step]:
        steps: list[Step] = []
        for traces in self._parts.traces:
            steps += await traces.take(trail, is_dry=is_dry)
        return steps

    async def _old(
        self, texts: Kept, workspaces: Kept, told: Told, *, is_dry: bool = False
    ) -> Counter[str]:
        parts, counts = self._parts, Counter[str]()
        async for step in parts.retention.texts(texts, is_dry=is_dry):
            counts[step.kind] += step.count
            told(step)
        names = await parts.workspaces.names()
        for name in await parts.retention.workspaces(names, workspaces):
            if not is_dry:
                try:
                    await parts.workspaces.remove(name)
                except HeadwayError as error:
                    log.warning("A workspace stays until the next time: %s", error)
                    continue
            counts["workspace"] += 1
            told(Step("workspace", 1))
        return counts


def _add(counts: Counter[str], steps: Iterable[Step]) -> None:
    for step in steps:
        counts[step.kind] += step.count
