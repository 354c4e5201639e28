"""How secrets are named in words, and what is taken for a value."""

import pytest

from bot.chat.secret_words import read_secret, typed_value


@pytest.mark.parametrize("text", ["", "list", "LIST"])
def test_nothing_lists_them(text: str) -> None:
    found = read_secret(text)

    assert found is not None
    assert found.do == "list"


def test_a_secret_has_hosts_a_variable_and_a_mode() -> None:
    found = read_secret("github-token API.github.com, *.example.org:8443 given as GH")

    assert found is not None
    assert found.in_use.name == "github-token"
    assert found.in_use.hosts == ("api.github.com", "*.example.org:8443")
    assert (found.in_use.variable, found.in_use.mode) == ("GH", "given")


def test_its_variable_is_made_of_its_name() -> None:
    found = read_secret("github-token.v2 api.github.com")

    assert found is not None
    assert (found.in_use.variable, found.in_use.mode) == ("GITHUB_TOKEN_V2", "proxied")


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "http_proxy", "BASH_ENV", "GIT_SSL_CAINFO", "PYTHONPATH", "home"]
)
def test_no_variable_is_one_that_programs_go_by(name: str) -> None:
    found = read_secret(f"{name} api.example.org")

    assert found is not None
    assert found.wrong == "bad.secret.variable"


@pytest.mark.parametrize(
    "text",
    [
        "santa list for the team",
        "remove the old tokens from the docs",
        "1st",
        "sharing in the app: write a page",
    ],
)
def test_what_is_rather_an_objective_is_none(text: str) -> None:
    assert read_secret(text) is None


@pytest.mark.parametrize("value", ["hunter2", "ghp_0123456789abcdef", "two words", "a=b"])
def test_a_value_that_is_typed_is_known(value: str) -> None:
    found = read_secret(f"API_TOKEN {value}")

    assert found is not None
    assert found.wrong == "bad.secret.value"
    for command in ("/goal secret", "!goal secret", "secret"):
        assert typed_value(f"{command} API_TOKEN {value}") == value


@pytest.mark.parametrize(
    "text",
    [
        "/goal secret API_TOKEN api.example.org",
        "/goal secret santa for all",
        "the secret API_TOKEN is gone",
        "secret API_TOKEN",
    ],
)
def test_where_none_is_typed_nothing_is_taken_for_one(text: str) -> None:
    assert typed_value(text) == ""
