"""Who is to be forgotten is forgotten whole, whatever ends the work in between."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.store.open import open_store
from bot.errors import StoreBusy, StoreUnusable
from bot.goals import machine
from bot.goals.events import Cancelled
from bot.goals.limits import LIMITS
from bot.ports.forgetting import Step, Trail, Wanted
from scheduler.forgetting import Forgetter, Parts
from tests.adapters.store.clocks import HandClock, HandTime
from tests.contracts.forgetting import ANN, DAY, begin, held, scene
from tests.contracts.secrets import sealing_in
from tests.contracts.stores import Bed


@dataclass
class Folders:
    """Workspaces and other traces, in memory."""

    there: set[str] = field(default_factory=set)
    seen: list[Trail] = field(default_factory=list)

    async def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.there))

    async def remove(self, name: str) -> None:
        if name == "stuck":
            raise StoreUnusable("It cannot be removed.")
        self.there.discard(name)

    async def take(self, trail: Trail, *, is_dry: bool = False) -> Sequence[Step]:
        self.seen.append(trail)
        gone = self.there & set(trail.folders)
        if not is_dry:
            self.there -= gone
        return [Step("workspace", len(gone))] if gone else []


class Killed(Exception):
    """The process ended there."""


class Mortal:
    """A part that ends the process at its n-th call from now."""

    def __init__(self, part: Any, lives: list[int]) -> None:
        self._part, self._lives = part, lives

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._part, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._lives[0] -= 1
            if self._lives[0] < 0:
                raise Killed
            return await inner(*args, **kwargs)

        async def walk(*args: Any, **kwargs: Any) -> AsyncIterator[Step]:
            async for step in inner(*args, **kwargs):
                self._lives[0] -= 1
                if self._lives[0] < 0:
                    raise Killed
                yield step

        return walk if name in ("texts", "name") else call


@pytest.fixture
async def bed(tmp_path: Path) -> AsyncIterator[Bed]:
    clock, (sealing, _) = HandClock(), sealing_in(tmp_path)
    async with open_store(
        "sqlite:///h.db", clock=clock, limits=LIMITS, state_dir=tmp_path / "state", sealing=sealing
    ) as store:
        bed = Bed(store, HandTime(clock))
        yield bed
        await bed.check()


def forgetter(bed: Bed, folders: Folders, lives: list[int] | None = None, **more: Any) -> Forgetter:
    store: Any = bed.ports
    wrap: Any = (lambda part: Mortal(part, lives)) if lives is not None else (lambda part: part)
    parts = Parts(
        journal=store.journal,
        forgetting=wrap(store.forgetting),
        retention=store.retention,
        scrub=more.pop("scrub", store.scrub),
        workspaces=folders,
        traces=(wrap(folders),),
        **more,
    )
    return Forgetter(parts, texts_days=90, workspaces_days=30)


def holds(folder: Path, mark: bytes) -> bool:
    """Whether any of the database's files does."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return any(mark in path.read_bytes() for path in files)


async def test_a_person_is_forgotten_and_no_byte_is_left(bed: Bed, tmp_path: Path) -> None:
    at = await scene(bed)
    woken: list[str] = []
    folders = Folders({at.own.session, at.shared.session})
    drops: list[int] = []

    async def drop() -> None:
        drops.append(1)

    works = forgetter(
        bed,
        folders,
        wake=lambda goal, asked: woken.append(goal),
        forget_cached=drop,
    )

    counts = await works.forget(Wanted(at.ann))

    assert not holds(tmp_path, b"MRK")
    assert (counts["live"], counts["workspace"], counts["name"]) == (1, 1, 1)
    assert (woken, drops) == ([at.own.id], [1])
    assert folders.there == {at.shared.session}
    assert await bed.forgetting.wanted() == ()


async def test_a_preview_tells_what_would_go_and_leaves_it(bed: Bed) -> None:
    at = await scene(bed)
    works = forgetter(bed, Folders({at.own.session}))

    told = await works.preview(Wanted(at.ann))

    assert (told["live"], told["goal"], told["workspace"], told["name"]) == (1, 1, 1, 1)
    assert told["text"] >= 12
    assert await held(bed)
    assert not (await bed.journal.goal(at.own.id)).is_final


@pytest.mark.parametrize("lives", range(0, 30, 2))
async def test_it_is_gone_on_with_wherever_it_was_killed(bed: Bed, lives: int) -> None:
    at = await scene(bed)
    folders = Folders({at.own.session})
    await bed.forgetting.want(Wanted(at.ann))

    with suppress(Killed):
        await forgetter(bed, folders, [lives]).sweep()
    with suppress(Killed):
        await forgetter(bed, folders, [lives // 2]).sweep()
    await forgetter(bed, folders).sweep()

    assert await held(bed) == {}
    assert folders.there == set()
    assert await bed.forgetting.wanted() == ()


async def test_a_log_that_is_read_elsewhere_is_tried_again_by_the_next_sweep(bed: Bed) -> None:
    at = await scene(bed)
    busy = [1]

    async def scrub() -> None:
        if busy:
            busy.pop()
            raise StoreBusy("The log is read.")

    works = forgetter(bed, Folders(), scrub=scrub)
    with pytest.raises(StoreBusy):
        await works.forget(Wanted(at.ann))
    busy.append(1)
    await works.sweep()
    assert await bed.forgetting.wanted()
    await works.sweep()

    assert await bed.forgetting.wanted() == ()


async def test_tidying_takes_old_texts_and_workspaces(bed: Bed) -> None:
    goal, _ = await begin(bed, ANN, "an old one")
    await bed.commit(goal, Cancelled(goal.owner))
    await bed.time.pass_by(40 * DAY)
    folders = Folders({goal.session, "unknown"})
    works = forgetter(bed, folders)

    await works.tidy()
    texts = await bed.journal.contents(goal.session, [goal.objective])
    await bed.time.pass_by(51 * DAY)
    await works.tidy()

    assert folders.there == {"unknown"}
    assert texts
    assert not await bed.journal.contents(goal.session, [goal.objective])


async def test_what_is_old_goes_on_order_with_every_byte(bed: Bed, tmp_path: Path) -> None:
    goal, _ = await begin(bed, ANN, "MRK-old one")
    await bed.commit(goal, Cancelled(goal.owner))
    await bed.time.pass_by(2 * DAY)
    works = forgetter(bed, Folders({goal.session}))

    dry = await works.take_older(1, is_dry=True)
    took = await works.take_older(1)

    assert dry == took == {"text": 2, "workspace": 1}
    assert not holds(tmp_path, b"MRK-old")
    assert await works.take_older(1) == {}


async def test_the_journal_replays_after_a_wait_was_masked(bed: Bed) -> None:
    at = await scene(bed)

    await forgetter(bed, Folders()).forget(Wanted(at.ann))

    journal = await bed.records.journal(at.own.id)
    assert machine.replay(journal) == await bed.journal.goal(at.own.id)
    assert "forgotten:" in repr(journal)
