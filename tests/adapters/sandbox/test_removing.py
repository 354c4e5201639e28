"""Workspaces, and files in them, are taken away without following where an agent points."""

import base64
import os
import stat
from pathlib import Path

import pytest

from adapters.sandbox.none import Unconfined
from adapters.sandbox.removing import WorkspaceFolders
from bot.ports.chat import Place
from bot.ports.forgetting import Known, Spot, Step, Trail
from bot.ports.words import Words

MARK = "mrk-4711-file"
PLACE = Place("console", "", "console", "t")


def trail(*, own: tuple[str, ...] = (), shared: tuple[str, ...] = ()) -> Trail:
    return Trail(
        Known("p", "console", "ann", "ann"),
        shared=tuple(Spot(name, PLACE) for name in shared),
        folders=own,
        words=Words(("ann",), (MARK,)),
    )


async def test_a_persons_own_workspaces_go_whole(tmp_path: Path) -> None:
    folders = WorkspaceFolders(tmp_path / "w")
    (tmp_path / "w/mine/drafts/deep").mkdir(parents=True)
    (tmp_path / "w/mine/drafts/deep/a.txt").write_text("anything")
    (tmp_path / "w/theirs").mkdir()

    counted = await folders.take(trail(own=("mine", "never-made")), is_dry=True)
    taken = await folders.take(trail(own=("mine", "never-made")))

    assert counted == taken == [Step("workspace", 1)]
    assert await folders.names() == ("theirs",)
    assert await folders.take(trail(own=("mine",))) == []


async def test_processes_that_rest_in_workspaces_are_ended_before_one_goes(tmp_path: Path) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / "w" / name).mkdir(parents=True)
    ended: list[tuple[str, bool]] = []

    async def end_resting(name: str) -> None:
        ended.append((name, (tmp_path / "w" / name).exists()))

    folders = WorkspaceFolders(tmp_path / "w", end_resting)
    await folders.take(trail(own=("mine",)), is_dry=True)
    await folders.take(trail(own=("mine",)))
    await folders.remove("theirs")

    assert ended == [("mine", True), ("theirs", True)]


async def test_with_a_workspace_that_goes_ends_what_lives_on_there_and_nowhere_else(
    tmp_path: Path,
) -> None:
    sandbox = Unconfined(tmp_path / "w")
    for name in ("mine", "theirs"):
        session = await sandbox.open(name, "workspace")
        args = {"command": "sleep 500", "background": True}
        await session.call("bash", args, timeout_s=10)
        await session.close(lives_on=f"g-{name}")

    await WorkspaceFolders(tmp_path / "w", sandbox.end).remove("mine")

    assert sandbox.lingering == {"theirs": "g-theirs"}
    assert sandbox.sessions == 1
    await sandbox.close()


async def test_of_a_shared_one_go_the_files_that_tell_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "w/shared/drafts"
    folder.mkdir(parents=True)
    (folder / "plain.txt").write_text(f"x {MARK} y")
    (folder / "coded.txt").write_bytes(base64.b64encode(f"12{MARK}34".encode()))
    (folder / "wide.txt").write_text(MARK, encoding="utf-16")
    (folder / "big.bin").write_bytes(bytes(4 * 1024 * 1024 - 5) + MARK.encode() + bytes(9))
    (folder / f"{MARK}.txt").write_text("named")
    (folder / f"in-{MARK}").mkdir()
    (folder / f"in-{MARK}/inner.txt").write_text("inside")
    (folder / "link").symlink_to(MARK)
    (folder / "stays.txt").write_text("nothing of theirs, not even Annabel")

    [step] = await WorkspaceFolders(tmp_path / "w").take(trail(shared=("shared",)))

    assert sorted(path.name for path in folder.rglob("*")) == ["stays.txt"]
    assert step == Step("file", 8)


async def test_a_closed_folder_of_a_shared_one_hides_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "w/shared/closed"
    folder.mkdir(parents=True)
    (folder / "plain.txt").write_text(MARK)
    folder.chmod(0)

    steps = await WorkspaceFolders(tmp_path / "w").take(trail(shared=("shared",)))

    assert steps == [Step("file", 1)]
    assert folder.stat().st_mode & stat.S_IRWXU == stat.S_IRWXU
    assert list(folder.iterdir()) == []


async def test_links_out_of_a_workspace_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text(MARK)
    for name in ("own", "shared"):
        folder = tmp_path / "w" / name
        folder.mkdir(parents=True)
        (folder / "dir").symlink_to(outside)
        (folder / "file").symlink_to(outside / "kept.txt")
    (tmp_path / "w/linked").symlink_to(outside)
    folders = WorkspaceFolders(tmp_path / "w")

    await folders.take(trail(own=("own", "linked"), shared=("shared",)))

    assert (outside / "kept.txt").read_text() == MARK
    assert not (tmp_path / "w/linked").is_symlink()


async def test_pipes_are_not_opened_and_closed_folders_are(tmp_path: Path) -> None:
    folder = tmp_path / "w/own/drafts"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (folder / "inner").mkdir()
    (folder / "inner/file").write_text("x")
    (folder / "inner").chmod(0)
    folders = WorkspaceFolders(tmp_path / "w")

    await folders.take(trail(shared=("own",)))
    await folders.remove("own")
    await folders.remove("own")

    assert await folders.names() == ()


async def test_a_folder_is_taken_out_of_every_workspace_that_has_it(tmp_path: Path) -> None:
    for name in ("one/inbox/K7Q2WX/deep", "one/inbox/OTHER2", "two/inbox/K7Q2WX", "three"):
        (tmp_path / "w" / name).mkdir(parents=True)
    (tmp_path / "w/one/inbox/K7Q2WX/deep/a.csv").write_text("theirs")

    folders = WorkspaceFolders(tmp_path / "w")

    assert await folders.remove_within("inbox", "K7Q2WX") == 2
    assert await folders.remove_within("inbox", "K7Q2WX") == 0
    assert [path.name for path in (tmp_path / "w/one/inbox").iterdir()] == ["OTHER2"]


@pytest.mark.parametrize("link", ["inbox", "inbox/K7Q2WX"])
async def test_no_link_leads_what_is_taken_out_elsewhere(tmp_path: Path, link: str) -> None:
    (tmp_path / "outside/K7Q2WX").mkdir(parents=True)
    (tmp_path / "outside/K7Q2WX/kept.txt").write_text("the operator's")
    (tmp_path / "w/one" / link).parent.mkdir(parents=True)
    target = tmp_path / "outside" if link == "inbox" else tmp_path / "outside/K7Q2WX"
    (tmp_path / "w/one" / link).symlink_to(target)

    await WorkspaceFolders(tmp_path / "w").remove_within("inbox", "K7Q2WX")

    assert (tmp_path / "outside/K7Q2WX/kept.txt").exists()


async def test_scratch_folders_are_emptied_and_nothing_behind_a_link_is_touched(
    tmp_path: Path,
) -> None:
    folders = WorkspaceFolders(tmp_path / "w")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    for name in ("full", "empty", "linked"):
        (tmp_path / "w" / name / "cache").mkdir(parents=True)
    (tmp_path / "w/full/cache/deep").mkdir()
    (tmp_path / "w/full/cache/deep/a").write_text("a")
    (tmp_path / "w/full/cache/deep").chmod(0o500)
    (tmp_path / "w/full/cache/link").symlink_to(outside)
    (tmp_path / "w/full/drafts").mkdir()
    (tmp_path / "w/full/drafts/b").write_text("b")
    (tmp_path / "w/linked/tmp").symlink_to(outside)

    assert await folders.filled(("cache", "tmp")) == ("full",)
    for name in ("full", "empty", "linked", "never-made"):
        await folders.empty(name, ("cache", "tmp"))

    assert await folders.filled(("cache", "tmp")) == ()
    assert list((tmp_path / "w/full/cache").iterdir()) == []
    assert (tmp_path / "w/full/drafts/b").read_text() == "b"
    assert (outside / "kept").read_text() == "kept"
