"""`headway slack`: what it prints and what it changes; no token is shown."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from adapters.slack.manifest import Wanted
from bot.cli import main
from bot.ports.installs import Install
from bot.settings import Settings, read_settings
from bot.wiring.holding import own_store
from bot.wiring.keys import sealing_of
from bot.wiring.slack_app import manifest_of

TOKEN, REFRESH = "xoxb-a-token-that-nobody-sees", "xoxe-1-what-renews-it"
ONE = Install(
    "slack", "T01ONE", "A01APP", "U0BOT", "One & Sons", ("chat:write", "commands"), TOKEN, REFRESH,
    1_900_000_000.0, "T01ONE:U01ANN", 1_800_000_000.0,
)  # fmt: skip


class Shell:
    """`headway` typed in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run it; returns exit code, standard output, standard error."""
        self._capsys.readouterr()
        self._monkeypatch.setattr(sys, "argv", ["headway", *arguments])
        self._monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as end:
            main()
        told = self._capsys.readouterr()
        assert TOKEN not in told.out + told.err
        assert REFRESH not in told.out + told.err
        return int(end.value.code or 0), told.out, " ".join(told.err.split())


@pytest.fixture
def headway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Shell:
    monkeypatch.setenv("HEADWAY_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HEADWAY_SECRET_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("HEADWAY_ZONE", "UTC")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


@pytest.fixture
def installed(headway: Shell, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The app is installed in one workspace."""
    monkeypatch.setenv("HEADWAY_SLACK_CLIENT_ID", "1.2")
    monkeypatch.setenv("HEADWAY_PUBLIC_URL", "https://bot.example.org/")
    settings = read_settings()

    async def kept() -> None:
        async with own_store(settings, sealing_of(settings)) as store:
            await store.installs.keep(ONE)

    asyncio.run(kept())
    return settings


def test_the_manifest_is_that_of_the_settings(
    headway: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = headway("slack", "manifest")
    monkeypatch.setenv("HEADWAY_SLACK_COMMAND", "deputy")
    monkeypatch.setenv("HEADWAY_SLACK_MODE", "http")
    monkeypatch.setenv("HEADWAY_PUBLIC_URL", "https://bot.example.org")
    as_set = headway("slack", "manifest", "--name", "Deputy")

    assert yaml.safe_load(plain[1]) == manifest_of(Wanted())
    assert yaml.safe_load(as_set[1]) == manifest_of(
        Wanted("Deputy", "deputy", "https://bot.example.org", is_http=True)
    )


def test_flags_go_before_the_settings(headway: Shell) -> None:
    _, out, _ = headway(
        "slack", "manifest", "--http", "--url", "https://b.example", "--command", "/go", "--rotate"
    )

    assert yaml.safe_load(out) == manifest_of(
        Wanted("Headway", "go", "https://b.example", is_http=True, rotates=True)
    )


def test_the_link_is_one_line(headway: Shell) -> None:
    _, out, _ = headway("slack", "manifest", "--link")

    assert out.startswith("https://api.slack.com/apps?new_app=1&manifest_yaml=")
    assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "mend"),
    [
        (("--http",), "give --url https://bot.example.org, or set public_url"),
        (("--http", "--url", "http://bot.example.org"), "give --url https://"),
        (("--name", "x" * 36), "a name of 1 to 35 characters"),
        (("--name", ""), "a name of 1 to 35 characters"),
        (("--command", "No Command"), "give 1 to 31 small letters"),
        (("--url", "bot.example.org"), "give a whole address"),
        (("--rotate",), "give --url, too"),
    ],
)
def test_what_slack_would_refuse_is_refused_here(
    headway: Shell, words: tuple[str, ...], mend: str
) -> None:
    code, out, error = headway("slack", "manifest", *words)

    assert (code, out) == (2, "")
    assert mend in error


def test_status_shows_where_it_is_installed_and_what_is_missing(
    headway: Shell, installed: Settings
) -> None:
    code, out, _ = headway("slack", "status")
    row = json.loads(headway("slack", "status", "--json")[1])["installs"][0]

    assert code == 0
    assert "Workspaces install it at https://bot.example.org/slack/install" in out
    assert "No Headway runs here." in out
    assert "T01ONE" in out
    assert (row["name"], row["renewed_before"]) == ("One & Sons", "2030-03-17T17:46+00:00")
    assert "channels:history" in row["missing_scopes"]
    assert "chat:write" not in row["missing_scopes"]


def test_status_of_a_single_token_needs_no_database(
    headway: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_SLACK_BOT_TOKEN", TOKEN)

    code, out, _ = headway("slack", "status")

    assert code == 0
    assert "One workspace, by slack_bot_token." in out


def test_status_without_an_app_says_what_is_missing(
    headway: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = headway("slack", "status")
    monkeypatch.setenv("HEADWAY_SLACK_APP_TOKEN", "xapp-1-A01-2-3")
    half = headway("slack", "status")

    assert (nothing[0], "Slack is not set up" in nothing[1]) == (0, True)
    assert (half[0], "(slack_app_token), and no app" in " ".join(half[1].split())) == (0, True)


def test_what_is_forgotten_is_erased_and_its_rooms_are_lost(
    headway: Shell, installed: Settings
) -> None:
    code, out, _ = headway("slack", "forget", "T01ONE", "--yes")

    async def left() -> tuple[int, list[str]]:
        async with own_store(installed, sealing_of(installed)) as store:
            waiting = [row.message for row in await store.inbox.waiting()]
            return len(await store.installs.installed("slack")), [
                f"{one.place.workspace}:{one.text.split()[0]}" for one in waiting
            ]

    assert (code, "are erased" in out) == (0, True)
    assert asyncio.run(left()) == (0, ["T01ONE:uninstalled"])
    assert headway("slack", "forget", "T01ONE", "--yes")[0] == 2


def test_nothing_is_forgotten_unasked(headway: Shell, installed: Settings) -> None:
    code, _, error = headway("slack", "forget", "T01ONE")

    assert (code, "Nothing was changed" in error) == (2, True)
    assert headway("slack", "status")[1].count("T01ONE") == 1


def test_a_token_of_the_settings_is_not_forgotten_here(
    headway: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_SLACK_BOT_TOKEN", TOKEN)

    code, _, error = headway("slack", "forget", "T01ONE", "--yes")

    assert (code, "stands in the settings" in error) == (2, True)
