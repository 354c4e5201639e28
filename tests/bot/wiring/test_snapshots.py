"""Snapshots over a real store and folder: forgotten, swept, thinned, backed up and restored."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adapters.sandbox.none import Unconfined
from adapters.sandbox.removing import WorkspaceFolders
from adapters.snapshots.folder import SnapshotFolder
from adapters.store.open import Store, open_store
from bot.errors import BadInput
from bot.goals.events import (
    Cancelled,
    GoalOpened,
    Resumed,
    Rewound,
    TurnEnded,
    TurnStarted,
)
from bot.goals.goal import Goal
from bot.goals.limits import DEFAULT_BUDGET, LIMITS
from bot.ports.attached import path_of
from bot.ports.chat import Place, Speaker
from bot.ports.forgetting import Step
from bot.ports.journal import Content, Unit
from bot.ports.snapshots import Entry
from bot.settings import Settings, read_settings
from bot.wiring.snapshots import (
    KeptFolders,
    ScratchFolders,
    SnapshotTraces,
    Withdrawn,
    keep_snapshots,
    open_snapshots,
)
from bot.wiring.upkeep import back_up, restore
from scheduler.alarms import Alarms
from tests.adapters.store.clocks import HandClock
from tests.contracts.sandbox import write

ANN = Speaker("ann", "ann")
LETTER = "a letter that nobody else wrote\n"


@dataclass
class Yard:
    """A state folder with a store, snapshots and a sandbox."""

    settings: Settings
    store: Store
    snapshots: SnapshotFolder

    async def goal(self, thread: str, who: Speaker = ANN) -> Goal:
        rooms = self.store.rooms
        session = (await rooms.begin(Place("console", "", "console", thread))).session
        owner = await rooms.person("console", who)
        text = Content(f"objective {thread}", owner)
        opened = GoalOpened(f"g-{thread}", session, 0, owner, text.hash, DEFAULT_BUDGET)
        return (await self.store.journal.open(opened, [text])).goal

    async def writes(self, goal: Goal, **files: str) -> str:
        """A turn that leaves these files, and a checkpoint; returns its tree."""
        session = await Unconfined(self.settings.workspaces_dir).open(goal.session, "workspace")
        for path, text in files.items():
            await write(session, path, text)
        tree = await self.snapshots.take(session)
        await session.close()
        commit = self.store.journal.commit
        await commit(Unit(goal.id, (TurnStarted(), TurnEnded("stopped")), tree=tree))
        await commit(Unit(goal.id, (Resumed(goal.owner),)))
        return tree

    async def trees(self, goal: Goal) -> list[str]:
        return [one.tree for one in await self.store.checkpoints.of_goal(goal.id)]

    def on_disk(self) -> bytes:
        """All that snapshots keep, unpacked."""
        objects = self.snapshots._files
        names = [name for name, _ in objects.names()]
        return b"".join(b"".join(objects.read(name)) for name in names)


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    settings = read_settings(state_dir=tmp_path / "state", database="")
    settings.state_dir.mkdir()
    async with open_store(
        settings.database_url, clock=HandClock(), limits=LIMITS, state_dir=settings.state_dir
    ) as store:
        snapshots = open_snapshots(settings)
        yield Yard(settings, store, snapshots)


async def test_a_file_that_is_taken_back_leaves_the_workspace_and_every_snapshot(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.wiring.snapshots.GRACE_S", 0.0)
    goal = await yard.goal("t")
    path = path_of("m1", "letter.txt")
    first = await yard.writes(goal, **{path: LETTER, "drafts/a.txt": "mine\n"})
    second = await yard.writes(goal, **{"drafts/b.txt": "mine as well\n"})
    parts = (yard.settings, yard.snapshots, yard.store.checkpoints)

    await Withdrawn(*parts).withdraw("m1")
    # Killed before the sweep: another process does it.
    await Withdrawn(*parts).sweep()

    assert not (yard.settings.workspaces_dir / goal.session / path).exists()
    now = await yard.trees(goal)
    assert first not in now
    assert second not in now
    for tree, files in zip(now, (["drafts/a.txt"], ["drafts/a.txt", "drafts/b.txt"]), strict=True):
        kept = await yard.snapshots.entries(tree)
        assert [one.path for one in kept if one.kind == "file"] == files
    assert LETTER.encode() not in yard.on_disk()
    assert b"mine as well" in yard.on_disk()
    assert list((yard.settings.state_dir / "snapshots/withdrawn").iterdir()) == []


async def test_a_file_that_is_taken_back_leaves_a_tree_that_is_named_only_later(
    yard: Yard,
) -> None:
    goal = await yard.goal("t")
    path = path_of("m1", "letter.txt")
    session = await Unconfined(yard.settings.workspaces_dir).open(goal.session, "workspace")
    await write(session, path, LETTER)
    late = await yard.snapshots.take(session)
    await session.close()
    withdrawn = Withdrawn(yard.settings, yard.snapshots, yard.store.checkpoints)

    await withdrawn.withdraw("m1")
    await withdrawn.sweep()
    await yard.store.journal.commit(Unit(goal.id, (TurnStarted(), TurnEnded("stopped")), tree=late))
    await withdrawn.sweep()

    assert await yard.trees(goal) != [late]
    assert LETTER.encode() not in yard.on_disk()


async def test_whoever_takes_back_what_each_tree_is_read_once(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = [
        await yard.writes(await yard.goal(thread), **{"drafts/a.txt": thread * 90})
        for thread in ("t", "u")
    ]
    read: list[str] = []
    entries = yard.snapshots.entries

    async def counted(tree: str) -> tuple[Entry, ...]:
        read.append(tree)
        return await entries(tree)

    monkeypatch.setattr(yard.snapshots, "entries", counted)
    withdrawn = Withdrawn(yard.settings, yard.snapshots, yard.store.checkpoints)
    for message in ("m1", "m2"):
        await withdrawn.withdraw(message)
        await withdrawn.sweep()

    assert sorted(read) == sorted(trees)


async def test_a_goal_that_is_still_to_be_put_back_gets_no_file_that_was_taken_back_since(
    yard: Yard,
) -> None:
    goal = await yard.goal("t")
    path = path_of("m1", "letter.txt")
    tree = await yard.writes(goal, **{path: LETTER, "drafts/a.txt": "mine\n"})
    [point] = await yard.store.checkpoints.of_goal(goal.id)
    back = Rewound(goal.owner, point.seq, point.point, tree)
    await yard.store.journal.commit(Unit(goal.id, (back,)))
    withdrawn = Withdrawn(yard.settings, yard.snapshots, yard.store.checkpoints)

    await withdrawn.withdraw("m1")
    await withdrawn.sweep()

    assert (await yard.store.journal.goal(goal.id)).restore == tree
    snapshots = open_snapshots(yard.settings)
    session = await Unconfined(yard.settings.workspaces_dir).open(goal.session, "workspace")
    await snapshots.restore(session, tree)
    await session.close()
    there = yard.settings.workspaces_dir / goal.session
    assert (there / "drafts/a.txt").read_text() == "mine\n"
    assert not (there / path).exists()
    assert LETTER.encode() not in yard.on_disk()


async def test_what_stands_for_a_tree_goes_when_nobody_names_that_any_more(yard: Yard) -> None:
    goal = await yard.goal("t")
    path = path_of("m1", "letter.txt")
    await yard.writes(goal, **{path: LETTER, "drafts/a.txt": "mine\n"})
    withdrawn = Withdrawn(yard.settings, yard.snapshots, yard.store.checkpoints)
    await withdrawn.withdraw("m1")

    await withdrawn.sweep()

    assert list((yard.settings.snapshots_dir / "instead").iterdir()) == []


async def test_of_a_person_who_is_forgotten_no_snapshot_stays_and_others_keep_theirs(
    yard: Yard,
) -> None:
    own, other = await yard.goal("t"), await yard.goal("u", Speaker("ben", "ben"))
    await yard.writes(own, **{"drafts/a.txt": LETTER})
    kept = await yard.writes(other, **{"drafts/b.txt": "theirs, and long enough to be told\n"})
    trail = await yard.store.forgetting.trail(own.owner)
    await yard.store.journal.commit(Unit(own.id, (Cancelled(own.owner),)))
    traces = SnapshotTraces(yard.snapshots, yard.store.checkpoints)

    counted = await traces.take(trail, is_dry=True)
    taken = await traces.take(trail)

    assert counted == taken == [Step("snapshot", 1)]
    assert await traces.take(trail) == []
    assert await yard.trees(own) == [""]
    assert await yard.trees(other) == [kept]
    assert LETTER.encode() not in yard.on_disk()
    assert await yard.snapshots.entries(kept)


async def test_a_damaged_snapshot_keeps_nothing_from_being_taken_back_or_forgotten(
    yard: Yard,
) -> None:
    goal, other = await yard.goal("t"), await yard.goal("u")
    path = path_of("m1", "letter.txt")
    lost = await yard.writes(goal, **{path: LETTER})
    whole = await yard.writes(other, **{path: LETTER, "drafts/a.txt": "mine\n"})
    at = yard.snapshots._trees.path(lost)
    at.write_bytes(at.read_bytes()[:-3])
    withdrawn = Withdrawn(yard.settings, yard.snapshots, yard.store.checkpoints)

    await withdrawn.withdraw("m1")
    await withdrawn.sweep()

    [now] = await yard.trees(other)
    assert now != whole
    assert [one.path for one in await yard.snapshots.entries(now) if one.kind == "file"] == [
        "drafts/a.txt"
    ]
    assert LETTER.encode() not in yard.on_disk()


async def test_with_a_workspace_that_was_kept_long_enough_its_snapshots_go(yard: Yard) -> None:
    goal = await yard.goal("t")
    tree = await yard.writes(goal, **{"drafts/a.txt": LETTER})
    workspaces = WorkspaceFolders(yard.settings.workspaces_dir)
    folders = KeptFolders(workspaces, yard.snapshots, yard.store.checkpoints)

    await folders.remove(goal.session)
    await yard.snapshots.sweep(await yard.store.checkpoints.named(), older_s=0)

    assert await folders.names() == ()
    assert await yard.trees(goal) == [""]
    with pytest.raises(BadInput):
        await yard.snapshots.entries(tree)


async def test_scratch_folders_are_emptied_when_the_goal_has_ended(yard: Yard) -> None:
    ended, live = await yard.goal("t"), await yard.goal("u")
    for goal in (ended, live):
        await yard.writes(goal, **{"cache/a": "scratch", "tmp/b": "scratch", "drafts/c": "kept"})
    await yard.store.journal.commit(Unit(ended.id, (Cancelled(ended.owner),)))

    await ScratchFolders(yard.settings, yard.store).sweep()

    def left(goal: Goal) -> list[str]:
        folder = yard.settings.workspaces_dir / goal.session
        return sorted(
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and ".shell" not in path.parts
        )

    assert left(ended) == ["drafts/c"]
    assert left(live) == ["cache/a", "drafts/c", "tmp/b"]


async def test_of_one_goal_only_so_many_trees_are_kept(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.wiring.snapshots.KEEP", 2)
    monkeypatch.setattr("bot.wiring.snapshots.GRACE_S", 0.0)
    monkeypatch.setattr("adapters.snapshots.folder.UNNAMED_S", 0.0)
    goal = await yard.goal("t")
    trees = [await yard.writes(goal, **{"drafts/a.txt": f"{n}\n" * 90}) for n in range(4)]
    rung: dict[str, Any] = {}
    alarms = Alarms()
    monkeypatch.setattr(alarms, "add", lambda name, sweep, every_s: rung.update({name: sweep}))
    keep_snapshots(alarms, yard.settings, yard.snapshots, yard.store)

    await rung["snapshots"]()

    assert await yard.trees(goal) == ["", "", *trees[2:]]
    for tree in trees[:2]:
        with pytest.raises(BadInput):
            await yard.snapshots.entries(tree)
    assert await yard.snapshots.entries(trees[2])


async def test_what_was_taken_back_before_a_backup_is_taken_out_after_its_restore(
    tmp_path: Path,
) -> None:
    settings = read_settings(state_dir=tmp_path / "state", database="")
    settings.state_dir.mkdir()
    async with open_store(
        settings.database_url, clock=HandClock(), limits=LIMITS, state_dir=settings.state_dir
    ) as store:
        yard = Yard(settings, store, open_snapshots(settings))
        goal = await yard.goal("t")
        first, second = path_of("m1", "a.txt"), path_of("m2", "b.txt")
        tree = await yard.writes(goal, **{first: LETTER, second: "another", "drafts/c": "c"})
        [point] = await store.checkpoints.of_goal(goal.id)
        back = Rewound(goal.owner, point.seq, point.point, tree)
        await store.journal.commit(Unit(goal.id, (back,)))
        withdrawn = Withdrawn(settings, yard.snapshots, store.checkpoints)
        await withdrawn.withdraw("m1")
        await withdrawn.sweep()
        await withdrawn.withdraw("m2")
    place = tmp_path / "backup"
    other = read_settings(state_dir=tmp_path / "other", database="")

    back_up(settings, place, {}, lambda *_: None)
    restore(other, place, lambda *_: None)

    snapshots = open_snapshots(other)
    async with open_store(
        other.database_url, clock=HandClock(), limits=LIMITS, state_dir=other.state_dir
    ) as store:
        await Withdrawn(other, snapshots, store.checkpoints).sweep()
    kept = [one.path for one in await snapshots.entries(tree) if one.kind == "file"]
    assert kept == ["drafts/c"]


async def test_a_backup_holds_the_snapshots_and_a_restore_brings_them_back(
    tmp_path: Path,
) -> None:
    settings = read_settings(state_dir=tmp_path / "state", database="")
    settings.state_dir.mkdir()
    async with open_store(
        settings.database_url, clock=HandClock(), limits=LIMITS, state_dir=settings.state_dir
    ) as store:
        yard = Yard(settings, store, open_snapshots(settings))
        goal = await yard.goal("t")
        tree = await yard.writes(goal, **{"drafts/a.txt": LETTER, "notes/b.txt": "b" * 5_000})
    place, elsewhere = tmp_path / "backup", tmp_path / "other"
    other = read_settings(state_dir=elsewhere, database="")

    back_up(settings, place, {}, lambda *_: None)
    restore(other, place, lambda *_: None)

    session = await Unconfined(tmp_path / "new").open("w", "workspace")
    restored = await open_snapshots(other).restore(session, tree)
    await session.close()
    assert replace(restored, removed=0).written == 2
    assert (tmp_path / "new/w/drafts/a.txt").read_text() == LETTER
    kept = {path.name for path in (elsewhere / "snapshots").iterdir()}
    assert kept == {"files", "trees"}
    modes = {path.stat().st_mode & 0o777 for path in (elsewhere / "snapshots").rglob("*/*/*")}
    assert modes == {0o600}
