"""
The clock's part: a fixed handful of sweeps, rung by APScheduler and told the next due time.

Rule 1: no timer lives in memory alone. A sweep asks the rows what is due; losing it loses nothing.
Rule 2: no job a goal, nothing pickled, and a body never raises.
"""

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

Sweep = Callable[[], Awaitable[None]]
log = logging.getLogger(__name__)


class Alarms:
    """Sweeps by name, each at most `every_s` seconds (of the wall) apart."""

    def __init__(self) -> None:
        # While the database is away each sweep waits for it: that its next ring is skipped is no news.
        told = log.getChild("scheduler")
        told.setLevel(logging.ERROR)
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            logger=told,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def add(self, name: str, sweep: Sweep, every_s: float) -> None:
        """Ring `sweep` every `every_s` seconds, or sooner by `at`."""
        self._scheduler.add_job(
            _never_raising(name, sweep), IntervalTrigger(seconds=every_s), id=name, name=name
        )

    def at(self, name: str, in_s: float) -> None:
        """Ring the sweep `in_s` seconds from now, if that is sooner than its next turn."""
        job = self._scheduler.get_job(name)
        when = datetime.now(UTC) + timedelta(seconds=max(0.0, in_s))
        if job is not None and (job.next_run_time is None or when < job.next_run_time):
            job.modify(next_run_time=when)

    def start(self) -> None:
        """Begin to ring."""
        self._scheduler.start()

    def stop(self) -> None:
        """Ring no more."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


def _never_raising(name: str, sweep: Sweep) -> Sweep:
    async def ring() -> None:
        try:
            await sweep()
        except Exception:
            log.exception("The sweep %s failed; it rings again.", name)

    return ring
