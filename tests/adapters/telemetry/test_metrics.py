"""The exposition: that it can be read, says what the catalogue says, and its counters never fall."""

import re
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.telemetry.catalogue import CATALOGUE, PROCESS, Metric, table
from adapters.telemetry.metrics import Metrics
from bot.goals.goal import State
from bot.goals.money import NANO, Usage
from bot.ports.figures import BOUNDS_S, BOUNDS_UNITS, Calls, Commits, Now, Reserved, Totals, Waiting
from bot.ports.sight import Connector, EndpointSight, Health, ProcessSight, Read

NOW = Now(
    at=1_000.0,
    live={"working": 2, "blocked": 1},
    waits={"cap": 1},
    reserved={"agent": Reserved(2, 9_000, 3 * NANO)},
    outbox=Waiting({"pending": 3}, oldest_at=940.0),
    inbox=Waiting({"waiting": 1}, oldest_at=990.0),
    incidents={"key": 1},
    holds={"room": 2},
    spent={"2026-11-30": (70, NANO // 2), "2026-12-01": (1, 1)},
)
TOTALS = Totals(
    goals={"complete": 7},
    turns={"": 1, "done": 9},
    waits={"cap": 4},
    verdicts={"continue": 3},
    audits_failed={"timeout": 1},
    calls=(
        Calls("agent", "settled", 5, Usage(input=100, output=20), 2 * NANO, 0, 0),
        Calls("agent", "lost", 1, Usage(), 0, 900, NANO),
        Calls("agent", "started", 1, Usage(), 0, 0, 0),
    ),
    tools={("read", "ok"): 4, ("bash", "started"): 1},
    posts={"sent": 6},
)
PROCESS_SEEN = ProcessSight(
    stage="running",
    started_at=1.0,
    version="0.1.0",
    today="2026-11-30",
    running=2,
    takeovers=1,
    day_cap_usd=50.0,
    sweeps={"due": 0.5},
    connectors=(Connector("slack", is_up=True, heard_at=930.0), Connector("matrix", is_up=False)),
    endpoints=(EndpointSight("api", "auth", 30.0, 0, 4),),
)
READ = Read(NOW, TOTALS, 1.0, 2.0, 0.01, 0.02)

Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def values(text: bytes) -> Values:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def rendered(read: Read = READ, seen: ProcessSight = PROCESS_SEEN) -> Values:
    return values(Metrics().render(read, seen, Health()))


def test_everything_in_the_catalogue_is_exported_with_its_kind_and_meaning() -> None:
    text = Metrics().render(READ, PROCESS_SEEN, Health()).decode()

    families = {family.name: family for family in text_string_to_metric_families(text)}

    for entry in CATALOGUE:
        family = families[entry.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (entry.kind, entry.help)
        assert family.samples, entry.name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(entry.labels)
    for name in PROCESS:
        assert any(sample.name == name for f in families.values() for sample in f.samples)


def test_nothing_is_exported_that_is_not_in_the_catalogue() -> None:
    names = {name for name, _ in rendered()}

    known = {entry.name for entry in CATALOGUE} | set(PROCESS)

    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in names} <= known


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("headway_ready", {}, 1),
        ("headway_goals", {"state": "working"}, 2),
        ("headway_goals", {"state": "complete"}, 7),
        ("headway_goals", {"state": "paused"}, 0),
        ("headway_turns_total", {"how": "done"}, 9),
        ("headway_tokens_total", {"role": "agent", "class": "input"}, 100),
        ("headway_cost_usd_total", {"role": "agent"}, 2.0),
        ("headway_estimated_cost_usd", {"role": "agent"}, 1.0),
        ("headway_reserved_usd", {"role": "agent"}, 3.0),
        ("headway_spent_today_usd", {}, 0.5),
        ("headway_day_cap_usd", {}, 50.0),
        ("headway_outbox_oldest_age_seconds", {}, 60.0),
        ("headway_outbox_posts", {"state": "unknown"}, 0),
        ("headway_inbox_oldest_age_seconds", {}, 10.0),
        ("headway_waits", {"kind": "cap"}, 1),
        ("headway_connector_up", {"network": "matrix"}, 0),
        ("headway_last_event_timestamp_seconds", {"network": "slack"}, 930.0),
        ("headway_endpoint_open", {"endpoint": "api"}, 0),
        ("headway_endpoint_trouble", {"endpoint": "api", "kind": "auth"}, 1),
        ("headway_endpoint_calls", {"endpoint": "api", "state": "waiting"}, 4),
    ],
)
def test_a_figure_is_told_in_its_unit(name: str, labels: dict[str, str], value: float) -> None:
    assert rendered()[name, tuple(sorted(labels.items()))] == value


def test_what_has_not_ended_counts_in_no_total() -> None:
    found = rendered()

    totals = [(name, labels) for name, labels in found if name.endswith("_total")]

    assert not any(value in ("started", "") for _, labels in totals for _, value in labels)


def test_every_state_of_a_goal_is_there_even_when_no_goal_is_in_it() -> None:
    found = rendered()

    assert {labels for name, labels in found if name == "headway_goals"} == {
        (("state", str(state)),) for state in State
    }


def test_a_counter_never_falls_when_a_lost_call_turns_out_to_have_been_served() -> None:
    metrics = Metrics()
    settled = replace(TOTALS, calls=TOTALS.calls[:1])
    lost = ("headway_model_calls_total", (("outcome", "lost"), ("role", "agent")))

    before = values(metrics.render(READ, PROCESS_SEEN, Health()))
    after = values(metrics.render(replace(READ, totals=settled), PROCESS_SEEN, Health()))

    assert (before[lost], after[lost]) == (1, 1)


def test_buckets_hold_all_that_was_no_longer_than_their_bound() -> None:
    commits = Commits(units=12, took_s=3.5)
    commits.took[0], commits.took[2], commits.took[-1] = 4, 2, 1
    commits.held[0] = 7

    found = rendered(seen=replace(PROCESS_SEEN, commits=commits))

    def took(bound: str) -> float:
        return found["headway_commit_seconds_bucket", (("le", bound),)]

    assert [took(str(bound)) for bound in BOUNDS_S[:3]] == [4, 4, 6]
    assert took("+Inf") == found["headway_commit_seconds_count", ()] == 7
    assert found["headway_commit_seconds_sum", ()] == 3.5
    assert len([name for name, _ in found if name == "headway_commit_units_bucket"]) == (
        len(BOUNDS_UNITS) + 1
    )


def test_before_the_first_read_the_process_is_told_of_all_the_same() -> None:
    starting = ProcessSight("starting", 1.0, "0.1.0")

    found = values(Metrics().render(Read(), starting, Health(("Headway is starting.",))))

    assert found["headway_ready", ()] == 0
    assert not any(name == "headway_goals" for name, _ in found)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_names_and_meanings_keep_the_conventions(entry: Metric) -> None:
    assert re.fullmatch(r"headway_[a-z]+(_[a-z]+)*", entry.name)
    assert (entry.kind == "counter") == entry.name.endswith("_total")
    assert entry.help.endswith(".")
    assert not set(entry.labels) & {"goal", "person", "room", "text", "le", "instance", "job"}


def test_the_handbooks_table_has_every_metric_once() -> None:
    told = table()

    assert [told.count(f"`{entry.name}`") for entry in CATALOGUE] == [1] * len(CATALOGUE)
    assert all(line.count("|") == 6 for line in told.splitlines())
