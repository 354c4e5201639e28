"""Where control groups are made, by what the kernel says of its mounts; version 2 on made files."""

import os
import time
from pathlib import Path

import pytest

from adapters.sandbox import cgroups
from adapters.sandbox.inside.limits import MIB, Limits

LIMITS = Limits(memory_bytes=64 * MIB, processes=10)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A hierarchy of version 2, as files."""
    root = tmp_path / "cgroup"
    for place in (root, root / "unit", root / "unit" / "bot"):
        place.mkdir()
        (place / "cgroup.controllers").write_text("cpu memory pids\n")
        (place / "cgroup.subtree_control").write_text("memory pids\n")
        (place / "cgroup.procs").write_text("")
    return root


def _found(tmp_path: Path, tree: Path, own: str) -> cgroups.Groups | None:
    mounts, cgroup = tmp_path / "mounts", tmp_path / "own"
    mounts.write_text(f"proc /proc proc rw 0 0\ncgroup2 {tree} cgroup2 rw,nosuid 0 0\n")
    cgroup.write_text(f"0::{own}\n")
    return cgroups.find(str(mounts), str(cgroup))


def test_beside_the_leaf_that_systemd_made_for_the_bot(tmp_path: Path, tree: Path) -> None:
    found = _found(tmp_path, tree, "/unit/bot")

    assert found == cgroups.Groups(tree / "unit", tree / "unit", 2)


def test_a_group_has_the_limits_and_one_door(tmp_path: Path, tree: Path) -> None:
    found = _found(tmp_path, tree, "/unit/bot")
    assert found is not None

    group = found.make(LIMITS)

    assert group is not None
    assert (group.memory / "memory.max").read_text() == str(64 * MIB)
    assert (group.memory / "memory.swap.max").read_text() == "0"
    assert (group.pids / "pids.max").read_text() == "52"
    assert group.doors == (str(group.memory / "cgroup.procs"),)


def test_what_the_kernel_has_ended_is_counted(tmp_path: Path, tree: Path) -> None:
    found = _found(tmp_path, tree, "/unit/bot")
    assert found is not None
    group = found.make(LIMITS)
    assert group is not None
    before = group.kills()
    (group.memory / "memory.events").write_text("low 0\nmax 7\noom 3\noom_kill 2\n")

    assert (before, group.kills()) == (0, 2)


def test_a_group_with_processes_that_is_not_ours_is_not_divided(tmp_path: Path, tree: Path) -> None:
    for place in (tree, tree / "unit"):
        (place / "cgroup.subtree_control").write_text("")
        (place / "cgroup.procs").write_text(f"{os.getpid()}\n")

    assert _found(tmp_path, tree, "/unit") is None
    assert (tree / "unit" / "cgroup.procs").read_text() == f"{os.getpid()}\n"


def test_without_the_controllers_there_is_none(tmp_path: Path, tree: Path) -> None:
    for place in (tree, tree / "unit"):
        (place / "cgroup.controllers").write_text("cpu\n")
        (place / "cgroup.subtree_control").write_text("cpu\n")

    assert _found(tmp_path, tree, "/unit") is None


def test_where_nothing_is_mounted_there_is_none(tmp_path: Path) -> None:
    assert cgroups.find(str(tmp_path / "none"), str(tmp_path / "none")) is None


def test_what_a_killed_bot_left_is_swept_once_it_is_old(tmp_path: Path) -> None:
    old, young = tmp_path / "headway-1-a", tmp_path / "headway-1-b"
    old.mkdir()
    young.mkdir()
    os.utime(old, (time.time() - 3600, time.time() - 3600))

    cgroups.Groups(tmp_path, tmp_path, 2).sweep()

    assert not old.exists()
    assert young.exists()
