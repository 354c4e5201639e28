"""Where incidents come from."""

import asyncio
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from bot.chat.facts import Manner
from bot.chat.operations import Operations
from bot.errors import BadSettings, StoreBusy
from bot.ports.chat import Place
from bot.ports.incidents import Incident
from bot.wiring.names import Names
from bot.wiring.operations import (
    LATE_LOOKS,
    DiskWatch,
    EndpointWatch,
    StoreWatch,
    SweepWatch,
    Watches,
    room_of,
)
from scheduler.alarms import Alarms
from tests.doubles.clock import HandClock
from tests.doubles.store import MemoryStore

Disk = namedtuple("Disk", "total used free")
MB = 1024**2


class Room:
    """The incidents of one store, by hand."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.store = MemoryStore(self.clock)
        place = Place("console", "", "console")
        self.operations = Operations(self.store.incidents, Manner(), place, self.clock)

    async def listed(self) -> list[tuple[str, str, bool]]:
        """Kind, detail and whether it is open, once everything is told."""
        while self.operations._queue:
            await asyncio.sleep(0)
        return [_row(one) for one in await self.store.incidents.listed()]


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_refused_key_is_an_incident_at_once(room: Room) -> None:
    watch = EndpointWatch(room.operations, room.clock)

    watch.troubled("claude", "auth", room.clock.now(), is_operators=True)
    watch.troubled("claude", "auth", room.clock.now(), is_operators=True)
    opened = await room.listed()
    watch.recovered("claude")

    assert opened == [("key", "auth", True)]
    assert await room.listed() == [("key", "auth", False)]


async def test_an_endpoint_in_passing_trouble_is_one_after_five_minutes(room: Room) -> None:
    watch = EndpointWatch(room.operations, room.clock)
    watch.troubled("claude", "overload", room.clock.now(), is_operators=False)

    room.clock.move(299)
    await watch.look()
    before = await room.listed()
    room.clock.move(2)
    await watch.look()
    after = await room.listed()
    watch.recovered("claude")

    assert before == []
    assert after == [("endpoint", "overload", True)]
    assert await room.listed() == [("endpoint", "overload", False)]


async def test_trouble_that_passes_sooner_is_no_incident(room: Room) -> None:
    watch = EndpointWatch(room.operations, room.clock)
    watch.troubled("claude", "overload", room.clock.now(), is_operators=False)
    room.clock.move(200)
    watch.recovered("claude")

    room.clock.move(200)
    await watch.look()

    assert await room.listed() == []


@pytest.mark.parametrize(
    ("total", "free", "is_full"),
    [(1_000, 499, True), (1_000, 501, False), (100_000, 4_999, True), (100_000, 5_001, False)],
)
async def test_a_disk_is_nearly_full_below_half_a_gigabyte_or_a_twentieth(
    room: Room,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    total: int,
    free: int,
    is_full: bool,
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(total * MB, 0, free * MB))

    await DiskWatch(room.operations, tmp_path).look()

    assert bool(await room.listed()) is is_full


async def test_a_disk_with_room_again_ends_its_incident(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = DiskWatch(room.operations, tmp_path)
    seen = []

    for free in (400, 450, 550, 700):
        monkeypatch.setattr(
            shutil, "disk_usage", lambda _, free=free: Disk(1000 * MB, 0, free * MB)
        )
        await watch.look()
        seen.append([is_open for _, _, is_open in await room.listed()])

    assert seen == [[True], [True], [True], [False]]


async def test_a_database_that_was_away_is_told_of_once_it_is_back(room: Room) -> None:
    now = [0.0]
    watch = StoreWatch(room.operations, lambda: now[0])

    watch.troubled(StoreBusy("It is locked. Close what has it open."))
    now[0] = 2.0
    watch.troubled(None)
    short = await room.listed()
    watch.troubled(StoreBusy("It is locked. Close what has it open."))
    now[0] = 60.0
    watch.troubled(None)

    assert short == []
    assert await room.listed() == [("database", "It is locked. Close what has it open.", False)]


async def test_a_sweep_that_hangs_is_an_incident_until_it_rings_again(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarms = Alarms()
    watch = SweepWatch(room.operations, alarms)
    late = {"due": 40.0, "leases": 0.1}
    monkeypatch.setattr(alarms, "lateness", lambda: late)

    for _ in range(LATE_LOOKS - 1):
        await watch.look()
    before = await room.listed()
    await watch.look()
    opened = await room.listed()
    late["due"] = 0.0
    await watch.look()

    assert before == []
    assert opened == [("sweeps", "due", True)]
    assert await room.listed() == [("sweeps", "due", False)]


async def test_a_start_closes_what_is_mended_and_leaves_what_is_not(
    room: Room, tmp_path: Path
) -> None:
    for subject in ("well", "ill", "ill model-x"):
        await room.operations.trouble("key", subject, "auth")
    operations = Operations(room.store.incidents, Manner(), None, room.clock)
    watches = Watches(operations, room.clock, Alarms(), tmp_path)

    await watches.begin(frozenset({"ill"}), has_sandbox=False)
    first = {one.subject: one.is_open for one in await room.store.incidents.listed()}
    await watches.begin(frozenset({"ill"}), has_sandbox=True)
    while operations._queue:
        await asyncio.sleep(0)

    assert first == {"well": False, "ill": True, "ill model-x": True, "sandbox": True}
    rows = {one.subject: one.is_open for one in await room.store.incidents.listed()}
    assert rows == {**first, "sandbox": False}


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("", None),
        ("console:console", Place("console", "here", "console")),
        ("slack:T1/ops", Place("slack", "T1", "ops")),
        ("matrix:!abc:example.org", Place("matrix", "", "!abc:example.org")),
    ],
)
def test_the_operations_room_is_named_by_network(setting: str, place: Place | None) -> None:
    assert room_of(setting, Names(False, console="here")) == place


@pytest.mark.parametrize("setting", ["ops", "irc:ops", "console:"])
def test_a_room_that_is_none_is_refused(setting: str) -> None:
    with pytest.raises(BadSettings, match="NETWORK:ROOM"):
        room_of(setting, Names(False, console="here"))


def _row(incident: Incident) -> tuple[str, str, bool]:
    return incident.kind, incident.detail, incident.is_open
