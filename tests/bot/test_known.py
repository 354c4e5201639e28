"""Which values a process knows to be secret, from its settings and its environment."""

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.known import VARIABLES, bare_address, learn_settings, passwords_in
from bot.redaction import Redactor
from bot.settings import Settings


@pytest.fixture(autouse=True)
def _no_other_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def known(settings: Settings) -> Redactor:
    redactor = Redactor()
    learn_settings(redactor, settings)
    return redactor


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://ann:pass%2Fword@host/db", ("pass%2Fword", "pass/word")),
        (
            "postgresql://ann:password-1@[::1]:5432/db?password=other-one",
            ("password-1", "other-one"),
        ),
        ("postgresql://ann@/db?host=/run&Password=other-one", ("other-one",)),
        ("postgresql://postgres:postgres@localhost/app", ()),
        ("postgresql://app:localhost@localhost/db", ()),
        ("sqlite:///headway.db", ()),
        ("postgresql://ann:x@[broken/db", ()),
        ("", ()),
    ],
)
def test_the_passwords_of_an_address(url: str, found: tuple[str, ...]) -> None:
    assert passwords_in(url) == found


def test_keys_and_passwords_of_the_settings_are_known(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("key-in-a-file\n")
    settings = Settings(
        api_key_file=key,
        database="postgresql://ann:pass-word@host/db",
        base_url="https://u:url-pass-word@host",
        secret_key=SecretStr("first-secret-key second-secret-key"),
    )

    told = known(settings).text(
        "key-in-a-file pass-word url-pass-word first-secret-key second-secret-key ann host"
    )

    assert told == (
        "[secret api_key] [secret database_password] [secret base_url_password] "
        "[secret secret_key] [secret secret_key] ann host"
    )


@pytest.mark.parametrize("name", VARIABLES)
def test_what_the_clients_read_by_themselves_is_known(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "value-of-a-variable")

    told = known(Settings()).text("x value-of-a-variable y")

    assert told in (f"x [secret {name}] y", "x [secret api_key] y")


def test_a_key_file_that_cannot_be_read_is_somebody_elses_sentence(tmp_path: Path) -> None:
    settings = Settings(api_key_file=tmp_path / "none", api_key=SecretStr("key-in-a-setting"))

    assert known(settings).text("key-in-a-setting") == "[secret api_key]"


def test_a_key_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert known(Settings(api_key_file=tmp_path / "pipe")).text("x") == "x"


def test_no_setting_shows_its_secret() -> None:
    settings = Settings(
        api_key=SecretStr("planted-1"),
        secret_key=SecretStr("planted-2"),
        database="postgresql://a:planted-3@h/d",
    )

    assert "planted" not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("https://ann:pass@word@host:8/x?api-key=abc#def", "https://host:8/x"),
        ("http://[::1]:9/", "http://[::1]:9/"),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_an_address_is_named_without_what_may_be_secret(url: str, bare: str) -> None:
    assert bare_address(url) == bare
