"""
The bot's Matrix account, in one file of the state folder.

Rule 1: tokens, the key of the crypto store and the seeds of cross-signing are sealed, as one value
        that is bound to the user, the device and the homeserver; the rest is in clear.
Rule 2: the file appears whole and changes whole, on the disk before anybody acts on what it says;
        every change reads it anew under a lock, so that two processes lose nothing of each other.
Rule 3: a file that does not open is a reason to stop, never one to begin another identity.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bot.errors import SecretsUnusable, StoreUnusable
from bot.ports.secrets import Named, Sealing

FILE: Final = "account.json"
LOCK: Final = "lock"
FORMAT: Final = 1
NEW_DEVICE: Final = "headway matrix login --new-device"
_HIDDEN: Final = ("access_token", "refresh_token", "pickle_key", "seeds")


@dataclass(frozen=True, slots=True)
class Card:
    """What the file says in clear."""

    homeserver: str
    """The URL of its client API, without a slash at the end."""
    user_id: str
    device_id: str
    made_at: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Account(Card):
    """All of it."""

    access_token: str = field(repr=False)
    pickle_key: str = field(repr=False)
    """What nio's store is encrypted with."""
    refresh_token: str = field(default="", repr=False)
    expires_at: float | None = None
    """When the access token runs out, seconds since 1970; None: never by itself, or not known."""
    seeds: str = field(default="", repr=False)
    """Of cross-signing, as `cross_signing.Seeds` writes them; empty: no identity was made."""

    @property
    def secrets(self) -> dict[str, str]:
        """What must show up nowhere, by name."""
        named = {
            "matrix_token": self.access_token,
            "matrix_refresh_token": self.refresh_token,
            "matrix_pickle_key": self.pickle_key,
            **{f"matrix_seed_{place}": seed for place, seed in enumerate(self.seeds.split(), 1)},
        }
        return {name: value for name, value in named.items() if value}


class AccountFile:
    """The account of one state folder."""

    def __init__(self, folder: Path, sealing: Sealing) -> None:
        """`folder`: that of Matrix in the state folder; made when first written to."""
        self.folder = folder
        self.path = folder / FILE
        self._sealing = sealing

    def card(self) -> Card | None:
        """What it says in clear; None where there is no account. Raises StoreUnusable."""
        row = self._row()
        return None if row is None else _card(row)

    def read(self) -> Account | None:
        """The account; None where there is none.

        Raises:
            StoreUnusable: the file cannot be read, or is torn or altered.
            SecretsUnusable: it does not open under the keys that there are.
        """
        row = self._row()
        return None if row is None else self._opened(row)

    def write(self, account: Account, *, is_first_secret: bool = False) -> None:
        """Keep this account in place of any other.

        Args:
            is_first_secret: nothing at all is sealed yet, so that a key may be made.

        Raises:
            StoreUnusable, SecretsUnusable: nothing was changed.
        """
        with self.alone():
            self._write(account, is_first=is_first_secret)

    def change(self, **changes: Any) -> Account:
        """Change fields of the account that is there; returns it as it is then.

        Raises:
            KeyError: there is none any more.
            StoreUnusable, SecretsUnusable: nothing was changed.
        """
        with self.alone():
            account = self.read()
            if account is None:
                raise KeyError("There is no Matrix account.")
            account = replace(account, **changes)
            self._write(account)
        return account

    def reseal(self) -> bool:
        """Seal it again under the newest key; false where there is none. Raises as `change`."""
        if not self.path.exists():
            return False
        try:
            self.change()
        except KeyError:
            return False
        return True

    def remove(self) -> None:
        """Forget the account. Raises StoreUnusable."""
        with self.alone(), _spoken_of(self.path, "removed"):
            self.path.unlink(missing_ok=True)
            _sync(self.folder)

    def stamp(self) -> tuple[int, ...] | None:
        """Differs whenever the file was changed; None where there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def key_id(self) -> str:
        """The key that it is sealed under; empty where there is no account. Raises StoreUnusable."""
        row = self._row()
        return "" if row is None else str(row["key_id"])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else changes the file meanwhile. Raises StoreUnusable."""
        with _spoken_of(self.folder, "made"):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _row(self) -> dict[str, Any] | None:
        try:
            with _spoken_of(self.path, "read"):
                text = self.path.read_text("utf-8")
            row = json.loads(text)
            if row["format"] != FORMAT:
                raise StoreUnusable(
                    f"{self.path} has format {row['format']}, and this Headway knows {FORMAT}: "
                    "install the Headway that wrote it, or a newer one."
                )
            _card(row)
            Named("token", str(row["sealed"]), key_id=str(row["key_id"]))
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise self._torn() from error
        else:
            return dict(row)

    def _opened(self, row: Mapping[str, Any]) -> Account:
        card = _card(row)
        try:
            hidden = json.loads(self._sealing.unseal(_named(card, row["key_id"]), row["sealed"]))
            return Account(
                **asdict(card), **{name: hidden[name] for name in (*_HIDDEN, "expires_at")}
            )
        except SecretsUnusable as error:
            raise SecretsUnusable(
                f"The Matrix account {card.user_id} does not open. {error}"
            ) from error
        except (ValueError, LookupError, TypeError) as error:
            raise self._torn() from error

    def _write(self, account: Account, *, is_first: bool = False) -> None:
        card = Card(account.homeserver, account.user_id, account.device_id, account.made_at)
        hidden = {name: getattr(account, name) for name in (*_HIDDEN, "expires_at")}
        sealed = self._sealing.seal(_named(card), json.dumps(hidden), is_first=is_first)
        row = {"format": FORMAT, **asdict(card), "key_id": sealed.key_id, "sealed": sealed.text}
        with _spoken_of(self.path, "written"):
            _replace(self.path, json.dumps(row, indent=1) + "\n")

    def _torn(self) -> StoreUnusable:
        return StoreUnusable(
            f"The Matrix account in {self.path} is torn or was altered. Put the file back from a "
            f"backup, together with the key file; where there is none: {NEW_DEVICE}"
        )


def _named(card: Card, key_id: str = "") -> Named:
    # Bound to the device, too: the file of another one does not open in its place.
    name = f"matrix {card.user_id} {card.device_id}"
    return Named("token", name, (card.homeserver,), key_id)


def _card(row: Mapping[str, Any]) -> Card:
    homeserver, user_id, device_id = row["homeserver"], row["user_id"], row["device_id"]
    if not all(isinstance(each, str) and each for each in (homeserver, user_id, device_id)):
        raise ValueError("not an account")
    return Card(homeserver, user_id, device_id, float(row["made_at"]))


@contextmanager
def _spoken_of(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreUnusable(
            f"{path} cannot be {what} ({error.strerror}). Give this user access to its folder, and "
            "the disk some space."
        ) from error


def _replace(path: Path, text: str) -> None:
    for left in path.parent.glob(f".{path.name}.*"):
        # Of a process that was killed: whoever writes is alone.
        left.unlink(missing_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
        _sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
