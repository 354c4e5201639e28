"""
The day's tallies: what each person's goals spent in each room, and what is left of the caps.

Rule 1: what a ledger grows by and its tally are one transaction: one row a unit.
Rule 2: a call is looked at in the transaction that starts it: what is tallied, what all calls in
        flight hold back, and this one. Units of one transaction see each other. Where one process
        writes alone, a call that fits what it knows at most is not looked up.
Rule 3: on PostgreSQL transactions that start calls go one after the other, whatever process they
        come from: each sees all that is held back. SQLite has one writer.
Rule 4: a day is the room's, by its zone. A late refund is taken off the day on which it comes.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import bindparam, case, func, literal_column, select

from adapters.store import queries
from adapters.store.bounds import Bounds, Scoped, scoped
from adapters.store.moves import Move
from adapters.store.places import see_session
from adapters.store.posts import queue
from adapters.store.statements import Reader, Row, Writes
from adapters.store.transaction import Transaction
from bot.goals.caps import (
    NO_CAPS,
    Amount,
    Booked,
    Caps,
    Reached,
    Sums,
    booked,
    needs,
    reached,
)
from bot.goals.events import CallStarted, CapReached
from bot.goals.goal import Goal
from bot.ports.room_settings import read_kept, resolved

SPREAD_S: Final = 300.0
"""Over how long the goals that a day's cap held go on after midnight (design, "Money")."""
LOCK: Final = "caps"

_T, _V, _S = queries.TALLY, queries.RESERVATION, queries.SESSION
_BOOK_INTO: Final = queries.into(_T)
BOOK: Final = _BOOK_INTO.on_conflict_do_update(
    index_elements=("day", "room", "person"),
    set_={
        name: _T.c[name] + _BOOK_INTO.excluded[name]
        for name in ("tokens", "nano_usd", "unpriced_tokens")
    },
)


def _lookups(table: Any, of: Any, *values: Any) -> list[Any]:
    """Sums of a person, a room and all, each a lookup of its own: a pass over joined sums is slower."""
    found = []
    for whose in (table.c.person == bindparam("of_person"), table.c.room == bindparam("of_room")):
        found += [select(func.sum(value)).where(of, whose).scalar_subquery() for value in values]
    return found + [select(func.sum(value)).where(of).scalar_subquery() for value in values]


_UNPRICED: Final = case((_V.c.nano_usd.is_(None), _V.c.tokens), else_=literal_column("0"))
_SUMS: Final = select(
    *_lookups(_T, _T.c.day == bindparam("of_day"), _T.c.nano_usd, _T.c.unpriced_tokens),
    *_lookups(_V, _V.c.goal != bindparam("of_goal"), _V.c.nano_usd, _UNPRICED),
)
"""What is spent on a day and what calls of other goals hold back: of a person, a room, in all."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where a goal is charged: its room, the limits that hold there, and the room's zone."""

    room: str
    caps: Caps
    zone: tzinfo


@dataclass(frozen=True, slots=True)
class Guard:
    """The limits of the process's settings, and the zone of rooms that have none."""

    caps: Caps = NO_CAPS
    zone: tzinfo = UTC

    def here(self, room: str, own: str, above: str | None) -> Here:
        """Of a room with these settings, in a workspace with those."""
        zone, cap_usd, cap_live = _set_for(own, above or "")
        caps = self.caps
        if cap_usd is not None or cap_live is not None:
            caps = caps.in_room(cap_usd, cap_live)
        return Here(room, caps, _zone(zone) if zone else self.zone)


NO_GUARD: Final = Guard()


@dataclass(slots=True)
class Watch:
    """One unit's look at the caps: which of its calls start, what it adds to the tally."""

    tx: Transaction
    goal: Goal
    """As the unit found it."""
    here: Here
    at: float
    bounds: Bounds | None = None
    """Where nobody else writes: what need not be read."""
    told: list[CapReached] = field(default_factory=list)
    """The caps that are really spent, and so are said in the room."""

    def start(self, goal: Goal, call: CallStarted) -> CapReached | None:
        """None where the call fits; else what happens in its place. `goal`: before the call."""
        caps = self.here.caps
        if not caps.nano_usd and not caps.tokens:
            return None
        need = needs(call.tokens, call.nano_usd)
        bounds, of = self.bounds, self._scopes()
        if bounds is None or not bounds.fits(caps, of, need, since=self._since(goal)):
            self.tx.alone(LOCK)
            spent, held = self._sums(goal)
            if bounds is not None:
                bounds.begin(of, spent, held)
            found = reached(caps, spent, held, need)
            day = day_of(self.at, self.here.zone)
            if found is not None and not is_lifted(self.tx, goal.id, day):
                return self._reached(found, need, call.active_s)
        if bounds is not None:
            bounds.grow(of, need)
        return None

    def write(self, writes: Writes, moves: Sequence[Move]) -> None:
        """Add what the unit spent to the tally of the day, and say which cap is spent."""
        total = Booked()
        for move in moves:
            if move.before is not None and "ledger" in move.entry.changes:
                total += booked(move.before.ledger, move.after.ledger, move.entry.event)
        if total != Booked():
            if self.bounds is not None:
                self.bounds.grow(self._scopes(), total.amount)
            writes.add(
                BOOK,
                day=day_of(self.at, self.here.zone),
                room=self.here.room,
                person=self.goal.owner,
                tokens=total.tokens,
                nano_usd=total.nano_usd,
                unpriced_tokens=total.unpriced_tokens,
            )
        for cap in self.told:
            say_reached(self.tx, writes, self.here, self.goal.owner, cap, self.at)

    def _sums(self, goal: Goal) -> tuple[Sums, Sums]:
        day = day_of(self.at, self.here.zone)
        spent, held = read_sums(self.tx, day, goal.owner, self.here.room, goal.id)
        own = sum((needs(one.tokens, one.nano_usd) for one in goal.ledger.open), self._since(goal))
        return spent, {scope: held[scope] + own for scope in held}

    def _since(self, goal: Goal) -> Amount:
        """What this unit has spent so far, which is written after it."""
        return Amount(
            goal.ledger.nano_usd - self.goal.ledger.nano_usd,
            goal.ledger.tokens - self.goal.ledger.tokens if goal.ledger.has_unknown_price else 0,
        )

    def _scopes(self) -> Scoped:
        return scoped(day_of(self.at, self.here.zone), self.goal.owner, self.here.room)

    def _reached(self, found: Reached, need: Amount, active_s: float) -> CapReached:
        until = midnight_after(self.at, self.here.zone) + jitter_s(self.goal.id)
        cap = CapReached(
            found.scope,
            found.limit,
            until,
            nano_usd=0 if found.in_tokens else need.nano_usd,
            tokens=need.tokens if found.in_tokens else 0,
            active_s=active_s,
            at=self.at,
        )
        if found.is_spent:
            self.told.append(cap)
        return cap


def read_sums(
    reader: Reader, day: str, person: str, room: str, without: str = ""
) -> tuple[Sums, Sums]:
    """What is spent on the day, and what calls in flight hold back; not those of goal `without`."""
    row = reader.one(_SUMS, of_day=day, of_person=person, of_room=room, of_goal=without)
    assert row is not None
    numbers = [int(value or 0) for value in row]
    return _scoped(numbers[:6]), _scoped(numbers[6:])


def lift_key(goal: str, day: str) -> str:
    """Under which an admin's word is kept that a goal may pass the caps of a day."""
    return f"cap_lifted:{day}:{goal}"


def is_lifted(reader: Reader, goal: str, day: str) -> bool:
    """Whether an admin let the goal pass the caps of that day."""
    return reader.one(queries.TOLD_AT, of_key=lift_key(goal, day)) is not None


def say_reached(
    tx: Transaction, writes: Writes, here: Here, person: str, cap: CapReached, at: float
) -> None:
    """Queue the post that a cap is reached: one a room, a day and a cap, however many goals it parks."""
    whose = f":{person}" if cap.cap == "person" else ""
    key = f"cap:{here.room}:{day_of(at, here.zone)}:{cap.cap}{whose}:{cap.limit}"
    said = {
        "cap": cap.cap,
        "person": person if cap.cap == "person" else "",
        "limit": cap.limit,
        "in_tokens": bool(cap.tokens),
        "until": midnight_after(at, here.zone),
    }
    session = see_session(tx, here.room, "", "thread", at)
    queue(writes, key, "cap", session, at, reason=json.dumps(said))


def day_of(at: float, zone: tzinfo) -> str:
    """The local date, such as `2026-11-30`."""
    return datetime.fromtimestamp(at, zone).date().isoformat()


def midnight_after(at: float, zone: tzinfo) -> float:
    """When the next local day begins."""
    day = datetime.fromtimestamp(at, zone).date() + timedelta(days=1)
    return datetime.combine(day, time.min, tzinfo=zone).timestamp()


def jitter_s(goal: str) -> float:
    """How long after midnight the goal goes on: always the same of one goal, spread over all."""
    return zlib.crc32(goal.encode()) % int(SPREAD_S * 1000) / 1000


def here_of(guard: Guard, there: Row) -> Here:
    """From the columns `queries.THERE`."""
    room, own, above = there
    return guard.here(room, own, above)


def _scoped(numbers: Sequence[int]) -> Sums:
    person, room, everyone = (Amount(*numbers[n : n + 2]) for n in (0, 2, 4))
    return {"person": person, "room": room, "all": everyone}


@lru_cache(maxsize=1024)
def _set_for(own: str, above: str) -> tuple[str, float | None, int | None]:
    """The zone, and of the caps of a room and of its workspace the smallest."""
    levels = [read_kept(own), read_kept(above)]
    caps = [resolved(level) for level in levels]
    usd = [one.cap_usd for one in caps if one.cap_usd is not None]
    live = [one.cap_live_goals for one in caps if one.cap_live_goals is not None]
    return resolved(*levels).zone, min(usd, default=None), min(live, default=None)


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC
