"""
Sums over all steps, kept up by reading only the goals that have moved since.

To add up a million steps takes a second; so that is done once, and again only where the journal names
a goal that is not known here any more.

Rule 1: a goal's share is always counted whole from its rows: what was missed once is right the next
        time the goal moves.
Rule 2: what is remembered is the sum, and the shares of goals that are live or moved lately.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Select, bindparam, func, select, text

from adapters.store import queries
from adapters.store.statements import Reader, Row

_E, _G, _S = queries.EVENT, queries.GOAL, queries.STEP

MARGIN: Final = 1_000
"""Entries of the journal that are looked at again: PostgreSQL shows them by order of commit."""
KEPT_S: Final = 600.0
"""For how long the share of a goal that is not live is remembered: a late reply may still come."""

Key = tuple[str, str, str]
"""Kind, name and state of a step."""
Sums = tuple[int, ...]
"""How many, then as `_SUMMED`."""

_SUMMED: Final = (
    _S.c.input, _S.c.cache_write_5m, _S.c.cache_write_1h, _S.c.cache_read, _S.c.output,
    _S.c.server_tools, _S.c.nano_usd, _S.c.estimated_tokens, _S.c.estimated_nano_usd,
)  # fmt: skip
_NOTHING: Final = (0,) * (1 + len(_SUMMED))
_KEY: Final = (_S.c.kind, _S.c.name, _S.c.state)


def _summed(*by: Any) -> Select[Any]:
    sums = (func.sum(column) for column in _SUMMED)
    return select(*by, func.count(), *sums).group_by(*by)


_ALL: Final = _summed(*_KEY)
_LIVE: Final = select(_G.c.id).where(
    text("kind = 'goal' AND state NOT IN ('complete', 'cancelled')")
)
_OF_GOALS: Final = _summed(_S.c.goal, *_KEY).where(queries.among(_S.c.goal))
_LAST: Final = select(func.coalesce(func.max(_E.c.position), text("0")))
_SINCE: Final = select(_E.c.position, _E.c.goal, _E.c.kind).where(
    _E.c.position > bindparam("of_position")
)


@dataclass(slots=True)
class _Known:
    """The sums as of one moment. `position` and `seen` say which entries they hold."""

    sums: dict[Key, Sums]
    shares: dict[str, Mapping[Key, Sums]] = field(default_factory=dict)
    moved_at: dict[str, float] = field(default_factory=dict)
    position: int = 0
    seen: frozenset[int] = frozenset()


class StepSums:
    """Sums by kind, name and state. To be read by one thread at a time."""

    def __init__(self) -> None:
        self._known: _Known | None = None

    def read(self, reader: Reader) -> Mapping[Key, Sums]:
        """The sums now, in the reader's snapshot."""
        known, self._known = self._known, None
        if known is None or not _follow(reader, known):
            known = _begin(reader)
        # Kept only once it is whole: an error half-way costs a new beginning.
        self._known = known
        return dict(known.sums)


def _begin(reader: Reader) -> _Known:
    live = [str(row[0]) for row in reader.all(_LIVE)]
    now = time.monotonic()
    [[position]] = reader.all(_LAST)
    return _Known(
        sums={(row[0], row[1], row[2]): _numbers(row[3:]) for row in reader.all(_ALL)},
        shares=_shares(reader, live),
        moved_at=dict.fromkeys(live, now),
        position=int(position),
        seen=frozenset(int(row[0]) for row in reader.all(_SINCE, of_position=position - MARGIN)),
    )


def _follow(reader: Reader, known: _Known) -> bool:
    """Bring the sums up; False where a goal has moved whose share is forgotten."""
    entries = reader.all(_SINCE, of_position=known.position - MARGIN)
    fresh = [row for row in entries if row[0] not in known.seen]
    moved = {str(goal) for _, goal, _ in fresh}
    opened = {str(goal) for _, goal, kind in fresh if kind == "GoalOpened"}
    if not moved <= known.shares.keys() | opened:
        return False
    now = time.monotonic()
    for goal, share in _shares(reader, sorted(moved)).items():
        _replace(known.sums, known.shares.get(goal, {}), share)
        known.shares[goal], known.moved_at[goal] = share, now
    if fresh:
        known.position = max(known.position, *(row[0] for row in fresh))
        known.seen = frozenset(row[0] for row in entries if row[0] > known.position - MARGIN)
    _forget(reader, known, now - KEPT_S)
    return True


def _forget(reader: Reader, known: _Known, before: float) -> None:
    old = [goal for goal, at in known.moved_at.items() if at < before]
    if old:
        live = {row[0] for row in reader.all(_LIVE)}
        for goal in old:
            if goal not in live:
                del known.shares[goal], known.moved_at[goal]


def _shares(reader: Reader, goals: list[str]) -> dict[str, Mapping[Key, Sums]]:
    shares: dict[str, dict[Key, Sums]] = {goal: {} for goal in goals}
    for of in queries.groups(goals):
        for row in reader.all(_OF_GOALS, **of):
            shares[row[0]][row[1], row[2], row[3]] = _numbers(row[4:])
    return dict(shares)


def _replace(sums: dict[Key, Sums], old: Mapping[Key, Sums], new: Mapping[Key, Sums]) -> None:
    for key in old.keys() | new.keys():
        before, less, more = (one.get(key, _NOTHING) for one in (sums, old, new))
        sums[key] = tuple(b - o + n for b, o, n in zip(before, less, more, strict=True))
        if not any(sums[key]):
            del sums[key]


def _numbers(row: Row | Iterable[Any]) -> Sums:
    return tuple(int(number or 0) for number in row)
