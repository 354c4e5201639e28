"""All that there is to see of a process and its database, as JSON has it. No texts, no people."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.goals.money import NANO
from bot.ports.figures import Now, Totals
from bot.ports.sight import Sight


async def details(sight: Sight) -> dict[str, Any]:
    """All that alerts and an operator's one look need, as JSON has it."""
    live, ready, read = await asyncio.gather(sight.live(), sight.ready(), sight.figures())
    seen, now, totals = sight.process(), read.now, read.totals
    told: dict[str, Any] = {
        "status": "ok" if live.is_good and ready.is_good else "failing",
        "stage": seen.stage,
        "version": seen.version,
        "started_at": _time(seen.started_at),
        "live": list(live.reasons),
        "ready": list(ready.reasons),
        "connectors": [
            {"network": one.network, "up": one.is_up, "last_heard": _time(one.heard_at),
             "trouble": one.trouble}
            for one in seen.connectors
        ],
        "endpoints": [
            {"endpoint": one.name, "open": not one.kind, "trouble": one.kind,
             "closed_s": round(one.closed_s, 1), "in_flight": one.in_flight, "waiting": one.waiting}
            for one in seen.endpoints
        ],
        "running_turns": seen.running,
        "sandbox_sessions": seen.sandboxes,
        "loop_lag_s": round(seen.lag_s, 3),
        "sweeps_late_s": {name: round(late, 3) for name, late in seen.sweeps.items()},
        "disk": {"free": seen.disk_free, "size": seen.disk_size},
    }  # fmt: skip
    return told if now is None else told | figures(now, totals, seen.today)


def figures(now: Now, totals: Totals | None, today: str) -> dict[str, Any]:
    """What the database holds, without a process."""
    tokens, nano = now.spent.get(today, (0, 0))
    return {
        "goals": {**now.live, **(totals.goals if totals else {})},
        "parked": dict(now.waits),
        "outbox": _waiting(now.at, now.outbox.rows, now.outbox.oldest_at),
        "inbox": _waiting(now.at, now.inbox.rows, now.inbox.oldest_at),
        "calls_in_flight": sum(one.calls for one in now.reserved.values()),
        "spent": {"day": today, "usd": nano / NANO, "tokens": tokens},
        "incidents": dict(now.incidents),
        "holds": dict(now.holds),
        "endpoints_in_trouble": {name: kind for name, (kind, _) in now.endpoints.items()},
    }


def _waiting(now: float, rows: Mapping[str, int], oldest_at: float | None) -> dict[str, Any]:
    age = None if oldest_at is None else round(max(0.0, now - oldest_at), 1)
    return {"rows": dict(rows), "oldest_age_s": age}


def _time(at: float | None) -> str | None:
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
