"""People, rooms and threads, as rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from sqlalchemy import Integer, bindparam, select, text

from adapters.store import codec, queries
from adapters.store.holds import LOCK as HOLDS
from adapters.store.journal import check_waiting
from adapters.store.people import LIST, write_notes
from adapters.store.places import is_room_or_all, place_of, see_person, see_room, see_session
from adapters.store.readers import Readers
from adapters.store.room_moves import move_room
from adapters.store.roots import see_new
from adapters.store.statements import Reader, Row, Statement
from adapters.store.threads import read_posted
from adapters.store.transaction import Transaction
from adapters.store.writer import Writer
from bot.goals.goal import Goal, State
from bot.ports.chat import Network, Place, Speaker
from bot.ports.mail import NEW, Posted, Thread
from bot.ports.people import NOTHING, Answer

_G, _S, _R, _P = queries.GOAL, queries.SESSION, queries.ROOM, queries.PERSON

_PERSON: Final = select(_P.c.external, _P.c.name).where(_P.c.id == bindparam("of_id"))

_LIVE: Final = text(
    "live.kind = 'goal' AND live.state NOT IN ('complete', 'cancelled') AND live.session = session.id"
)
_live: Final = _G.alias("live")
THREAD: Final = (_S.c.id, _R.c.network, _R.c.workspace, _R.c.name, _S.c.thread, _live.c.id)
"""The columns that `thread_of` makes a thread of."""
THREADS: Final = (
    select(*THREAD)
    .join(_R, _R.c.id == _S.c.room)
    .outerjoin(_live, _LIVE)
    .where(text("session.kind = 'thread'"))
)
_THREAD: Final = THREADS.where(
    _R.c.network == bindparam("of_network"),
    _R.c.workspace == bindparam("of_workspace"),
    _R.c.name == bindparam("of_name"),
    _S.c.thread == bindparam("of_thread"),
)
_REMOTE: Final = select(queries.OUTBOX.c.remote).where(
    queries.OUTBOX.c.key == bindparam("of_key"),
    text("outbox.state = 'sent' AND outbox.remote <> ''"),
)
_LAST: Final = (
    select(_G.c.data)
    .where(_G.c.session == bindparam("of_session"), text("goal.number > 0"))
    .order_by(_G.c.number.desc())
    .limit(1)
)


class StoreRooms:
    """Port Rooms."""

    def __init__(
        self, writer: Writer, readers: Readers, moved: Callable[[], None] = lambda: None
    ) -> None:
        """`moved`: called when sums of rooms are added up."""
        self._writer = writer
        self._readers = readers
        self._moved = moved

    async def person(self, network: Network, speaker: Speaker) -> str:
        """The person's id, made at first sight; the name is the last one seen."""
        return await self._writer.do(lambda tx: see_person(tx, network, speaker))

    async def thread(self, place: Place) -> Thread | None:
        """The session that lives in that thread."""
        return await self._readers.glance(lambda reader: _read_thread(reader, place))

    async def begin(self, place: Place) -> Thread:
        """A new session in that thread, or the one that is there."""

        def job(tx: Transaction) -> Thread:
            see_session(tx, see_room(tx, place), place.thread, "thread", tx.now())
            thread = _read_thread(tx, place)
            assert thread is not None
            return thread

        return await self._writer.do(job)

    async def begin_new(self, place: Place, of: str) -> Thread:
        """A session in a thread that begins in the main timeline with a message of ours."""

        def job(tx: Transaction) -> Thread:
            see_new(tx, place, of)
            thread = _read_thread(tx, replace(place, thread=f"{NEW}{of}"))
            assert thread is not None
            return thread

        return await self._writer.do(job)

    async def move(
        self, old: Place, to: str, root: Callable[[Goal], str], answer: Answer = NOTHING
    ) -> tuple[Goal, ...]:
        """A room was replaced by the room `to`; returns the live goals that came along."""

        def job(tx: Transaction) -> tuple[Goal, ...]:
            check_waiting(tx, answer.handled)
            for name in (LIST, HOLDS):
                tx.alone(name)
            goals = move_room(tx, old, to, root)
            self._moved()
            write_notes(tx, answer)
            return goals

        return await self._writer.do(job)

    async def goals(
        self,
        *,
        states: tuple[str, ...] = (),
        room: Place | None = None,
        number: int | None = None,
        owner: str = "",
        most: int | None = None,
    ) -> tuple[Goal, ...]:
        """Goals (no asks), newest first, by state, room (whatever the thread), number or owner."""

        found = _goals(
            frozenset(State(state) for state in states),
            room is not None,
            number is not None,
            bool(owner),
            most is not None,
        )
        of: dict[str, Any] = {}
        if room is not None:
            of = {
                "of_network": room.network, "of_workspace": room.workspace, "of_room": room.room
            }  # fmt: skip
        if number is not None:
            of["of_number"] = number
        if owner:
            of["of_owner"] = owner
        if most is not None:
            of["of_most"] = most
        rows = await self._readers.do(lambda reader: reader.all(found, **of))
        return tuple(codec.load_goal(row[0]) for row in rows)

    async def last_goal(self, session: str) -> Goal | None:
        """The session's newest goal (no ask), live or final."""
        row = await self._readers.glance(lambda reader: reader.one(_LAST, of_session=session))
        return None if row is None else codec.load_goal(row[0])

    async def posted(self, place: Place, remote: str) -> Posted | None:
        """What of ours stands in that room under the id `remote`."""
        return await self._readers.glance(lambda reader: read_posted(reader, place, remote))

    async def people(self, persons: Sequence[str]) -> Mapping[str, Speaker]:
        """Who those person ids are on their network; unknown ones are left out."""

        def query(reader: Reader) -> Mapping[str, Speaker]:
            rows = ((id, reader.one(_PERSON, of_id=id)) for id in persons)
            return {id: Speaker(row[0], row[1]) for id, row in rows if row is not None}

        return await self._readers.glance(query)

    async def remotes(self, keys: Sequence[str]) -> Mapping[str, str]:
        """The remote ids of what stands under these keys."""

        def query(reader: Reader) -> Mapping[str, str]:
            rows = ((key, reader.one(_REMOTE, of_key=key)) for key in keys)
            return {key: str(row[0]) for key, row in rows if row is not None}

        return await self._readers.glance(query)


def thread_of(row: Row) -> Thread:
    """The thread in a row of the columns `THREAD`."""
    session, network, workspace, room, thread, goal = row
    return Thread(session, place_of(network, workspace, room, thread), goal or "")


@cache
def _goals(
    states: frozenset[State], in_room: bool, is_numbered: bool, is_owned: bool, is_cut: bool
) -> Statement:
    # Cached: statements are compiled once and remembered by identity.
    found = (
        select(_G.c.data)
        .join(_S, _S.c.id == _G.c.session)
        .join(_R, _R.c.id == _S.c.room)
        .where(text("goal.number > 0"))
    )
    if states:
        names = ", ".join(f"'{state.value}'" for state in sorted(states))
        found = found.where(text(f"goal.state IN ({names})"))
    if in_room:
        found = found.where(
            _R.c.network == bindparam("of_network"),
            text("(room.network = 'console' OR room.workspace = :of_workspace)"),
            is_room_or_all(_R),
        )
    if is_numbered:
        found = found.where(_G.c.number == bindparam("of_number"))
    if is_owned:
        found = found.where(_G.c.owner == bindparam("of_owner"))
    if is_cut:
        found = found.limit(bindparam("of_most", type_=Integer()))
    return found.order_by(_G.c.number.desc())


def _read_thread(reader: Reader, place: Place) -> Thread | None:
    row = reader.one(
        _THREAD,
        of_network=place.network,
        of_workspace=place.workspace,
        of_name=place.room,
        of_thread=place.thread,
    )
    return None if row is None else thread_of(row)
