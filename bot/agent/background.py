"""
What goals have running between their turns.

Rule 1: it lives on while the goal goes on by itself, or is parked on a process; else it ends.
Rule 2: a wait for a process fires when it has ended, and when it has gone with its sandbox.
Rule 3: the rows say what a goal waits for, the sandbox what runs; nothing is remembered here.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Literal

from bot.agent.record import Record
from bot.errors import HeadwayError
from bot.goals.events import WaitFired
from bot.goals.goal import ACTIVE, Goal, State
from bot.ports.journal import Journal, Unit
from bot.ports.records import Parked
from bot.ports.sandbox import Sandbox

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How long what must end runs on at most, and how late an end is noticed."""
RUNNING = "running"
Standing = Literal["running", "ended", "gone"]


def lives_on(goal: Goal) -> bool:
    """Whether what a goal has started may run while none of its turns does."""
    if goal.state in ACTIVE:
        return True
    if goal.state is State.DECIDING:
        # A turn that waits for an approval goes on with what it has.
        return goal.decision is not None and goal.decision.kind == "approval"
    waits = goal.wait is not None and goal.wait.kind == "process" and not goal.wait.fired
    paused = goal.state is State.PAUSED and goal.reason == "paused"
    return waits and (goal.state is State.WAITING or paused)


def for_whom(record: Record) -> str:
    """The goal for which it lives on after a turn; empty where it ends."""
    return record.goal.id if lives_on(record.goal) and not record.is_fenced else ""


def standing(sandbox: Sandbox | None, goal: Goal, id: str) -> Standing:
    """How a background command of a goal stands."""
    state = None if sandbox is None else sandbox.processes(goal.session).get(id)
    if state is None:
        return "gone"
    return "running" if state == RUNNING else "ended"


class Background:
    """Looks after what lives on in a sandbox."""

    def __init__(self, sandbox: Sandbox, journal: Journal, wake: Callable[[str], None]) -> None:
        """`wake` is told of goals whose wait is over."""
        self._sandbox, self._journal, self._wake = sandbox, journal, wake

    async def begin(self, parked: Sequence[Parked]) -> None:
        """Fire the waits for what has gone with the process that worked here before."""
        for one in parked:
            if one.wait.kind != "process":
                continue
            try:
                goal = await self._journal.goal(one.goal)
                await self._look_at(goal.session, goal)
            except HeadwayError as error:
                log.info("The wait of goal %s cannot be looked at: %s", one.goal, error)

    async def look(self) -> None:
        """End what may not go on, and fire the waits that are over."""
        for workspace, goal in dict(self._sandbox.lingering).items():
            try:
                await self._look_at(workspace, await self._journal.goal(goal))
            except HeadwayError as error:
                log.info("What goal %s has running cannot be looked at: %s", goal, error)

    async def _look_at(self, workspace: str, goal: Goal) -> None:
        if not lives_on(goal):
            await self._sandbox.release(workspace)
        wait = goal.wait
        if goal.state is not State.WAITING or wait is None or wait.kind != "process":
            return
        how = standing(self._sandbox, goal, wait.ref)
        if how != "running":
            await self._journal.commit(Unit(goal.id, (WaitFired(wait.id, how),)))
            self._wake(goal.id)
