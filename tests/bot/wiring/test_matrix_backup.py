"""The Matrix account and its keys go into a backup whole, and come back as they were."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.matrix import crypto_store
from adapters.matrix.account import Account
from bot.errors import StoreUnusable
from bot.settings import Settings, read_settings
from bot.wiring.keys import matrix_account
from bot.wiring.upkeep import back_up, restore, upgrade
from tests.adapters.store.releases.kept import RELEASES, unpack

ACCOUNT = Account(
    "http://127.0.0.1:1", "@bot:x", "D1", 1.0, "syt_secret", "pickle-key", seeds="s1 s2 s3"
)


def _nobody(step: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    unpack(RELEASES[0], tmp_path / "state")
    settings = _settings(tmp_path, "state")
    upgrade(settings, _nobody)
    file = matrix_account(settings)
    crypto_store.make(file.folder, ACCOUNT)
    file.write(ACCOUNT, is_first_secret=True)
    return settings


def _settings(folder: Path, name: str) -> Settings:
    return read_settings(
        state_dir=folder / name, database="", secret_key_file=folder / "secret.key"
    )


def test_a_restore_gives_the_same_account_and_the_same_keys(
    settings: Settings, tmp_path: Path
) -> None:
    folder = matrix_account(settings).folder
    other = _settings(tmp_path, "other")
    with crypto_store.owned(folder):
        back_up(settings, tmp_path / "backup", {}, _nobody)

    done = restore(other, tmp_path / "backup", _nobody)

    file = matrix_account(other)
    assert file.read() == ACCOUNT
    assert crypto_store.look(file.folder, ACCOUNT) == crypto_store.look(folder, ACCOUNT)
    assert done.kept == ()
    for path in (file.folder, *file.folder.iterdir()):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_the_secret_key_and_plain_tokens_are_not_in_it(settings: Settings, tmp_path: Path) -> None:
    place = tmp_path / "backup"

    back_up(settings, place, {}, _nobody)

    there = {path.name for path in (place / "matrix").iterdir()}
    key = (tmp_path / "secret.key").read_text().splitlines()[-1]
    assert there == {"account.json", "crypto-D1.db"}
    held = b"".join(path.read_bytes() for path in place.rglob("*") if path.is_file())
    assert not [
        each for each in (key, *ACCOUNT.secrets.values()) if len(each) > 2 and each.encode() in held
    ]


def test_an_account_that_a_restore_replaces_is_kept_beside(
    settings: Settings, tmp_path: Path
) -> None:
    back_up(settings, tmp_path / "backup", {}, _nobody)
    file = matrix_account(settings)
    newer = replace(ACCOUNT, device_id="D2")
    crypto_store.make(file.folder, newer)
    file.write(newer)

    done = restore(settings, tmp_path / "backup", _nobody, replaces=True)

    [beside] = [Path(kept) for kept in done.kept if "/matrix." in kept]
    assert file.read() == ACCOUNT
    assert (beside / "crypto-D2.db").exists()
    assert (beside / "account.json").exists()


def test_a_backup_without_an_account_leaves_the_one_that_is_there(
    settings: Settings, tmp_path: Path
) -> None:
    file = matrix_account(settings)
    kept_elsewhere = file.folder.rename(tmp_path / "elsewhere")
    back_up(settings, tmp_path / "backup", {}, _nobody)
    kept_elsewhere.rename(file.folder)

    restore(settings, tmp_path / "backup", _nobody, replaces=True)

    assert file.read() == ACCOUNT


def test_keys_that_cannot_be_read_end_a_backup_and_leave_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    path = crypto_store.path_of(matrix_account(settings).folder, "D1")
    path.write_bytes(b"garbage" * 4096)

    with pytest.raises(StoreUnusable, match="Matrix keys"):
        back_up(settings, tmp_path / "backup", {}, _nobody)

    assert not (tmp_path / "backup").exists()


def test_a_restore_that_fails_leaves_the_account_that_was_there(
    settings: Settings, tmp_path: Path
) -> None:
    place = tmp_path / "backup"
    back_up(settings, place, {}, _nobody)
    file = matrix_account(settings)
    newer = replace(ACCOUNT, access_token="newer")
    file.write(newer)
    (place / "matrix" / "account.json").write_text("altered")

    with pytest.raises(StoreUnusable, match="altered"):
        restore(settings, place, _nobody, replaces=True)

    assert file.read() == newer
