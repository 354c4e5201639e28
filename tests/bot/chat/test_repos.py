"""`room repo`: what people type, and what is refused of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.repo_words import RepoWords, read_repo
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.repositories import Repository
from bot.ports.repository_urls import NoUrl, read_url
from tests.bot.chat.conftest import Bench

TEXTS = Texts()
URL = "https://git.example.org/team/app.git"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("repo", RepoWords()),
        ("repos list", RepoWords()),
        (f"repo add {URL}", RepoWords(Repository("app", URL))),
        (
            f"REPO ADD {URL} as web secret GIT_TOKEN branch release/2",
            RepoWords(Repository("web", URL, "release/2", "GIT_TOKEN")),
        ),
        ("repo remove app", RepoWords(remove="app")),
        ("repository cleanup of the month", None),
        ("mention ask", None),
        ("", None),
    ],
)
def test_what_is_meant(text: str, found: RepoWords | None) -> None:
    assert read_repo(text, TEXTS) == found


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("git@git.example.org:team/app.git", "scheme"),
        ("ssh://git.example.org/app", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("ext::sh -c touch", "scheme"),
        ("--upload-pack=touch", "scheme"),
        ("-https://x/y", "scheme"),
        ("/srv/app.git", "scheme"),
        ("https://ann:token@git.example.org/app", "credential"),
        ("https://token@git.example.org/app", "credential"),
        ("https://git.example.org", "form"),
        ("https:///app", "form"),
        ("https://git.example.org/a?b=c", "form"),
        ("https://git.example.org/a#b", "form"),
        ("https://git.example.org/../../x", "form"),
        ("https://git.example.org/a\\b", "form"),
        ("https://git.example.org:99999/a", "form"),
        ("https://git.example.org/\x00", "form"),
        (f"https://git.example.org/{'a' * 600}", "form"),
    ],
)
def test_an_address_that_cannot_be_taken_says_why(url: str, code: str) -> None:
    with pytest.raises(NoUrl) as refused:
        read_url(url)

    assert refused.value.code == code
    assert TEXTS.has(f"bad.repo.{code}")


def test_an_address_has_one_form_and_a_name() -> None:
    url = read_url("<https://GIT.Example.org:443/team/My.App.git>")

    assert (url.url, url.host, url.port) == (
        "https://git.example.org/team/My.App.git", "git.example.org", 443,
    )  # fmt: skip
    assert url.name == "My.App"
    assert read_url("http://[::1]:8080/x").entry == "[::1]:8080"


@given(st.text())
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    try:
        url = read_url(text)
    except NoUrl:
        return
    assert url.scheme in ("https", "http")
    assert not url.url.startswith("-")


@pytest.mark.parametrize(
    "text",
    ["repo add", "repo remove", "repo add https://x.org/a as", f"repo add {URL} as a as b",
     f"repo add {URL} as ../up", f"repo add {URL} secret two-words!", f"repo add {URL} branch -x"],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_repo(text, TEXTS)


async def test_a_repository_is_added_listed_and_removed(bench: Bench) -> None:
    await bench.say(f"/goal room repo add {URL} secret GIT_TOKEN")
    added = bench.last()
    await bench.say("/goal room repo")
    listed = bench.last()
    await bench.say("/goal room repo remove app")
    removed = bench.last()
    await bench.say("/goal room repo remove app")

    assert added.startswith(f"The repository `app` ({URL}) is this room's now")
    assert "Its credential is the secret `GIT_TOKEN`" in added
    assert f"- `app` {URL}, credential `GIT_TOKEN`" in listed
    assert removed.startswith("The repository `app` is no longer this room's")
    assert bench.last() == "This room has no repository `app`. `room repo list` shows them."


async def test_an_objective_about_repositories_is_an_objective(bench: Bench) -> None:
    _, goal = await bench.start("room repository cleanup of the month")

    assert goal.number == 1


async def test_a_goal_starts_from_a_repository_that_its_room_has(bench: Bench) -> None:
    await bench.say("/goal Mend it.\nrepo: app")
    unknown = bench.last()
    await bench.say(f"/goal room repo add {URL}")
    thread, _ = await bench.start("Mend it.\n- Repo: `app`")
    await bench.say("status", thread)

    assert unknown == "This room has no repository `app`. `room repo list` shows them."
    assert "Repository: `app`, in checkouts/app" in bench.last(thread)
