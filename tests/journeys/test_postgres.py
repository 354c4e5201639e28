"""The whole process on PostgreSQL, and several processes on one database.

Leases are short here, so that a killed process's goals are soon free.
"""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.store.postgres import open_postgres
from bot.goals.machine import replay
from tests.journeys.bot import Bot, Thread, assert_sound, environment, headway, until
from tests.journeys.conftest import SHARED
from tests.peers.cutproxy import CutProxy, cut_proxy
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.postgres import PORT, Postgres, private_postgres

pytestmark = [pytest.mark.process, pytest.mark.postgres]

Api = BlockingMessagesApi
Begin = Callable[..., Bot]

SOCKET = f".s.PGSQL.{PORT}"
LEASE_S = 3.0
BUSY, STORE = 75, 74


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with private_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def template(postgres: Postgres) -> str:
    name = postgres.create()
    open_postgres(postgres.url(name))
    return name


@pytest.fixture
def database(postgres: Postgres, template: str) -> Iterator[str]:
    """A database of the test's own, migrated."""
    name = postgres.create(template=template)
    yield name
    postgres.drop(name)


@pytest.fixture
def proxy(postgres: Postgres, tmp_path: Path) -> Iterator[CutProxy]:
    """A line to the server that can be cut; its socket lies in `tmp_path`."""
    with cut_proxy(tmp_path / SOCKET, postgres.folder / SOCKET) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def reached(api: Api, sandbox: str) -> dict[str, object]:
    """The settings of every process here, but for the database."""
    leases = {"lease_s": LEASE_S, "renew_s": 1.0}
    return {"base_url": api.url, "api_key": api.key, "sandbox": sandbox, **leases, **SHARED}


@pytest.fixture
def begin(
    postgres: Postgres, database: str, reached: dict[str, object], tmp_path: Path
) -> Iterator[Begin]:
    """Starts processes on the test's database, `begin("a", setting=...)`, and ends them."""
    begun: list[Bot] = []

    def start(name: str, **settings: object) -> Bot:
        known = {**reached, "database": postgres.url(database), **settings}
        begun.append(Bot(tmp_path / name, known))
        return begun[-1].start()

    yield start
    _end(*begun)


@pytest.fixture(scope="module")
def started_pair(
    postgres: Postgres,
    template: str,
    reached: dict[str, object],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Bot, Bot]]:
    """Two processes on one database and one folder of workspaces."""
    folder = tmp_path_factory.mktemp("pair")
    url = postgres.url(postgres.create(template=template))
    settings = {**reached, "database": url, "workspaces": folder / "workspaces"}
    a, b = Bot(folder / "a", settings), Bot(folder / "b", settings)
    yield a, b
    _end(a, b)


@pytest.fixture
def pair(started_pair: tuple[Bot, Bot]) -> tuple[Bot, Bot]:
    """Both at work, whatever the test before left."""
    for bot in started_pair:
        if bot.process is None or bot.process.poll() is not None:
            bot.start()
    return started_pair


def test_a_goal_is_worked_at_paused_resumed_answered_and_read_back(
    pair: tuple[Bot, Bot], api: Api
) -> None:
    bot, _ = pair
    works, asks = bot.goal("!script slow 0.4 3"), bot.goal("!script asks")
    works.until_true(lambda look: bool(look.events("CallStarted")))
    works.say("/goal pause")
    works.until("paused")
    asks.until("deciding")

    works.say("/goal resume")
    asks.say("1")
    works.until("complete")
    asks.until("complete")

    assert_sound(api, works, "reply", "reply", "complete")
    assert_sound(api, asks, "decision", "complete")
    goals = json.loads(headway("goals", "--json", env=bot.env).stdout)
    shown = json.loads(headway("show", "G1", "--json", env=bot.env).stdout)
    trace = json.loads(headway("trace", "G1", "--json", env=bot.env).stdout)
    assert [goal["state"] for goal in goals] == ["complete", "complete"]
    assert shown["state"] == "complete"
    assert len(trace) == works.goal().seq


def test_a_state_folder_has_one_process_on_postgresql_too(pair: tuple[Bot, Bot]) -> None:
    bot, _ = pair
    assert bot.process is not None

    second = headway("run", env=bot.env)

    assert second.returncode == STORE
    assert f"pid {bot.process.pid}" in second.stderr
    assert "state folder of its own" in second.stderr
    assert bot.ask(do="ping")["pid"] == bot.process.pid


def test_a_stop_said_to_one_process_aborts_the_step_that_another_runs(
    pair: tuple[Bot, Bot], api: Api
) -> None:
    a, b = pair
    goals = [b.goal(f"{n} !script {what}") for n in range(4) for what in ("slow 60", "sleeps 60")]
    for goal, event in zip(goals, ("CallStarted", "ToolStarted") * 4, strict=True):
        goal.until_true(lambda look, event=event: bool(look.events(event)))  # type: ignore[misc]
    before = len(a.posts())

    began = time.monotonic()
    for goal in goals:
        a.say(f"/goal stop G{goal.goal().number}")
    for goal, event in zip(goals, ("CallLost", "ToolEnded") * 4, strict=True):
        goal.until_true(lambda look, event=event: bool(look.events(event)))  # type: ignore[misc]
    took = time.monotonic() - began

    assert took < 10
    for goal in goals:
        assert goal.goal().state == "paused"
        assert "interrupted" in str(goal.look().journal)
        assert_replays(goal)
    a.ask(do="settle")
    assert [post.kind for post in a.posts()[before:]] == ["reply"] * len(goals)


def test_what_waits_is_rung_once_however_many_processes_listen(
    pair: tuple[Bot, Bot], api: Api
) -> None:
    waits = [bot.goal(f"{n} !script waits 2") for n in range(5) for bot in pair]

    for goal in waits:
        goal.until("complete")

    for goal in waits:
        assert len(goal.look().events("WaitFired")) == 1
        assert_worked_once(api, goal, turns=2)
        assert goal.kinds() == ["complete"]


def test_two_processes_share_the_goals_and_one_takes_over_when_the_other_is_killed(
    pair: tuple[Bot, Bot], api: Api
) -> None:
    a, b = pair
    theirs = [a.goal(f"A {n} !script slow 0.4 3") for n in range(10)]
    theirs += [a.goal(f"A {n} !script appends 3") for n in range(4)]
    ours = [b.goal(f"B {n} !script slow 0.4 3") for n in range(8)]
    begun = {goal.id for goal in (*theirs, *ours)}
    # What the killed one was told and has not stored, nobody was told that it has.
    until(lambda: all(a.look(id) for id in begun), 20, lambda: "They are not stored.")
    until(lambda: _begun(a, begun) >= 20, 20, lambda: "They do not begin.")

    a.stop(signal.SIGKILL)
    for goal in (*theirs, *ours):
        goal.until_true(lambda look: look.goal.state == "complete", 40)
    b.ask(do="settle")
    shown = {post.thread for post in b.posts()}
    a.start()
    a.ask(do="settle")

    for goal in (*theirs, *ours):
        assert_worked_once(api, goal, turns=3)
    for goal in theirs[10:]:
        written = (
            Path(str(a.settings["workspaces"])) / goal.goal().session / "drafts" / "effects.log"
        )
        lines = written.read_text().splitlines()
        assert len(lines) == len(set(lines)), lines
    assert [goal.kinds() for goal in (*theirs, *ours)] == [["complete"]] * len(begun)
    assert not shown & {goal.id for goal in theirs}, "A console shows another one's thread."


def test_a_killed_process_s_goals_wait_for_their_files_and_go_on_at_once_when_it_is_back(
    begin: Begin, api: Api
) -> None:
    a = begin("a", lease_s=20.0, renew_s=5.0)
    far = [a.goal("!script slow 0.6 3"), a.goal("!script appends 3"), a.goal("!script asks")]
    far[0].until_true(lambda look: len(look.events("CallStarted")) > 1)
    far[2].until_posted("decision")

    a.stop(signal.SIGKILL)
    b = begin("b")
    b.goal("!script complete_after 2").until("complete")
    left = far[0].goal()
    doctor = headway("doctor", env=b.env)
    a.start()
    began = time.monotonic()
    for goal in far[:2]:
        goal.until("complete", 15)
    took = time.monotonic() - began
    far[2].say("1")
    far[2].until("complete")

    assert not left.is_final
    assert "have their files in another folder of workspaces" in doctor.stdout, doctor.stdout
    assert took < 14, "it waited for a lease of its own to lapse"
    assert [goal.kinds() for goal in far] == [["complete"], ["complete"], ["decision", "complete"]]
    for goal in far[:2]:
        assert_worked_once(api, goal, turns=3)


def test_a_database_that_is_gone_for_some_seconds_loses_nothing(
    begin: Begin, postgres: Postgres, database: str, proxy: CutProxy, tmp_path: Path
) -> None:
    far = postgres.url(database, host=tmp_path)
    bot = begin("a", database=far, shutdown_s=1.0)
    goals = [bot.goal(f"{n} !script slow 0.3 3") for n in range(5)]
    goals[0].until_true(lambda look: bool(look.events("CallSettled")))

    proxy.is_down = True
    proxy.cut()
    said = bot.say("/goal !script complete_after 1")
    time.sleep(1.5)
    proxy.is_down = False
    goals.append(Thread(bot, said))
    goals[-1].until_true(lambda look: look.goal.turn > 0)
    proxy.is_down = True
    proxy.cut()
    goals.append(Thread(bot, bot.say("/goal !script complete_after 1")))
    late = headway("run", env={**bot.env, "HEADWAY_STATE_DIR": str(tmp_path / "late")})
    proxy.is_down = False

    for goal in goals:
        goal.until("complete", 30)
        assert_replays(goal)
        assert goal.kinds() == ["complete"]
        assert goal.goal().ledger.open == ()
    last = bot.goal("!script slow 60")
    last.until_true(lambda look: bool(look.events("CallStarted")))
    proxy.is_down = True
    proxy.cut()
    code, took = bot.stop()
    assert code == 0
    assert took < 9, "a shutdown waits for a database that is away"
    assert late.returncode == BUSY
    assert "PostgreSQL is out of reach" in late.stderr
    assert "start it, or check HEADWAY_DATABASE" in late.stderr
    assert late.stderr.count("\n") == 1, late.stderr


def test_a_database_that_cannot_be_used_is_a_sentence(
    postgres: Postgres, database: str, reached: dict[str, object], tmp_path: Path
) -> None:
    _lock_in(postgres, "locked")
    postgres.run("UPDATE alembic_version SET version_num = '9999'", database)
    wrong = postgres.url(database).replace("postgres@", "locked:wrong@")
    urls = [("goals", postgres.url()), ("run", postgres.url("nowhere"))]
    urls += [("run", wrong), ("goals", wrong)]
    urls += [(command, postgres.url(database)) for command in ("run", "goals")]

    def run(number: int) -> "subprocess.CompletedProcess[str]":
        command, url = urls[number]
        # A folder each: two that run beside each other on one are refused for that alone.
        folder = tmp_path / f"{command}{number}"
        env = environment(**{**reached, "state_dir": folder, "database": url})
        return headway(command, env=env)

    with ThreadPoolExecutor(3) as pool:
        empty, absent, *refused, newer, read = pool.map(run, range(len(urls)))

    assert "`headway run` or `headway chat` makes its tables" in empty.stderr
    assert "check user, password and database name in the URL" in absent.stderr
    for one in refused:
        assert "password authentication failed" in one.stderr
        assert "check user" in one.stderr
        assert "wrong@" not in one.stderr
    for one in (newer, read):
        assert "schema 9999" in one.stderr
        assert "install the Headway that wrote it" in one.stderr
    for one in (empty, absent, *refused, newer, read):
        assert one.returncode == STORE
        assert one.stderr.count("\n") == 1, one.stderr


def _end(*begun: Bot) -> None:
    for one in begun:
        one.end()
    for one in begun:
        assert "Traceback" not in one.told(), one.told()


def _lock_in(postgres: Postgres, role: str) -> None:
    """Make a role that needs a password."""
    postgres.run(f"CREATE ROLE {role} LOGIN PASSWORD 'right'")
    rules = postgres.folder / "data" / "pg_hba.conf"
    rules.write_text(f"local all {role} scram-sha-256\n" + rules.read_text())
    postgres.run("SELECT pg_reload_conf()")


def test_a_hold_by_way_of_any_process_stops_the_goals_of_all(
    pair: tuple[Bot, Bot], tmp_path: Path
) -> None:
    a, b = pair
    goals = [one.goal("!script slow 8 1") for one in (a, b)]
    for goal in goals:
        goal.until_true(lambda look: bool(look.events("CallStarted")))
    outside = {**a.env, "HEADWAY_STATE_DIR": str(tmp_path / "outside")}

    held = headway("hold", "--all", "--json", env=outside)
    at = json.loads(held.stdout)["at"]
    until(lambda: all(one.ask(do="draining")["turns"] == 0 for one in pair), 6, a.told)
    time.sleep(1.0)
    looks = [goal.look() for goal in goals]
    starts = [line for look in looks for line in look.events("CallStarted") if line.at > at]
    lost = sum(len(look.events("CallLost")) for look in looks)
    headway("release", "--all", env=outside)
    for goal in goals:
        goal.until("complete", 40)

    assert starts == []
    assert lost, "a call was under way"
    assert [goal.kinds() for goal in goals] == [["complete"], ["complete"]]


def test_a_drain_ends_the_process_of_this_state_folder_alone(pair: tuple[Bot, Bot]) -> None:
    a, b = pair
    goals = [one.goal("!script slow 0.5 3") for one in (a, b)]
    until(lambda: _begun(a, {goal.id for goal in goals}) == 2, 20, lambda: "They do not begin.")

    drained = headway("drain", env=a.env)
    assert a.process is not None
    code = a.process.wait(10)
    for goal in goals:
        goal.until_true(lambda look: look.goal.state == "complete", 40)
    b.ask(do="settle")
    a.start()
    a.ask(do="settle")

    assert (drained.returncode, code) == (0, 0)
    assert b.process is not None
    assert b.process.poll() is None
    assert [goal.kinds() for goal in goals] == [["complete"], ["complete"]]


def _begun(bot: Bot, threads: set[str]) -> int:
    return sum(any(look.goal.turn > 0 for look in bot.look(thread)) for thread in threads)


def assert_worked_once(api: Api, thread: Thread, turns: int) -> None:
    """No turn, call or tool was made by two processes, and the server has seen no other call."""
    look = thread.look()
    assert_replays(thread)
    assert look.goal.ledger.open == ()
    assert len(look.events("TurnStarted")) == look.goal.turn == turns
    effects = [event for event in look.events("ToolStarted") if event.effects != "none"]
    assert len({event.tool_use for event in effects}) == len(effects)
    calls, lost = len(look.events("CallStarted")), len(look.goal.ledger.lost)
    assert lost <= 1
    assert calls - lost <= api.totals(user=look.goal.id)["calls"] <= calls


def assert_replays(thread: Thread) -> None:
    """The thread's journal folds to its row."""
    look = thread.look()
    assert replay(look.journal) == look.goal
