"""
The one thread that writes: everything queued goes into one transaction.

Rule 1: a caller goes on only after the COMMIT that holds its unit has returned, or has its error.
Rule 2: a unit handed over is not withdrawn: a cancelled caller waits for the outcome, then goes.
Rule 3: where more is queued than one transaction takes, lanes with something urgent go first; the
        order inside a lane (a goal) is kept.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from adapters.store.transaction import Database, Outcome, Transaction
from bot.errors import StoreUnusable

T = TypeVar("T")

LINGER_S: Final = 0.04
"""A COMMIT costs as much CPU as the rows of its units. Where waiting this long has brought more units
to share it, the writer waits again, which callers who wait for a model do not notice."""
WORTH: Final = 0.2
"""The share of the last waits, or of COMMITs without one, during which another unit came."""
RECENT: Final = 16
RECENT_S: Final = 0.2
GROUP_MOST: Final = 256
"""Units in one transaction: past a hundred the cost of the COMMIT is already shared away."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A job with the lane that it keeps its order in, and the caller who waits."""

    job: Callable[[Transaction], Any]
    lane: str
    urgent: bool
    caller: "asyncio.Future[Any]"


class Writer:
    """Runs jobs on its own thread, many to a transaction."""

    def __init__(self, database: Database, *, group_most: int = GROUP_MOST) -> None:
        self._database = database
        self._group_most = group_most
        self._loop = asyncio.get_running_loop()
        self._fresh: list[Queued] = []
        self._queue: deque[Queued] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._enough = 1
        """So many units in the queue wake the writer: to be woken costs as much as to write a row."""
        self._recent: deque[tuple[float, str]] = deque(maxlen=RECENT)
        """When each of the last units was taken, and its lane."""
        self._worth = 0.0
        """How often lately more than one unit had come while the writer was busy or waited."""
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    async def do(
        self, job: Callable[[Transaction], T], *, lane: str = "", urgent: bool = False
    ) -> T:
        """Run `job` in the next transaction and return its result once that is committed.

        Raises:
            What the job raised; StoreBusy, StoreUnusable: as the database says.
        """
        if self._closing:
            raise StoreUnusable("The store is closed: open it again.")
        caller: asyncio.Future[T] = _Kept(loop=self._loop)
        if not self._fresh:
            # All that this pass of the loop asks for is handed over at once: fewer commits.
            self._loop.call_soon(self._hand_over)
        self._fresh.append(Queued(job, lane, urgent, caller))
        return await _outcome_of(caller)

    async def close(self) -> None:
        """Write what is queued, then end the thread and let the connection go."""
        self._closing = True
        self._hand_over()
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        with self._wake:
            self._queue.extend(self._fresh)
            is_urgent = any(queued.urgent for queued in self._fresh)
            self._fresh.clear()
            if len(self._queue) >= self._enough or is_urgent or self._closing:
                self._wake.notify()

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None:
            outcomes = self._transact(batch)
            try:
                self._loop.call_soon_threadsafe(_deliver, batch, outcomes)
            except RuntimeError:
                # The loop is closed: nobody waits any more.
                break
        self._database.close()

    def _next_batch(self) -> list[Queued] | None:
        with self._wake:
            self._linger()
            while not self._queue:
                if self._closing:
                    return None
                self._wake.wait()
            self._worth += 0.1 * ((len(self._queue) > 1) - self._worth)
            if len(self._queue) > self._group_most:
                self._queue = deque(urgent_first(self._queue))
            taken = min(len(self._queue), self._group_most)
            batch = [self._queue.popleft() for _ in range(taken)]
            now = time.monotonic()
            self._recent.extend((now, queued.lane) for queued in batch)
            return batch

    def _linger(self) -> None:
        """Wait for units of the lanes that have written lately, unless somebody is in a hurry.

        Nobody wakes the writer meanwhile, but for a unit that is urgent or the last that it waits for.
        """
        now = time.monotonic()
        lanes = {lane for at, lane in self._recent if now - at < RECENT_S}
        if self._worth > WORTH and lanes:
            until = now + LINGER_S
            self._enough = len(lanes)
            while len(self._queue) < len(lanes) and not self._closing:
                left = until - time.monotonic()
                if left <= 0 or any(queued.urgent for queued in self._queue):
                    break
                self._wake.wait(left)
            self._enough = 1

    def _transact(self, batch: list[Queued]) -> list[Outcome]:
        try:
            return self._database.transact([queued.job for queued in batch])
        except BaseException as error:  # noqa: BLE001 - the thread's edge: its callers get it
            return [Outcome(error=error)] * len(batch)


def urgent_first(queue: Iterable[Queued]) -> list[Queued]:
    """The queue with lanes that hold something urgent at its head, up to that unit."""
    queued = list(queue)
    last = {one.lane or id(one): place for place, one in enumerate(queued) if one.urgent}
    first = {
        place for place, one in enumerate(queued) if place <= last.get(one.lane or id(one), -1)
    }
    head = [queued[place] for place in sorted(first)]
    return head + [one for place, one in enumerate(queued) if place not in first]


class _Kept(asyncio.Future[T]):
    """A future that its caller's cancellation waits for: the unit is under way."""

    def cancel(self, msg: Any = None) -> bool:
        """Refuse. The task that waits is told of its cancellation once the outcome is there."""
        return False


async def _outcome_of(caller: "asyncio.Future[T]") -> T:
    try:
        return await caller
    except asyncio.CancelledError:
        if caller.done():
            # Whatever it is, it has been told.
            caller.exception()
        raise


def _deliver(batch: list[Queued], outcomes: list[Outcome]) -> None:
    for queued, outcome in zip(batch, outcomes, strict=True):
        if queued.caller.done():
            continue
        if outcome.error is None:
            queued.caller.set_result(outcome.result)
        else:
            queued.caller.set_exception(outcome.error)
