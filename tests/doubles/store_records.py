"""What is read of the store's double by who only looks."""

from collections.abc import Mapping

from bot.goals import machine
from bot.ports.mail import Thread
from bot.ports.records import GoalRow, Parked, Spent, Trace
from tests.doubles import store_folds as folds
from tests.doubles.store_rows import Rows, thread_of


class MemoryRecords:
    """Port Records."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def goals(self, *, with_asks: bool = False) -> tuple[GoalRow, ...]:
        """Every goal, newest first."""
        rows = self._rows
        found = [goal for goal in rows.goals.values() if with_asks or goal.kind == "goal"]
        return tuple(
            GoalRow(goal, rows.sessions[goal.session], rows.names[goal.owner])
            for goal in reversed(found)
        )

    async def journal(self, goal: str) -> tuple[machine.Entry, ...]:
        """The goal's entries."""
        self._rows.goals[goal]
        return tuple(line.entry for line in self._rows.lines if line.goal == goal)

    async def trace(self, goal: str) -> Trace:
        """All that it did."""
        lines = tuple(line for line in self._rows.lines if line.goal == goal)
        entries = [line.entry for line in lines]
        return Trace(
            self._rows.goals[goal],
            lines,
            folds.steps(entries),
            folds.audits(entries),
            tuple(self._rows.decisions[goal].values()),
        )

    async def spend(self, goal: str) -> tuple[Spent, ...]:
        """By role."""
        entries = [line.entry for line in self._rows.lines if line.goal == goal]
        return folds.spend(folds.steps(entries))

    async def sessions(self) -> tuple[Thread, ...]:
        """Every session."""
        return tuple(thread_of(self._rows, session) for session in self._rows.sessions)

    async def outbox_depth(self) -> Mapping[str, int]:
        """Rows by state."""
        depth: dict[str, int] = {}
        for row in self._rows.outbox.values():
            if row.state not in ("sent", "superseded"):
                depth[row.state] = depth.get(row.state, 0) + 1
        return depth

    async def wait_due(self, by: float) -> tuple[Parked, ...]:
        """Open waits that want a look."""
        parked = [
            Parked(goal.id, goal.wait, goal.due_at)
            for goal in self._rows.goals.values()
            if goal.state == "waiting" and goal.wait and goal.due_at is not None
        ]
        return tuple(sorted((p for p in parked if p.due_at <= by), key=lambda p: p.due_at))
