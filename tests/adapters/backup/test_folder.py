"""A backup's folder: there whole, or not at all; and what is not what was made is refused."""

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.backup import manifest as manifests
from adapters.backup.folder import (
    new_folder,
    put,
    read_manifest,
    verify,
    write_manifest,
)
from adapters.backup.manifest import Manifest
from adapters.backup.tree import read_tree
from bot.errors import BadInput, StoreUnusable


def _made(place: Path) -> Manifest:
    with new_folder(place) as folder:
        (folder / "database").mkdir(mode=0o700)
        put(folder / "database" / "headway.db", b"rows" * 100)
        put(folder / "settings.json", b"{}")
        (folder / "link").symlink_to("somewhere")
        told = Manifest(5.0, "0.1.0", "0002", "sqlite", entries=tuple(read_tree(folder)))
        write_manifest(folder, told)
    return told


def test_a_folder_is_there_only_once_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "backup"
    with new_folder(place) as folder:
        put(folder / "file", b"x")
        assert not place.exists()

    assert (place / "file").read_bytes() == b"x"
    assert [path.name for path in tmp_path.iterdir()] == ["backup"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()

    _made(tmp_path / "backup")

    assert (tmp_path / "backup" / manifests.FILE).is_file()


@pytest.mark.parametrize("place", ["file/backup", "x" * 300])
def test_a_place_where_nothing_can_be_is_told_with_another_place_as_the_mend(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(StoreUnusable, match="name another place"):
        _made(tmp_path / place)

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("taken", ["file", "folder"])
def test_a_place_that_is_taken_is_refused(tmp_path: Path, taken: str) -> None:
    place = tmp_path / "backup"
    if taken == "file":
        place.write_text("x")
    else:
        place.mkdir()
        (place / "x").write_text("x")

    with pytest.raises(BadInput, match=r"is there already .*name a folder"), new_folder(place):
        pass


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> None:
        with new_folder(tmp_path / "backup") as folder:
            put(folder / "file", b"x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()

    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_backup_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".backup.unfinished" / "database"
    left.mkdir(parents=True)
    (left / "headway.db").write_text("half")
    (left.parent / "file").write_text("half")

    _made(tmp_path / "backup")

    assert (tmp_path / "backup" / "database" / "headway.db").read_bytes() == b"rows" * 100
    assert not (tmp_path / "backup" / "file").exists()


def test_of_two_backups_to_one_place_the_second_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".backup.unfinished").mkdir()
    other = os.open(tmp_path / ".backup.unfinished", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)

    with pytest.raises(BadInput, match="is being made: wait"), new_folder(tmp_path / "backup"):
        pass

    os.close(other)
    assert (tmp_path / ".backup.unfinished").is_dir()


def test_a_whole_backup_is_found_whole(tmp_path: Path) -> None:
    told = _made(tmp_path / "backup")

    found = read_manifest(tmp_path / "backup")

    assert found == told
    verify(tmp_path / "backup", found, lambda size: None)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda at: (at / "settings.json").write_bytes(b"{ }"), "settings.json was altered"),
        (lambda at: (at / "settings.json").unlink(), "settings.json is missing"),
        (lambda at: (at / "more").write_bytes(b"x"), "more is no part of it"),
        (lambda at: os.truncate(at / "database" / "headway.db", 399), "headway.db was altered"),
        (lambda at: (at / "link").unlink(), "link is missing"),
        (
            lambda at: ((at / "link").unlink(), (at / "link").symlink_to("elsewhere")),
            "link was altered",
        ),
    ],
)
def test_what_is_not_what_was_made_is_refused(tmp_path: Path, spoil: object, said: str) -> None:
    told = _made(tmp_path / "backup")
    assert callable(spoil)
    spoil(tmp_path / "backup")

    with pytest.raises(StoreUnusable, match=f"{said}.*Use another backup"):
        verify(tmp_path / "backup", told, lambda size: None)


def test_a_manifest_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    text = manifests.written(_made(tmp_path / "backup"))

    for end in range(0, len(text) - 2, 7):
        with pytest.raises(StoreUnusable, match=r"cut off|altered"):
            manifests.read(text[:end])


def test_a_manifest_that_was_altered_is_refused(tmp_path: Path) -> None:
    told = _made(tmp_path / "backup")
    row = json.loads(manifests.written(told))
    row["schema"] = "0001"

    with pytest.raises(StoreUnusable, match="altered"):
        manifests.read(json.dumps(row))


def test_a_newer_format_is_refused_by_its_number() -> None:
    row = {"format": manifests.FORMAT + 1, "checksum": "of another kind"}

    with pytest.raises(StoreUnusable, match=r"has format 2, .*install the Headway that made it"):
        manifests.read(json.dumps(row))


def test_names_that_are_no_text_survive_the_manifest(tmp_path: Path) -> None:
    place = tmp_path / "backup"
    with new_folder(place) as folder:
        put(Path(os.fsdecode(bytes(folder) + b"/\xff\xfe")), b"x")
        told = replace(Manifest(5.0, "0.1.0", "0002", "sqlite"), entries=tuple(read_tree(folder)))
        write_manifest(folder, told)

    verify(place, read_manifest(place), lambda size: None)


def test_where_there_is_no_backup_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no backup in"):
        read_manifest(tmp_path / "nothing")
