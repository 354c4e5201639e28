"""
Backups of the whole state, and the way back.

Rule 1: a backup holds the database, the goals' files with their snapshots, those of messages and the
        settings without secrets; the key file and whatever else lies in the state folder is not in it.
Rule 2: the database comes first, so that every file is as new as its rows say, or newer.
Rule 3: nothing is replaced before the backup has been read to its end and found whole; the database
        is the last to appear. While a restore is under way, or was cut short, a mark stands in the
        state folder, and nothing starts there.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from adapters.backup import folder as folders
from adapters.backup.manifest import Manifest, differences
from adapters.backup.tree import Entry, copy_tree, read_tree
from adapters.sandbox.inside.limits import SCRATCH
from adapters.store import schema, upkeep
from adapters.store.copies import nobody
from adapters.store.look import look
from adapters.store.open import is_shared
from adapters.store.restored import Origin
from bot.errors import BadInput, StoreUnusable
from bot.ports.restored import RestoreReport
from bot.settings import Settings
from bot.wiring.files import FOLDER, back_up_files, restore_files
from bot.wiring.folder import NAME, UNFINISHED, identity, known_identity, owned
from bot.wiring.matrix_backup import FOLDER as MATRIX
from bot.wiring.matrix_backup import put_matrix
from bot.wiring.program import version
from bot.wiring.snapshots import FOLDER as SNAPSHOTS
from bot.wiring.snapshots import back_up_snapshots, restore_snapshots

DATABASE: Final = "database"
WORKSPACES: Final = "workspaces"
SETTINGS: Final = "settings.json"

Told = Callable[[str, int, int], None]
"""Is told what is being done, how many bytes of it are done, and of how many (0: not known)."""


@dataclass(frozen=True, slots=True)
class Restore:
    """What a restore did: the report, and what it kept beside."""

    report: RestoreReport
    kept: tuple[str, ...] = ()


def back_up(settings: Settings, place: Path, shown: object, told: Told) -> Manifest:
    """Write a backup to `place`, whether or not a process is at work; returns what is in it.

    Args:
        place: a folder that is not there yet, or is empty.
        shown: the settings without secrets, as JSON has them.

    Raises:
        BadInput: `place` is taken, or lies among what is backed up.
        StoreBusy, StoreUnusable: the database cannot be read, or the backup cannot be written.
    """
    place, files = place.absolute(), settings.workspaces_dir
    for among in (files, settings.state_dir / FOLDER, settings.snapshots_dir):
        if place.resolve().is_relative_to(among.resolve()):
            raise BadInput(f"{place} lies among the goals' files: name a folder outside {among}.")
    at = time.time()
    with folders.new_folder(place) as folder:
        found = _database_into(folder, settings, partial(told, DATABASE))
        # After the database: what it says was read can be read with these keys.
        put_matrix(settings, folder)
        folders.put(folder / SETTINGS, json.dumps(shown, indent=1).encode("ascii"))
        rows = tuple(read_tree(folder))
        copied = [_in_workspaces(each) for each in _copied(files, folder / WORKSPACES, told)]
        copied += back_up_files(settings, folder, _summed(FOLDER, 0, told))
        copied += back_up_snapshots(settings, folder, _summed(SNAPSHOTS, 0, told))
        entries = (*rows, *(entry for entry in copied if not entry.why))
        left_out = [entry for entry in copied if entry.why]
        manifest = _manifest(settings, at, found, entries, (*_elsewhere(settings), *left_out))
        folders.write_manifest(folder, manifest)
    return manifest


def restore(settings: Settings, place: Path, told: Told, *, replaces: bool = False) -> Restore:
    """Make the state that of the backup in `place`, on hold.

    Args:
        replaces: what is there already is kept beside, not refused.

    Raises:
        BadInput: there is no backup, or something is there already, or the backup is of another kind
            of database, or the state would lie in it.
        AlreadyOwned: a process is at work there.
        StoreBusy, StoreUnusable: the backup is not whole or newer, or the state cannot be written.
    """
    place = place.resolve()
    manifest = folders.read_manifest(place)
    _refuse_inside(settings, place)
    schema.needs_migration(manifest.schema, f"The backup {place}")
    _refuse_other_kind(settings, manifest)
    size = sum(entry.size for entry in manifest.entries)
    folders.verify(place, manifest, _summed("checking", size, told))
    with folders.spoken_of(f"The state in {settings.state_dir} cannot be restored"):
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with owned(settings.state_dir):
            return _restore(settings, place, manifest, told, replaces=replaces)


def keep_before(settings: Settings, progress: Callable[[int, int], None] = nobody) -> Path:
    """Keep what is in PostgreSQL as a backup without files, before its schema changes.

    Returns the folder, in the state folder. `headway restore` takes it, and leaves the files.

    Raises:
        StoreBusy, StoreUnusable: it cannot be read, or there is no space for the copy.
    """
    place = settings.state_dir / f"database.before-{schema.HEAD}"
    shutil.rmtree(place, ignore_errors=True)
    at = time.time()
    with folders.new_folder(place) as folder:
        found = _database_into(folder, settings, progress)
        manifest = _manifest(settings, at, found, tuple(read_tree(folder)))
        folders.write_manifest(folder, manifest)
    return place


def upgrade(settings: Settings, told: Told) -> str:
    """Bring the database to today's schema, after a copy has been kept beside; returns its path.

    Raises:
        AlreadyOwned: a process is at work there.
        StoreBusy, StoreUnusable: it is newer, out of reach, or there is no space for the copy.
    """
    with owned(settings.state_dir):
        return upkeep.upgrade(
            settings.database_url,
            state_dir=settings.state_dir,
            told=partial(told, DATABASE),
            before=lambda progress: keep_before(settings, progress),
        )


def _database_into(folder: Path, settings: Settings, progress: Callable[[int, int], None]) -> str:
    (folder / DATABASE).mkdir(mode=0o700)
    return upkeep.back_up(
        settings.database_url,
        state_dir=settings.state_dir,
        folder=folder / DATABASE,
        told=progress,
    )


def _manifest(
    settings: Settings,
    at: float,
    found: str,
    entries: tuple[Entry, ...],
    left_out: tuple[Entry, ...] = (),
) -> Manifest:
    return Manifest(
        made_at=at,
        headway=version(),
        schema=found,
        database=upkeep.kind_of(settings.database_url),
        home=known_identity(settings.workspaces_dir),
        console=known_identity(settings.state_dir),
        entries=entries,
        left_out=left_out,
    )


def _restore(
    settings: Settings, place: Path, manifest: Manifest, told: Told, *, replaces: bool
) -> Restore:
    files, mark = settings.workspaces_dir, settings.state_dir / UNFINISHED
    matrix = settings.state_dir / MATRIX
    was_cut_short = mark.exists()
    if not (replaces or was_cut_short):
        _refuse_taken(settings)
    beside = _unused(files.parent, settings.state_dir)
    draft, keys = (each.with_name(f".{each.name}.unfinished") for each in (files, matrix))
    mark.touch(mode=0o600)
    try:
        for former in (draft, keys):
            shutil.rmtree(former, ignore_errors=True)
        _copy_checked(place, manifest, draft, told)
        _copy_checked(place, manifest, keys, told, MATRIX)
        restore_files(settings, place, manifest.entries)
        restore_snapshots(settings, place, manifest.entries)
        with _swapped(files, draft, beside) as kept, _swapped(matrix, keys, beside) as kept_keys:
            report, database = upkeep.restore(
                settings.database_url,
                _origin(settings, manifest),
                state_dir=settings.state_dir,
                folder=place / DATABASE,
                beside=beside if replaces or was_cut_short else "",
                now=time.time,
                told=partial(told, DATABASE),
            )
    except BaseException:
        for former in (draft, keys):
            shutil.rmtree(former, ignore_errors=True)
        if not was_cut_short:
            mark.unlink()
        raise
    mark.unlink()
    return Restore(report, (*filter(None, (database,)), *kept, *kept_keys))


def _unused(*folders: Path) -> str:
    """What the names of what is kept end with: nothing there has it."""
    at = time.strftime("before-restore-%Y%m%d-%H%M%S", time.gmtime())
    for number in count(1):
        name = at if number == 1 else f"{at}-{number}"
        if not any(each for folder in folders for each in folder.glob(f"*.{name}")):
            return name
    raise AssertionError


@contextmanager
def _swapped(files: Path, draft: Path, beside: str) -> Iterator[tuple[str, ...]]:
    """Have the draft, if there is one, in the place of a folder; an error puts that back.

    Gives where the former folder is kept, if there was anything in it.
    """
    if not draft.exists():
        yield ()
        return
    old = files.with_name(f"{files.name}.{beside}")
    files.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    had_files = files.exists()
    if had_files:
        files.rename(old)
    draft.rename(files)
    try:
        is_kept = had_files and _is_used(old)
        yield (str(old),) if is_kept else ()
    except BaseException:
        files.rename(draft)
        if had_files:
            old.rename(files)
        raise
    if had_files and not is_kept:
        shutil.rmtree(old)


def _copy_checked(
    place: Path, manifest: Manifest, draft: Path, told: Told, what: str = WORKSPACES
) -> None:
    """Copy the goals' files, if there are any in it, and compare once more what was copied.

    Args:
        what: the backup's folder.
    """
    if not (place / what).exists():
        return
    put = tuple(e for e in manifest.entries if e.path.startswith(f"{what}/"))
    size = sum(entry.size for entry in put)
    _refuse_too_little_space(draft.parent, sum(entry.size for entry in manifest.entries))
    copied = copy_tree(place / what, draft, told=_summed(what, size, told))
    found = tuple(replace(entry, path=f"{what}/{entry.path}") for entry in copied)
    if wrong := differences(replace(manifest, entries=put), found):
        raise StoreUnusable(f"The backup {place} changes while it is read: {wrong[0]}.")


def _copied(files: Path, to: Path, told: Told) -> Iterator[Entry]:
    """Copy the goals' files as they are now; scratch folders go without what is in them."""
    if not files.exists():
        to.mkdir(mode=0o700)
        return iter(())
    return copy_tree(
        files,
        to,
        bare=lambda names: len(names) == 2 and names[1] in SCRATCH,
        without=lambda names: names == (NAME,),
        told=_summed(WORKSPACES, 0, told),
    )


def _elsewhere(settings: Settings) -> Iterator[Entry]:
    """The folders of workspaces of other machines: their files are not to be had here."""
    if is_shared(settings.database_url):
        here = known_identity(settings.workspaces_dir)
        for home, goals in look(settings.database_url, state_dir=settings.state_dir).homes.items():
            if home != here:
                have = "1 live goal has its" if goals == 1 else f"{goals} live goals have their"
                yield Entry(home, why=f"{have} files there: back that folder up as well")


def _origin(settings: Settings, manifest: Manifest) -> Origin:
    """Where the rows come from; the folders get the names by which the rows call them."""
    if not is_shared(settings.database_url):
        return Origin(manifest.made_at, manifest.headway)
    if manifest.console:
        (settings.state_dir / NAME).write_text(manifest.console + "\n", "utf-8")
    new_home = identity(settings.workspaces_dir)
    return Origin(manifest.made_at, manifest.headway, manifest.home, new_home)


def _refuse_taken(settings: Settings) -> None:
    url, state_dir, files = settings.database_url, settings.state_dir, settings.workspaces_dir
    what = "a database" if upkeep.is_there(url, state_dir=state_dir) else ""
    if not what and files.exists() and _is_used(files):
        what = f"goals' files in {files}"
    if what:
        raise BadInput(
            f"{state_dir} has {what} already: give --into ANOTHER_FOLDER, or --replace, which keeps "
            "what is there beside."
        )


def _refuse_inside(settings: Settings, place: Path) -> None:
    """Refuse to write into the backup, or to move it away with the goals' files that it replaces."""
    files = settings.workspaces_dir.resolve()
    if settings.state_dir.resolve().is_relative_to(place) or files.is_relative_to(place):
        raise BadInput(
            f"{settings.state_dir} lies in the backup {place}, which would be spoilt: name a state "
            "folder outside it."
        )
    if place.is_relative_to(files):
        raise BadInput(
            f"The backup {place} lies among the goals' files, which a restore replaces: move it "
            f"out of {files}."
        )


def _refuse_other_kind(settings: Settings, manifest: Manifest) -> None:
    kind = upkeep.kind_of(settings.database_url)
    if kind != manifest.database:
        names = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
        raise BadInput(
            f"The backup holds a database of {names[manifest.database]}, and the setting `database` "
            f"names one of {names[kind]}: set one of its kind."
        )


def _refuse_too_little_space(folder: Path, size: int) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < size:
        mib = 1024 * 1024
        raise StoreUnusable(
            f"The backup needs {size // mib + 1} MiB, and {folder} has {free // mib} MiB left: free "
            "some space, or restore to another disk."
        )


def _is_used(folder: Path) -> bool:
    return any(each.name != NAME for each in folder.iterdir())


def _in_workspaces(entry: Entry) -> Entry:
    return replace(entry, path=f"{WORKSPACES}/{entry.path}")


def _summed(what: str, total: int, told: Told) -> Callable[[int], None]:
    done = 0

    def more(size: int) -> None:
        nonlocal done
        done += size
        told(what, done, total)

    return more
