"""
The clock's part: a fixed handful of sweeps, rung by APScheduler and told the next due time.

Rule 1: no timer lives in memory alone. A sweep asks the rows what is due; losing it loses nothing.
Rule 2: no job a goal, nothing pickled, and a body never raises.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.errors import ByOperator, Wait

Sweep = Callable[[], Awaitable[None]]
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Beat:
    """When a sweep is to ring next, by a clock that never jumps, and how late its last ring was."""

    every_s: float
    due: float
    late_s: float = 0.0

    def begin(self) -> None:
        self.late_s = max(0.0, time.monotonic() - self.due)
        # Not done until it has ended: one that hangs is as late as it hangs.
        self.due += self.every_s

    def end(self) -> None:
        self.due = time.monotonic() + self.every_s


class Alarms:
    """Sweeps by name, each at most `every_s` seconds (of the wall) apart."""

    def __init__(self) -> None:
        # While the database is away each sweep waits for it: that its next ring is skipped is no news.
        told = log.getChild("scheduler")
        told.setLevel(logging.ERROR)
        self._beats: dict[str, _Beat] = {}
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            logger=told,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def add(self, name: str, sweep: Sweep, every_s: float) -> None:
        """Ring `sweep` every `every_s` seconds, or sooner by `at`."""
        beat = self._beats[name] = _Beat(every_s, time.monotonic() + every_s)
        self._scheduler.add_job(
            _never_raising(name, sweep, beat), IntervalTrigger(seconds=every_s), id=name, name=name
        )

    def at(self, name: str, in_s: float) -> None:
        """Ring the sweep `in_s` seconds from now, if that is sooner than its next turn."""
        job = self._scheduler.get_job(name)
        when = datetime.now(UTC) + timedelta(seconds=max(0.0, in_s))
        # Before the start a job has no time yet.
        due = getattr(job, "next_run_time", None)
        if job is not None and (due is None or when < due):
            job.modify(next_run_time=when)
            beat = self._beats[name]
            beat.due = min(beat.due, time.monotonic() + max(0.0, in_s))

    def lateness(self) -> Mapping[str, float]:
        """How many seconds late each sweep is now, or was when it last rang."""
        now = time.monotonic()
        return {name: max(one.late_s, now - one.due) for name, one in list(self._beats.items())}

    def start(self) -> None:
        """Begin to ring."""
        self._scheduler.start()

    def stop(self) -> None:
        """Ring no more."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


def _never_raising(name: str, sweep: Sweep, beat: _Beat) -> Sweep:
    async def ring() -> None:
        beat.begin()
        try:
            await sweep()
        except asyncio.CancelledError:
            # The process ends. Raised here, it would be reported as the sweep's failure.
            log.debug("The sweep %s was cut short.", name)
        except (Wait, ByOperator) as error:
            log.warning("The sweep %s could not do its work and rings again: %s", name, error)
        except Exception:
            log.exception("The sweep %s failed; it rings again.", name)
        finally:
            beat.end()

    return ring
