"""How a turn ends: what it writes last, and how long it has worked."""

from typing import Final

from bot.agent.keeping import Keeping, Taken
from bot.agent.record import Record
from bot.agent.replies import final_reply, is_compaction
from bot.goals.events import Ended, TurnEnded
from bot.goals.goal import State
from bot.ports.clock import Clock
from bot.ports.journal import Content


class ActiveTime:
    """Seconds that a turn has worked so far, each time it is asked.

    A step counts for no longer than a call may take: waiting for an endpoint in trouble, a machine
    that slept and a clock that was set are no work.
    """

    def __init__(self, clock: Clock, most_s: float) -> None:
        self._clock, self._most_s = clock, most_s
        self._active_s = 0.0
        self._looked_at = clock.now()

    def __call__(self) -> float:
        before, self._looked_at = self._looked_at, self._clock.now()
        self._active_s += min(max(0.0, self._looked_at - before), self._most_s)
        return self._active_s


_CHECKPOINTED: Final = frozenset({"done", "stopped", "budget", "needs_approval"})
"""Ends after which a goal can be put back to the turn's."""


async def end(
    record: Record,
    how: Ended,
    active: ActiveTime,
    keeping: Keeping,
    *,
    failed: str = "",
    call: str = "",
) -> None:
    """End the turn, with what it replied, and keep its workspace. Raises as the journal.

    Args:
        failed: the class of failure.
        call: of `needs_approval`: the content hash of the call.
    """
    goal, strand = record.goal, record.transcript.own
    is_point = how in _CHECKPOINTED and goal.kind == "goal" and not goal.wrapping_up
    taken = await keeping.taken() if is_point else Taken()
    last = strand.last
    text = final_reply(record) if how == "done" else ""
    reply = Content(text, "agent")
    record.stage(
        TurnEnded(
            how,
            reply=reply.hash if text else "",
            failed=failed,
            compacted=how == "done" and last is not None and is_compaction(record, last),
            progress=strand.has_progress or bool(taken.artifacts),
            unkept=taken.unkept,
            active_s=active(),
            call=call,
        ),
        contents=(reply,) if text else (),
        tree=taken.tree,
        artifacts=taken.artifacts,
    )
    await record.commit()


async def leave(record: Record, active: ActiveTime) -> None:
    """The goal has moved on without the turn's end: write it. Raises as the journal."""
    goal = record.goal
    if record.is_fenced:
        return
    if goal.turn_open and goal.state not in (State.DECIDING, State.WAITING):
        record.stage(TurnEnded("stopped", active_s=active()))
    await record.commit()
