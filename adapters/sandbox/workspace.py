"""The folder of a workspace on the host: named by the bot, never by an agent."""

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from adapters.sandbox.inside.limits import FOLDERS
from bot.errors import NoSandbox

_CHECK = ".check-"
_OLD_S = 60.0
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


def folder_of(workspaces: Path, name: str) -> Path:
    """The workspace's folder, made with its six folders when it is new.

    Of one that exists nothing is opened here: an agent has been in it.

    Raises:
        NoSandbox: the name is none, or the folder cannot be made.
    """
    if not _NAME.fullmatch(name) or name in {".", ".."}:
        raise NoSandbox(f"{name!r} is no workspace's name. This is a defect: report it.")
    folder = workspaces / name
    try:
        workspaces.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            return folder.resolve()
        for each in FOLDERS:
            (folder / each).mkdir()
    except OSError as error:
        raise NoSandbox(
            f"The workspace {folder} cannot be made: {error.strerror}. "
            "Give headway a state folder that it may write to."
        ) from error
    return folder.resolve()


def a_name() -> str:
    """The name of a workspace for one check, which is thrown away after it."""
    return f"{_CHECK}{os.getpid()}-{os.urandom(4).hex()}"


def sweep(workspaces: Path) -> None:
    """Remove what a check left whose process was killed in the middle of it."""
    for left in workspaces.glob(f"{_CHECK}*"):
        pid = left.name.removeprefix(_CHECK).partition("-")[0]
        # In a container every process may be pid 1: an old one is left over, too.
        with contextlib.suppress(FileNotFoundError):
            is_old = left.stat().st_mtime < time.time() - _OLD_S
            if is_old or not Path("/proc", pid).exists():
                shutil.rmtree(left, ignore_errors=True)
