"""Whole workspaces, as odd as agents make them: kept and put back byte for byte."""

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.sandbox.bubblewrap import Bubblewrap
from adapters.sandbox.inside import snapshot
from adapters.sandbox.inside.limits import Limits
from adapters.sandbox.none import Unconfined
from adapters.snapshots.folder import SnapshotFolder
from bot.ports import tree
from bot.ports.sandbox import Sandbox, Session
from tests.contracts.sandbox import bash, write

pytestmark = pytest.mark.sandbox

NAMES = st.one_of(
    st.sampled_from(
        [
            b"a",
            b"b",
            b"a b",
            b".git",
            b"HEAD",
            b"\xff\xfe",
            b"new\nline",
            b"-rf",
            b"...",
            b"caf\xc3\xa9",
        ]
    ),
    st.binary(min_size=1, max_size=12).filter(
        lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
    ),
)
FILES = st.tuples(
    st.just("file"),
    st.one_of(st.binary(max_size=300), st.integers(0, 3).map(lambda n: b"long " * n * 60_000)),
    st.sampled_from([0o644, 0o755, 0o600, 0o444, 0o000]),
)
LINKS = st.tuples(
    st.just("link"),
    st.sampled_from([b"a", b"../..", b"/etc/passwd", b"nowhere", b".", b"\xff"]),
    st.just(0),
)
TREES = st.recursive(
    st.dictionaries(NAMES, st.one_of(FILES, LINKS), max_size=4),
    lambda inner: st.dictionaries(
        NAMES,
        st.one_of(
            FILES,
            LINKS,
            st.tuples(st.just("folder"), inner, st.sampled_from([0o755, 0o500, 0o111])),
        ),
        max_size=4,
    ),
    max_leaves=8,
)


def make(folder: bytes, tree: dict[bytes, Any]) -> None:
    for name, (kind, what, mode) in tree.items():
        path = os.path.join(folder, name)
        if kind == "link":
            os.symlink(what, path)
            continue
        if kind == "folder":
            os.mkdir(path)
            make(path, what)
        else:
            with open(path, "wb") as file:
                file.write(what)
        os.chmod(path, mode)


def told(folder: bytes) -> dict[bytes, Any]:
    """All that is in a folder, scratch apart, as a mapping that can be compared."""
    found: dict[bytes, Any] = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        state = os.lstat(path)
        if stat.S_ISLNK(state.st_mode):
            found[name] = ("link", os.readlink(path))
        elif stat.S_ISDIR(state.st_mode):
            inner = told(path)
            found[name] = ("folder", stat.S_IMODE(state.st_mode), tuple(inner.items()))
        else:
            with open(path, "rb") as file:
                found[name] = ("file", stat.S_IMODE(state.st_mode), file.read())
    return found


def kept_of(workspace: Path) -> dict[bytes, Any]:
    whole = told(os.fsencode(workspace))
    return {name: one for name, one in whole.items() if name not in (b"cache", b"tmp")}


@pytest.fixture
async def session(sandbox: Sandbox) -> AsyncIterator[Session]:
    opened = await sandbox.open("G1", "workspace")
    yield opened
    await opened.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspaces" / "G1"


@pytest.fixture(params=["bubblewrap", "none"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    made = Bubblewrap if request.param == "bubblewrap" else Unconfined
    return made(tmp_path / "workspaces")


@pytest.fixture
def snapshots(tmp_path: Path) -> SnapshotFolder:
    return SnapshotFolder(tmp_path / "snapshots", free_least=0)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=TREES, second=TREES)
def test_any_tree_is_put_back_over_any_other(
    tmp_path_factory: pytest.TempPathFactory, first: dict[bytes, Any], second: dict[bytes, Any]
) -> None:
    folder = tmp_path_factory.mktemp("tree")

    async def play() -> None:
        sandbox = Bubblewrap(folder / "workspaces")
        snapshots = SnapshotFolder(folder / "snapshots", free_least=0)
        session = await sandbox.open("G1", "workspace")
        drafts = folder / "workspaces" / "G1" / "drafts"
        try:
            make(os.fsencode(drafts), first)
            before = kept_of(drafts.parent)
            tree = await snapshots.take(session)
            assert kept_of(drafts.parent) == before, "A look has changed something."
            shutil.rmtree(drafts)
            drafts.mkdir()
            make(os.fsencode(drafts), second)
            other = await snapshots.take(session, before=tree)

            restored = await snapshots.restore(session, tree)

            assert restored.failed == {}
            assert kept_of(drafts.parent) == before
            assert await snapshots.take(session, before=other) == tree
        finally:
            await session.close()
            shutil.rmtree(folder)

    asyncio.run(play())


async def test_a_repository_with_one_inside_is_kept_with_all_that_git_needs(
    session: Session, snapshots: SnapshotFolder, workspace: Path
) -> None:
    made = (
        "(cd checkouts && git init -q outer && cd outer && git init -q inner && echo one > a && "
        "cd inner && echo two > b && git add b && "
        "git -c user.name=a -c user.email=a@b commit -qm inner && cd .. && git add a && "
        "git -c user.name=a -c user.email=a@b commit -qm outer && git status --porcelain)"
    )
    done = await bash(session, made)
    assert done.ok, done.text
    before = kept_of(workspace)
    tree = await snapshots.take(session)
    await bash(session, "rm -rf checkouts/outer/.git checkouts/outer/inner/b; echo x > checkouts/y")

    await snapshots.restore(session, tree)

    assert kept_of(workspace) == before
    log = await bash(session, "(cd checkouts/outer/inner && git log --oneline && git fsck 2>&1)")
    assert "inner" in log.text
    assert log.ok


async def test_nothing_outside_is_read_or_written_through_links(
    session: Session, snapshots: SnapshotFolder, workspace: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "key").write_text("secret")
    (workspace / "drafts" / "a").mkdir()
    (workspace / "drafts" / "a" / "key").write_text("mine")
    tree = await snapshots.take(session)
    shutil.rmtree(workspace / "drafts" / "a")
    shutil.rmtree(workspace / "tmp")
    (workspace / "drafts" / "a").symlink_to(secret)
    (workspace / "tmp").symlink_to(secret)

    linked = await snapshots.take(session, before=tree)
    await snapshots.restore(session, tree)

    links = [one for one in await snapshots.entries(linked) if one.kind == "link"]
    assert [(one.path, one.target) for one in links] == [("drafts/a", str(secret))]
    assert not [one for one in await snapshots.entries(linked) if one.kind == "file"]
    assert (secret / "key").read_text() == "secret"
    assert os.listdir(secret) == ["key"]
    assert (workspace / "drafts" / "a" / "key").read_text() == "mine"


async def test_pipes_and_sockets_are_left_out_and_removed_when_it_is_put_back(
    session: Session, snapshots: SnapshotFolder, workspace: Path
) -> None:
    await write(session, "drafts/a.txt", "one")
    tree = await snapshots.take(session)
    os.mkfifo(workspace / "drafts" / "pipe")

    again = await snapshots.take(session, before=tree)
    restored = await snapshots.restore(session, tree)

    assert again == tree
    assert restored.removed == 1
    assert not (workspace / "drafts" / "pipe").exists()


async def test_a_file_that_grows_all_the_time_is_kept_as_it_was_at_some_moment(
    session: Session, snapshots: SnapshotFolder, workspace: Path
) -> None:
    path = workspace / "drafts" / "log"
    path.write_bytes(b"x" * 3_000_000)
    stop = asyncio.Event()

    def add(data: bytes) -> None:
        with open(path, "ab") as file:
            file.write(data)

    async def grow() -> None:
        while not stop.is_set():
            await asyncio.to_thread(add, b"y" * 1000)

    growing = asyncio.create_task(grow())
    tree = await snapshots.take(session)
    stop.set()
    await growing

    [entry] = await snapshots.entries(tree)
    assert entry.size >= 3_000_000
    assert (entry.size - 3_000_000) % 1000 == 0
    size = path.stat().st_size
    assert await snapshots.take(session, before=tree) != tree
    assert path.stat().st_size == size


async def test_folders_inside_one_another_without_end_are_left_out_and_do_no_harm(
    session: Session, snapshots: SnapshotFolder, caplog: pytest.LogCaptureFixture
) -> None:
    await write(session, "drafts/a.txt", "one")
    deep = "(cd drafts; for i in $(seq 300); do mkdir d; cd d; done; echo x > x)"
    await bash(session, deep)

    tree = await snapshots.take(session)
    restored = await snapshots.restore(session, tree)

    assert "drafts/a.txt" in {one.path for one in await snapshots.entries(tree)}
    assert len(await snapshots.entries(tree)) > 100
    # What could not be kept is named, and stays.
    [(path, why)] = restored.failed.items()
    assert why in caplog.text
    assert path.startswith("drafts/d/d/")
    assert restored.removed == 0
    assert (await bash(session, "find drafts | wc -l")).text.strip() == "303"


async def test_a_workspace_with_more_in_it_than_one_look_tells_is_put_back_whole(
    tmp_path: Path,
) -> None:
    sandbox = Unconfined(tmp_path / "workspaces", limits=Limits(workspace_entries=20))
    snapshots = SnapshotFolder(tmp_path / "snapshots", free_least=0)
    session = await sandbox.open("G1", "workspace")
    await write(session, "notes/z.txt", "kept")
    tree = await snapshots.take(session)
    drafts = tmp_path / "workspaces/G1/drafts"
    for number in range(70):
        (drafts / f"{number}.txt").write_text("too much")
    (tmp_path / "workspaces/G1/notes/z.txt").write_text("another")

    restored = await snapshots.restore(session, tree)

    assert list(drafts.iterdir()) == []
    assert (tmp_path / "workspaces/G1/notes/z.txt").read_text() == "kept"
    assert (restored.written, restored.removed, restored.failed) == (1, 70, {})
    await session.close()


def test_pipes_are_called_the_same_inside_and_outside() -> None:
    assert snapshot.SPECIAL == tree.SPECIAL


async def test_a_folder_of_the_workspaces_own_whose_rights_were_changed_loses_no_file(
    session: Session, workspace: Path, tmp_path: Path
) -> None:
    snapshots = SnapshotFolder(tmp_path / "snapshots", free_least=0)
    await bash(session, "mkdir drafts/in && echo a > drafts/in/a && echo b > drafts/b")
    tree, before = await snapshots.take(session), kept_of(workspace)

    await bash(session, "echo c > drafts/in/c")
    # As a backup that was restored, or the agent itself, leaves it.
    (workspace / "drafts").chmod(0o700)
    restored = await snapshots.restore(session, tree)

    assert restored.failed == {}
    now = kept_of(workspace)
    assert {name: one[2] for name, one in now.items()} == {
        name: one[2] for name, one in before.items()
    }
