"""What there is to see, as samples of the catalogue's metrics. Pure."""

import platform
from collections.abc import Iterable, Mapping

from bot.goals.goal import State
from bot.goals.money import NANO
from bot.ports.figures import Calls, Now, Totals
from bot.ports.sight import EndpointSight, Health, ProcessSight, Read

Samples = dict[str, list[tuple[tuple[str, ...], float]]]
"""By metric: the values of its labels, and its value."""

_TOKENS = ("input", "cache_write_5m", "cache_write_1h", "cache_read", "output")


def samples(read: Read, process: ProcessSight, ready: Health) -> Samples:
    """Everything but the histograms."""
    found = of_process(process)
    found["headway_ready"] = [((), float(ready.is_good))]
    ages = {"now": read.now_age_s, "totals": read.totals_age_s}
    took = {"now": read.now_took_s, "totals": read.totals_took_s}
    there = [name for name in ages if getattr(read, name) is not None]
    found["headway_figures_age_seconds"] = [((name,), ages[name]) for name in there]
    found["headway_figures_read_seconds"] = [((name,), took[name]) for name in there]
    if read.now is not None:
        found |= of_now(read.now, process.today)
    if read.totals is not None:
        found |= of_totals(read.totals)
    if read.now is not None and read.totals is not None:
        states = {**read.now.live, **read.totals.goals}
        found["headway_goals"] = [((state,), states.get(state, 0)) for state in State]
    return found


def of_process(seen: ProcessSight) -> Samples:
    """What a process says of itself."""
    found: Samples = {
        "headway_build_info": [((seen.version, platform.python_version()), 1)],
        "headway_running_turns": [((), seen.running)],
        "headway_lease_takeovers_total": [((), seen.takeovers)],
        "headway_commit_failures_total": [((), seen.commits.failed)],
        "headway_event_loop_lag_seconds": [((), seen.lag_s)],
        "headway_sandbox_sessions": [((), seen.sandboxes)],
        "headway_disk_free_bytes": [((), seen.disk_free)],
        "headway_disk_size_bytes": [((), seen.disk_size)],
        "headway_sweep_lateness_seconds": _by(seen.sweeps),
        "headway_connector_up": [((one.network,), float(one.is_up)) for one in seen.connectors],
        "headway_last_event_timestamp_seconds": [
            ((one.network,), one.heard_at) for one in seen.connectors if one.heard_at is not None
        ],
    }
    if seen.day_cap_usd is not None:
        found["headway_day_cap_usd"] = [((), seen.day_cap_usd)]
    return found | _of_endpoints(seen.endpoints)


def of_now(now: Now, today: str) -> Samples:
    """What is open in the database."""
    tokens, nano = now.spent.get(today, (0, 0))
    reserved = now.reserved.items()
    return {
        "headway_reservations": [((role,), one.calls) for role, one in reserved],
        "headway_reserved_tokens": [((role,), one.tokens) for role, one in reserved],
        "headway_reserved_usd": [((role,), one.nano_usd / NANO) for role, one in reserved],
        "headway_spent_today_usd": [((), nano / NANO)],
        "headway_spent_today_tokens": [((), tokens)],
        "headway_outbox_posts": [
            ((state,), now.outbox.rows.get(state, 0)) for state in ("pending", "claimed", "unknown")
        ],
        "headway_outbox_oldest_age_seconds": [((), _age(now.at, now.outbox.oldest_at))],
        "headway_inbox_messages": [((), sum(now.inbox.rows.values()))],
        "headway_inbox_oldest_age_seconds": [((), _age(now.at, now.inbox.oldest_at))],
        "headway_waits": _by(now.waits),
        "headway_incidents": _by(now.incidents),
        "headway_holds": _by(now.holds),
    }


def of_totals(totals: Totals) -> Samples:
    """What there ever was in the database."""
    calls = [one for one in totals.calls if one.outcome != "started"]
    roles = sorted({one.role for one in totals.calls})
    return {
        "headway_turns_total": [((how,), n) for how, n in totals.turns.items() if how],
        "headway_parked_total": _by(totals.waits),
        "headway_audits_total": _by(totals.verdicts),
        "headway_audit_failures_total": _by(totals.audits_failed),
        "headway_model_calls_total": [((one.role, one.outcome), one.calls) for one in calls],
        "headway_tokens_total": [
            ((role, name), sum(getattr(one.usage, name) for one in _of(role, totals.calls)))
            for role in roles
            for name in _TOKENS
        ],
        "headway_cost_usd_total": [
            ((role,), sum(one.nano_usd for one in _of(role, totals.calls)) / NANO) for role in roles
        ],
        "headway_estimated_cost_usd": [
            ((role,), sum(one.estimated_nano_usd for one in _of(role, totals.calls)) / NANO)
            for role in roles
        ],
        "headway_tool_calls_total": [
            (of, n) for of, n in totals.tools.items() if of[1] != "started"
        ],
        "headway_posts_total": _by(totals.posts),
    }


def _of_endpoints(endpoints: Iterable[EndpointSight]) -> Samples:
    found: Samples = {
        "headway_endpoint_open": [], "headway_endpoint_trouble": [],
        "headway_endpoint_closed_seconds": [], "headway_endpoint_calls": [],
    }  # fmt: skip
    for one in endpoints:
        found["headway_endpoint_open"].append(((one.name,), float(not one.kind)))
        found["headway_endpoint_closed_seconds"].append(((one.name,), one.closed_s))
        found["headway_endpoint_calls"] += [
            ((one.name, "in_flight"), one.in_flight),
            ((one.name, "waiting"), one.waiting),
        ]
        if one.kind:
            found["headway_endpoint_trouble"].append(((one.name, one.kind), 1))
    return found


def _of(role: str, calls: Iterable[Calls]) -> Iterable[Calls]:
    return (one for one in calls if one.role == role)


def _by(numbers: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
    return [((name,), number) for name, number in numbers.items()]


def _age(now: float, since: float | None) -> float:
    return 0.0 if since is None else max(0.0, now - since)
