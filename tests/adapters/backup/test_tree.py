"""Copying a tree that somebody else writes: nothing outside it is ever opened."""

import hashlib
import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.backup.tree import DEPTH_MOST, Entry, copy_tree, read_tree

NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))
FILES = st.dictionaries(st.tuples(NAMES, NAMES), st.binary(max_size=64), max_size=6)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


def test_files_are_copied_with_their_bytes_and_told_with_their_hash(
    source: Path, tmp_path: Path
) -> None:
    (source / "a").mkdir()
    (source / "a" / "b.txt").write_bytes(b"what is in it")

    entries = list(copy_tree(source, tmp_path / "copy"))

    assert (tmp_path / "copy" / "a" / "b.txt").read_bytes() == b"what is in it"
    assert entries == [Entry("a/b.txt", 13, hashlib.sha256(b"what is in it").hexdigest())]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(files=FILES)
def test_whatever_names_and_bytes_there_are_the_copy_reads_as_the_source(
    files: dict[tuple[str, str], bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for (folder, name), body in files.items():
        (root / "source" / folder).mkdir(parents=True, exist_ok=True)
        (root / "source" / folder / name).write_bytes(body)
    (root / "source").mkdir(exist_ok=True)

    copied = list(copy_tree(root / "source", root / "copy"))

    assert copied == list(read_tree(root / "source")) == list(read_tree(root / "copy"))
    assert {entry.path for entry in copied} == {"/".join(names) for names in files}


def test_the_copy_is_its_owners_alone_and_a_program_stays_one(source: Path, tmp_path: Path) -> None:
    (source / "open").mkdir(mode=0o777)
    (source / "open" / "run.sh").write_text("#!/bin/sh\n")
    (source / "open" / "run.sh").chmod(0o755)
    (source / "text").write_text("text")
    (source / "text").chmod(0o666)

    list(copy_tree(source, tmp_path / "copy"))

    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "copy").rglob("*")
    }
    assert modes == {"open": 0o700, "run.sh": 0o700, "text": 0o600}
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700


def test_links_are_copied_as_links_and_never_followed(source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("SECRET")
    (source / "file").symlink_to(outside / "secret")
    (source / "folder").symlink_to(outside)
    (source / "nowhere").symlink_to("nothing/there")

    entries = list(copy_tree(source, tmp_path / "copy"))

    assert entries == [
        Entry("file", target=str(outside / "secret")),
        Entry("folder", target=str(outside)),
        Entry("nowhere", target="nothing/there"),
    ]
    assert all(path.is_symlink() for path in (tmp_path / "copy").iterdir())


def test_a_folder_that_becomes_a_link_while_it_is_walked_is_not_entered(
    source: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("SECRET")
    for name in ("a", "b"):
        (source / name).mkdir()
        (source / name / "file").write_text("text")
    walk = copy_tree(source, tmp_path / "copy")
    next(walk)

    (source / "b").rename(tmp_path / "away")
    (source / "b").symlink_to(outside)
    rest = list(walk)

    assert rest == [Entry("b", target=str(outside))]
    assert not any("secret" in path.name for path in (tmp_path / "copy").rglob("*"))


def test_what_is_no_file_is_left_out_and_told(source: Path, tmp_path: Path) -> None:
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(source / "socket"))
        (source / "text").write_text("text")

        entries = list(copy_tree(source, tmp_path / "copy"))

    assert [(entry.path, bool(entry.why)) for entry in entries] == [
        ("pipe", True),
        ("socket", True),
        ("text", False),
    ]
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["text"]


def test_what_vanishes_meanwhile_is_gone(source: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (source / name).write_text(name)
    walk = copy_tree(source, tmp_path / "copy")
    next(walk)

    (source / "b").unlink()

    assert [entry.path for entry in walk] == ["c"]


def test_a_folder_that_is_bare_is_there_and_empty(source: Path, tmp_path: Path) -> None:
    (source / "w" / "tmp" / "deep").mkdir(parents=True)
    (source / "w" / "tmp" / "scratch").write_text("x")
    (source / ".name").write_text("x")

    entries = list(
        copy_tree(
            source,
            tmp_path / "copy",
            bare=lambda names: names == ("w", "tmp"),
            without=lambda names: names == (".name",),
        )
    )

    assert entries == []
    assert [str(p.relative_to(tmp_path / "copy")) for p in sorted((tmp_path / "copy").rglob("*"))] == [
        "w",
        "w/tmp",
    ]  # fmt: skip


def test_a_tree_that_is_too_deep_is_copied_as_far_as_that(source: Path, tmp_path: Path) -> None:
    folder = os.open(source, os.O_RDONLY)
    for _ in range(DEPTH_MOST + 5):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)

    [entry] = copy_tree(source, tmp_path / "copy")

    assert f"more than {DEPTH_MOST} folders deep" in entry.why


def test_holes_stay_holes(source: Path, tmp_path: Path) -> None:
    with (source / "sparse").open("wb") as file:
        file.write(b"begin")
        file.truncate(64 * 1024 * 1024)

    [entry] = copy_tree(source, tmp_path / "copy")

    copied = (tmp_path / "copy" / "sparse").stat()
    assert entry.size == copied.st_size == 64 * 1024 * 1024
    assert copied.st_blocks * 512 < 8 * 1024 * 1024


def test_no_descriptor_stays_open(source: Path, tmp_path: Path) -> None:
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "c").write_text("x")
    before = len(os.listdir("/proc/self/fd"))

    list(copy_tree(source, tmp_path / "one"))
    broken = copy_tree(source, tmp_path / "two")
    next(broken)
    del broken

    assert len(os.listdir("/proc/self/fd")) == before
