"""
The worker: takes due goals under a lease and moves each one until nothing is due.

Rule 1: a goal is worked at under its lease alone; a lost lease ends the work at the next await.
Rule 2: what is due is asked of the rows. A wake-up only says "look now".
Rule 3: no error of one goal reaches another, and none ends the worker.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from bot.errors import ByOperator, HeadwayError, IllegalMove, Refused, Wait
from bot.goals.events import CallLost
from bot.goals.goal import Goal, State
from bot.goals.instructions import Instruction, StopTurn
from bot.ports.at_work import work_at
from bot.ports.clock import Clock
from bot.ports.journal import Journal, Lease, Leases, Unit
from scheduler.alarms import Alarms

log = logging.getLogger(__name__)

SWEEP_S = 1.0
"""The longest that a due row of another process goes unseen."""
ERROR_PAUSE_S = 5.0


class Runner(Protocol):
    """Moves a leased goal by one turn, one audit or one alarm."""

    async def run(self, lease: Lease) -> Goal:
        """Return the goal as it stands after."""


class Worker:
    """One process's share of the work."""

    def __init__(
        self,
        name: str,
        *,
        journal: Journal,
        leases: Leases,
        runners: Mapping[State, Runner],
        alarms: Alarms,
        clock: Clock,
        at_once: int,
        renew_s: float,
        lease_s: float,
        rate: float = 1.0,
        is_alone: bool = True,
        rest: Callable[[str], None] = lambda goal: None,
    ) -> None:
        """Begin nothing yet.

        Args:
            is_alone: no other process works on the database, so none takes a person's stop.
            rest: ends what a goal's running step has not sent yet.
        """
        self._name = name
        self._journal = journal
        self._leases = leases
        self._runners = runners
        self._alarms = alarms
        self._clock = clock
        self._at_once = at_once
        self._renew_s = renew_s
        self._lease_s = lease_s
        self._rate = rate
        self._is_alone = is_alone
        self._rest = rest
        self.troubled: Callable[[HeadwayError | None], None] = lambda error: None
        """Told once of what all goals wait for, and with None when they go on."""
        self._looking: set[asyncio.Task[None]] = set()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._epochs: dict[str, int] = {}
        self._look = asyncio.Event()
        self._door = asyncio.Lock()
        self._stopping = False
        self._draining = False
        self._recalls = 0
        self._trouble = ""
        self._renewed_at = clock.now()
        self._sure_at = time.monotonic()
        """Since when, by a clock that never jumps, the leases have not been renewed for certain."""

    async def run(self) -> None:
        """Work until cancelled or stopped."""
        self._alarms.add("due", self._sweep, SWEEP_S)
        self._alarms.add("leases", self._renew, self._renew_s / self._rate)
        self._alarms.add("abandoned", self._charge_abandoned, self._lease_s / self._rate)
        self._alarms.at("abandoned", 0.0)
        if not self._is_alone:
            self._alarms.add("stops", self._end_stopped, SWEEP_S)
        self._look.set()
        while not self._stopping:
            await self._look.wait()
            self._look.clear()
            await self._claim()

    def wake(self, goal: str, instructions: Sequence[Instruction] = ()) -> None:
        """Look at what is due now; a `StopTurn` aborts the goal's running step first."""
        if any(isinstance(i, StopTurn) for i in instructions) and goal in self._running:
            self._running[goal].cancel()
        elif goal in self._running:
            looking = asyncio.create_task(self._rest_if_parked(goal), name=f"rest {goal}")
            self._looking.add(looking)
            looking.add_done_callback(self._looking.discard)
        self._look.set()

    @property
    def is_ending(self) -> bool:
        """Whether nothing is claimed any more."""
        return self._stopping or self._draining

    @property
    def busy(self) -> frozenset[str]:
        """The goals that are worked at now."""
        return frozenset(self._running)

    async def recall(self) -> None:
        """Abort what runs under a lease that a hold has ended, and look at what may go on."""
        self._look.set()
        self._recalls += 1
        held = dict(self._epochs)
        try:
            lost = await self._leases.lost(self._name, held) if held else ()
        except HeadwayError as error:
            log.info("Whether a lease was ended cannot be read: %s", error)
            return
        self._lose({goal: held[goal] for goal in lost})

    async def drain(self, timeout_s: float) -> int:
        """Claim nothing more, and let what runs come to its end: a turn, an audit, an alarm.

        Returns how many goals are still worked at after `timeout_s` seconds.
        """
        self._draining = True
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=timeout_s)
        return len(self._running)

    async def stop(self, grace_s: float) -> None:
        """Claim nothing more, let running steps end for `grace_s` seconds, then abort them."""
        self._stopping = True
        self._look.set()
        for goal in self._running:
            self._rest(goal)
        tasks = set(self._running.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=2.0)
        held = dict(self._epochs)
        self._epochs.clear()
        if held:
            try:
                await self._leases.release(self._name, held)
            except HeadwayError as error:
                log.warning("Leases could not be given back and lapse by themselves: %s", error)

    async def _rest_if_parked(self, goal: str) -> None:
        """A goal that was paused while its step waits to be sent sends nothing any more."""
        with suppress(HeadwayError):
            if (await self._journal.goal(goal)).state not in self._runners:
                self._rest(goal)

    async def _sweep(self) -> None:
        if not self._is_alone and time.monotonic() - self._sure_at > self._lease_s / self._rate:
            # Cut off, or held up: another process may have taken them.
            self._lose(dict(self._epochs))
        self._look.set()

    async def _charge_abandoned(self) -> None:
        """Charge the calls of a process that has gone, of goals that nobody will take up."""
        try:
            abandoned = await self._leases.abandoned()
        except HeadwayError as error:
            log.info("Whether a call was left cannot be read: %s", error)
            return
        for goal, calls in abandoned.items():
            lost = tuple(CallLost(call, "its process has gone") for call in calls)
            try:
                await self._journal.commit(Unit(goal, lost))
            except (IllegalMove, Refused) as error:
                log.info("Another process has charged a call of goal %s: %s", goal, error)

    async def _end_stopped(self) -> None:
        """Abort what somebody stopped or put on hold by way of another process."""
        if not self._running:
            return
        await self.recall()
        try:
            stopped = await self._leases.stopped(tuple(self._running))
        except HeadwayError as error:
            log.info("Whether a goal was stopped cannot be read: %s", error)
            return
        for goal in stopped & self._running.keys():
            self._running[goal].cancel()

    async def _claim(self) -> None:
        if self._clock.now() - self._renewed_at >= self._renew_s:
            # The clock has jumped or the loop was held up: what is worked at here is kept first.
            await self._renew()
        free = self._at_once - len(self._running)
        if free > 0 and not self.is_ending:
            recalls = self._recalls
            try:
                for lease in await self._leases.claim(self._name, limit=free):
                    self._begin(lease)
            except HeadwayError as error:
                log.warning("No goal can be claimed: %s", error)
                return
            if self._recalls != recalls:
                # A hold was set meanwhile: its look at the leases missed those of this claim.
                await self.recall()
        await self._announce_next()

    async def _announce_next(self) -> None:
        if len(self._running) >= self._at_once or self._draining:
            return
        try:
            due = await self._leases.next_due()
        except HeadwayError as error:
            log.warning("What is due next cannot be read: %s", error)
            return
        if due is not None:
            self._alarms.at("due", (due - self._clock.now()) / self._rate)

    def _begin(self, lease: Lease) -> None:
        goal = lease.goal.id
        before = self._running.get(goal)
        if before is not None:
            before.cancel()
        self._epochs[goal] = lease.epoch
        task = asyncio.create_task(self._drive(lease, before), name=f"goal {goal}")
        self._running[goal] = task
        task.add_done_callback(lambda ended: self._ended(goal, ended))

    def _ended(self, goal: str, task: "asyncio.Task[None]") -> None:
        if self._running.get(goal) is task:
            del self._running[goal]
        self._look.set()

    async def _drive(self, lease: Lease, before: "asyncio.Task[None] | None") -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            async with self._door:
                # One goal each pass of the loop: a thousand that set out in step all arrive last.
                await asyncio.sleep(0)
            await self._move(lease)
        except asyncio.CancelledError:
            # A person stopped it, the lease is lost, or we shut down: the row says what is next.
            log.info("Goal %s was interrupted.", lease.goal.id)
        except Exception:
            log.exception("Goal %s met an error; it is taken up again.", lease.goal.id)
            await self._clock.sleep(ERROR_PAUSE_S)
        finally:
            await self._give_back(lease)

    async def _move(self, lease: Lease) -> None:
        goal = lease.goal
        while self._epochs.get(goal.id) == lease.epoch and self._is_due(goal):
            if self.is_ending:
                return
            before = goal.seq
            work_at(goal)
            try:
                goal = await self._runners[goal.state].run(Lease(goal, lease.epoch))
            except (IllegalMove, Refused) as error:
                log.info("Goal %s moved on meanwhile: %s", goal.id, error)
                goal = await self._journal.goal(goal.id)
            except (Wait, ByOperator) as error:
                self._hold(error)
                pause = error.retry_after_s if isinstance(error, Wait) else None
                await self._clock.sleep(pause or ERROR_PAUSE_S)
                goal = await self._journal.goal(goal.id)
                continue
            self._go_on()
            if goal.seq == before:
                log.warning("Goal %s did not move; it is looked at again later.", goal.id)
                await self._clock.sleep(ERROR_PAUSE_S)
                return

    def _hold(self, error: HeadwayError) -> None:
        """Say once what all goals wait for."""
        if str(error) != self._trouble:
            log.error("Goals wait: %s", error)
            self._trouble = str(error)
            self.troubled(error)

    def _go_on(self) -> None:
        if self._trouble:
            log.warning("Goals go on.")
            self._trouble = ""
            self.troubled(None)

    def _is_due(self, goal: Goal) -> bool:
        if goal.due_at is None:
            return False
        return goal.state in self._runners and goal.due_at <= self._clock.now()

    async def _give_back(self, lease: Lease) -> None:
        if self._epochs.get(lease.goal.id) != lease.epoch:
            return
        del self._epochs[lease.goal.id]
        try:
            await self._leases.release(self._name, {lease.goal.id: lease.epoch})
        except HeadwayError as error:
            log.warning("A lease could not be given back and lapses by itself: %s", error)

    async def _renew(self) -> None:
        held = dict(self._epochs)
        asked_at = time.monotonic()
        if not held:
            self._renewed_at, self._sure_at = self._clock.now(), asked_at
            return
        try:
            kept = await self._leases.renew(self._name, held)
        except HeadwayError as error:
            log.warning("Leases could not be renewed: %s", error)
            if self._clock.now() - self._renewed_at > self._lease_s:
                self._lose(held)
            return
        self._renewed_at, self._sure_at = self._clock.now(), asked_at
        self._lose({goal: epoch for goal, epoch in held.items() if goal not in kept})

    def _lose(self, lost: Mapping[str, int]) -> None:
        for goal, epoch in lost.items():
            if self._epochs.get(goal) == epoch:
                del self._epochs[goal]
                if goal in self._running:
                    self._running[goal].cancel()
