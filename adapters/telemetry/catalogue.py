"""
Every metric: its name, kind, labels and meaning. What is exported is in this table, and only that.

Rule 1: names and units as Prometheus wants them (https://prometheus.io/docs/practices/naming/).
Rule 2: no label holds a person, a room, a goal or a text: their number has no end.
Rule 3: figures of the *database* are the same from every process on it: take their `max`. Figures of
        the *process* are its own: add them up.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["gauge", "counter", "histogram"]
Of = Literal["database", "process"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `name` is as it is queried: a counter's ends in `_total`."""

    name: str
    kind: Kind
    of: Of
    help: str
    labels: tuple[str, ...] = ()


def _gauge(name: str, of: Of, help: str, *labels: str) -> Metric:
    return Metric(f"headway_{name}", "gauge", of, help, labels)


def _counter(name: str, of: Of, help: str, *labels: str) -> Metric:
    return Metric(f"headway_{name}_total", "counter", of, help, labels)


def _histogram(name: str, help: str) -> Metric:
    return Metric(f"headway_{name}", "histogram", "process", help)


CATALOGUE: Final = (
    _gauge("build_info", "process", "Always 1; what runs.", "version", "python"),
    _gauge("ready", "process", "1 while /readyz says so."),
    _gauge("running_turns", "process", "Goals that are worked at now."),
    _gauge("goals", "database", "Goals by state.", "state"),
    _gauge("waits", "database", "Parked goals by what they wait for; `cap`: a day's cap is reached, "
           "`slot`: too many goals are live.", "kind"),
    _counter("parked", "database", "Times that goals were parked, by what for.", "kind"),
    _counter("turns", "database", "Ended turns by how they ended.", "how"),
    _counter("audits", "database", "Audits by verdict.", "verdict"),
    _counter("audit_failures", "database", "Audits without a verdict, by why.", "failure"),
    _counter("model_calls", "database", "Model calls: settled, released (not served), or lost.",
             "role", "outcome"),
    _counter("tokens", "database", "Tokens that were served, by class.", "role", "class"),
    _counter("cost_usd", "database", "What settled calls cost; unknown prices count nothing.", "role"),
    _gauge("estimated_cost_usd", "database", "Charged for replies that never came.", "role"),
    _counter("tool_calls", "database", "Tool calls by outcome.", "tool", "outcome"),
    _gauge("reservations", "database", "Model calls in flight.", "role"),
    _gauge("reserved_tokens", "database", "What they may cost at most, in tokens.", "role"),
    _gauge("reserved_usd", "database", "What they may cost at most, in dollars.", "role"),
    _gauge("spent_today_usd", "database", "Spent today, by the process's zone; a room's day is its own."),
    _gauge("spent_today_tokens", "database", "The same in tokens."),
    _gauge("day_cap_usd", "process", "The day's cap of all together; absent where there is none."),
    _gauge("outbox_posts", "database", "Posts that are not sent yet.", "state"),
    _gauge("outbox_oldest_age_seconds", "database", "Age of the oldest of them; 0 without any."),
    _counter("posts", "database", "Posts that are done with: sent, failed, superseded.", "outcome"),
    _gauge("inbox_messages", "database", "Messages that are not handled yet."),
    _gauge("inbox_oldest_age_seconds", "database", "Age of the oldest of them; 0 without any."),
    _gauge("connector_up", "process", "1 while the network can be heard.", "network"),
    _gauge("last_event_timestamp_seconds", "process", "When the network was last heard.", "network"),
    _gauge("endpoint_open", "process", "1 while the model endpoint takes calls.", "endpoint"),
    _gauge("endpoint_trouble", "process", "1 for the kind of trouble that closed it.",
           "endpoint", "kind"),
    _gauge("endpoint_closed_seconds", "process", "For how long it has been closed; 0 while open.",
           "endpoint"),
    _gauge("endpoint_calls", "process", "Calls at it now: in_flight or waiting.", "endpoint", "state"),
    _gauge("incidents", "database", "Open incidents by kind.", "kind"),
    _gauge("holds", "database", "Holds by what they hold: all, room, person, restore.", "scope"),
    _counter("lease_takeovers", "process", "Goals taken over from a worker that fell silent."),
    _gauge("sweep_lateness_seconds", "process", "How late the sweep is, or was last.", "sweep"),
    _histogram("commit_seconds", "Time of a transaction, without its wait for a turn."),
    _histogram("commit_units", "Units that share a transaction."),
    _counter("commit_failures", "process", "Transactions that the database did not take."),
    _gauge("event_loop_lag_seconds", "process", "The longest stall of the loop in the last minute."),
    _gauge("sandbox_sessions", "process", "Confined processes, resting ones included."),
    _gauge("disk_free_bytes", "process", "Free space where the state folder lies."),
    _gauge("disk_size_bytes", "process", "All space there."),
    _gauge("figures_age_seconds", "process", "How old the database's figures are.", "read"),
    _gauge("figures_read_seconds", "process", "How long reading them took.", "read"),
)  # fmt: skip

PROCESS: Final = (
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
)
"""What `prometheus_client` adds of its own (Linux)."""


def table() -> str:
    """The catalogue as a Markdown table, for the operator's handbook."""
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {one.of} | {one.help} |"
        for one in CATALOGUE
    ]
    return "\n".join(
        ["| Metric | Kind | Labels | Of | Meaning |", "|---|---|---|---|---|", *rows, ""]
    )
