"""
What has been kept long enough: texts of threads whose goals have ended, and messages without a goal.

Rule 1: a thread's texts go together, when its last goal ended longer ago than its room keeps them: a
        later goal of the thread goes on with the same conversation.
Rule 2: what is to go is told by dates in rows alone; a sweep that was ended is simply begun again.
"""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

from sqlalchemy import bindparam, func, select, text

from adapters.store import queries
from adapters.store.forgotten import EVER, bites, blank_bite, in_bites, refs_of
from adapters.store.installs import drop_old_states
from adapters.store.mail_traces import end_mail
from adapters.store.readers import Readers
from adapters.store.statements import Reader
from adapters.store.transaction import Transaction
from adapters.store.ways_back import drop_lapsed
from adapters.store.writer import Writer
from bot.errors import BadInput
from bot.ports.forgetting import Kept, Step
from bot.ports.room_settings import DEFAULTS, RoomSettings, read_kept, resolved

DAY_S: Final = 86_400.0

_C, _G, _R, _S = queries.CONTENT, queries.GOAL, queries.ROOM, queries.SESSION

_above: Final = _R.alias("above")

_ROOMS: Final = select(_R.c.id, _R.c.name).order_by(_R.c.id)
_SETTINGS: Final = (
    select(_R.c.settings, _above.c.settings)
    .outerjoin(_above, queries.is_workspace_of(_above, _R))
    .where(_R.c.id == bindparam("of_room"))
)
_ENDS: Final = (
    select(
        _S.c.id,
        func.max(_G.c.closed_at),
        func.sum(
            text("CASE WHEN goal.id IS NOT NULL AND goal.closed_at IS NULL THEN 1 ELSE 0 END")
        ),
    )
    .outerjoin(_G, _G.c.session == _S.c.id)
    .where(_S.c.room == bindparam("of_room"))
    .group_by(_S.c.id)
    .order_by(_S.c.id)
)
_END: Final = (
    select(
        _S.c.room,
        func.max(_G.c.closed_at),
        func.sum(text("CASE WHEN goal.closed_at IS NULL THEN 1 ELSE 0 END")),
    )
    .join(_G, _G.c.session == _S.c.id)
    .where(_S.c.id == bindparam("of_session"))
    .group_by(_S.c.room)
)
_GOALS: Final = select(_G.c.id).where(_G.c.session == bindparam("of_session"))


class StoreRetention:
    """Port Retention."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers

    async def texts(self, kept: Kept, *, is_dry: bool = False) -> AsyncIterator[Step]:
        """Blank the texts of what ended longer ago, a little at a time."""
        now = await self._writer.do(partial(_drop_lapsed, is_dry=is_dry))
        for room, until in await self._readers.do(lambda reader: _rooms(reader, kept, now)):
            of = (room, until)
            ended, loose = await self._readers.do(lambda r, of=of: _expired(r, *of))  # type: ignore[misc]
            async for step in self._blank(ended, is_dry=is_dry):
                yield step
            goals = await self._readers.do(partial(_goals, ended))
            count = await refs_of(goals, self._writer, self._readers, is_dry=is_dry)
            if count:
                yield Step("wait", count)
            async for step in self._blank(loose, until, is_dry=is_dry):
                yield step
            parts = (self._writer, self._readers)
            for step in await end_mail(room, until, ended, *parts, is_dry=is_dry):
                yield step

    async def workspaces(self, names: Sequence[str], kept: Kept) -> tuple[str, ...]:
        """Those of the workspaces that no goal has needed for so long."""
        now = await self._writer.do(lambda tx: tx.now())

        def query(reader: Reader) -> tuple[str, ...]:
            rooms = {
                id: now - _days(reader, id, kept, "workspace_days") * DAY_S
                for id in _chosen(reader, kept)
            }
            ends = ((name, reader.one(_END, of_session=name)) for name in names)
            return tuple(
                name
                for name, end in ends
                if end is not None and not end[2] and end[1] <= rooms.get(end[0], float("-inf"))
            )

        return await self._readers.do(query)

    async def _blank(
        self, sessions: Sequence[str], until: float = EVER, *, is_dry: bool
    ) -> AsyncIterator[Step]:
        for bite in await self._readers.do(lambda reader: bites(reader, sessions, until)):
            if not is_dry:
                await self._writer.do(in_bites(partial(blank_bite, bite)), lane="forgetting")
            yield Step("text", sum(one.rows for one in bite))


def _drop_lapsed(tx: Transaction, *, is_dry: bool) -> float:
    """Forget what serves for minutes alone; returns the time."""
    now = tx.now()
    if not is_dry:
        drop_lapsed(tx, now)
        drop_old_states(tx, now)
    return now


def _goals(sessions: Sequence[str], reader: Reader) -> list[str]:
    return [row[0] for session in sessions for row in reader.all(_GOALS, of_session=session)]


def _rooms(reader: Reader, kept: Kept, now: float) -> list[tuple[str, float]]:
    """Each room, and the time of which what ended before is to go."""
    return [
        (room, now - _days(reader, room, kept, "retention_days") * DAY_S)
        for room in _chosen(reader, kept)
    ]


def _chosen(reader: Reader, kept: Kept) -> list[str]:
    rows = reader.all(_ROOMS)
    chosen = [id for id, name in rows if not kept.room or kept.room in (id, name)]
    if kept.room and not chosen:
        raise BadInput(f"There is no room {kept.room!r} here. `headway room` shows the rooms.")
    return chosen


def _days(reader: Reader, room: str, kept: Kept, setting: str) -> float:
    own = None if kept.is_forced else getattr(_settings(reader, room), setting, None)
    return kept.days if own is None else float(own)


def _settings(reader: Reader, room: str) -> RoomSettings:
    row = reader.one(_SETTINGS, of_room=room)
    return DEFAULTS if row is None else resolved(*(read_kept(kept or "") for kept in row))


def _expired(reader: Reader, room: str, until: float) -> tuple[list[str], list[str]]:
    """Sessions whose goals have ended long ago, and sessions without any."""
    ended, loose = [], []
    for session, closed_at, live in reader.all(_ENDS, of_room=room):
        if closed_at is None and not live:
            loose.append(session)
        elif not live and closed_at <= until:
            ended.append(session)
    return ended, loose
