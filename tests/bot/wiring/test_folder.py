"""The state folder: one process at a time, and a name that goes where the folder goes."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.errors import BadSettings, StoreUnusable
from bot.settings import Settings
from bot.wiring.folder import identity, known_identity, owned, prepare_folder


def test_a_folder_keeps_its_name_and_takes_it_along(tmp_path: Path) -> None:
    first, moved = tmp_path / "first", tmp_path / "moved"
    first.mkdir()
    name = identity(first)

    first.rename(moved)
    first.mkdir()

    assert identity(moved) == known_identity(moved) == name
    assert identity(first) != name
    assert [path.name for path in moved.iterdir()] == [".name"]


def test_two_processes_that_name_a_folder_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(identity, [tmp_path] * 32))

    assert len(names) == 1


def test_a_folder_without_a_name_is_only_looked_at(tmp_path: Path) -> None:
    assert known_identity(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_cannot_be_kept_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".name").mkdir()

    with pytest.raises(BadSettings, match=r"cannot be kept in .*Mend its rights"):
        identity(tmp_path)


def test_a_second_owner_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    refused = f"pid {os.getpid()}.*own"
    with owned(tmp_path), pytest.raises(StoreUnusable, match=refused), owned(tmp_path):
        pass

    with owned(tmp_path):
        pass


def test_workspaces_may_lie_in_a_folder_of_their_own(tmp_path: Path) -> None:
    apart = Settings(state_dir=tmp_path / "state", workspaces=tmp_path / "far" / "work")
    within = Settings(state_dir=tmp_path / "state")

    prepare_folder(apart)

    assert apart.workspaces_dir.is_dir()
    assert not within.workspaces_dir.exists()
    assert within.workspaces_dir == tmp_path / "state" / "workspaces"


def test_a_folder_of_workspaces_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings(state_dir=tmp_path / "state", workspaces=tmp_path / "file" / "work")

    with pytest.raises(BadSettings, match=r"folder of workspaces .* Set workspaces to a folder"):
        prepare_folder(settings)
