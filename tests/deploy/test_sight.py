"""The alerting rules and the dashboard: what they ask for is exported, and Prometheus loads them."""

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from adapters.telemetry.catalogue import CATALOGUE, PROCESS
from tests.peers.debian import program

ROOT: Final = Path(__file__).resolve().parents[2]
ALERTS: Final = ROOT / "deploy/alerts.yml"
DASHBOARD: Final = ROOT / "deploy/dashboard.json"
EXPECTED: Final = Path(__file__).with_name("alerts_test.yml")

KNOWN: Final = {entry.name: set(entry.labels) for entry in CATALOGUE} | {
    name: set() for name in (*PROCESS, "up")
}
FUNCTIONS: Final = {
    "and", "by", "clamp_min", "histogram_quantile", "increase", "label_values", "max", "min", "or",
    "rate", "sum", "time",
}  # fmt: skip
OF_PROMETHEUS: Final = {"instance", "job", "le"}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return told


def queries() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def metrics_of(query: str) -> set[str]:
    """The names that a query asks for, outside selectors, groupings and texts."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)|\"[^\"]*\"", " ", query)
    return set(re.findall(r"(?<![\w.])[a-z_][a-z0-9_]*", bare)) - FUNCTIONS


def labels_of(query: str) -> set[str]:
    """The labels that a query chooses or groups by."""
    found = {name for part in re.findall(r"\{([^}]*)\}", query) for name in
             re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", part)}  # fmt: skip
    for part in re.findall(r"by \(([^)]*)\)", query):
        found |= {name.strip() for name in part.split(",")}
    return found


@pytest.mark.parametrize(("where", "query"), list(queries()))
def test_a_query_asks_only_for_what_is_exported(where: str, query: str) -> None:
    names = {re.sub(r"_(bucket|count|sum)$", "", name) for name in metrics_of(query)}

    unknown = names - KNOWN.keys()

    assert not unknown, where
    assert names, where
    labels = set().union(*(KNOWN[name] for name in names)) | OF_PROMETHEUS
    assert labels_of(query) <= labels, where


@pytest.mark.parametrize(("where", "query"), list(queries()))
def test_the_brackets_of_a_query_close(where: str, query: str) -> None:
    depth = {"(": 0, "{": 0, "[": 0}
    for one in re.sub(r'"[^"]*"', "", query):
        if one in depth:
            depth[one] += 1
        elif one in ")}]":
            opened = "({["[")}]".index(one)]
            depth[opened] -= 1
            assert depth[opened] >= 0, where

    assert not any(depth.values()), where


def test_every_alert_says_what_happened_and_the_mend() -> None:
    names = [rule["alert"] for rule in rules()]

    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        for said in (rule["annotations"]["summary"], rule["annotations"]["action"]):
            assert said.endswith("."), rule["alert"]


def test_every_alert_is_expected_to_be_quiet_on_a_healthy_process() -> None:
    tests = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))["tests"]
    [healthy] = [one for one in tests if one["name"] == "A quiet, healthy process"]

    quiet = {one["alertname"] for one in healthy["alert_rule_test"] if not one["exp_alerts"]}

    assert quiet == {rule["alert"] for rule in rules()}


def test_every_alert_is_expected_to_fire_when_everything_is_wrong() -> None:
    tests = yaml.safe_load(EXPECTED.read_text(encoding="utf-8"))["tests"]
    [wrong] = [one for one in tests if one["name"] == "Everything is wrong"]
    [expected] = wrong["promql_expr_test"]

    fired = {re.findall(r'"(\w+)"', one["labels"])[0] for one in expected["exp_samples"]}

    assert fired == {rule["alert"] for rule in rules()}


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    command = [program("promtool", "prometheus"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_prometheus_takes_the_rules() -> None:
    done = promtool("check", "rules", str(ALERTS))

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    written = EXPECTED.read_text(encoding="utf-8").replace("RULES", str(ALERTS))
    (tmp_path / "alerts_test.yml").write_text(written, encoding="utf-8")

    done = promtool("test", "rules", str(tmp_path / "alerts_test.yml"))

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_can_be_imported_anywhere() -> None:
    told = json.loads(DASHBOARD.read_text(encoding="utf-8"))

    names = {one["name"] for one in told["templating"]["list"]}
    sources = {json.dumps(panel.get("datasource", "row")) for panel in panels()}

    assert {"datasource", "instance"} <= names
    assert "id" not in told
    assert sources == {'"row"', json.dumps({"type": "prometheus", "uid": "${datasource}"})}


def test_no_two_panels_lie_on_each_other() -> None:
    places = [panel["gridPos"] for panel in panels()]
    ids = [panel["id"] for panel in panels()]

    overlaps = [
        (a, b)
        for a, b in combinations(places, 2)
        if a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
        and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
    ]  # fmt: skip

    assert overlaps == []
    assert len(ids) == len(set(ids))
    assert all(place["x"] + place["w"] <= 24 for place in places)
