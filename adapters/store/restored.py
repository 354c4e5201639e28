"""
What follows from a restore, as rows; and what it found.

Rule 1: all of it is written before the database can be opened by a process that works.
Rule 2: no lease of before is ours, and no epoch of before will be reached: what a former process
        still writes is fenced.
Rule 3: whatever is to be sent may be there already: it is looked up first.
Rule 4: networks are read anew, as at the first time: what came since the backup is history.
Rule 5: nothing is answered at an address of before, no installation under way goes on, and nobody has
        an app in their charge. Where an app is installed is told: its tokens may be others by now.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, delete, func, select, text, update

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Statement
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from bot.ports.holds import RESTORE
from bot.ports.restored import Due, InFlight, RestoreReport

EPOCHS: Final = 1_000_000
"""More than a goal can have been claimed since the backup."""
AT_WORK: Final = str(("ready", "working", "auditing", "waiting", "deciding"))

_T: Final = METADATA.tables
_G, _L, _O, _S = queries.GOAL, queries.LEASE, queries.OUTBOX, queries.SESSION
_C, _R, _RR = queries.RESERVATION, _T["occurrence"], _T["restored"]
_STEP, _DECISION, _WAIT = queries.STEP, queries.DECISION, queries.WAIT

_JUMP: Final = update(_L).values(epoch=text(f"epoch + {EPOCHS}"), worker="", until=0.0)
_DOUBT: Final = (
    update(_O)
    .values(state="unknown", looked_up=False)
    .where(text("state IN ('pending', 'claimed')"))
)
_SETTLE: Final = queries.set_in(_S, "home").where(
    _S.c.home == bindparam("of_home"), text("home <> ''")
)
_HOLD: Final = queries.upsert(queries.into(queries.HOLD), ("scope",), "by", "at", "why")
_REMEMBER: Final = queries.into(_RR).on_conflict_do_nothing()
_MISS: Final = (
    update(_R)
    .values(state="missed", worker="", until=0.0)
    .where(_R.c.due_at <= bindparam("of_now"), text("state IN ('due', 'claimed')"))
)

_READ_ANEW: Final = delete(_T["network_position"])
_ANSWER_NOWHERE: Final = delete(_T["way_back"])
_INSTALL_NOTHING: Final = delete(_T["install_state"])
_SERVE_NOTHING: Final = delete(_T["charge"])
_INSTALLED: Final = select(_T["install"].c.name, _T["install"].c.workspace).order_by(
    _T["install"].c.network, _T["install"].c.workspace
)
_OPEN_NOTHING: Final = delete(_T["sealed_event"])

_IS_HELD: Final = select(queries.HOLD.c.scope).where(queries.HOLD.c.scope == bindparam("of_scope"))
_LAST: Final = select(*_RR.c).order_by(_RR.c.at.desc()).limit(1)
_STATES: Final = (
    select(_G.c.state, func.count())
    .where(text("goal.kind = 'goal'"))
    .group_by(_G.c.state)
    .order_by(_G.c.state)
)  # fmt: skip
_CALLS: Final = (
    select(_G.c.number, _C.c.role, _C.c.tokens, _C.c.nano_usd)
    .join(_G, _G.c.id == _C.c.goal)
    .order_by(_G.c.number, _C.c.at, _C.c.call)
)
_TOOLS: Final = (
    select(_G.c.number, _STEP.c.name)
    .join(_G, _G.c.id == _STEP.c.goal)
    .where(text("step.kind = 'tool' AND step.state = 'started'"))
    .order_by(_G.c.number, _STEP.c.seq)
)
_UNSURE: Final = (
    select(func.count()).select_from(_O).where(text("state IN ('pending', 'claimed', 'unknown')"))
)
_WORKING: Final = (
    select(_G.c.number)
    .where(text(f"goal.kind = 'goal' AND goal.state IN {AT_WORK}"))
    .order_by(_G.c.number)
)
_DECISIONS: Final = (
    select(_G.c.number, _DECISION.c.kind, _DECISION.c.number, _DECISION.c.expires_at)
    .join(_G, _G.c.id == _DECISION.c.goal)
    .where(text("decision.state = 'open'"))
    .order_by(_G.c.number, _DECISION.c.number)
)
_WAITS: Final = (
    select(_G.c.number, _WAIT.c.kind, _WAIT.c.until)
    .join(_G, _G.c.id == _WAIT.c.goal)
    .where(text("wait.state = 'open'"))
    .order_by(_G.c.number, _WAIT.c.opened_at)
)
_UNHANDLED: Final = (
    select(func.count()).select_from(queries.INBOX).where(text("inbox.state = 'waiting'"))
)
_SEALED: Final = select(func.count()).select_from(_T["secret"])
_MISSED: Final = (
    select(func.count())
    .select_from(_R)
    .where(text("occurrence.state = 'missed'"), _R.c.due_at >= bindparam("of_since"))
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows come from: when and by which version the backup was made."""

    made_at: float
    made_by: str
    home: str = ""
    """What the folder of its workspaces was called."""
    new_home: str = ""
    """What the folder is called that they are in now."""


class StoreRestores:
    """Port Restores."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def report(self) -> RestoreReport | None:
        """What the last restore found, while its hold stands; None where there is none."""
        return await self._readers.do(_report)


def settle(tx: Transaction, origin: Origin) -> RestoreReport:
    """Make the rows those of a restored database, and tell what they hold."""
    now = tx.now()
    tx.run(_REMEMBER, at=now, made_at=origin.made_at, made_by=origin.made_by)
    tx.run(_HOLD, scope=RESTORE, by="", at=now, why="restored from a backup")
    tx.run(_JUMP)
    tx.run(_DOUBT)
    tx.run(_SETTLE, of_home=origin.home, home=origin.new_home)
    tx.run(_MISS, of_now=now)
    tx.run(_READ_ANEW)
    for nothing in (_OPEN_NOTHING, _ANSWER_NOWHERE, _INSTALL_NOTHING, _SERVE_NOTHING):
        tx.run(nothing)
    report = _report(tx)
    assert report is not None
    return report


def _report(reader: Reader) -> RestoreReport | None:
    last = reader.one(_LAST)
    if last is None or reader.one(_IS_HELD, of_scope=RESTORE) is None:
        return None
    at, made_at, made_by = last
    return RestoreReport(
        at=at,
        made_at=made_at,
        made_by=made_by,
        goals=dict(reader.all(_STATES)),
        in_flight=(
            *(InFlight(*row) for row in reader.all(_CALLS)),
            *(InFlight(number, name, is_tool=True) for number, name in reader.all(_TOOLS)),
        ),
        to_look_up=_count(reader, _UNSURE),
        may_have_posted=tuple(number for (number,) in reader.all(_WORKING)),
        decisions=tuple(
            Due(goal, f"{kind} {number}", until)
            for goal, kind, number, until in reader.all(_DECISIONS)
        ),
        waits=tuple(Due(*row) for row in reader.all(_WAITS)),
        unhandled=_count(reader, _UNHANDLED),
        missed=_count(reader, _MISSED, of_since=made_at),
        sealed=_count(reader, _SEALED),
        installs=tuple(f"{name} ({workspace})" for name, workspace in reader.all(_INSTALLED)),
    )


def _count(reader: Reader, query: Statement, **of: float) -> int:
    [number] = reader.one(query, **of) or (0,)
    return int(number)
