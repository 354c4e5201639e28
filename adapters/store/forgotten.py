"""
How texts are taken out of rows, a few at a time.

Rule 1: a transaction blanks at most `BITES` rows and about `BITE_BYTES`, so that who waits for the
        writer waits milliseconds.
        On SQLite what it wrote is brought home at once, not in bursts of thousands of pages.
Rule 2: on SQLite the bytes are overwritten as they are let go, not only marked as free.
Rule 3: a wait's `ref` is the one text that the journal holds; it is replaced by a mark of its hash in
        every place alike, so that replay still equals the row.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import bindparam, select, text

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.statements import Connection, Reader, Row
from adapters.store.transaction import AfterCommit, Transaction
from adapters.store.writer import Writer
from bot.ports.words import Words

BITES: Final = 100
BITE_BYTES: Final = 500_000
EVER: Final = float("inf")
REF: Final = "forgotten:"
"""What a wait's reference becomes, with the beginning of its hash."""

_C, _E, _G, _W = queries.CONTENT, queries.EVENT, queries.GOAL, queries.WAIT
_K: Final = queries.CHECKPOINT

_CHANGE: Final = queries.set_in(_C, "text").where(
    _C.c.session == bindparam("of_session"),
    _C.c.hash == bindparam("of_hash"),
    _C.c.text.is_not(None),
)
_SIZES: Final = (
    select(_C.c.hash, _C.c.size)
    .where(
        _C.c.session == bindparam("of_session"),
        _C.c.at <= bindparam("of_until"),
        _C.c.text.is_not(None),
    )
    .order_by(_C.c.hash)
)
_SLICE: Final = queries.set_in(_C, "text").where(
    _C.c.session == bindparam("of_session"),
    _C.c.hash >= bindparam("of_first"),
    _C.c.hash <= bindparam("of_last"),
    _C.c.at <= bindparam("of_until"),
    _C.c.text.is_not(None),
)

_HAS_REF: Final = select(_E.c.position).where(
    _E.c.goal == bindparam("of_goal"), text("event.kind IN ('WaitAsked', 'Audited')")
)
_EVENTS: Final = (
    select(_E.c.position, _E.c.data, _E.c.changes)
    .where(_E.c.goal == bindparam("of_goal"))
    .order_by(_E.c.position)
)
_SET_EVENT: Final = queries.set_in(_E, "data", "changes").where(
    _E.c.position == bindparam("of_position")
)
_GOAL: Final = select(_G.c.data).where(_G.c.id == bindparam("of_goal")).with_for_update()
_SET_GOAL: Final = queries.set_in(_G, "data").where(_G.c.id == bindparam("of_goal"))
_POINTS: Final = select(_K.c.seq, _K.c.data).where(_K.c.goal == bindparam("of_goal"))
_SET_POINT: Final = queries.set_in(_K, "data").where(
    _K.c.goal == bindparam("of_goal"), _K.c.seq == bindparam("of_seq")
)
_WAITS: Final = select(_W.c.id, _W.c.ref).where(_W.c.goal == bindparam("of_goal"))
_SET_WAIT: Final = queries.set_in(_W, "ref").where(
    _W.c.goal == bindparam("of_goal"), _W.c.id == bindparam("of_id")
)


@dataclass(frozen=True, slots=True)
class Change:
    """A content row and what its text becomes; None blanks it."""

    session: str
    hash: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Slice:
    """Neighbouring content rows of a session, as many as one transaction blanks; none after `until`."""

    session: str
    first: str
    last: str
    rows: int
    size: int
    until: float = EVER

    def blank(self, tx: Transaction) -> None:
        """Blank them."""
        with overwriting(tx):
            tx.run(
                _SLICE, of_session=self.session, of_first=self.first, of_last=self.last,
                of_until=self.until, text=None,
            )  # fmt: skip


def in_bites(job: Callable[[Transaction], object]) -> Callable[[Transaction], object]:
    """The job, with its pages brought home after its commit (SQLite)."""

    def whole(tx: Transaction) -> object:
        done = job(tx)
        return AfterCommit(_home) if isinstance(tx.connection, sqlite3.Connection) else done

    return whole


def bites(reader: Reader, sessions: Iterable[str], until: float = EVER) -> list[list[Slice]]:
    """What of the sessions is not blanked yet, as much as a transaction takes at a time.

    `until`: only what was said by then, in seconds since 1970.
    """
    found: list[list[Slice]] = [[]]
    rows = size = 0
    for session in sessions:
        sizes = reader.all(_SIZES, of_session=session, of_until=until)
        for one in _sliced(session, sizes, until):
            if found[-1] and (rows + one.rows > BITES or size + one.size > BITE_BYTES):
                found.append([])
                rows = size = 0
            found[-1].append(one)
            rows, size = rows + one.rows, size + one.size
    return [bite for bite in found if bite]


def blank_bite(bite: Iterable[Slice], tx: Transaction) -> None:
    """Blank those slices."""
    for one in bite:
        one.blank(tx)


def blank(changes: Iterable[Change], tx: Transaction) -> None:
    """Change those rows, as far as they are not blank."""
    with overwriting(tx):
        for one in changes:
            tx.run(_CHANGE, of_session=one.session, of_hash=one.hash, text=one.text)


@contextmanager
def overwriting(tx: Transaction) -> Iterator[None]:
    """While this lasts, SQLite writes zeros over what it lets go."""
    connection = tx.connection
    if not isinstance(connection, sqlite3.Connection):
        yield
        return
    connection.execute("PRAGMA secure_delete=ON")
    try:
        yield
    finally:
        connection.execute("PRAGMA secure_delete=OFF")


async def refs_of(
    goals: Sequence[str],
    writer: Writer,
    readers: Readers,
    words: Words | None = None,
    *,
    is_dry: bool = False,
) -> int:
    """Replace what the goals' waits referred to, all of it or where it holds one of the words.

    Returns how many references there were.
    """
    count = 0
    for first in range(0, len(goals), BITES):
        found = await readers.do(partial(_all_refs, goals[first : first + BITES], words))
        for goal, refs in found.items():
            if refs and not is_dry:
                await writer.do(partial(_replace, goal, refs), lane="forgetting")
            count += len(refs)
    return count


def marked(ref: str) -> str:
    """The mark that stands in a reference's place: equal where the references were."""
    return ref if ref.startswith(REF) else REF + sha256(ref.encode()).hexdigest()[:16]


def _all_refs(
    goals: Sequence[str], words: Words | None, reader: Reader
) -> dict[str, frozenset[str]]:
    return {goal: _refs(reader, goal, words) for goal in goals}


def _refs(reader: Reader, goal: str, words: Words | None) -> frozenset[str]:
    if not reader.all(_HAS_REF, of_goal=goal):
        return frozenset()
    found: set[str] = set()
    for _, data, changes in reader.all(_EVENTS, of_goal=goal):
        for body in (data, changes):
            if '"ref"' in body or '"parked_ref"' in body:
                _walk(json.loads(body), found)
    return frozenset(
        ref for ref in found if not ref.startswith(REF) and (words is None or words.are_in(ref))
    )


def _walk(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        found |= {value[key] for key in ("ref", "parked_ref") if value.get(key)}
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _walk(one, found)


def _replace(goal: str, refs: frozenset[str], tx: Transaction) -> None:
    row = tx.one(_GOAL, of_goal=goal)
    with overwriting(tx), _journal_open(tx):
        for position, data, changes in tx.all(_EVENTS, of_goal=goal):
            now = _told(data, refs), _told(changes, refs)
            if now != (data, changes):
                tx.run(_SET_EVENT, of_position=position, data=now[0], changes=now[1])
        if row is not None:
            tx.run(_SET_GOAL, of_goal=goal, data=_told(row[0], refs))
        for seq, data in tx.all(_POINTS, of_goal=goal):
            tx.run(_SET_POINT, of_goal=goal, of_seq=seq, data=_told(data, refs))
        for id, ref in tx.all(_WAITS, of_goal=goal):
            if ref in refs:
                tx.run(_SET_WAIT, of_goal=goal, of_id=id, ref=marked(ref))


def _told(body: str, refs: frozenset[str]) -> str:
    if '"ref"' not in body and '"parked_ref"' not in body:
        return body
    return json.dumps(_mended(json.loads(body), refs), separators=(",", ":"))


def _mended(value: Any, refs: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_mended(one, refs) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: marked(one)
        if key in ("ref", "parked_ref") and isinstance(one, str) and one in refs
        else _mended(one, refs)
        for key, one in value.items()
    }


@contextmanager
def _journal_open(tx: Transaction) -> Iterator[None]:
    """Let the journal's texts be changed, inside this transaction alone."""
    connection, tx.has_written = tx.connection, True
    if not isinstance(connection, sqlite3.Connection):
        connection.execute("ALTER TABLE event DISABLE TRIGGER event_only_grows")
        yield
        connection.execute("ALTER TABLE event ENABLE TRIGGER event_only_grows")
        return
    [made] = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'event_no_update'"
    ).fetchone()
    connection.execute("DROP TRIGGER event_no_update")
    yield
    connection.execute(made)


def _home(connection: Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _sliced(session: str, rows: Sequence[Row], until: float) -> Iterator[Slice]:
    first, count, size = "", 0, 0
    for place, (hash, weighs) in enumerate(rows):
        first = first or hash
        count, size = count + 1, size + weighs
        if count >= BITES or size >= BITE_BYTES or place == len(rows) - 1:
            yield Slice(session, first, hash, count, size, until)
            first, count, size = "", 0, 0
