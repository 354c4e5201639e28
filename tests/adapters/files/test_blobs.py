"""Files on a disk."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.files.blobs import GRACE_S, BlobFolder
from bot.errors import StoreUnusable
from bot.ports.files import Files
from tests.contracts.files import MOST, FilesContract, hash_of, pieces_of, read
from tests.doubles.files import MemoryFiles


class TestMemory(FilesContract):
    @pytest.fixture
    def files(self) -> MemoryFiles:
        return MemoryFiles(MOST)

    @pytest.fixture
    def age(self, files: MemoryFiles) -> Callable[[], None]:
        return files.age


class TestBlobFolder(FilesContract):
    @pytest.fixture
    def files(self, tmp_path: Path) -> Files:
        return BlobFolder(tmp_path / "files", most=MOST)

    @pytest.fixture
    def age(self, tmp_path: Path) -> Callable[[], None]:
        return lambda: aged(tmp_path / "files")


def aged(folder: Path) -> None:
    for path in folder.rglob("*"):
        at = path.stat().st_mtime - 2 * GRACE_S
        os.utime(path, (at, at))


def blobs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


async def test_a_blob_is_its_owners_alone_under_the_beginning_of_its_hash(tmp_path: Path) -> None:
    kept = await BlobFolder(tmp_path / "files", most=MOST).keep(pieces_of(b"mine"))

    path = tmp_path / "files" / kept.hash[:2] / kept.hash
    assert path.read_bytes() == b"mine"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_what_the_disk_has_altered_is_told_and_mended_by_keeping_it_again(
    tmp_path: Path,
) -> None:
    files = BlobFolder(tmp_path / "files", most=MOST)
    kept = await files.keep(pieces_of(b"whole"))
    (tmp_path / "files" / kept.hash[:2] / kept.hash).write_bytes(b"whale")

    with pytest.raises(StoreUnusable, match="altered"):
        await files.open(kept.hash)
    await files.keep(pieces_of(b"whole"))

    assert await read(files, kept.hash) == b"whole"


async def test_what_a_killed_process_was_writing_goes_with_the_next_sweep(tmp_path: Path) -> None:
    files = BlobFolder(tmp_path / "files", most=MOST)
    killed = files._begin()
    killed.write(b"half")
    killed.close()

    async def names() -> set[str]:
        return set()

    assert await files.sweep(names) == 0
    aged(tmp_path / "files")
    assert await files.sweep(names) == 1
    assert blobs(tmp_path / "files") == []


@pytest.mark.parametrize("step", ["_begin", "_write", "_flush", "_place"])
async def test_an_error_at_any_step_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    files = BlobFolder(tmp_path / "files", most=MOST)

    def broken(*args: object) -> None:
        raise StoreUnusable("The disk is gone.")

    with monkeypatch.context() as patched:
        patched.setattr(files, step, broken)
        with pytest.raises(StoreUnusable):
            await files.keep(pieces_of(b"x"))

    assert blobs(tmp_path / "files") == []
    assert (await files.keep(pieces_of(b"x"))).hash == hash_of(b"x")


async def test_a_disk_that_is_nearly_full_is_left_to_what_matters_more(tmp_path: Path) -> None:
    files = BlobFolder(tmp_path / "files", most=MOST, free_least=2**62)

    with pytest.raises(StoreUnusable, match="free some space"):
        await files.keep(pieces_of(b"x"))


async def test_a_folder_that_cannot_be_written_is_told_with_its_mend(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("no folder")

    with pytest.raises(StoreUnusable, match="mend its rights"):
        await BlobFolder(tmp_path / "files", most=MOST).keep(pieces_of(b"x"))


async def test_what_is_kept_while_a_sweep_looks_stays(tmp_path: Path) -> None:
    files = BlobFolder(tmp_path / "files", most=MOST)
    kept = await files.keep(pieces_of(b"again"))
    aged(tmp_path / "files")

    async def names() -> set[str]:
        await files.keep(pieces_of(b"again"))
        return set()

    assert await files.sweep(names) == 0
    assert await read(files, kept.hash) == b"again"
