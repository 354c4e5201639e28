"""Snapshots that are cut short: nothing that is named is not there, and all of it is done again."""

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.none import Unconfined
from adapters.sandbox.trees import ConfinedTree
from adapters.snapshots import objects
from adapters.snapshots.folder import SnapshotFolder
from bot.errors import BadInput, NoSandbox, StoreUnusable
from bot.ports.sandbox import Session
from tests.adapters.snapshots.test_whole_trees import kept_of
from tests.contracts.sandbox import write
from tests.doubles.sandbox import MemorySandbox


class Killed(Exception):
    """The process ends here."""


@pytest.fixture
async def session() -> Session:
    opened = await MemorySandbox().open("G1", "workspace")
    for number in range(12):
        await write(opened, f"drafts/{number}.txt", f"text {number}\n" * 50)
    return opened


async def whole(folder: Path) -> int:
    """Check that every tree that has a name is whole; returns how many there are."""
    snapshots, count = SnapshotFolder(folder, free_least=0), 0
    for path in (folder / "trees").glob("??/*"):
        count += 1
        for entry in await snapshots.entries(path.name):
            body = b"".join(snapshots._files.read(entry.hash))
            assert hashlib.sha256(body).hexdigest() == entry.hash
    return count


async def test_killed_at_any_step_on_the_disk_no_tree_is_named_whose_files_are_not_there(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, flush = os.replace, objects._to_disk
    left = steps = 0

    def dying(step: Any) -> Any:
        def step_or_die(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return step(*args, **kwargs)

        return step_or_die

    monkeypatch.setattr(os, "replace", dying(rename))
    monkeypatch.setattr(objects, "_to_disk", dying(flush))
    while True:
        folder = tmp_path / str(steps)
        left = steps
        try:
            tree = await SnapshotFolder(folder, free_least=0).take(session)
        except Killed:
            pass
        else:
            break
        count = await whole(folder)
        left = 10_000
        again = await SnapshotFolder(folder, free_least=0).take(session)
        assert await whole(folder) == 1 >= count
        assert len(await SnapshotFolder(folder, free_least=0).entries(again)) == 12
        steps += 1

    assert steps > 12
    assert tree == again


async def test_what_a_killed_look_left_is_swept(session: Session, tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    tree = await folder.take(session)
    draft = tmp_path / "files" / "drafts" / "left"
    draft.write_bytes(b"half")
    os.utime(draft, (0, 0))

    await folder.sweep([tree], older_s=0)

    assert not draft.exists()
    assert await whole(tmp_path) == 1


async def test_a_full_disk_is_said_and_leaves_nothing_half_named(
    session: Session, tmp_path: Path
) -> None:
    with pytest.raises(StoreUnusable, match="free some space"):
        await SnapshotFolder(tmp_path, free_least=10**18).take(session)

    assert await whole(tmp_path) == 0


async def test_a_store_that_is_in_the_way_is_said_whatever_is_done(
    session: Session, tmp_path: Path
) -> None:
    folder = SnapshotFolder(tmp_path / "store", free_least=0)
    tree = await folder.take(session)
    (tmp_path / "store").rename(tmp_path / "away")
    (tmp_path / "store").write_text("a file where a folder should be")

    for do in (
        lambda: folder.take(session),
        lambda: folder.take(session, before=tree),
        lambda: folder.restore(session, tree),
        lambda: folder.entries(tree),
        lambda: folder.without(tree, "drafts"),
    ):
        with pytest.raises(StoreUnusable, match="cannot be kept or read"):
            await do()


async def test_a_tree_that_the_disk_has_altered_is_not_put_back(
    session: Session, tmp_path: Path
) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    tree = await folder.take(session)
    (tmp_path / "trees" / tree[:2] / tree).write_bytes(b'r["a","link","/etc/passwd"]\n')

    with pytest.raises(StoreUnusable, match="altered"):
        await folder.restore(session, tree)


async def test_after_a_tree_that_the_disk_has_altered_the_next_one_is_kept_all_the_same(
    session: Session, tmp_path: Path
) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    before = await folder.take(session)
    (tmp_path / "trees" / before[:2] / before).write_bytes(b"zgarbage")
    await write(session, "drafts/0.txt", "another")

    tree = await folder.take(session, before=before)

    assert len(await folder.entries(tree)) == 12


async def test_a_file_that_the_disk_has_lost_is_told_and_not_made_up(
    session: Session, tmp_path: Path
) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    tree = await folder.take(session)
    [entry, *_] = await folder.entries(tree)
    (tmp_path / "files" / entry.hash[:2] / entry.hash).unlink()
    await write(session, entry.path, "another")

    with pytest.raises(StoreUnusable, match="not there any more"):
        await folder.restore(session, tree)


@pytest.mark.parametrize("harm", ["lost", "emptied", "altered"])
async def test_where_one_file_of_a_tree_is_harmed_nothing_of_the_workspace_is_touched(
    session: Session, tmp_path: Path, harm: str
) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    tree = await folder.take(session)
    entry = (await folder.entries(tree))[-1]
    path = tmp_path / "files" / entry.hash[:2] / entry.hash
    match harm:
        case "lost":
            path.unlink()
        case "emptied":
            path.write_bytes(b"")
        case _:
            path.write_bytes(b"r" + b"x" * entry.size)
    for one in await folder.entries(tree):
        await write(session, one.path, "another")
    await write(session, "drafts/new.txt", "made since then")
    now = await folder.take(session)

    with pytest.raises(StoreUnusable, match=r"backup|free some space"):
        await folder.restore(session, tree)

    assert await folder.take(session) == now


async def test_a_look_that_is_cancelled_leaves_no_drafts(session: Session, tmp_path: Path) -> None:
    for wait_s in (0.0, 0.001, 0.003, 0.01):
        folder = SnapshotFolder(tmp_path / str(wait_s), free_least=0)
        task = asyncio.create_task(folder.take(session))
        await asyncio.sleep(wait_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert list((tmp_path / str(wait_s)).glob("files/drafts/*")) == []
        await whole(tmp_path / str(wait_s))


class Dying:
    """A session whose process ends at its call of that number, or right after it."""

    def __init__(self, session: Any, at: int, *, after: bool) -> None:
        self._ask, self._left, self._after = session.tree._transfer, at, after
        self.tree = ConfinedTree(self._transfer)

    async def _transfer(self, tool: str, args: Any) -> dict[str, Any]:
        self._left -= 1
        if self._left < 0 and not self._after:
            raise NoSandbox("It ended.")
        answer: dict[str, Any] = await self._ask(tool, args)
        if self._left < 0:
            raise NoSandbox("It ended.")
        return answer


@pytest.mark.sandbox
@pytest.mark.parametrize("make", [Bubblewrap, Unconfined])
@pytest.mark.parametrize("after", [False, True])
async def test_ended_at_any_call_a_restore_is_done_again_to_the_same_end(
    make: Any, tmp_path: Path, after: bool
) -> None:
    workspace = tmp_path / "workspaces" / "G1"
    folder = SnapshotFolder(tmp_path / "snapshots", free_least=0)
    session = await make(tmp_path / "workspaces").open("G1", "workspace")
    _odd(workspace)
    before, tree = kept_of(workspace), await folder.take(session)
    for at in range(100):
        _spoil(workspace)
        dying: Any = Dying(session, at, after=after)
        try:
            await folder.restore(dying, tree)
            break
        except NoSandbox:
            await folder.restore(session, tree)
            assert kept_of(workspace) == before, f"ended at call {at}"

    assert kept_of(workspace) == before
    assert at >= 6
    await session.close()


def _odd(workspace: Path) -> None:
    (workspace / "drafts/deep/er").mkdir(parents=True)
    (workspace / "drafts/deep/er/a").write_bytes(b"a" * 2_500_000)
    (workspace / "drafts/deep/b").write_text("b")
    (workspace / "drafts/deep/link").symlink_to("../nowhere")
    (workspace / "drafts/deep/er").chmod(0o500)


def _spoil(workspace: Path) -> None:
    (workspace / "drafts/deep/er").chmod(0o700)
    (workspace / "drafts/deep/er/a").write_text("spoilt")
    (workspace / "drafts/deep/b").unlink()
    (workspace / "drafts/deep/b").mkdir()
    (workspace / "drafts/deep/link").unlink()
    (workspace / "drafts/new").write_text("new")


async def test_a_session_that_only_reads_is_kept_and_cannot_be_put_back(tmp_path: Path) -> None:
    sandbox = MemorySandbox()
    writing = await sandbox.open("G1", "workspace")
    await write(writing, "drafts/a.txt", "one")
    reading = await sandbox.open("G1", "read_only")
    folder = SnapshotFolder(tmp_path, free_least=0)

    tree = await folder.take(reading)
    await write(writing, "drafts/a.txt", "two")

    with pytest.raises(BadInput, match="read-only"):
        await folder.restore(reading, tree)


async def test_a_tree_that_is_not_named_yet_outlives_every_sweep_until_it_is_let_go(
    session: Session, tmp_path: Path
) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    tree = await folder.take(session)

    await folder.sweep([], older_s=0)

    assert len(await folder.entries(tree)) == 12
    folder.let_go([tree])
    await folder.sweep([], older_s=0)
    assert list(folder._trees.names()) == list(folder._files.names()) == []


async def test_a_sweep_while_a_tree_is_written_takes_none_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SnapshotFolder(tmp_path / "kept", free_least=0)
    session = await Unconfined(tmp_path / "w").open("G1", "workspace")
    await write(session, "drafts/a.txt", "text\n")
    # Old enough to be known again by its marks.
    await asyncio.sleep(0.15)
    before = await folder.take(session)
    await write(session, "drafts/b.txt", "more\n")
    write_it = SnapshotFolder._write

    def swept_first(self: SnapshotFolder, *args: Any) -> str:
        self.let_go([before])
        self._sweep(frozenset(), 0.0)
        return write_it(self, *args)

    monkeypatch.setattr(SnapshotFolder, "_write", swept_first)
    tree = await folder.take(session, before=before)
    await session.close()

    assert await whole(tmp_path / "kept") == 1
    assert [one.path for one in await folder.entries(tree)] == ["drafts/a.txt", "drafts/b.txt"]


async def test_a_damaged_tree_keeps_no_sweep_from_its_work(
    session: Session, tmp_path: Path
) -> None:
    folder = SnapshotFolder(tmp_path, free_least=0)
    lost = await folder.take(session)
    await write(session, "drafts/0.txt", "another\n")
    tree = await folder.take(session)
    await write(session, "drafts/0.txt", "a third\n")
    gone = await folder.take(session)
    at = folder._trees.path(lost)
    at.write_bytes(at.read_bytes()[:-3])
    folder.let_go([gone])

    await folder.sweep([lost, tree], older_s=0)

    assert {name for name, _ in folder._trees.names()} == {lost, tree}
    kept = {one.hash for one in await folder.entries(tree)}
    assert {name for name, _ in folder._files.names()} == kept
