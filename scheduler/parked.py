"""
What the clock does to a parked goal: reminders, expiries, waits that are over, probes.

Rule 1: a parked goal costs no tokens. A probe is a command in the goal's sandbox, without a model.
Rule 2: three probe runs that cannot run at all end the wait, and the agent is told.
"""

from dataclasses import replace
from typing import Literal, Protocol

from bot.goals.events import DecisionExpired, DecisionReminded, Event, WaitChecked, WaitFired
from bot.goals.goal import Goal, State, Wait
from bot.goals.limits import SLOT_LOOK_S, Limits
from bot.ports.clock import Clock
from bot.ports.journal import Journal, Lease, Unit

STRIKES = 3
KNOWN = 2_000
"""Waits whose looks are counted. One that others have ended goes when as many came after it."""


class Prober(Protocol):
    """Runs a wait's probe in the goal's sandbox."""

    async def probe(self, goal: Goal, command: str) -> tuple[bool, bool]:
        """Run `command` once, read-only, within 30 s: has it come, and could it run at all?"""

    async def process(self, goal: Goal, id: str) -> Literal["running", "ended", "gone"]:
        """How a background command of the goal stands."""


class Parked:
    """Moves goals that wait or decide when their due time has come."""

    def __init__(self, journal: Journal, clock: Clock, limits: Limits, prober: Prober) -> None:
        self._journal = journal
        self._clock = clock
        self._limits = limits
        self._prober = prober
        self._strikes: dict[str, int] = {}
        self._looks: dict[str, int] = {}

    async def run(self, lease: Lease) -> Goal:
        """Do what is due on a goal that is `waiting` or `deciding`, and return it as it stands.

        Raises:
            IllegalMove: the goal has moved on meanwhile.
            StoreBusy, StoreUnusable: as the database says.
        """
        goal = lease.goal
        event = await self._event(goal)
        if event is None:
            return replace(goal, due_at=None)
        applied = await self._journal.commit(Unit(goal.id, (event,), epoch=lease.epoch))
        return applied.goal

    async def _event(self, goal: Goal) -> Event | None:
        now = self._clock.now()
        if goal.state is State.DECIDING and goal.decision is not None:
            if now >= goal.decision.expires_at:
                return DecisionExpired(goal.decision.id)
            return DecisionReminded(goal.decision.id)
        if goal.state is State.WAITING and goal.wait is not None:
            return await self._looked(goal, goal.wait, now)
        return None

    async def _looked(self, goal: Goal, wait: Wait, now: float) -> Event:
        if wait.kind == "cap":
            return WaitFired(wait.id, "day")
        if wait.kind == "slot":
            # Whoever ends a live goal lets it go; that nobody did is looked for beside this.
            return WaitChecked(wait.id, next_at=now + SLOT_LOOK_S)
        if wait.kind == "process":
            return await self._tended(goal, wait, now)
        if wait.kind == "probe":
            return await self._probed(goal, wait, now)
        return WaitFired(wait.id, "time" if wait.kind == "time" else "back_stop")

    async def _probed(self, goal: Goal, wait: Wait, now: float) -> Event:
        has_come, could_run = await self._prober.probe(goal, wait.ref)
        if has_come:
            return self._forget(wait, "came")
        if not could_run and _counted(self._strikes, wait.id) >= STRIKES:
            return self._forget(wait, "probe_cannot_run")
        if now >= wait.until:
            return self._forget(wait, "back_stop")
        return WaitChecked(wait.id, next_at=now + self._pause(wait))

    async def _tended(self, goal: Goal, wait: Wait, now: float) -> Event:
        """Of a process: who tends it fires the wait; here it shows that nobody does any more."""
        how = await self._prober.process(goal, wait.ref)
        if how != "running":
            return self._forget(wait, how)
        if now >= wait.until:
            return self._forget(wait, "back_stop")
        return WaitChecked(wait.id, next_at=now + self._pause(wait))

    def _pause(self, wait: Wait) -> float:
        looks = _counted(self._looks, wait.id)
        pause: float = self._limits.probe_first_s * 2**looks
        return min(pause, self._limits.probe_most_s)

    def _forget(self, wait: Wait, why: str) -> WaitFired:
        self._strikes.pop(wait.id, None)
        self._looks.pop(wait.id, None)
        return WaitFired(wait.id, why)


def _counted(counts: dict[str, int], id: str) -> int:
    """One more of it; those that were counted longest ago are forgotten."""
    count = counts[id] = counts.pop(id, 0) + 1
    while len(counts) > KNOWN:
        del counts[next(iter(counts))]
    return count
