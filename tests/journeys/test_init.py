"""`headway init` as a newcomer meets it: on a terminal, in a program, interrupted, run again."""

import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.slack.manifest import SCOPES
from tests.peers.messages_api import KEY, BlockingMessagesApi, started
from tests.peers.slack_keys import Holder, KeySlack, slack_keys
from tests.peers.terminal import on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = [sys.executable, "-c", "from bot.cli import main; main()"]
MODELS = ("--models", "claude-sonnet-5-5,claude-haiku-5-5")

pytestmark = [pytest.mark.process, pytest.mark.sandbox]


@pytest.fixture(scope="module")
def api() -> Iterator[BlockingMessagesApi]:
    with started("adapters.rehearsal.demo:script", *MODELS) as server:
        yield server


@pytest.fixture
def newcomer(tmp_path: Path) -> dict[str, str]:
    """An environment without settings; the home is the test's own folder."""
    foreign = ("HEADWAY_", "ANTHROPIC_", "XDG_", "COLUMNS", "NO_COLOR", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    here = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    return {**kept, **here, "TZ": "Europe/Berlin", "NO_PROXY": "127.0.0.1"}


def config_of(newcomer: dict[str, str]) -> Path:
    return Path(newcomer["HOME"], ".config/headway/headway.toml")


def headway(newcomer: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HEADWAY, *words],
        env=newcomer,
        cwd=newcomer["HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def typed(newcomer: dict[str, str], *answers: tuple[str, str]) -> tuple[int, str]:
    """Answer its questions; the exit code, and the screen without its line ends."""
    home = Path(newcomer["HOME"])
    if not any(prompt == "Slack channels" for prompt, _ in answers):
        answers = (*answers, ("Slack channels", "\n"))
    answers = (*answers, ("Matrix rooms", "\n"))
    code, screen = on_a_terminal([*HEADWAY, "init"], newcomer, answers, folder=home)
    return code, " ".join(screen.split())


def test_a_person_without_a_key_comes_from_init_to_a_complete_goal(
    newcomer: dict[str, str],
) -> None:
    code, told = typed(
        newcomer,
        ("Number [1]", "3\n"),
        ("all that Headway keeps", "\n"),
        ("may spend", "0.5\n"),
        ("Time zone", "\n"),
    )
    [chat] = re.findall(r"headway (chat \"[^\"]+\")", told)
    words = re.findall(r'"([^"]+)"|(\S+)', chat)
    goal = headway(newcomer, *("".join(pair) for pair in words), "--until-settled")

    assert code == 0, told
    assert "nothing is charged" in told
    assert "commands run confined" in told
    assert tomllib.loads(config_of(newcomer).read_text()) == {
        "provider": "rehearsed",
        "budget_usd": 0.5,
    }
    assert stat.S_IMODE(config_of(newcomer).stat().st_mode) == 0o600
    assert goal.returncode == 0, goal.stderr
    assert "✅ Complete · G1" in goal.stdout
    assert "$0.00" in goal.stdout
    workspaces = Path(newcomer["HOME"], ".local/state/headway/workspaces")
    [haiku] = workspaces.glob("*/tides.txt")
    assert "The tide writes" in haiku.read_text()


def test_a_key_is_tried_while_it_is_typed_and_never_shown(
    newcomer: dict[str, str], api: BlockingMessagesApi
) -> None:
    code, told = typed(
        newcomer,
        ("Number [1]", "2\n"),
        ("Address", f"{api.url}\n"),
        ("Key (what you type is not shown)", "sk-wrong-0001\n"),
        ("Model of the agent", "\n"),
        ("Model of the auditor", "\n"),
        ("Another answer?", "\n"),
        ("Number [2]", "\n"),
        ("Address", "\n"),
        ("Key (Enter keeps the one that is set)", f"{KEY}\n"),
        ("Model of the agent", "\n"),
        ("Model of the auditor", "\n"),
        ("all that Headway keeps", "\n"),
        ("may spend", "\n"),
        ("Time zone", "\n"),
    )

    assert code == 0, told
    assert "Put a valid key in place" in told
    assert "a million tokens cost" in told.lower()
    assert "sk-wrong-0001" not in told
    assert KEY not in told
    written = tomllib.loads(config_of(newcomer).read_text())
    assert written == {"base_url": api.url, "api_key": KEY}


def test_ctrl_c_leaves_nothing(newcomer: dict[str, str]) -> None:
    code, told = typed(newcomer, ("Number [1]", "3\n"), ("all that Headway keeps", "\x03"))

    assert code == 130
    assert "Nothing was written" in told
    assert not config_of(newcomer).exists()
    assert not Path(newcomer["HOME"], ".local").exists()


def test_run_again_it_asks_before_it_changes_and_keeps_what_was_there(
    newcomer: dict[str, str],
) -> None:
    config = config_of(newcomer)
    config.parent.mkdir(parents=True)
    mine = '# mine\nprovider = "rehearsed"\nbudget_usd = 7 # dollars\n\n# why\n[limits]\nstall_turns = 4\n'
    config.write_text(mine)

    refused, _ = typed(newcomer, ("Change it?", "n\n"))
    before = config.read_text()
    code, told = typed(
        newcomer,
        ("Change it?", "\n"),
        ("Number [3]", "\n"),
        ("all that Headway keeps", "other\n"),
        ("may spend, dollars [7.0]", "\n"),
        ("Time zone", "Mars/Olympus\n"),
        ("Time zone", "Asia/Tokyo\n"),
    )

    assert (refused, before) == (130, mine)
    assert code == 0, told
    assert "no zone of that name" in told
    text = config.read_text()
    assert tomllib.loads(text) == {
        "provider": "rehearsed",
        "budget_usd": 7,
        "state_dir": str(Path(newcomer["HOME"], "other")),
        "zone": "Asia/Tokyo",
        "limits": {"stall_turns": 4},
    }
    assert "# mine" in text
    assert "\n# why\n[limits]" in text


def test_a_program_gives_flags_and_is_asked_nothing(
    newcomer: dict[str, str], api: BlockingMessagesApi, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text(f"{KEY}\n")
    words = ("--yes", "--api-key-file", str(key), "--state-dir", str(tmp_path / "deep/state"))

    done = headway(newcomer, "init", *words, "--base-url", api.url)
    again = headway(newcomer, "init", "--yes", "--budget", "3")
    known = headway(newcomer, "config", "show", "--json")

    assert done.returncode == 0, done.stderr
    assert again.returncode == 0, again.stderr
    assert tomllib.loads(config_of(newcomer).read_text()) == {
        "api_key_file": str(key),
        "base_url": api.url,
        "state_dir": str(tmp_path / "deep/state"),
        "budget_usd": 3.0,
    }
    assert f"{config_of(newcomer)}:" in known.stdout
    assert KEY not in done.stdout + again.stdout + known.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("init",), 78, "init --yes --api-key-file FILE"),
        (("init", "--yes"), 78, "There is no key for the model. Give --api-key-file FILE"),
        (("init", "--yes", "--api-key-file", "absent"), 78, "cannot be read"),
        (("init", "--yes", "--rehearsed", "--zone", "Mars/Olympus"), 78, "no zone of that name"),
        (("init", "--yes", "--rehearsed", "--state-dir", "/proc/x"), 78, "cannot be made"),
        (("init", "--yes", "--rehearsed", "--config", "/proc/x/h.toml"), 78, "--config FILE"),
    ],
)
def test_what_does_not_work_is_said_and_nothing_is_written(
    newcomer: dict[str, str], words: tuple[str, ...], code: int, said: str
) -> None:
    done = headway(newcomer, *words)

    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not config_of(newcomer).exists()


def test_a_file_that_is_no_toml_is_named_and_left_alone(newcomer: dict[str, str]) -> None:
    config = config_of(newcomer)
    config.parent.mkdir(parents=True)
    config.write_text("model = \n")

    done = headway(newcomer, "init", "--yes", "--rehearsed")

    assert done.returncode == 78
    assert f"Mend {config}" in done.stderr
    assert config.read_text() == "model = \n"


SCOPES_OF_ALL = ",".join(scope.name for scope in SCOPES)
BOT_TOKEN, APP_TOKEN = "xoxb-a-token-of-the-bot", "xapp-1-A01APP-1-token-of-the-app"


@pytest.fixture
def slack() -> Iterator[KeySlack]:
    with slack_keys() as known:
        known.tokens[BOT_TOKEN] = Holder(scopes=SCOPES_OF_ALL)
        known.app_tokens[APP_TOKEN] = ""
        yield known


def test_the_way_into_slack_tries_each_token_and_shows_none(
    newcomer: dict[str, str], slack: KeySlack
) -> None:
    newcomer["HEADWAY_SLACK_API_URL"] = slack.api_url
    code, told = typed(
        newcomer,
        ("Number [1]", "3\n"),
        ("all that Headway keeps", "\n"),
        ("may spend", "\n"),
        ("Time zone", "\n"),
        ("Slack channels", "y\n"),
        ("What people call it", "Deputy\n"),
        ("Its command there", "/Deputy!\n"),
        ("Its command there", "/deputy\n"),
        ("Token (not shown)", "xoxb-wrong-token\n"),
        ("Token (not shown)", f"{BOT_TOKEN}\n"),
        ("Token (not shown)", f"{BOT_TOKEN}\n"),
        ("Token (not shown)", f"{APP_TOKEN}\n"),
        ("Your own member id", "ann\n"),
        ("Your own member id", "@U01ANN\n"),
    )

    assert code == 0, told
    assert "https://api.slack.com/apps?new_app=1&manifest_yaml=" in told
    assert "Deputy" in told
    assert "does not take slack_bot_token (invalid_auth)" in told
    assert "slack_app_token holds a bot token" in told
    assert "The token is good in Test Workspace" in told
    assert "A socket can be opened" in told
    assert "no id of Slack's" in told
    assert "@T01TEST:U01ANN may do everything" in told
    assert "/deputy write a haiku" in told
    assert BOT_TOKEN not in told
    assert APP_TOKEN not in told
    written = tomllib.loads(config_of(newcomer).read_text())
    assert (written["slack_bot_token"], written["slack_app_token"]) == (BOT_TOKEN, APP_TOKEN)
    assert written["slack_command"] == "deputy"
    assert stat.S_IMODE(config_of(newcomer).stat().st_mode) == 0o600


def test_who_leaves_the_way_into_slack_leaves_the_settings_as_they_were(
    newcomer: dict[str, str], slack: KeySlack
) -> None:
    newcomer["HEADWAY_SLACK_API_URL"] = slack.api_url
    code, told = typed(
        newcomer,
        ("Number [1]", "3\n"),
        ("all that Headway keeps", "\n"),
        ("may spend", "\n"),
        ("Time zone", "\n"),
        ("Slack channels", "y\n"),
        ("What people call it", "\n"),
        ("Its command there", "\n"),
        ("Token (not shown)", f"{BOT_TOKEN}\n"),
        ("Token (not shown)", "\x03"),
    )

    assert code == 130, told
    assert "The settings stay as they are written." in told
    assert "slack" not in config_of(newcomer).read_text()


def test_a_program_gives_slacks_tokens_by_files_and_each_is_tried(
    newcomer: dict[str, str], slack: KeySlack
) -> None:
    newcomer["HEADWAY_SLACK_API_URL"] = slack.api_url
    bot, app = Path(newcomer["HOME"], "bot"), Path(newcomer["HOME"], "app")
    bot.write_text(BOT_TOKEN + "\n")
    app.write_text(APP_TOKEN + "\n")
    given = ("--slack-bot-token-file", str(bot), "--slack-app-token-file", str(app))
    words = ("init", "--yes", "--rehearsed", *given)

    slack.app_tokens[APP_TOKEN] = "missing_scope"
    refused = headway(newcomer, *words)
    before = config_of(newcomer).exists()
    slack.app_tokens[APP_TOKEN] = ""
    done = headway(newcomer, *words)

    assert refused.returncode == 78
    assert "slack_app_token lacks connections:write" in refused.stderr
    assert not before
    assert done.returncode == 0, done.stderr
    assert "Slack: The token is good in Test Workspace" in done.stdout
    written = tomllib.loads(config_of(newcomer).read_text())
    assert (written["slack_bot_token"], written["slack_app_token"]) == (BOT_TOKEN, APP_TOKEN)
    assert BOT_TOKEN not in done.stdout + refused.stderr
