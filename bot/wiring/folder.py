"""
The state folder: made for its owner alone, owned by one process at a time, and named.

Rule: a name lies in the folder that it names, so that it goes where the folder goes.
"""

import contextlib
import fcntl
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bot.errors import AlreadyOwned, BadSettings, StoreUnusable
from bot.settings import Settings

LOCK: Final = "headway.lock"
NAME: Final = ".name"
UNFINISHED: Final = "restore.unfinished"
"""There while a restore is under way, or was cut short."""


def prepare_folder(settings: Settings) -> None:
    """Make the state folder and that of the workspaces, for their owner alone.

    Raises:
        BadSettings: one cannot be made or written.
        StoreUnusable: a restore into it was cut short.
    """
    if (settings.state_dir / UNFINISHED).exists():
        raise StoreUnusable(
            f"A restore into {settings.state_dir} is under way or was cut short: run `headway "
            "restore` again."
        )
    _made("state folder", settings.state_dir, "state_dir")
    _made("folder of workspaces", settings.workspaces_dir, "workspaces")


@contextlib.contextmanager
def owned(state_dir: Path) -> Iterator[None]:
    """Own the state folder, its control socket and its console, for the life of the context.

    Raises:
        AlreadyOwned, StoreUnusable: another process does (its pid is named), or the folder is closed to us.
    """
    path = state_dir / LOCK
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnusable(
            f"{path} cannot be opened ({error.strerror}): give this user write access to its folder."
        ) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
            raise AlreadyOwned(
                f"Another process (pid {pid}) owns the state folder {state_dir}: "
                "stop it, or give this one a state folder of its own."
            ) from error
        with contextlib.suppress(OSError):
            # A full disk costs the pid in a message, and nothing else.
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)


def identity(folder: Path) -> str:
    """The folder's name on a database that several processes share, made at the first call.

    Raises:
        BadSettings: it cannot be read or written.
    """
    path = folder / NAME
    try:
        if not path.exists():
            _write_once(path, f"{socket.gethostname()}-{secrets.token_hex(4)}")
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(
            f"The name of the folder {folder} cannot be kept in {path} ({error}). Mend its rights."
        ) from error


def known_identity(folder: Path) -> str:
    """The folder's name, or an empty one where it has none yet."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return (folder / NAME).read_text("utf-8").strip()
    return ""


def _made(what: str, folder: Path, setting: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadSettings(
            f"The {what} {folder} cannot be used ({error.strerror}). "
            f"Set {setting} to a folder that you may write."
        ) from error


def _write_once(path: Path, text: str) -> None:
    """Write a file that appears whole; where two do so at once, the first one's stays."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    draft.write_text(text + "\n", "utf-8")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
