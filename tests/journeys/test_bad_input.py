"""What people and operators get wrong: each a sentence that says what happened and the mend.

An exit code tells whose it is to mend (bot/errors.py), nothing is lost, nothing hangs, and nobody
is shown a traceback.
"""

import asyncio
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from adapters.clock import WallClock
from adapters.store.open import open_store
from bot.goals.limits import LIMITS
from tests.journeys.bot import Bot, environment, headway, until
from tests.journeys.conftest import Begin
from tests.peers.messages_api import BlockingMessagesApi, started

pytestmark = pytest.mark.process

Api = BlockingMessagesApi

PERSON, SETTINGS, STORE = 2, 78, 74


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('modle = "x"', "modle is not a setting .* Did you mean model\\? Mend or remove it"),
        ("[limits]\ncontinuation = 3", "limits.continuation is not a setting .*continuations"),
        ("budget_usd = -1", "The setting budget_usd is wrong .*greater than 0, not -1. Mend it"),
        ("budget_tokens = 100", "budget_tokens is wrong .*greater than or equal to 20000, not 100"),
        ('sandbox = "jail"', "The setting sandbox is wrong .*bubblewrap"),
        ("model = ", "The settings cannot be read: .* Mend .*headway.toml"),
        ('database = "mysql://x"', "'mysql' is no kind of database .* give sqlite:///FILE"),
        ('base_url = "not an address"', "base_url|address"),
    ],
)
def test_a_wrong_settings_file_is_refused_by_name(tmp_path: Path, toml: str, said: str) -> None:
    file = tmp_path / "headway.toml"
    file.write_text(toml)

    run = headway("--config", str(file), "run", env=_bare(tmp_path))

    _assert_refused(run, SETTINGS, said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("MODLE", "The variable HEADWAY_MODLE is not a setting. Did you mean HEADWAY_MODEL"),
        ("LIMITS__CONTINUATION", "limits.continuation is not a setting.*limits.continuations"),
    ],
)
def test_a_misspelt_variable_is_refused_by_name(tmp_path: Path, name: str, said: str) -> None:
    run = headway("goals", env=_env(tmp_path, **{name.lower(): "3"}))

    _assert_refused(run, SETTINGS, said)


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    run = headway("--config", str(tmp_path / "none.toml"), "goals", env=_env(tmp_path))

    _assert_refused(run, SETTINGS, "There is no settings file .*none.toml. Check the path")


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "headway.toml"
    file.write_text('api_key = ["sk-secret"]')

    run = headway("--config", str(file), "run", env=_bare(tmp_path))

    _assert_refused(run, SETTINGS, "api_key")
    assert "sk-secret" not in run.stderr


def test_without_a_key_nothing_starts_and_the_demo_is_named(tmp_path: Path) -> None:
    run = headway("run", env=_env(tmp_path, api_key=""))

    _assert_refused(run, SETTINGS, "There is no key for the model. Set ANTHROPIC_API_KEY .*demo")


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    run = headway("run", env=_env(tmp_path, api_key_file=tmp_path / "none"))

    _assert_refused(run, SETTINGS, "The key file .*none cannot be read .*Mend its path")


@pytest.mark.parametrize("command", ["run", "goals"])
@pytest.mark.parametrize("kind", ["garbage", "folder", "closed", "newer", "cut"])
def test_a_database_that_cannot_be_used_is_refused_and_left_as_it_is(
    tmp_path: Path, old_database: Path, kind: str, command: str
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    file = state / "headway.db"
    said = _spoil(file, kind, old_database)
    before = file.read_bytes() if file.is_file() and kind != "closed" else b""

    run = headway(command, env=_env(tmp_path), may_override=kind != "closed")

    _assert_refused(run, STORE, said)
    if before:
        assert file.read_bytes() == before


def test_a_state_folder_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    run = headway("chat", env=_env(tmp_path))

    _assert_refused(run, SETTINGS, "The state folder .*state cannot be used .*Set state_dir to")


def test_a_state_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)

    run = headway("run", env=_env(tmp_path, state_dir=closed / "state"), may_override=False)

    _assert_refused(run, SETTINGS, "The state folder .* cannot be used \\(Permission denied\\)")


def test_before_the_first_start_reading_says_what_makes_the_database(tmp_path: Path) -> None:
    run = headway("goals", env=_env(tmp_path))

    _assert_refused(run, STORE, "There is no database .* yet")


def test_a_goal_that_is_not_there_is_named(bot: Bot) -> None:
    run = headway("show", "G9999", env=bot.env)

    _assert_refused(run, PERSON, "There is no goal G9999. `headway goals` lists them")


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ("", "An objective needs words"),
        (" \t ", "An objective needs words"),
        ("...!", "An objective needs words"),
        ("x" * 100 * 1024, "That is 101 KB; at most 64 KB are taken. Put it in a file"),
        ("a \udcff b", "no valid text and was not taken"),
    ],
)
def test_an_objective_that_cannot_be_taken_is_refused_before_anything_starts(
    tmp_path: Path, objective: str, said: str
) -> None:
    run = headway("chat", "--until-settled", objective, env=_env(tmp_path))

    _assert_refused(run, PERSON, said)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (b"/goal a \0 b", "holds a NUL character and was not taken"),
        (b"/goal a \xff b", "no valid text and was not taken"),
        (b"/goal " + b"x" * 100 * 1024, "at most 64 KB are taken. Put it in a file"),
        (b"/goal ...", "An objective needs words"),
        (b"/goal", "For example:\n- `/goal "),
        (b"/goal budget G9999 5 USD", "There is no G9999 in this room"),
        (b"/goal memory", "Not in this version"),
    ],
)
def test_what_is_typed_and_cannot_be_taken_is_answered(bot: Bot, typed: bytes, said: str) -> None:
    before = len(bot.goals())

    chat = headway("chat", env=bot.env, typed=typed + b"\n")

    assert chat.returncode == 0
    assert said in chat.stdout
    assert "Traceback" not in chat.stderr
    assert len(bot.goals()) == before


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("budget -5", "A budget cannot be negative"),
        ("budget 100 tokens", "A budget is at least 20,000 tokens. Give more"),
        ("budget 0.001 USD", "A budget is at least $0.01. Give more"),
        ("budget 99999999999 USD", "That is more than a budget can be"),
        ("budget 5 bananas", "That is no amount"),
        ("budget 0 h", "A budget is at least a minute of work"),
        ("edit", "`edit` needs the new objective behind it"),
        ("reopen", "`reopen` needs what is missing behind it"),
    ],
)
def test_a_command_that_does_not_fit_is_answered_and_changes_nothing(
    bot: Bot, typed: str, said: str
) -> None:
    goal = bot.goal("!script waits 600")
    waiting = goal.until("waiting")

    goal.say(typed)
    reply = goal.until_posted("reply")

    assert said in reply.text
    assert goal.goal() == waiting
    goal.say("cancel yes")
    goal.until("cancelled")


def test_a_model_out_of_reach_is_waited_for_and_said_once(begin: Begin, api: Api) -> None:
    bot = begin(api, base_url="http://127.0.0.1:9", shutdown_s=0.2)
    goal = bot.goal("!script complete_after 1")
    until(lambda: "is in trouble (network)" in bot.told(), 10, bot.told)
    assert goal.goal().state == "working"
    assert bot.stop()[0] == 0

    bot.settings["base_url"] = api.url
    bot.start()
    goal.until("complete")

    assert goal.kinds() == ["complete"]
    assert bot.told().count("in trouble (network)") == 1
    assert "Traceback" not in bot.told()


def test_a_wrong_key_is_the_operators_and_a_replaced_one_goes_on_without_a_restart(
    begin: Begin, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("wrong\n")
    with started() as api:
        bot = begin(api, api_key_file=key, clock_rate=60, lease_s=1800, renew_s=600)
        goal = bot.goal("!script complete_after 1")
        until(lambda: "refuses us (auth)" in bot.told(), 10, bot.told)
        assert goal.goal().state == "working"
        assert goal.kinds() == []

        key.write_text(api.key)
        goal.until("complete")

        assert goal.kinds() == ["complete"]
        assert bot.told().count("refuses us (auth)") == 1


@pytest.fixture(scope="module")
def old_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as this version writes it, with nothing in it."""
    folder = tmp_path_factory.mktemp("old")

    async def make() -> None:
        clock = WallClock()
        async with open_store("sqlite:///headway.db", clock=clock, limits=LIMITS, state_dir=folder):
            pass

    asyncio.run(make())
    return folder / "headway.db"


def _spoil(file: Path, kind: str, good: Path) -> str:
    """Put something in the database's place; returns what is to be said of it."""
    match kind:
        case "garbage":
            file.write_bytes(b"This is no database. " * 500)
            return "is not a database: move it away and restore the last backup"
        case "folder":
            file.mkdir()
            return "cannot be opened|is a folder|There is no database"
        case "closed":
            file.write_bytes(good.read_bytes())
            file.chmod(0)
            return "cannot be opened: (check|give)"
        case "cut":
            whole = good.read_bytes()
            file.write_bytes(whole[: len(whole) // 2])
            return "is damaged"
        case _:
            file.write_bytes(good.read_bytes())
            with sqlite3.connect(file) as newer:
                newer.execute("UPDATE alembic_version SET version_num = '9999'")
            newer.close()
            return "has schema 9999, and this Headway knows .* install the Headway that wrote it"


def _bare(tmp_path: Path) -> dict[str, str]:
    """Nothing set but a state folder and a key, so that a file's settings count."""
    key = {"ANTHROPIC_API_KEY": "k", "HOME": str(tmp_path)}
    return environment(state_dir=tmp_path / "state") | key


def _env(tmp_path: Path, **settings: object) -> dict[str, str]:
    given = {"state_dir": tmp_path / "state", "api_key": "k", "base_url": "http://127.0.0.1:9"}
    return environment(**{**given, "sandbox": "none", **settings}) | {"HOME": str(tmp_path)}


def _assert_refused(run: "subprocess.CompletedProcess[str]", code: int, said: str) -> None:
    assert re.search(said, run.stderr), run.stderr
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert re.search(r"\(ref \w{4}\)$", run.stderr.strip())
