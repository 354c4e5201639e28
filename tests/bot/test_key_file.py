"""Where the secret key lies unless it is said."""

from pathlib import Path

import pytest

from bot.settings import Settings
from bot.settings_values import default_key_file


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CREDENTIALS_DIRECTORY", "XDG_CONFIG_HOME", "HOME", "HEADWAY_SECRET_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_credential_of_systemd_goes_first_where_it_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    without = default_key_file()
    (tmp_path / "secret.key").touch()

    assert default_key_file() == tmp_path / "secret.key"
    assert without == Path("/home/ann/.config/headway/secret.key")


def test_else_it_lies_in_the_users_configuration_folder_or_in_the_systems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobodys = default_key_file()
    monkeypatch.setenv("HOME", "/home/ann")
    anns = default_key_file()
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x")

    assert nobodys == Path("/etc/headway/secret.key")
    assert anns == Path("/home/ann/.config/headway/secret.key")
    assert default_key_file() == Path("/x/headway/secret.key")


def test_a_setting_or_its_variable_names_another_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_SECRET_KEY_FILE", "/run/keys/headway")

    assert Settings().key_file == Path("/run/keys/headway")
    assert Settings(secret_key_file=Path("/y")).key_file == Path("/y")
