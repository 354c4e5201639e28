"""Counts of all goals together, for metrics: what is open, and what there ever was."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Select, func, select, text

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Row
from adapters.store.step_sums import StepSums, Sums
from adapters.store.transaction import Transaction
from bot.goals.money import Usage
from bot.ports.figures import Calls, Now, Reserved, Totals, Waiting

_A, _G, _I, _O = queries.AUDIT, queries.GOAL, queries.INBOX, queries.OUTBOX
_C, _E, _R = queries.RESERVATION, queries.ENDPOINT, queries.ROOM
_HOLD, _INCIDENT, _TALLY = queries.HOLD, queries.INCIDENT, queries.TALLY

HEARD_OF: Final = 500
"""The last messages among which the last one of each network is looked for."""
DAYS: Final = 3


def _counted(column: Any, where: str) -> Select[Any]:
    return select(column, func.count()).where(text(where)).group_by(column)


# Those with a condition are spelt as the partial indexes are, so that they are used.
_LIVE: Final = _counted(_G.c.state, "kind = 'goal' AND state NOT IN ('complete', 'cancelled')")
_OPEN_POSTS: Final = select(_O.c.state, func.count(), func.min(_O.c.created_at)).where(
    text("state IN ('pending', 'claimed', 'unknown')")
).group_by(_O.c.state)  # fmt: skip
_UNHANDLED: Final = select(_I.c.state, func.count(), func.min(_I.c.received_at)).where(
    text("state = 'waiting'")
).group_by(_I.c.state)  # fmt: skip
_RESERVED: Final = select(
    _C.c.role, func.count(), func.sum(_C.c.tokens), func.sum(func.coalesce(_C.c.nano_usd, text("0")))
).group_by(_C.c.role)  # fmt: skip
_WAITS: Final = _counted(queries.WAIT.c.kind, "state = 'open'")
_TROUBLES: Final = select(_E.c.name, _E.c.kind, _E.c.since)
_INCIDENTS: Final = _counted(_INCIDENT.c.kind, "recovered_at IS NULL")
_HOLDS: Final = select(_HOLD.c.scope)
_last: Final = (
    select(_I.c.room, _I.c.received_at).order_by(_I.c.sequence.desc()).limit(HEARD_OF)
).subquery("last")
_HEARD: Final = (
    select(_R.c.network, func.max(_last.c.received_at))
    .join(_last, _last.c.room == _R.c.id)
    .group_by(_R.c.network)
)
_SPENT: Final = (
    select(_TALLY.c.day, func.sum(_TALLY.c.tokens), func.sum(_TALLY.c.nano_usd))
    .group_by(_TALLY.c.day)
    .order_by(_TALLY.c.day.desc())
    .limit(DAYS)
)

_FINAL: Final = _counted(_G.c.state, "kind = 'goal' AND state IN ('complete', 'cancelled')")
_TURNS: Final = select(queries.TURN.c.how, func.count()).group_by(queries.TURN.c.how)
_ALL_WAITS: Final = select(queries.WAIT.c.kind, func.count()).group_by(queries.WAIT.c.kind)
_AUDITS: Final = select(_A.c.verdict, _A.c.failure, func.count()).group_by(
    _A.c.verdict, _A.c.failure
)
_POSTS: Final = _counted(_O.c.state, "state NOT IN ('pending', 'claimed', 'unknown')")


def touch(tx: Transaction) -> None:
    """Write a row that nobody reads: proof that the database can be written."""
    tx.run(queries.TELL, key="touched", at=tx.now())


class StoreFigures:
    """Port Figures."""

    def __init__(self, readers: Readers, clock: Callable[[], float] = time.time) -> None:
        self._readers = readers
        self._clock = clock
        self._steps = StepSums()

    async def now(self) -> Now:
        """What is open."""
        return await self._readers.do(self._now)

    async def totals(self) -> Totals:
        """What there ever was."""
        return await self._readers.do(self._totals)

    def _now(self, reader: Reader) -> Now:
        return Now(
            at=self._clock(),
            live=_counts(reader.all(_LIVE)),
            waits=_counts(reader.all(_WAITS)),
            reserved={
                role: Reserved(int(calls), int(tokens), int(nano))
                for role, calls, tokens, nano in reader.all(_RESERVED)
            },
            outbox=_waiting(reader.all(_OPEN_POSTS)),
            inbox=_waiting(reader.all(_UNHANDLED)),
            endpoints={name: (kind, since) for name, kind, since in reader.all(_TROUBLES)},
            incidents=_counts(reader.all(_INCIDENTS)),
            holds=_scopes(reader.all(_HOLDS)),
            heard=dict(reader.all(_HEARD)),
            spent={day: (int(tokens), int(nano)) for day, tokens, nano in reader.all(_SPENT)},
        )

    def _totals(self, reader: Reader) -> Totals:
        audits = reader.all(_AUDITS)
        steps = sorted(self._steps.read(reader).items())
        return Totals(
            goals=_counts(reader.all(_FINAL)),
            turns=_counts(reader.all(_TURNS)),
            waits=_counts(reader.all(_ALL_WAITS)),
            verdicts={verdict: int(n) for verdict, _, n in audits if verdict},
            audits_failed={failure: int(n) for _, failure, n in audits if failure},
            calls=tuple(
                _calls(role, state, sums) for (kind, role, state), sums in steps if kind == "call"
            ),
            tools={(name, state): sums[0] for (kind, name, state), sums in steps if kind == "tool"},
            posts=_counts(reader.all(_POSTS)),
        )


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    return {name: int(count) for name, count in rows}


def _waiting(rows: Sequence[Row]) -> Waiting:
    counts = {state: int(count) for state, count, _ in rows}
    return Waiting(counts, min((oldest for *_, oldest in rows), default=None))


def _scopes(rows: Sequence[Row]) -> dict[str, int]:
    kinds = [str(scope).partition(":")[0] for [scope] in rows]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def _calls(role: str, outcome: str, sums: Sums) -> Calls:
    calls, *numbers = sums
    return Calls(role, outcome, calls, Usage(*numbers[:6]), *numbers[6:])
