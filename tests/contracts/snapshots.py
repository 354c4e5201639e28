"""What every keeper of snapshots does, whatever it is made of."""

import hashlib

import pytest

from bot.errors import BadInput
from bot.ports.sandbox import Sandbox, Session
from bot.ports.snapshots import EMPTY, Snapshots
from tests.contracts.sandbox import bash, put, read, taken, write

QUOTA = 4_000_000


class SnapshotsContract:
    """Subclasses give fixtures `sandbox`, `session` (over the workspace G1) and `snapshots`,

    which keeps at most `QUOTA` bytes a tree.
    """

    async def test_an_empty_workspace_is_the_empty_tree(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        assert await snapshots.take(session) == EMPTY
        assert await snapshots.entries(EMPTY) == ()

    async def test_a_tree_is_named_by_what_is_in_it(
        self, sandbox: Sandbox, session: Session, snapshots: Snapshots
    ) -> None:
        other = await sandbox.open("G2", "workspace")
        for each in (session, other):
            await write(each, "drafts/a.txt", "one\n")

        first, second = await snapshots.take(session), await snapshots.take(other)
        await write(other, "drafts/a.txt", "two\n")
        third = await snapshots.take(other, before=second)
        await other.close()

        assert first == second != third

    async def test_what_was_written_removed_and_changed_since_is_put_back(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        await put(session, "notes/b.bin", bytes(range(256)) * 5_000)
        tree = await snapshots.take(session)
        await write(session, "drafts/a.txt", "two\n")
        await write(session, "drafts/new/c.txt", "new\n")
        await bash(session, "rm notes/b.bin")

        restored = await snapshots.restore(session, tree)

        assert (restored.written, restored.removed, restored.failed) == (2, 1, {})
        assert (await read(session, "drafts/a.txt")).text == "1\tone\n"
        assert await taken(session, "notes/b.bin") == bytes(range(256)) * 5_000
        assert not (await read(session, "drafts/new/c.txt")).ok
        assert await snapshots.take(session) == tree

    async def test_putting_back_what_is_there_changes_nothing(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        tree = await snapshots.take(session)

        again = await snapshots.restore(session, tree)

        assert (again.written, again.removed) == (0, 0)

    async def test_the_empty_tree_empties_a_workspace(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")

        restored = await snapshots.restore(session, EMPTY)

        assert restored.removed == 1
        assert await snapshots.take(session) == EMPTY

    async def test_scratch_folders_are_neither_kept_nor_touched(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "cache/a.txt", "scratch\n")
        await write(session, "tmp/b.txt", "scratch\n")
        before = await snapshots.take(session)

        await snapshots.restore(session, EMPTY)

        assert before == EMPTY
        assert (await read(session, "cache/a.txt")).ok
        assert (await read(session, "tmp/b.txt")).ok

    async def test_a_tree_is_put_into_another_workspace(
        self, sandbox: Sandbox, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        tree = await snapshots.take(session)
        other = await sandbox.open("G2", "workspace")

        await snapshots.restore(other, tree)

        assert (await read(other, "drafts/a.txt")).text == "1\tone\n"
        assert await snapshots.take(other) == tree
        await other.close()

    async def test_entries_tell_paths_sizes_and_hashes(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")

        entries = await snapshots.entries(await snapshots.take(session))

        [file] = [one for one in entries if one.kind == "file"]
        assert (file.path, file.size) == ("drafts/a.txt", 4)
        assert file.hash == hashlib.sha256(b"one\n").hexdigest()

    async def test_a_change_of_the_same_size_is_seen(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        tree = await snapshots.take(session)
        await write(session, "drafts/a.txt", "two\n")

        other = await snapshots.take(session, before=tree)

        assert other != tree
        await snapshots.restore(session, tree)
        assert (await read(session, "drafts/a.txt")).text == "1\tone\n"

    async def test_a_workspace_over_the_quota_is_refused_and_stays(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await put(session, "drafts/large.bin", b"x" * (QUOTA + 1))

        with pytest.raises(BadInput, match="workspace holds"):
            await snapshots.take(session)

        assert len(await taken(session, "drafts/large.bin")) == QUOTA + 1

    async def test_a_tree_that_is_not_there_is_refused(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        for tree in ("0" * 64, "../../etc", ""):
            with pytest.raises(BadInput, match="not kept"):
                await snapshots.restore(session, tree)
            with pytest.raises(BadInput, match="not kept"):
                await snapshots.entries(tree)

    async def test_what_nobody_names_is_swept_and_the_rest_stays(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        first = await snapshots.take(session)
        await write(session, "drafts/b.txt", "two, and long enough to be told apart\n")
        second = await snapshots.take(session, before=first)

        nothing = await snapshots.sweep([first, second], older_s=0)
        young = await snapshots.sweep([first], older_s=3600)
        gone = await snapshots.sweep([first], older_s=0)

        assert nothing == young == 0
        assert gone > 0
        assert (await snapshots.restore(session, first)).removed == 1
        with pytest.raises(BadInput):
            await snapshots.entries(second)

    async def test_a_tree_that_was_swept_is_made_anew(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        tree = await snapshots.take(session)
        await snapshots.sweep([], older_s=0)

        again = await snapshots.take(session, before=tree)

        assert again == tree
        await write(session, "drafts/a.txt", "two\n")
        await snapshots.restore(session, tree)
        assert (await read(session, "drafts/a.txt")).text == "1\tone\n"

    async def test_a_folder_is_taken_out_of_a_tree(
        self, session: Session, snapshots: Snapshots
    ) -> None:
        await write(session, "drafts/a.txt", "one\n")
        tree = await snapshots.take(session)
        await write(session, "inbox/K7Q2/b.txt", "two\n")
        whole = await snapshots.take(session, before=tree)

        left = await snapshots.without(whole, "inbox/K7Q2")

        assert {one.path for one in await snapshots.entries(left) if one.kind == "file"} == {
            "drafts/a.txt"
        }
        assert await snapshots.without(tree, "inbox/K7Q2") == tree
