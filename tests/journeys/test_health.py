"""What an operator sees of the real process: health, metrics, log lines, `headway status`."""

import http.client
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.journeys.bot import Bot, headway, until, until_called
from tests.journeys.conftest import SHARED, Begin
from tests.peers.debian import program
from tests.peers.messages_api import ROOT, BlockingMessagesApi, started

pytestmark = pytest.mark.process

Api = BlockingMessagesApi
Labels = tuple[tuple[str, str], ...]

PRIVATE: dict[str, object] = {"private_listen": "127.0.0.1:0", "log_level": "info"}
MARK = "quetzalcoatlus"
"""A word that only a person says."""


@pytest.fixture(scope="module")
def seen(api: Api, sandbox: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """A process with its private listener, for those that leave it as it is."""
    reached = {"base_url": api.url, "api_key": api.key, "sandbox": sandbox}
    bot = Bot(tmp_path_factory.mktemp("health"), {**reached, **SHARED, **PRIVATE}).start()
    yield bot
    code, _ = bot.stop()
    assert code == 0


def address(bot: Bot) -> str:
    note = bot.state_dir / "private.addr"
    until(note.exists, 5, bot.told)
    return note.read_text().strip()


def get(at: str, path: str) -> tuple[int, str]:
    with closing(http.client.HTTPConnection(at, timeout=10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def asked(bot: Bot, path: str) -> tuple[int, dict[str, Any]]:
    status, body = get(address(bot), path)
    return status, json.loads(body)


def scraped(bot: Bot) -> dict[tuple[str, Labels], float]:
    status, text = get(address(bot), "/metrics")
    assert status == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def total(found: dict[tuple[str, Labels], float], name: str) -> float:
    return sum(value for (of, _), value in found.items() if of == name)


def log_lines(bot: Bot) -> list[dict[str, Any]]:
    return [json.loads(line) for line in "".join(bot.log).splitlines()]


def test_a_process_that_works_is_live_and_ready_and_tells_of_its_network(seen: Bot) -> None:
    seen.goal("!script complete_after 1").until("complete")

    live, ready, health = (asked(seen, path) for path in ("/livez", "/readyz", "/healthz"))

    assert live == ready == (200, {"status": "ok", "reasons": []})
    [console] = health[1]["connectors"]
    assert (console["network"], console["up"]) == ("console", True)
    assert console["last_heard"] is not None


def test_twenty_live_goals_are_counted_while_they_are_scraped(seen: Bot) -> None:
    before, final = scraped(seen), finals(seen)
    goals = [seen.goal(f"!script complete_after 3 {n}") for n in range(20)]
    took = []
    while finals(seen) < final + 20:
        began = time.monotonic()
        scraped(seen)
        took.append(time.monotonic() - began)
    for goal in goals:
        goal.until("complete")
    # What is read is kept for 5 s.
    until(lambda: turns_of(scraped(seen)) >= turns_of(before) + 60, 15, seen.told)

    after = scraped(seen)

    rows = [goal.goal() for goal in goals]
    assert turns_of(after) - turns_of(before) == sum(row.turn for row in rows)
    states = {labels: value for (name, labels), value in after.items() if name == "headway_goals"}
    assert states[("state", "complete"),] == len(seen.goals())
    assert total(after, "headway_reservations") == 0
    spent = sum(row.ledger.usage.output for row in seen.goals())
    served = after["headway_tokens_total", (("class", "output"), ("role", "agent"))]
    assert 0 < served <= spent
    assert sorted(took)[len(took) // 2] < 1.0


def finals(bot: Bot) -> int:
    return sum(goal.is_final for goal in bot.goals())


def turns_of(found: dict[tuple[str, Labels], float]) -> float:
    return total(found, "headway_turns_total")


def test_no_word_of_a_person_is_in_what_is_served_or_logged(seen: Bot) -> None:
    seen.goal(f"!script complete_after 1 {MARK}").until("complete")

    served = [get(address(seen), path)[1] for path in ("/metrics", "/healthz", "/readyz")]
    status = headway("status", "--json", env=seen.env).stdout

    key = str(seen.settings["api_key"])
    assert not any(word in text for text in [*served, status] for word in (MARK, key))
    assert not any(MARK in line for line in seen.log)


def test_prometheus_scrapes_it_and_loads_the_rules(seen: Bot, tmp_path: Path) -> None:
    seen.goal("!script complete_after 1").until("complete")
    with closing(socket.socket()) as tried:
        tried.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{tried.getsockname()[1]}"
    (tmp_path / "prometheus.yml").write_text(
        f"rule_files: [{ROOT / 'deploy/alerts.yml'}]\n"
        "scrape_configs:\n"
        "  - job_name: headway\n"
        "    scrape_interval: 500ms\n"
        "    scrape_timeout: 500ms\n"
        f"    static_configs: [{{targets: ['{address(seen)}']}}]\n"
    )
    command = [
        program("prometheus", "prometheus"), f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--web.listen-address={at}", f"--storage.tsdb.path={tmp_path / 'data'}",
    ]  # fmt: skip

    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as prometheus:
        try:
            until(lambda: queried(at, "headway_goals") != [], 20, seen.told)
            up, ready = queried(at, "up"), queried(at, "headway_ready")
            groups = json.loads(get(at, "/api/v1/rules")[1])["data"]["groups"]
        finally:
            prometheus.terminate()

    assert [one["value"][1] for one in (*up, *ready)] == ["1", "1"]
    assert {rule["name"] for group in groups for rule in group["rules"]} >= {"HeadwayDown"}
    assert not any(rule["lastError"] for group in groups for rule in group["rules"]
                   if "lastError" in rule)  # fmt: skip


def queried(at: str, query: str) -> list[dict[str, Any]]:
    try:
        status, body = get(at, f"/api/v1/query?query={query}")
    except OSError:
        return []
    return list(json.loads(body)["data"]["result"]) if status == 200 else []


def test_every_log_line_is_one_object_of_json(seen: Bot) -> None:
    lines = log_lines(seen)

    assert lines
    assert all({"time", "level", "logger", "message", "pid"} <= line.keys() for line in lines)


def test_status_tells_what_the_process_says_of_itself(seen: Bot) -> None:
    seen.goal("!script complete_after 1").until("complete")

    as_table = headway("status", env=seen.env)
    as_json = headway("status", "--json", env=seen.env)

    assert (as_table.returncode, as_json.returncode) == (0, 0)
    told = json.loads(as_json.stdout)
    assert (told["status"], told["stage"], told["incidents"]) == ("ok", "running", {})
    assert f"pid {told['pid']}" in as_table.stdout
    assert "complete" in as_table.stdout
    assert "Network console" in as_table.stdout


def test_a_refused_key_is_seen_everywhere_and_what_people_say_is_still_taken(begin: Begin) -> None:
    with started() as api:
        bot = begin(api, **PRIVATE)
        api.fault({"status": 401}, count=None)
        bot.goal("!script complete_after 1")
        labels = (("endpoint", api.url), ("kind", "auth"))
        until(lambda: ("headway_endpoint_trouble", labels) in scraped(bot), 10, bot.told)

        refused, health = scraped(bot), asked(bot, "/healthz")[1]
        ready = asked(bot, "/readyz")
        shown = headway("status", env=bot.env)

    assert refused["headway_endpoint_open", (("endpoint", api.url),)] == 0
    assert health["endpoints"][0]["trouble"] == "auth"
    assert ready[0] == 200
    assert "(auth)" in shown.stdout


def test_a_process_that_drains_is_live_and_not_ready_and_its_log_names_goal_and_turn(
    begin: Begin, api: Api
) -> None:
    bot = begin(api, **PRIVATE)
    goal = bot.goal("!script slow 30")
    until_called(api, goal)
    at = address(bot)
    assert bot.process is not None

    bot.process.send_signal(signal.SIGTERM)
    until(lambda: get(at, "/readyz")[0] == 503, 5, bot.told)
    ready, live = get(at, "/readyz"), get(at, "/livez")
    code = bot.process.wait(15)

    assert json.loads(ready[1])["reasons"] == ["Headway is draining."]
    assert live[0] == 200
    assert code == 0
    assert not (bot.state_dir / "private.addr").exists()
    until(lambda: "was interrupted" in bot.told(), 5, bot.told)
    [line] = [one for one in log_lines(bot) if "was interrupted" in one["message"]]
    assert (line["goal"], line["turn"]) == ("G1", 1)
    assert line["goal_id"] == goal.goal().id


def test_what_was_counted_is_there_after_a_kill(begin: Begin, api: Api) -> None:
    bot = begin(api, **PRIVATE)
    bot.goal("!script complete_after 2").until("complete")
    until(lambda: turns_of(scraped(bot)) == 2, 10, bot.told)
    before = scraped(bot)

    bot.stop(signal.SIGKILL)
    (bot.state_dir / "private.addr").unlink()
    bot.start()
    after = scraped(bot)

    names = {name for name, _ in before if name.endswith("_total")} - {
        "headway_commit_failures_total", "headway_lease_takeovers_total",
        "process_cpu_seconds_total",
    }  # fmt: skip
    assert {name: total(after, name) for name in names} == {
        name: total(before, name) for name in names
    }


def test_two_processes_with_one_port_both_work_and_the_second_says_what_to_do(
    begin: Begin, api: Api, tmp_path: Path
) -> None:
    with closing(socket.socket()) as tried:
        tried.bind(("127.0.0.1", 0))
        port = tried.getsockname()[1]
    one = begin(api, private_listen=f"127.0.0.1:{port}")
    assert address(one) == f"127.0.0.1:{port}"
    two = Bot(tmp_path / "two", {**one.settings}).start()
    try:
        two.goal("!script complete_after 1").until("complete")
        until(lambda: "listens there" in two.told(), 5, two.told)
    finally:
        two.stop()

    assert get(f"127.0.0.1:{port}", "/livez")[0] == 200
    [line] = [one for one in log_lines(two) if "listens there" in one["message"]]
    assert "give private_listen another address" in line["message"]


def test_status_of_a_process_that_is_gone_is_read_from_the_database(begin: Begin, api: Api) -> None:
    bot = begin(api)
    bot.goal("!script complete_after 1").until("complete")
    bot.stop()

    done = headway("status", env=bot.env)
    told = json.loads(headway("status", "--json", env=bot.env).stdout)

    assert done.returncode == 3
    assert "stopped" in done.stdout
    assert (told["stage"], told["goals"]) == ("stopped", {"complete": 1})


@pytest.mark.parametrize("wrong", ["8377", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", ":1"])
def test_an_address_that_cannot_be_one_is_refused_with_an_example(
    wrong: str, tmp_path: Path
) -> None:
    env = Bot(tmp_path / "state", {"api_key": "k", "private_listen": wrong}).env

    done = headway("run", env=env)

    assert done.returncode == 78
    assert "private_listen is wrong" in done.stderr
    assert "such as 127.0.0.1:8377" in done.stderr


def test_the_ref_that_is_shown_is_in_the_log(tmp_path: Path) -> None:
    env = Bot(tmp_path / "none", {"api_key": "k", "log_level": "info"}).env

    done = headway("goals", env=env)

    logged, shown = done.stderr.splitlines()
    ref = shown.rpartition("(ref ")[2].removesuffix(")")
    assert json.loads(logged)["ref"] == ref
    assert "There is no database" in json.loads(logged)["message"]
