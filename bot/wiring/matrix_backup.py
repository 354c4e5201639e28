"""
The Matrix account and the keys of its device in a backup.

Rule: the two belong together: an account with the keys of another moment is still the same device, an
account without keys is none. What opens them, the secret key, is not there.
"""

import os
import shutil
from pathlib import Path
from typing import Final

from adapters.matrix.account import FILE
from bot.errors import StoreUnusable
from bot.settings import Settings
from bot.wiring.keys import matrix_account

FOLDER: Final = "matrix"


def put_matrix(settings: Settings, folder: Path) -> None:
    """Copy them into the folder of a backup, if there are any, whether or not a process works with them.

    Raises:
        StoreUnusable: they cannot be read, or the copy cannot be written.
    """
    file = matrix_account(settings)
    if file.stamp() is None:
        return
    from adapters.matrix.crypto_store import copy_to, forget_sessions, path_of

    target = folder / FOLDER
    with file.alone():
        card = file.card()
        if card is None:
            return
        try:
            target.mkdir(mode=0o700)
            _copied(file.path, target / FILE)
            if path_of(file.folder, card.device_id).exists():
                copy = path_of(target, card.device_id)
                copy_to(file.folder, card.device_id, copy)
                forget_sessions(copy)
                _flush(copy)
        except OSError as error:
            raise StoreUnusable(
                f"The Matrix keys in {file.folder} cannot be backed up ({error}). Mend the folder's "
                "rights, or free some space; `headway doctor` tells whether they are whole."
            ) from error


def _copied(source: Path, target: Path) -> None:
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        with source.open("rb") as found:
            shutil.copyfileobj(found, out)
        out.flush()
        os.fsync(out.fileno())


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
