"""Files of messages, for as long as something names them: swept, backed up, restored."""

import asyncio
import base64
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from adapters.files.blobs import DRAFTS
from adapters.store.open import open_store
from bot.errors import BadInput, Refused, StoreUnusable
from bot.goals.limits import LIMITS
from bot.ports.attached import path_of
from bot.redaction import Redactor
from bot.settings import Settings, read_settings
from bot.wiring.discreet import DiscreetSandbox
from bot.wiring.files import FOLDER, keep_swept, open_files
from bot.wiring.snapshots import open_snapshots, withdrawing
from bot.wiring.upkeep import back_up, restore
from scheduler.alarms import Alarms
from tests.adapters.files.test_blobs import aged
from tests.contracts.files import pieces_of, read
from tests.doubles.checkpoints import MemoryCheckpoints
from tests.doubles.clock import HandClock
from tests.doubles.files import MemoryAttachments


def _nobody(step: str, done: int, total: int) -> None:
    pass


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    """A state folder with a database."""
    settings = read_settings(state_dir=tmp_path / "state", database="")
    settings.state_dir.mkdir()
    async with open_store(
        settings.database_url, clock=HandClock(), limits=LIMITS, state_dir=settings.state_dir
    ):
        pass
    return settings


def _other(settings: Settings) -> Settings:
    return read_settings(state_dir=settings.state_dir.parent / "other", database="")


async def test_files_come_back_with_a_backup_and_half_written_ones_do_not(
    settings: Settings,
) -> None:
    kept = await open_files(settings).keep(pieces_of(b"a,b\n"))
    (settings.state_dir / FOLDER / DRAFTS / "half").write_bytes(b"half")
    place = settings.state_dir.parent / "backup"

    back_up(settings, place, {}, _nobody)
    restore(_other(settings), place, _nobody)

    assert not (place / FOLDER / DRAFTS).exists()
    assert await read(open_files(_other(settings)), kept.hash) == b"a,b\n"
    path = _other(settings).state_dir / FOLDER / kept.hash[:2] / kept.hash
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


async def test_a_restore_leaves_the_files_that_are_there_to_the_sweep(settings: Settings) -> None:
    await open_files(settings).keep(pieces_of(b"theirs"))
    place = settings.state_dir.parent / "backup"
    back_up(settings, place, {}, _nobody)
    mine = await open_files(_other(settings)).keep(pieces_of(b"mine"))
    half = _other(settings).state_dir / FOLDER / mine.hash[:2] / ".half.unfinished"
    half.write_bytes(b"of a restore that was killed")

    restore(_other(settings), place, _nobody)

    assert await read(open_files(_other(settings)), mine.hash) == b"mine"


async def test_a_file_that_was_altered_in_the_backup_stops_the_restore(settings: Settings) -> None:
    kept = await open_files(settings).keep(pieces_of(b"whole"))
    place = settings.state_dir.parent / "backup"
    back_up(settings, place, {}, _nobody)
    (place / FOLDER / kept.hash[:2] / kept.hash).write_bytes(b"whale")

    with pytest.raises(StoreUnusable, match="altered"):
        restore(_other(settings), place, _nobody)

    assert not (_other(settings).state_dir / FOLDER).exists()


async def test_a_backup_among_the_files_is_refused(settings: Settings) -> None:
    with pytest.raises(BadInput, match="lies among"):
        back_up(settings, settings.state_dir / FOLDER / "backup", {}, _nobody)


class Telling:
    """Files that tell when they were swept."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.swept = asyncio.Event()

    async def sweep(self, named: Any) -> int:
        count: int = await self._inner.sweep(named)
        self.swept.set()
        return count


async def test_what_nothing_names_is_swept_while_the_alarms_ring(settings: Settings) -> None:
    files, alarms = open_files(settings), Alarms()
    kept = await files.keep(pieces_of(b"unnamed"))
    aged(settings.state_dir / FOLDER)
    rows: Any = type("Rows", (), {"inbox": {}, "outbox": {}, "files": {}})()
    telling: Any = Telling(files)
    keep_swept(alarms, (telling,), MemoryAttachments(rows), 1.0)

    alarms.start()
    alarms.at("files", 0.0)
    async with asyncio.timeout(10):
        await telling.swept.wait()
    alarms.stop()

    with pytest.raises(Refused):
        await files.open(kept.hash)


def test_the_limit_of_a_file_is_set_in_megabytes(tmp_path: Path) -> None:
    assert open_files(read_settings(state_dir=tmp_path, file_most_mb=7)).most == 7_000_000


class Pieces:
    """A sandbox whose files come in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def open(self, workspace: str, access: str, line: Any = None) -> "Pieces":
        return self

    async def take(self, path: str, *, most: int) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


SECRET = "hunter2-and-more-of-it"


@pytest.mark.parametrize(
    "pieces",
    [
        (f"password: {SECRET}".encode(),),
        (b"x" * 100_000 + SECRET[:7].encode(), SECRET[7:].encode() + b"y" * 100_000),
        (base64.b64encode(f"in here: {SECRET}".encode()),),
        (b"\xff\xfe\x00" + SECRET.encode() + b"\xff",),
    ],
)
async def test_a_file_with_a_known_secret_in_it_is_not_shared(
    settings: Settings, pieces: tuple[bytes, ...]
) -> None:
    sandbox: Any = DiscreetSandbox(cast(Any, Pieces(*pieces)), Redactor({"API_KEY": SECRET}))
    session = await sandbox.open("G1", "workspace")

    with pytest.raises(BadInput, match="API_KEY"):
        await open_files(settings).keep(session.take("notes.txt", most=10**9))

    assert not [path for path in (settings.state_dir / FOLDER).rglob("*") if path.is_file()]


async def test_a_file_that_tells_of_a_secret_by_its_mark_alone_is_shared(
    settings: Settings,
) -> None:
    content = b"the key is [secret API_KEY]"
    sandbox: Any = DiscreetSandbox(cast(Any, Pieces(content)), Redactor({"API_KEY": SECRET}))
    session = await sandbox.open("G1", "workspace")

    kept = await open_files(settings).keep(session.take("notes.txt", most=10**9))

    assert await read(open_files(settings), kept.hash) == content


async def test_what_came_with_a_message_that_is_taken_back_leaves_the_workspaces(
    tmp_path: Path,
) -> None:
    settings = read_settings(state_dir=tmp_path, database="")
    for message in ("m1", "m2"):
        path = settings.workspaces_dir / "s1" / path_of(message, "a.csv")
        path.parent.mkdir(parents=True)
        path.write_text("theirs")

    checkpoints = MemoryCheckpoints(None)
    await withdrawing(settings, open_snapshots(settings), checkpoints)("m1")

    left = [path for path in settings.workspaces_dir.rglob("*") if path.is_file()]
    assert left == [settings.workspaces_dir / "s1" / path_of("m2", "a.csv")]
