"""Checks of the machine: Python, the clock, the state folder, the disk. They change nothing."""

import os
import pwd
import shutil
import stat
import sys
import tempfile
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.doctor.finding import warning, wrong
from bot.settings import Settings

LEAST_PYTHON: Final = (3, 11)
FREE_WARN: Final = 500 * 1024 * 1024
FREE_LEAST: Final = 20 * 1024 * 1024
"""Bytes: a database that cannot grow its log by this much stops within minutes."""
FREE_FILES: Final = 200
BUILT: Final = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""No clock that is right shows an earlier time."""
AHEAD_S: Final = 120.0
ENDPOINT_S: Final = 4.0


def python() -> str:
    """The interpreter's version."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < LEAST_PYTHON:
        raise wrong(f"This is Python {version}. Headway needs 3.11 or later: install it.")
    return f"{version} ({sys.executable})"


def clock(settings: Settings | None = None) -> str:
    """Whether the time can be true: after this version was made, and not before our own files."""
    now = time.time()
    shown = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if now < BUILT:
        raise wrong(f"The clock says {shown}, which is past. Set it, and keep it set by NTP.")
    if settings is None:
        return shown
    newest = _newest(settings.state_dir)
    if newest > now + AHEAD_S:
        minutes = (newest - now) / 60
        raise wrong(
            f"The clock says {shown}, but the state folder was written {minutes:.0f} min later: "
            "it was set back. Set it; until then waits and reminders come late."
        )
    elsewhere = _at_endpoint(settings)
    if elsewhere is not None and abs(elsewhere - time.time()) > AHEAD_S:
        minutes = (time.time() - elsewhere) / 60
        way = "ahead of" if minutes > 0 else "behind"
        raise wrong(
            f"The clock says {shown}, which is {abs(minutes):.0f} min {way} the model endpoint's. "
            "Set it, and keep it set by NTP: waits, reminders and certificates go by it."
        )
    return shown


def settings_file(settings: Settings) -> str:
    """Where the settings come from, and whether a key in their file is open to others."""
    path = settings.config_file
    key = settings.api_key_file
    if key is not None and key.exists() and _is_open(key):
        raise warning(f"The key file {key} can be read by others. Close it: `chmod 600 {key}`.")
    if path is None:
        return "from the environment and the defaults; there is no headway.toml"
    if "api_key" in tomllib.loads(path.read_text("utf-8")) and _is_open(path):
        raise warning(f"{path} can be read by others. Close it: `chmod 600 {path}`.")
    return f"from {path.absolute()} and the environment"


def state_folder(settings: Settings) -> str:
    """Whether the state folder is ours, closed to others, and can be written."""
    folder = settings.state_dir
    if not folder.exists():
        parent = existing(folder)
        if not parent.is_dir():
            raise wrong(f"{parent} is no folder, so {folder} cannot be made. Set state_dir.")
        if not _can_make(parent):
            raise wrong(
                f"{folder} does not exist and cannot be made: {parent} cannot be written. "
                "Make it yours, or set state_dir."
            )
        return f"{folder} (made at the first start)"
    if not folder.is_dir():
        raise wrong(f"{folder} is a file, not a folder. Move it away, or set state_dir.")
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise wrong(
            f"{folder} belongs to {_user(found.st_uid)}, and this is {_user(os.geteuid())}. "
            f"Run headway as {_user(found.st_uid)}, or set state_dir."
        )
    if not _can_write(folder):
        raise wrong(f"{folder} cannot be written. Mend its rights (`chmod u+rwx`) or its disk.")
    if _is_open(folder):
        raise warning(f"{folder} can be read by others. Close it: `chmod 700 {folder}`.")
    return str(folder)


def disk(settings: Settings) -> str:
    """How much room the state folder's disk has."""
    folder = existing(settings.state_dir)
    free = shutil.disk_usage(folder).free
    files = os.statvfs(folder)
    shown = f"{free / 1024**3:.1f} GiB" if free >= 1024**3 else f"{free / 1024**2:.0f} MiB"
    if free < FREE_LEAST:
        raise wrong(f"The disk of {folder} is full ({shown} left). Make room, or move state_dir.")
    if files.f_files and files.f_favail < FREE_FILES:
        raise wrong(
            f"The disk of {folder} has room for only {files.f_favail} more files. "
            "Delete some, or move state_dir."
        )
    if free < FREE_WARN:
        raise warning(f"Only {shown} are left on the disk of {folder}. Make room soon.")
    return f"{shown} free"


def existing(path: Path) -> Path:
    """The path, or the nearest of its parents that is there."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def _at_endpoint(settings: Settings) -> float | None:
    if settings.provider != "anthropic":
        return None
    from adapters.claude.date import served_at

    return served_at(settings.base_url, timeout_s=ENDPOINT_S)


def _newest(folder: Path) -> float:
    try:
        return max((each.stat().st_mtime for each in folder.glob("headway.db*")), default=0.0)
    except OSError:
        return 0.0


def _is_open(path: Path) -> bool:
    """Whether others than the owner have any right to it."""
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _can_write(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"headway")
            probe.flush()
    except OSError:
        return False
    return True


def _can_make(parent: Path) -> bool:
    """By trying: rights alone do not tell of file systems that take nothing."""
    try:
        Path(tempfile.mkdtemp(prefix=".headway-", dir=parent)).rmdir()
    except OSError:
        return False
    return True


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
