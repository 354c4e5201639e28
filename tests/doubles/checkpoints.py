"""Checkpoints in memory, over the rows of a store in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.errors import Refused
from bot.goals import instructions
from bot.goals.events import Event, Rewound
from bot.goals.goal import Goal
from bot.ports.artifacts import Artifact
from bot.ports.checkpoints import Checkpoint
from bot.ports.journal import Task, Unit
from bot.ports.snapshots import EMPTY


class MemoryCheckpoints:
    """Port Checkpoints."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self.kept: list[Checkpoint] = []
        self.listed: dict[tuple[str, int], tuple[Task, ...]] = {}
        self.made: dict[str, dict[tuple[str, str, str], Artifact]] = {}

    async def of_goal(self, goal: str) -> tuple[Checkpoint, ...]:
        own = [one for one in self.kept if one.goal == goal]
        return tuple(replace(one, number=number) for number, one in enumerate(own, 1))

    async def tasks(self, goal: str, seq: int) -> tuple[Task, ...]:
        return self.listed.get((goal, seq), ())

    async def latest(self, session: str) -> str | None:
        own = [one for one in self.kept if one.point.session == session]
        return own[-1].tree if own else None

    async def posted_since(self, goal: str, at: float) -> int:
        return sum(
            row.due.goal == goal
            and row.due.created_at > at
            and row.state in ("sent", "claimed", "unknown")
            and row.due.kind not in ("status", "card", "removal", "root")
            for row in self._rows.outbox.values()
        )

    async def artifacts(self, goal: str) -> tuple[Artifact, ...]:
        newest = {one.path: one for one in self.made.get(goal, {}).values()}
        return tuple(newest[path] for path in sorted(newest))

    async def named(self) -> frozenset[str]:
        waiting = {one.restore for one in self._rows.goals.values() if not one.is_final}
        return frozenset({one.tree for one in self.kept} | waiting) - {""}

    async def thin(self, keep: int) -> int:
        of: dict[str, list[Checkpoint]] = {}
        for one in self.kept:
            if one.tree and not one.is_plan:
                of.setdefault(one.goal, []).append(one)
        return self._set({id(one): "" for each in of.values() for one in each[:-keep]})

    async def let_go(self, sessions: Sequence[str]) -> int:
        of = [one for one in self.kept if one.tree and one.point.session in sessions]
        return self._set({id(one): "" for one in of})

    async def trees(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for one in self.kept:
            if one.tree:
                found.setdefault(one.point.session, {})[one.tree] = None
        return {session: tuple(trees) for session, trees in found.items()}

    async def replace(self, trees: Mapping[str, str]) -> int:
        return self._set({id(one): trees[one.tree] for one in self.kept if one.tree in trees})

    def check(self, goal: Goal, events: Iterable[Event]) -> None:
        """Raise Refused where a goal is to be put back to what is not there."""
        for event in events:
            if isinstance(event, Rewound) and not any(
                (one.goal, one.seq, one.tree, one.point)
                == (goal.id, event.to_seq, event.tree, event.point)
                for one in self.kept
            ):
                raise Refused("There is no such checkpoint any more.", code="no_checkpoint")

    def keep(self, unit: Unit, steps: Sequence[Any], tasks: dict[str, tuple[Task, ...]]) -> None:
        """What a unit's steps make of it."""
        for _, goal, entry, asked in steps:
            if isinstance(entry.event, Rewound):
                tasks[goal.id] = self.listed[goal.id, entry.event.to_seq]
            if any(isinstance(one, instructions.Checkpoint) for one in asked):
                own = [one for one in self.kept if one.point.session == goal.session]
                before = own[-1].tree if own else EMPTY
                tree = before if unit.tree is None else unit.tree
                is_plan = type(entry.event).__name__ in ("DecisionAnswered", "Resumed")
                at = entry.event.at
                self.kept.append(
                    Checkpoint(0, goal.id, entry.seq, goal.turn, at, tree, goal, is_plan)
                )
                now = unit.tasks if unit.tasks is not None else tasks.get(goal.id, ())
                self.listed[goal.id, entry.seq] = now
            for one in unit.artifacts:
                key = (one.path, one.hash, one.origin)
                made = self.made.setdefault(goal.id, {})
                made.setdefault(key, replace(one, turn=goal.turn, at=entry.event.at))

    def _set(self, trees: Mapping[int, str]) -> int:
        self.kept = [
            replace(one, tree=trees[id(one)]) if id(one) in trees else one for one in self.kept
        ]
        return len(trees)
