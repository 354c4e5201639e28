"""How secrets are named in words, and what is taken for a value."""

import pytest

from bot.chat.left_out import typed_at, without_suspects
from bot.chat.secret_words import read_secret
from bot.chat.texts import Texts


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
        "santa party",
        "santa list of 2026 for the team",
        "list hunter2",
    ],
)
def test_what_is_rather_an_objective_is_none(text: str) -> None:
    assert read_secret(text) is None


TEXTS = Texts()
DISCORD = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"


@pytest.mark.parametrize("value", ["hunter2", "ghp_0123456789abcdef", "two words", "a=b", DISCORD])
@pytest.mark.parametrize("command", ["/goal secret", "!goal secret:", "secret", "<@U1> secret",
                                     "@headway !goal secret", "!goal @headway: /goal SECRET"])  # fmt: skip
def test_a_value_that_is_typed_is_taken_out(command: str, value: str) -> None:
    found = read_secret(f"API_TOKEN {value}")
    text, kinds = without_suspects(f"{command} API_TOKEN {value} ", TEXTS)

    assert found is not None
    assert found.wrong == "bad.secret.value"
    assert text == f"{command} API_TOKEN [left out: looks like a password or key]"
    assert kinds == ()


@pytest.mark.parametrize(
    "text",
    [
        "db_password S3cr3t!pw",
        "db_password hunter",
        "password swordfish",
        "db-pass Tr0ub4dor&3 db.example.org",
        "github-token Zx9.kfj2LLq0.abcdEFGHijkl",
        "API_KEY Zx9kfj2LLq0.abcdEFGHijkl.x1",
        "DB_PW=hunter2x",
        "DB_PW: hunter2x",
        "db_password [left out: looks like a password or key]",
    ],
)
def test_a_value_is_known_whatever_the_name(text: str) -> None:
    found = read_secret(text)

    assert found is not None
    assert found.wrong == "bad.secret.value"
    assert typed_at(f"/goal secret {text}") is not None


@pytest.mark.parametrize(
    "host", ["API.GitHub.com", "Api.example.org", "10.0.0.7", "x1-y2.execute-api.us-east-1.amazonaws.com",
             "git.corp.internal:8443", "*.example.museum"]
)  # fmt: skip
def test_a_host_is_none(host: str) -> None:
    found = read_secret(f"API_TOKEN {host}")

    assert found is not None
    assert (found.hosts, found.wrong) == ((host.lower(),), "")


def test_a_value_is_taken_out_where_it_stands_and_nowhere_else() -> None:
    text, _ = without_suspects("/goal secret ABC e", TEXTS)

    assert text == "/goal secret ABC [left out: looks like a password or key]"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("GIT_TOKEN api.github.com", "bad.secret.variable"),
        ("A_B " + " ".join(f"h{n}.example.org" for n in range(11)), "bad.secret.hosts"),
        ("remove", "bad.secret.which"),
    ],
)
def test_what_else_is_wrong_leaves_the_words(text: str, wrong: str) -> None:
    found = read_secret(text)

    assert found is not None
    assert found.wrong == wrong
    assert without_suspects(f"/goal secret {text}", TEXTS) == (f"/goal secret {text}", ())


@pytest.mark.parametrize(
    "text",
    [
        "/goal secret API_TOKEN api.example.org",
        "/goal secret santa for all",
        "the secret API_TOKEN is gone",
        "secret API_TOKEN",
        "secret",
        "",
    ],
)
def test_where_none_is_typed_nothing_is_taken_for_one(text: str) -> None:
    assert typed_at(text) is None
