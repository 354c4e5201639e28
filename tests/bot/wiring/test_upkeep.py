"""Backups of the whole state and the way back: refused when in doubt, whole or not at all."""

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from adapters.backup.folder import read_manifest
from adapters.backup.manifest import FILE, written
from adapters.store import schema
from bot.errors import AlreadyOwned, BadInput, HeadwayError, StoreUnusable
from bot.settings import Settings, read_settings
from bot.wiring.folder import UNFINISHED, owned, prepare_folder
from bot.wiring.upkeep import Restore, back_up, restore, upgrade
from tests.adapters.store.releases.kept import RELEASES, Kept, unpack

DURABLE = ("fsync", "rename", "replace", "link", "unlink", "mkdir", "symlink")
"""What of `os` changes what is on the disk, or says that it is there."""
FORKS = "ignore:This process .*fork:DeprecationWarning"
"""Of Python 3.12, where other tests have left threads; the child is alone and never comes back."""
PART = "drafts/part-1.txt"
HASH = sha256(b"a,b\n").hexdigest()
BLOB = f"files/{HASH[:2]}/{HASH}"
"""A file that somebody gave."""


def _nobody(step: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def state(tmp_path: Path) -> tuple[Settings, Kept]:
    """A state folder at today's schema, with goals and files."""
    kept = unpack(RELEASES[0], tmp_path / "state")
    settings = read_settings(state_dir=tmp_path / "state", database="")
    upgrade(settings, _nobody)
    blob = settings.state_dir / BLOB
    blob.parent.mkdir(parents=True, mode=0o700)
    blob.write_bytes(b"a,b\n")
    blob.chmod(0o600)
    return settings, kept


def _backed_up(settings: Settings, name: str = "backup") -> Path:
    place = settings.state_dir.parent / name
    back_up(settings, place, {"model": "m"}, _nobody)
    return place


def _elsewhere(settings: Settings, name: str = "other") -> Settings:
    return read_settings(state_dir=settings.state_dir.parent / name, database="")


def _held(settings: Settings) -> list[str]:
    path = settings.state_dir / "headway.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return [scope for (scope,) in database.execute("SELECT scope FROM hold")]


def test_a_backup_holds_database_files_and_settings_for_its_owner_alone(
    state: tuple[Settings, Kept],
) -> None:
    settings, kept = state
    workspace = settings.workspaces_dir / kept.sessions["complete"]
    (workspace / "tmp").mkdir()
    (workspace / "tmp" / "scratch").write_text("scratch")
    (settings.state_dir / "some.key").write_text("KEY")

    place = _backed_up(settings)

    there = {str(path.relative_to(place)) for path in place.rglob("*")}
    inside = f"workspaces/{kept.sessions['complete']}"
    assert there == {
        "database",
        "database/headway.db",
        "files",
        f"files/{HASH[:2]}",
        BLOB,
        "manifest.json",
        "settings.json",
        "workspaces",
        inside,
        f"{inside}/drafts",
        f"{inside}/{PART}",
        f"{inside}/tmp",
    }
    for path in [place, *place.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    assert json.loads((place / "settings.json").read_text()) == {"model": "m"}
    manifest = read_manifest(place)
    assert (manifest.schema, manifest.database) == (schema.HEAD, "sqlite")


def test_a_restore_gives_the_same_files_and_a_database_on_hold(
    state: tuple[Settings, Kept],
) -> None:
    settings, kept = state
    place, other = _backed_up(settings), _elsewhere(settings)

    done = restore(other, place, _nobody)

    assert done.kept == ()
    assert done.report.goals["deciding"] == 1
    assert _held(other) == ["restore"]
    part = Path(kept.sessions["complete"]) / PART
    assert (other.workspaces_dir / part).read_bytes() == (
        settings.workspaces_dir / part
    ).read_bytes()
    assert (other.state_dir / BLOB).read_bytes() == b"a,b\n"
    assert stat.S_IMODE((other.state_dir / "headway.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(other.state_dir.stat().st_mode) == 0o700
    assert not list(other.state_dir.rglob("*unfinished*"))


def test_a_backup_among_the_goals_files_is_refused(state: tuple[Settings, Kept]) -> None:
    settings, _ = state

    with pytest.raises(BadInput, match="lies among the goals' files"):
        back_up(settings, settings.workspaces_dir / "backup", {}, _nobody)


def test_without_a_database_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    settings = read_settings(state_dir=tmp_path / "empty", database="")

    with pytest.raises(StoreUnusable, match="nothing to back up"):
        back_up(settings, tmp_path / "backup", {}, _nobody)

    assert list(tmp_path.iterdir()) == []


def test_a_state_that_is_there_is_not_replaced_unless_that_is_said(
    state: tuple[Settings, Kept],
) -> None:
    settings, _ = state
    place = _backed_up(settings)
    before = (settings.state_dir / "headway.db").read_bytes()

    with pytest.raises(BadInput, match="has a database already: give --into"):
        restore(settings, place, _nobody)

    assert (settings.state_dir / "headway.db").read_bytes() == before
    assert not (settings.state_dir / UNFINISHED).exists()


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("where", ["", "database", "new"])
def test_a_backup_is_not_spoilt_by_a_restore_into_itself(
    state: tuple[Settings, Kept], where: str, replaces: bool
) -> None:
    settings, _ = state
    place = _backed_up(settings)

    with pytest.raises(BadInput, match="lies in the backup"):
        restore(_elsewhere(settings, f"{place.name}/{where}"), place, _nobody, replaces=replaces)

    assert restore(_elsewhere(settings), place, _nobody).report


def test_a_backup_among_the_goals_files_that_a_restore_replaces_is_refused(
    state: tuple[Settings, Kept],
) -> None:
    settings, _ = state
    place = _backed_up(settings).rename(settings.workspaces_dir / "backup")

    with pytest.raises(BadInput, match="move it out"):
        restore(settings, place, _nobody, replaces=True)

    assert (place / "manifest.json").exists()


def test_a_backup_is_found_by_a_link_to_it(state: tuple[Settings, Kept], tmp_path: Path) -> None:
    settings, _ = state
    link = tmp_path / "latest"
    link.symlink_to(_backed_up(settings))

    assert restore(_elsewhere(settings), link, _nobody).report


def test_what_is_replaced_is_kept_beside(state: tuple[Settings, Kept]) -> None:
    settings, kept = state
    place = _backed_up(settings)
    newer = settings.workspaces_dir / kept.sessions["complete"] / "drafts" / "newer.txt"
    newer.write_text("of after the backup")

    done = restore(settings, place, _nobody, replaces=True)

    database, files = (Path(path) for path in done.kept)
    assert _held(settings) == ["restore"]
    assert not newer.exists()
    inside = newer.relative_to(settings.workspaces_dir)
    assert (files / inside).read_text() == "of after the backup"
    with closing(sqlite3.connect(database)) as old:
        assert old.execute("SELECT count(*) FROM hold").fetchone() == (0,)
        assert old.execute("SELECT count(*) FROM goal").fetchone() == (8,)


def test_a_restore_beside_a_process_is_refused(state: tuple[Settings, Kept]) -> None:
    settings, _ = state
    place = _backed_up(settings)

    with owned(settings.state_dir), pytest.raises(AlreadyOwned, match=r"pid \d+.*stop it"):
        restore(settings, place, _nobody, replaces=True)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda at: os.truncate(at / "database" / "headway.db", 8192), "headway.db was altered"),
        (lambda at: (at / "settings.json").unlink(), "settings.json is missing"),
        (lambda at: os.truncate(at / FILE, 40), "cut off"),
        (lambda at: (at / FILE).unlink(), "There is no backup"),
        (lambda at: _rewritten(at, schema="9999"), "schema 9999"),
        (lambda at: _rewritten(at, database="postgresql"), "database of PostgreSQL"),
    ],
)
def test_a_backup_that_is_cut_altered_newer_or_of_another_kind_is_refused_and_nothing_written(
    state: tuple[Settings, Kept], spoil: Callable[[Path], object], said: str
) -> None:
    settings, _ = state
    place, other = _backed_up(settings), _elsewhere(settings)
    spoil(place)

    with pytest.raises(HeadwayError, match=said):
        restore(other, place, _nobody)

    assert not other.state_dir.exists()


def test_a_link_out_of_a_workspace_comes_back_as_a_link(
    state: tuple[Settings, Kept], tmp_path: Path
) -> None:
    settings, kept = state
    (tmp_path / "outside").write_text("SECRET OUTSIDE")
    link = settings.workspaces_dir / kept.sessions["complete"] / "notes"
    link.symlink_to(tmp_path / "outside")
    place, other = _backed_up(settings), _elsewhere(settings)

    restore(other, place, _nobody)

    for root in (place, other.state_dir):
        assert b"SECRET OUTSIDE" not in _bytes_of(root)
    assert os.readlink(other.workspaces_dir / kept.sessions["complete"] / "notes") == str(
        tmp_path / "outside"
    )


@pytest.mark.filterwarnings(FORKS)
def test_a_backup_that_is_killed_at_any_step_leaves_nothing_that_looks_whole(
    state: tuple[Settings, Kept],
) -> None:
    settings, _ = state
    place = settings.state_dir.parent / "backup"

    died = 0
    while _dies_at(died + 1, lambda: back_up(settings, place, {}, _nobody)):
        died += 1
        if place.exists():
            # The last step was the rename, or came after it.
            restore(_elsewhere(settings, f"after{died}"), place, _nobody)
            shutil.rmtree(place)
        else:
            with pytest.raises(BadInput, match="There is no backup"):
                restore(_elsewhere(settings), place, _nobody)

    assert died > 5
    assert sorted(path.name for path in place.parent.iterdir() if "after" not in path.name) == [
        "backup",
        "state",
    ]


@pytest.mark.filterwarnings(FORKS)
@pytest.mark.parametrize("replaces", [False, True])
def test_a_restore_that_is_killed_at_any_step_leaves_what_does_not_start_or_is_on_hold(
    state: tuple[Settings, Kept], replaces: bool
) -> None:
    settings, kept = state
    place = _backed_up(settings)
    part = Path(kept.sessions["complete"]) / PART

    def begun(number: int) -> Settings:
        other = _elsewhere(settings, f"other{number}")
        if replaces:
            shutil.copytree(settings.state_dir, other.state_dir)
        return other

    died = 0
    while True:
        other = begun(died + 1)
        if not _dies_at(died + 1, partial(_restored, other, place, replaces)):
            break
        died += 1
        is_as_it_was = not (other.state_dir / UNFINISHED).exists()
        if is_as_it_was and (other.state_dir / "headway.db").exists():
            is_old = _held(other) == []
            assert is_old <= replaces
            assert (other.workspaces_dir / part).exists()
        elif not is_as_it_was:
            with pytest.raises(StoreUnusable, match=r"under way or was cut short: run .*restore"):
                prepare_folder(other)
        again = _restored(other, place, replaces or not is_as_it_was or _has_database(other))
        assert _held(other) == ["restore"]
        assert (other.workspaces_dir / part).exists()
        assert (other.state_dir / BLOB).read_bytes() == b"a,b\n"
        assert again.report.goals["deciding"] == 1
        assert not list(other.state_dir.rglob("*unfinished*"))

    assert died > 8


def _has_database(settings: Settings) -> bool:
    return (settings.state_dir / "headway.db").exists()


def _restored(settings: Settings, place: Path, replaces: bool) -> Restore:
    return restore(settings, place, _nobody, replaces=replaces)


def _dies_at(number: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that is gone before its `number`th durable step; False: it ended."""
    child = os.fork()
    if child == 0:
        try:
            with _dying(number):
                work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a process of its own
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9), code
    return code == 9


@contextmanager
def _dying(number: int) -> Iterator[None]:
    left = number

    def before(step: Callable[..., Any]) -> Callable[..., Any]:
        def dying(*arguments: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(9)
            return step(*arguments, **more)

        return dying

    for name in DURABLE:
        setattr(os, name, before(getattr(os, name)))
    yield


def _rewritten(place: Path, **changed: str) -> None:
    """Another whole manifest, of another schema or kind."""
    told = replace(read_manifest(place), **changed)  # type: ignore[arg-type]
    (place / FILE).write_text(written(told))


def _bytes_of(root: Path) -> bytes:
    return b"".join(
        path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_symlink()
    )
