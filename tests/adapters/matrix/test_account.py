"""The account file is sealed, whole, one for all who change it, and never mistaken for another."""

import json
import multiprocessing
import os
import signal
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.matrix.account import Account, AccountFile
from bot.errors import SecretsUnusable, StoreUnusable
from tests.adapters.matrix.accounts import account_file

ACCOUNT = Account(
    "http://127.0.0.1:1",
    "@headway:example.org",
    "HEADWAY1",
    1000.0,
    access_token="syt_token",
    pickle_key="pickle-key",
    refresh_token="syr_refresh",
    expires_at=2000.0,
    seeds="seed1 seed2 seed3",
)


def test_what_was_written_is_read_again_by_another_process(tmp_path: Path) -> None:
    account_file(tmp_path).write(ACCOUNT, is_first_secret=True)

    assert account_file(tmp_path).read() == ACCOUNT


def test_no_secret_stands_in_the_file_or_in_its_words(tmp_path: Path) -> None:
    file = account_file(tmp_path)

    file.write(ACCOUNT, is_first_secret=True)

    text = file.path.read_text() + repr(ACCOUNT) + str(ACCOUNT)
    assert not [value for value in ACCOUNT.secrets.values() if value in text]
    assert set(ACCOUNT.secrets) == {
        "matrix_token",
        "matrix_refresh_token",
        "matrix_pickle_key",
        "matrix_seed_1",
        "matrix_seed_2",
        "matrix_seed_3",
    }


def test_file_and_folder_are_the_owners_alone(tmp_path: Path) -> None:
    file = account_file(tmp_path)

    file.write(ACCOUNT, is_first_secret=True)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file.path, file.folder)]
    assert modes == [0o600, 0o700]
    assert {path.name for path in file.folder.iterdir()} == {"account.json", "lock"}


def test_the_file_of_another_device_does_not_open_in_its_place(tmp_path: Path) -> None:
    file = account_file(tmp_path)
    file.write(ACCOUNT, is_first_secret=True)
    row = json.loads(file.path.read_text())

    for name in ("device_id", "user_id", "homeserver"):
        file.path.write_text(json.dumps({**row, name: "another"}))
        with pytest.raises(SecretsUnusable, match="--new-device"):
            file.read()


def test_without_its_key_it_does_not_open_and_says_which_one_is_missing(tmp_path: Path) -> None:
    file = account_file(tmp_path)
    file.write(ACCOUNT, is_first_secret=True)
    key_id = file.key_id()
    (tmp_path / "secret.key").unlink()

    with pytest.raises(SecretsUnusable, match=f"@headway:example.org.*{key_id}.*key file"):
        file.read()

    card = file.card()
    assert card is not None
    assert card.device_id == "HEADWAY1"
    with pytest.raises(SecretsUnusable):
        file.change(access_token="other")
    assert not (tmp_path / "secret.key").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 2}', "\x00"])
def test_a_torn_or_foreign_file_is_refused_with_a_mend(tmp_path: Path, text: str) -> None:
    file = account_file(tmp_path)
    file.write(ACCOUNT, is_first_secret=True)
    file.path.write_text(text)

    with pytest.raises(StoreUnusable):
        file.read()


def test_changes_of_two_who_knew_the_same_lose_nothing(tmp_path: Path) -> None:
    one, other = account_file(tmp_path), account_file(tmp_path)
    one.write(ACCOUNT, is_first_secret=True)
    before = other.stamp()

    one.change(access_token="new")
    other.change(seeds="s1 s2 s3")

    assert one.read() == replace(ACCOUNT, access_token="new", seeds="s1 s2 s3")
    assert other.stamp() != before


def test_resealing_moves_it_to_the_newest_key(tmp_path: Path) -> None:
    file = account_file(tmp_path)
    file.write(ACCOUNT, is_first_secret=True)
    old = file.key_id()
    file._sealing.add_key()

    assert file.reseal()
    file._sealing.drop_keys(frozenset())

    assert file.key_id() != old
    assert file.read() == ACCOUNT


def test_where_there_is_none_there_is_none(tmp_path: Path) -> None:
    file = account_file(tmp_path)

    assert file.read() is None
    assert file.card() is None
    assert file.stamp() is None
    assert not file.reseal()
    with pytest.raises(KeyError):
        file.change(seeds="x y z")


def test_killed_at_any_moment_the_file_is_one_of_those_that_were_written(tmp_path: Path) -> None:
    file = account_file(tmp_path)
    file.write(replace(ACCOUNT, access_token="0"), is_first_secret=True)
    context = multiprocessing.get_context("fork")

    for _ in range(5):
        writer = context.Process(target=_write_on, args=(file,))
        writer.start()
        time.sleep(0.05)
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        found = file.read()
        assert found is not None
        assert found.access_token.isdigit()
        assert found.pickle_key == ACCOUNT.pickle_key
    file.change(access_token="last")
    assert {path.name for path in file.folder.iterdir()} == {"account.json", "lock"}


def _write_on(file: AccountFile) -> None:
    for number in range(1_000_000):
        file.change(access_token=str(number))
