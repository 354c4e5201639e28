"""
Where the keys are kept: a file of their own, or a setting.

Rule 1: the file is the owner's alone (0600). One that others can read is refused, never used. A file
        that root hands in (a credential of systemd, a secret of a container) may be a group's.
Rule 2: it appears whole and changes whole, whenever the process is killed; two that make it at once
        get the same one.
Rule 3: it lies outside the state folder, which is what a backup takes.
"""

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from adapters.keys.key import Key, new_key, read_keys, write_keys
from bot.errors import SecretsUnusable


class KeySource(Protocol):
    """Keys, newest first."""

    def read(self) -> tuple[Key, ...]:
        """The keys now; none where none was made. Raises SecretsUnusable."""

    def make(self) -> tuple[Key, ...]:
        """Make the first one; returns those that are there then. Raises SecretsUnusable."""

    def write(self, keys: Sequence[Key]) -> None:
        """Keep these in place of the others. Raises SecretsUnusable."""


class KeySetting:
    """Keys that a setting holds. They are changed where they were set."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> tuple[Key, ...]:
        """The keys in the setting. Raises SecretsUnusable."""
        return read_keys(self._text, "The setting secret_key (HEADWAY_SECRET_KEY)")

    def make(self) -> tuple[Key, ...]:
        """Those that are there."""
        return self.read()

    def write(self, keys: Sequence[Key]) -> None:
        """Refused."""
        raise SecretsUnusable(
            "The secret key comes from a setting, which Headway cannot change. Put a new key before "
            "the old one there (head -c 32 /dev/urandom | base64; a space between), start "
            "again, run `headway secret rotate --no-new-key`, then take the old one away."
        )


class KeyFile:
    """Keys in a file."""

    def __init__(self, path: Path, *, apart_from: Path) -> None:
        """`apart_from`: the state folder, which must not hold it."""
        self.path = path
        self._apart_from = apart_from

    def read(self) -> tuple[Key, ...]:
        """The keys in the file. Raises SecretsUnusable."""
        self._refuse_inside()
        try:
            with self.path.open("rb") as file:
                self._refuse_open_to_others(os.fstat(file.fileno()))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unusable("read", error) from error
        return read_keys(text, f"The key file {self.path}")

    def make(self) -> tuple[Key, ...]:
        """Make the file with one key, or read the one that is there. Raises SecretsUnusable."""
        self._refuse_inside()
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _draft(self.path, write_keys((new_key(),))) as draft, suppress(FileExistsError):
                os.link(draft, self.path)
            _sync(self.path.parent)
        except OSError as error:
            raise self._unusable("made", error) from error
        return self.read()

    def write(self, keys: Sequence[Key]) -> None:
        """Replace the file's keys. Raises SecretsUnusable."""
        self._refuse_inside()
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _draft(self.path, write_keys(keys)) as draft:
                draft.replace(self.path)
            _sync(self.path.parent)
        except OSError as error:
            raise SecretsUnusable(
                f"The key file {self.path} cannot be written ({error.strerror}). Give this user "
                "access to it and its folder; or, where it is handed in, put a new key before the "
                "old one there yourself and run `headway secret rotate --no-new-key`."
            ) from error

    def _refuse_inside(self) -> None:
        inside, around = os.path.realpath(self.path), os.path.realpath(self._apart_from)
        if inside.startswith(around + os.sep):
            raise SecretsUnusable(
                f"The key file {self.path} lies in the state folder {self._apart_from}, where a "
                "backup would hold the key with what it seals. Set secret_key_file to another place."
            )

    def _refuse_open_to_others(self, status: os.stat_result) -> None:
        is_handed_in = status.st_uid == 0 != os.geteuid()
        allowed = stat.S_IRWXU | (stat.S_IRGRP if is_handed_in else 0)
        mode = stat.S_IMODE(status.st_mode)
        if mode & ~allowed:
            raise SecretsUnusable(
                f"The key file {self.path} is open to others (mode {mode:04o}). "
                f"Close it, then consider the key known: chmod 600 {self.path} && "
                "headway secret rotate"
            )

    def _unusable(self, what: str, error: OSError) -> SecretsUnusable:
        return SecretsUnusable(
            f"The key file {self.path} cannot be {what} ({error.strerror}). Give this user access "
            "to it and its folder, or set secret_key_file to another place."
        )


@contextmanager
def _draft(path: Path, text: str) -> Iterator[Path]:
    """A whole file beside `path`, on the disk, gone at the end if it still has its own name."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(text.encode("ascii"))
            out.flush()
            os.fsync(out.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
