"""Leases, and endpoints in trouble, in memory."""

from collections.abc import Mapping, Sequence

from bot.goals.goal import Goal
from bot.ports.clock import Clock
from bot.ports.journal import EndpointRow, Lease
from tests.doubles.guard import Guard
from tests.doubles.store_rows import Rows

LEASE_S = 30.0


class MemoryLeases:
    """Port Leases."""

    def __init__(self, rows: Rows, clock: Clock, guard: Guard) -> None:
        self._rows, self._clock, self._guard = rows, clock, guard

    async def claim(self, worker: str, *, limit: int) -> tuple[Lease, ...]:
        """Take due goals that nobody holds."""
        now = self._clock.now()
        due = [goal for goal in self._free() if (goal.due_at or 0.0) <= now]
        due.sort(key=lambda goal: (goal.due_at or 0.0, goal.id))
        return tuple(self._take(worker, goal, now) for goal in due[:limit])

    async def claim_one(self, worker: str, goal: str) -> Lease | None:
        """Take this one."""
        now = self._clock.now()
        row, held = self._rows.goals[goal], self._rows.leases[goal]
        if row.due_at is None or row.due_at > now or self._is_stopped(row):
            return None
        if held.worker not in ("", worker) and held.until > now:
            return None
        return self._take(worker, row, now)

    async def renew(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Extend the leases."""
        kept = [goal for goal, epoch in held.items() if self._is_held(worker, goal, epoch)]
        for goal in kept:
            self._rows.leases[goal].until = self._clock.now() + LEASE_S
        return frozenset(kept)

    async def release(self, worker: str, held: Mapping[str, int]) -> None:
        """Give leases back."""
        for goal, epoch in held.items():
            if self._is_held(worker, goal, epoch):
                self._rows.leases[goal].worker = ""

    async def next_due(self) -> float | None:
        """The earliest due time of a goal that nobody holds."""
        times = [goal.due_at for goal in self._free()]
        return min((time for time in times if time is not None), default=None)

    async def lost(self, worker: str, held: Mapping[str, int]) -> frozenset[str]:
        """Those that a hold or another worker has ended."""
        return frozenset(g for g, epoch in held.items() if not self._is_held(worker, g, epoch))

    def end(self, goal: str) -> None:
        """A hold ends it."""
        self._rows.leases[goal].worker = ""

    async def stopped(self, goals: Sequence[str]) -> frozenset[str]:
        """Those of the goals that a person has stopped or cancelled."""
        rows = (self._rows.goals[goal] for goal in goals)
        return frozenset(row.id for row in rows if row.is_final or row.reason == "stopped")

    async def abandoned(self) -> Mapping[str, tuple[str, ...]]:
        """Calls in flight that nobody will settle."""
        return {
            goal.id: tuple(call.call for call in goal.ledger.open)
            for goal in self._rows.goals.values()
            if goal.due_at is None and goal.ledger.open and self._is_free(goal.id)
        }

    async def save_endpoint(self, row: EndpointRow | None, *, name: str) -> None:
        """Remember or forget an endpoint's trouble."""
        self._rows.endpoints.pop(name, None)
        if row is not None:
            self._rows.endpoints[name] = row

    async def endpoints(self) -> tuple[EndpointRow, ...]:
        """Every endpoint in trouble."""
        return tuple(self._rows.endpoints[name] for name in sorted(self._rows.endpoints))

    def _free(self) -> list[Goal]:
        goals = self._rows.goals.values()
        return [
            goal
            for goal in goals
            if goal.due_at is not None and self._is_free(goal.id) and not self._is_stopped(goal)
        ]

    def _is_stopped(self, goal: Goal) -> bool:
        return self._guard.is_held(goal, self._rows.sessions[goal.session])

    def _is_free(self, goal: str) -> bool:
        held = self._rows.leases[goal]
        return not (held.worker and held.until > self._clock.now())

    def _take(self, worker: str, goal: Goal, now: float) -> Lease:
        held = self._rows.leases[goal.id]
        held.epoch, held.worker, held.until = held.epoch + 1, worker, now + LEASE_S
        return Lease(goal, held.epoch)

    def _is_held(self, worker: str, goal: str, epoch: int) -> bool:
        held = self._rows.leases[goal]
        return held.worker == worker and held.epoch == epoch
