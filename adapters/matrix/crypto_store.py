"""
nio's store of end-to-end keys: one SQLite file for one device, and the client that works on it.

Rule 1: the file is made before its device logs in for the first time. An account without its file, or
        with the file of another device, is refused: nio would make other keys under the same name,
        and everybody would be warned of an impostor.
Rule 2: it is its owner's alone (0600), and one process has it open: whoever works with it `owns` it.
Rule 3: one-time keys are in the file before they are published.
"""

import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import nio

from adapters.matrix.account import NEW_DEVICE, Account, Card
from adapters.matrix.errors import translated, unwrap
from adapters.matrix.mended import mend
from bot.errors import ByOperator, StoreUnusable, Wait

PREFIX: Final = "crypto-"
SUFFIX: Final = ".db"
LOCK: Final = "crypto.lock"
NOTES: Final = (".trusted_devices", ".blacklisted_devices", ".ignored_devices")
CALL_S: Final = 60.0
"""How long a call may take; a sync takes its own time besides."""


class CryptoStoreBusy(Wait):
    """Another process works with the keys."""


class DeviceMismatch(ByOperator):
    """The token or the keys that the homeserver has are those of another device or user."""


class NoCryptoStore(StoreUnusable):
    """The keys of the account's device are not there, or are another device's."""


def path_of(folder: Path, device_id: str) -> Path:
    """Where the keys of a device are. A homeserver may name devices as it likes."""
    return folder / f"{PREFIX}{quote(device_id, safe='')}{SUFFIX}"


def remove(folder: Path, device_id: str) -> None:
    """Leave nothing of a device's keys; does nothing where there is nothing. Raises OSError."""
    path_of(folder, device_id).unlink(missing_ok=True)
    for path in folder.iterdir() if folder.exists() else ():
        # nio's notes of whom it trusts: USER_DEVICE.trusted_devices and their like.
        if path.stem.endswith(f"_{device_id}") and path.suffix in NOTES:
            path.unlink(missing_ok=True)


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Work with the keys alone, for the life of the context.

    Raises:
        CryptoStoreBusy: another process does.
        StoreUnusable: the folder is closed to us.
    """
    path = folder / LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnusable(
            f"{path} cannot be opened ({error.strerror}). Give this user write access to its folder."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise CryptoStoreBusy(
            f"Another process works with the Matrix keys in {folder}. Stop it, or wait for its end."
        ) from error
    finally:
        os.close(lock)


def make(folder: Path, account: Account) -> None:
    """Make the keys of a device that has never logged in; an earlier try's are replaced.

    Raises:
        StoreUnusable: the file cannot be made.
    """
    path = path_of(folder, account.device_id)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        client = _loaded(folder, account)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(
            f"The crypto store {path} cannot be made ({error}). Give this user write access to its "
            "folder, and the disk some space."
        ) from error
    close(client)


def check(folder: Path, card: Card) -> None:
    """Whether the keys of the account's device are there; nothing is written.

    Raises:
        NoCryptoStore: they are not, or the file is another device's or torn.
    """
    path = path_of(folder, card.device_id)
    if not path.exists():
        others = ", ".join(sorted(other.name for other in folder.glob(f"{PREFIX}*{SUFFIX}")))
        there = f" (there is: {others})" if others else ""
        raise NoCryptoStore(
            f"The crypto store of the device {card.device_id} is missing: {path}{there}. "
            f"Put it back from a backup; where there is none: {NEW_DEVICE}"
        )
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            rows = database.execute("SELECT user_id, device_id FROM accounts").fetchall()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return
        raise _torn(path, error) from error
    except sqlite3.DatabaseError as error:
        raise _torn(path, error) from error
    if (card.user_id, card.device_id) not in rows:
        whose = ", ".join(f"{user} {device}" for user, device in rows) or "nobody's"
        raise NoCryptoStore(
            f"The crypto store {path} is not that of {card.user_id} {card.device_id} (it is: {whose}). "
            f"Put the right one back from a backup; where there is none: {NEW_DEVICE}"
        )


def open_client(folder: Path, account: Account) -> nio.AsyncClient:
    """The account's client with its keys loaded. Asks nothing of the network.

    Raises:
        NoCryptoStore: the keys are not there, or do not open with the account's key.
    """
    check(folder, account)
    path = path_of(folder, account.device_id)
    try:
        client = _loaded(folder, account)
    except Exception as error:
        # vodozemac has no error of its own to name; whatever it says, the keys do not open.
        raise _torn(path, error) from error
    client.access_token = account.access_token
    return client


def close(client: nio.AsyncClient) -> None:
    """Close the file; the client is of no use any more."""
    if client.store is not None:
        client.store.database.close()


async def see_to_keys(client: nio.AsyncClient, there: Mapping[str, str] | None) -> None:
    """Publish the device's keys where the homeserver has lost them, and what it lacks besides.

    Args:
        there: the public keys of our device that it has now, by algorithm; None: none.

    Raises:
        DeviceMismatch: those are others.
        Wait, LoggedOut: as `errors.unwrap`.
    """
    if there is None:
        forget_uploads(client)
    elif dict(there) != dict(public_keys(client)):
        raise DeviceMismatch(
            f"The homeserver has other keys of the device {client.device_id} than this state folder: "
            "it was copied, or restored from before a new login. Restore the newest backup, or begin "
            f"a new device: {NEW_DEVICE}"
        )
    await upload_keys(client)


async def upload_keys(client: nio.AsyncClient) -> None:
    """Publish the keys that the homeserver lacks; what is published is in the file before.

    Raises: as `errors.unwrap`.
    """
    if not client.should_upload_keys:
        return
    assert client.olm
    assert client.store
    content = client.olm.share_keys()
    client.store.save_account(client.olm.account)
    method, path, data = nio.Api.keys_upload(client.access_token, content)
    with translated("The device's keys cannot be published"):
        unwrap(await client._send(nio.KeysUploadResponse, method, path, data))


def forget_uploads(client: nio.AsyncClient) -> None:
    """The homeserver has none of our keys any more: all of them are published again."""
    assert client.olm
    assert client.store
    client.olm.account.shared = False
    client.olm.uploaded_key_count = None
    client.store.save_account(client.olm.account)


def copy_to(folder: Path, device_id: str, target: Path) -> None:
    """Copy the file as it is at one moment, whether or not a process works with it.

    Raises:
        NoCryptoStore: it cannot be read, or the copy not be written.
    """
    path = path_of(folder, device_id)
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        with (
            closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            original.backup(copy)
    except (OSError, sqlite3.Error) as error:
        raise NoCryptoStore(
            f"The Matrix keys in {path} cannot be copied ({error}). Mend the file's rights, or free "
            "some space; `headway doctor` tells whether they are whole."
        ) from error


@contextmanager
def copied(folder: Path, account: Account) -> Iterator[nio.AsyncClient]:
    """A client on a copy of the keys, to look at them: whoever works with the file is not disturbed.

    Raises:
        NoCryptoStore: they are not there, or do not open with the account's key.
    """
    check(folder, account)
    path = path_of(folder, account.device_id)
    with tempfile.TemporaryDirectory(prefix="headway-") as name:
        try:
            copy_to(folder, account.device_id, path_of(Path(name), account.device_id))
            client = _loaded(Path(name), account)
        except NoCryptoStore:
            raise
        except Exception as error:
            raise _torn(path, error) from error
        try:
            yield client
        finally:
            close(client)


def forget_sessions(path: Path) -> None:
    """Remove the Olm sessions from a copy that is for later: others go on with the original's.

    One that is taken up at an earlier point encrypts what the other side takes for a replay, and so
    loses the keys of rooms. Without any, new ones are made.

    Raises:
        sqlite3.Error: the file cannot be written.
    """
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM olmsessions")


def look(folder: Path, account: Account) -> Mapping[str, str]:
    """The public keys of the device, off a copy. Raises NoCryptoStore."""
    with copied(folder, account) as client:
        return public_keys(client)


def public_keys(client: nio.AsyncClient) -> Mapping[str, str]:
    """The public keys of our device, by algorithm: curve25519 and ed25519."""
    assert client.olm
    keys = client.olm.account.identity_keys
    return {"curve25519": keys["curve25519"], "ed25519": keys["ed25519"]}


def _loaded(folder: Path, account: Account) -> nio.AsyncClient:
    name: Any = path_of(folder, account.device_id).name
    config = nio.AsyncClientConfig(
        max_limit_exceeded=0,
        max_timeouts=0,
        encryption_enabled=True,
        store_sync_tokens=False,
        store_name=name,
        pickle_key=account.pickle_key,
        request_timeout=CALL_S,
    )
    client = nio.AsyncClient(
        account.homeserver, account.user_id, account.device_id, str(folder), config
    )
    client.restore_login(account.user_id, account.device_id, "")
    mend(client)
    return client


def _torn(path: Path, error: Exception) -> NoCryptoStore:
    return NoCryptoStore(
        f"The crypto store {path} does not open ({type(error).__name__}). Put it back from a backup, "
        f"together with account.json; where there is none: {NEW_DEVICE}"
    )
