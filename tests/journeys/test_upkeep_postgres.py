"""The same on PostgreSQL: restored into another database; an older process beside a newer one ends."""

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from adapters.console.room import room_path
from adapters.store.schema import HEAD
from tests.adapters.store.releases.kept import RELEASES, load, unpack
from tests.journeys.bot import Bot, Thread, assert_sound, headway, until_called
from tests.journeys.conftest import SHARED
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.postgres import Postgres, private_postgres

pytestmark = [pytest.mark.process, pytest.mark.postgres]

Api = BlockingMessagesApi
Begin = Callable[..., Bot]

STORE = 74


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with private_postgres() as server:
        yield server


@pytest.fixture
def begin(postgres: Postgres, api: Api, sandbox: str, tmp_path: Path) -> Iterator[Begin]:
    """Makes processes, `begin("a", database=...)`, and ends those that run."""
    begun: list[Bot] = []
    reached = {"base_url": api.url, "api_key": api.key, "sandbox": sandbox}

    def make(name: str, **settings: object) -> Bot:
        begun.append(Bot(tmp_path / name, {**reached, **SHARED, **settings}))
        return begun[-1]

    yield make
    for one in begun:
        one.end()


def test_a_state_is_restored_into_another_database_and_folder_and_goes_on_there(
    begin: Begin, postgres: Postgres, api: Api, tmp_path: Path
) -> None:
    url = postgres.url(postgres.create())
    bot = begin("a", database=url).start()
    away = bot.goal("!script waits 3600")
    away.until("waiting")
    with psycopg.connect(url) as found:
        found.execute("UPDATE session SET home = 'elsewhere' WHERE thread = %s", (away.id,))
    asks, written = bot.goal("!script asks"), bot.goal("!script writes 1")
    asks.until("deciding")
    written.until("complete")
    api.fault({"kind": "hang"}, contains="long work")
    works = bot.goal("long work !script slow 0.2 2")
    until_called(api, works)

    backup = headway("backup", str(tmp_path / "backup"), "--json", env=bot.env)
    api.ask("POST", "release")
    works.until("complete")
    bot.stop(signal.SIGKILL)
    other = begin("b", database=postgres.url(postgres.create()))
    done = headway("restore", str(tmp_path / "backup"), "--json", env=other.env)
    assert done.returncode == 0, done.stderr
    room_path(other.state_dir).parent.mkdir()
    shutil.copy(room_path(bot.state_dir), room_path(other.state_dir))
    other.start()
    time.sleep(1.0)
    assert other.posts() == bot.posts()
    assert headway("release", "--yes", env=other.env).returncode == 0
    asks, works = Thread(other, asks.id), Thread(other, works.id)
    asks.say("1")
    asks.until("complete")
    works.until("complete")

    assert backup.returncode == 0, backup.stderr
    [left_out] = json.loads(backup.stdout)["left_out"]
    assert left_out == {
        "path": "elsewhere",
        "why": "1 live goal has its files there: back that folder up as well",
    }
    assert json.loads(done.stdout)["report"]["goals"]["deciding"] == 1
    keys = [post.key for post in other.posts() if not post.is_edit]
    assert len(keys) == len(set(keys))
    assert_sound(api, asks, "decision", "complete")
    assert works.kinds() == ["complete"]
    session = Thread(other, written.id).goal().session
    part = other.state_dir / "workspaces" / session / "drafts" / "part-1.txt"
    assert part.read_text() == "part 1\n"


def test_an_upgrade_keeps_a_copy_that_can_be_restored(
    begin: Begin, postgres: Postgres, tmp_path: Path
) -> None:
    unpack(RELEASES[0], tmp_path / "a")
    url = postgres.url(postgres.create())
    load(RELEASES[0], tmp_path / "a" / "headway.db", url)
    bot = begin("a", database=url)

    done = json.loads(headway("db", "upgrade", "--json", env=bot.env).stdout)
    restored = headway("restore", done["kept"], "--replace", "--json", env=bot.env)

    assert done == {
        "from": RELEASES[0],
        "to": HEAD,
        "kept": str(tmp_path / "a" / f"database.before-{HEAD}"),
    }
    assert restored.returncode == 0, restored.stderr
    told = json.loads(restored.stdout)
    assert told["report"]["goals"]["deciding"] == 1
    assert [path.partition("_restore_")[0] for path in told["kept"]] == ["schema before"]
    assert list((tmp_path / "a" / "workspaces").rglob("part-1.txt")), "The files stay as they are."


def test_an_older_process_ends_when_a_newer_one_has_migrated_the_database(
    begin: Begin, postgres: Postgres, api: Api
) -> None:
    url = postgres.url(postgres.create())
    bot = begin("a", database=url).start()
    goal = bot.goal("!script slow 0.4 3")
    goal.until_true(lambda look: bool(look.events("CallStarted")))

    with psycopg.connect(url) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    assert bot.process is not None
    code = bot.process.wait(20)
    again = headway("run", env=bot.env)
    with psycopg.connect(url) as newer:
        [held] = newer.execute("SELECT count(*) FROM lease WHERE worker <> ''").fetchone() or ()
        newer.execute("UPDATE alembic_version SET version_num = %s", (HEAD,))

    assert code == STORE
    assert "A newer Headway has brought the database to schema 9999: this one ends" in bot.told()
    assert "Traceback" not in bot.told(), bot.told()
    assert held == 0
    assert again.returncode == STORE
    assert "install the Headway that wrote it" in again.stderr
    bot.start()
    goal.until("complete")
    assert_sound(api, goal, "complete")
