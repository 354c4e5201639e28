"""
Live goals, counted; and the queue of those that wait for one of them to end.

Rule 1: goals are counted in the transaction that opens one, one after the other.
Rule 2: the oldest queued goal that fits goes on in the transaction that ends a live one; where that
        did not happen (a limit was raised, a goal changed hands), a look finds it.
Rule 3: a queued goal does not count. A goal that rests, is blocked or over its budget does.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import bindparam, func, select, text

from adapters.store import codec, queries
from adapters.store.moves import decide, write_goal, write_moves
from adapters.store.statements import Reader, Writes
from adapters.store.tallies import Guard, here_of
from adapters.store.transaction import Transaction
from bot.errors import Refused
from bot.goals.caps import Caps, Scope, full_scope
from bot.goals.events import GoalOpened, WaitFired
from bot.goals.goal import Goal
from bot.goals.limits import Limits

LOCK: Final = "goal.number"
"""Goals are numbered, counted and let go one after the other."""

_G, _S, _W = queries.GOAL, queries.SESSION, queries.WAIT
_IS_QUEUED: Final = (
    "EXISTS (SELECT 1 FROM wait WHERE wait.goal = goal.id AND wait.state = 'open'"
    " AND wait.kind = 'slot')"
)
_LIVE: Final = (
    select(_G.c.owner, _S.c.room, func.count())
    .join(_S, _S.c.id == _G.c.session)
    .where(
        text("goal.kind = 'goal' AND goal.state NOT IN ('complete', 'cancelled')"),
        text(f"NOT {_IS_QUEUED}"),
    )
    .group_by(_G.c.owner, _S.c.room)
)
_ASKS: Final = select(func.count()).where(
    text("goal.due_at IS NOT NULL AND goal.kind = 'ask'"), _G.c.owner == bindparam("of_owner")
)
"""Ordinary turns under way: each is due, so the index of what is due finds them."""
_ROOM: Final = queries.there(select(_S.c.id).where(_S.c.id == bindparam("of_session")))
_IS_ANY: Final = select(_W.c.id).where(text("state = 'open' AND kind = 'slot'")).limit(1)
_QUEUED: Final = (
    queries.there(select(_G.c.data).join(_S, _S.c.id == _G.c.session))
    .join(_W, _W.c.goal == _G.c.id)
    .where(text("wait.state = 'open' AND wait.kind = 'slot' AND goal.state = 'waiting'"))
    .order_by(_G.c.number)
    .with_for_update(of=_G, skip_locked=True)
)


def opening(tx: Transaction, guard: Guard, event: GoalOpened) -> GoalOpened:
    """The event as it is written: queued where too many goals are live.

    Raises:
        Refused: code `asks`: this person has as many ordinary turns under way as they may.
    """
    room, own, above = tx.all(_ROOM, of_session=event.session)[0][1:]
    caps = guard.here(room, own, above).caps
    if event.kind == "ask":
        _check_asks(tx, caps, event.owner)
        return event
    if not caps.live:
        return event
    return replace(event, queued=full_scope(caps, _of(_counts(tx), event.owner, room)))


def let_go(tx: Transaction, guard: Guard, limits: Limits, limits_hash: str) -> tuple[str, ...]:
    """Let every queued goal that fits now begin, the oldest first; returns their ids."""
    if tx.one(_IS_ANY) is None:
        return ()
    tx.alone(LOCK)
    counts, freed = _counts(tx), []
    for data, *there in tx.all(_QUEUED):
        goal, here = codec.load_goal(data), here_of(guard, tuple(there))
        if goal.wait is None or full_scope(here.caps, _of(counts, goal.owner, here.room)):
            continue
        fire(tx, goal, WaitFired(goal.wait.id, "slot"), limits, limits_hash, here.room)
        counts[goal.owner, here.room] += 1
        freed.append(goal.id)
    return tuple(freed)


def fire(
    tx: Transaction, goal: Goal, event: WaitFired, limits: Limits, limits_hash: str, room: str
) -> None:
    """Write that what the goal waited for is there; `room`: where it is charged."""
    moves = tuple(decide(goal, (event,), tx.now(), limits))
    writes = Writes()
    write_goal(writes, goal, moves[-1].after)
    write_moves(writes, moves, limits_hash, room)
    tx.write(writes)


def _check_asks(tx: Transaction, caps: Caps, owner: str) -> None:
    if caps.live_asks is None:
        return
    row: Any = tx.one(_ASKS, of_owner=owner)
    if row[0] >= caps.live_asks:
        raise Refused(f"{row[0]} questions are being answered: wait for one.", code="asks")


def _counts(reader: Reader) -> Counter[tuple[str, str]]:
    return Counter({(owner, room): n for owner, room, n in reader.all(_LIVE)})


def _of(counts: Mapping[tuple[str, str], int], owner: str, room: str) -> dict[Scope, int]:
    return {
        "person": sum(n for (whose, _), n in counts.items() if whose == owner),
        "room": sum(n for (_, where), n in counts.items() if where == room),
        "all": sum(counts.values()),
    }
