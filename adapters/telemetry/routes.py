"""
What the listeners serve: health for whoever restarts, metrics and details for whoever watches.

Rule 1: `/livez` is for restarts, `/readyz` for traffic, `/healthz` for alerts and never for restarts.
Rule 2: no secret and no text of a person; outside, not even a reason.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from adapters.telemetry.details import details
from adapters.telemetry.listener import Route
from adapters.telemetry.metrics import CONTENT_TYPE, Metrics
from bot.ports.sight import Health, Sight
from bot.ports.web import Answer


def private_routes(sight: Sight) -> Mapping[str, Route]:
    """`/livez`, `/readyz`, `/healthz` and `/metrics`."""
    metrics, rendering = Metrics(), asyncio.Lock()

    async def live() -> Answer:
        return _health(await sight.live())

    async def ready() -> Answer:
        return _health(await sight.ready())

    async def health() -> Answer:
        return _json(200, await details(sight))

    async def scraped() -> Answer:
        async with rendering:
            read, ready = await asyncio.gather(sight.figures(), sight.ready())
            return Answer(200, metrics.render(read, sight.process(), ready), CONTENT_TYPE)

    return {"/livez": live, "/readyz": ready, "/healthz": health, "/metrics": scraped}


def public_routes(sight: Sight) -> Mapping[str, Route]:
    """`/livez` alone, and only yes or no."""

    async def live() -> Answer:
        is_good = (await sight.live()).is_good
        return _json(200 if is_good else 503, {"status": "ok" if is_good else "failing"})

    return {"/livez": live}


def _health(health: Health) -> Answer:
    status = "ok" if health.is_good else "failing"
    return _json(
        200 if health.is_good else 503, {"status": status, "reasons": list(health.reasons)}
    )


def _json(status: int, told: Mapping[str, Any]) -> Answer:
    return Answer(status, (json.dumps(told) + "\n").encode())
