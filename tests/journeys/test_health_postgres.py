"""Health and metrics on PostgreSQL: the line cut, two processes on one database, one of them killed."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.store.postgres import open_postgres
from tests.journeys.bot import Bot, until, until_called
from tests.journeys.conftest import SHARED
from tests.journeys.test_health import address, asked, get, scraped, turns_of
from tests.peers.cutproxy import CutProxy, cut_proxy
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.postgres import PORT, Postgres, private_postgres

pytestmark = [pytest.mark.process, pytest.mark.postgres]

Api = BlockingMessagesApi

SOCKET = f".s.PGSQL.{PORT}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with private_postgres() as server:
        yield server


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    name = postgres.create()
    open_postgres(postgres.url(name))
    yield name
    postgres.drop(name)


@pytest.fixture
def proxy(postgres: Postgres, tmp_path: Path) -> Iterator[CutProxy]:
    with cut_proxy(tmp_path / SOCKET, postgres.folder / SOCKET) as proxy:
        yield proxy


@pytest.fixture
def reached(api: Api, sandbox: str) -> dict[str, object]:
    leases = {"lease_s": 3.0, "renew_s": 1.0, "private_listen": "127.0.0.1:0"}
    return {"base_url": api.url, "api_key": api.key, "sandbox": sandbox, **SHARED, **leases}


def test_a_database_out_of_reach_makes_it_not_ready_and_does_not_restart_it(
    reached: dict[str, object], postgres: Postgres, database: str, proxy: CutProxy, tmp_path: Path
) -> None:
    url = postgres.url(database).replace(str(postgres.folder), str(tmp_path))
    bot = Bot(tmp_path / "a", {**reached, "database": url}).start()
    try:
        before = asked(bot, "/readyz")
        proxy.is_down = True
        proxy.cut()
        began = time.monotonic()
        until(lambda: asked(bot, "/readyz")[0] == 503, 15, bot.told)
        took = time.monotonic() - began

        status, told = asked(bot, "/readyz")
        live, metrics = asked(bot, "/livez"), scraped(bot)
        proxy.is_down = False
        until(lambda: asked(bot, "/readyz")[0] == 200, 30, bot.told)
    finally:
        bot.stop()

    assert before[0] == 200
    assert took < 12
    assert status == 503
    assert told["reasons"]
    assert live[0] == 200, "No restart mends a database that is out of reach."
    assert metrics["headway_ready", ()] == 0


def test_two_processes_tell_the_same_of_their_database_and_a_takeover_is_counted(
    reached: dict[str, object], api: Api, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    shared = {"database": postgres.url(database), "workspaces": tmp_path / "workspaces"}
    a, b = (Bot(tmp_path / name, {**reached, **shared}).start() for name in ("a", "b"))
    try:
        a.goal("!script complete_after 2").until("complete")
        until(lambda: turns_of(scraped(a)) == turns_of(scraped(b)) == 2, 15, a.told)
        slow = a.goal("!script slow 5 2")
        until_called(api, slow)
        held_by_a = a.ask(do="status")["running_turns"] == 1
        holder, other = (a, b) if held_by_a else (b, a)

        holder.stop(signal.SIGKILL)
        until(lambda: takeovers(other) == 1, 20, other.told)
        ready = get(address(other), "/readyz")[0]
    finally:
        for bot in (a, b):
            bot.end()

    assert ready == 200


def takeovers(bot: Bot) -> float:
    return scraped(bot)["headway_lease_takeovers_total", ()]
