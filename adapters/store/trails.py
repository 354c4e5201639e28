"""
Where a person was: their goals, the threads that they spoke in, and what tells their traces there.

A thread is theirs alone where nobody else spoke, opened it, or has a goal in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, select

from adapters.store import queries
from adapters.store.places import place_of
from adapters.store.statements import Reader, Row
from bot.ports.forgetting import Known, Spot, Trail
from bot.ports.words import Words, telling

_C, _G, _I = queries.CONTENT, queries.GOAL, queries.INBOX
_P, _R, _S = queries.PERSON, queries.ROOM, queries.SESSION

KNOWN: Final = select(_P.c.id, _P.c.network, _P.c.external, _P.c.name)
_BY_ID: Final = KNOWN.where(_P.c.id == bindparam("of_id"))

GOALS: Final = (
    select(_G.c.id, _G.c.session, _G.c.state).where(_G.c.owner == bindparam("of_person"))
)  # fmt: skip
_WROTE: Final = select(_C.c.session).where(_C.c.author == bindparam("of_person")).distinct()
"""Where words of theirs are: a copy of their goal may live where they never spoke."""
_HEARD: Final = select(_I.c.room, _I.c.thread, _I.c.id, _I.c.person)
_SPOT: Final = (
    select(_S.c.id, _S.c.kind, _S.c.room, _S.c.thread, _R.c.network, _R.c.workspace, _R.c.name)
    .join(_R, _R.c.id == _S.c.room)
)  # fmt: skip
_SPOT_OF: Final = _SPOT.where(_S.c.id == bindparam("of_session"))
_SPOT_AT: Final = _SPOT.where(
    _S.c.room == bindparam("of_room"), _S.c.thread == bindparam("of_thread")
)
_CO_OWNER: Final = (
    select(_G.c.id)
    .where(_G.c.session == bindparam("of_session"), _G.c.owner != bindparam("of_person"))
    .limit(1)
)
_CO_AUTHOR: Final = (
    select(_C.c.hash)
    .join(_P, _P.c.id == _C.c.author)
    .where(_C.c.session == bindparam("of_session"), _C.c.author != bindparam("of_person"))
    .limit(1)
)
_SAID: Final = (
    select(_C.c.text, _C.c.author, _P.c.id)
    .outerjoin(_P, _P.c.id == _C.c.author)
    .where(_C.c.session == bindparam("of_session"), _C.c.text.is_not(None))
)


def trail_of(reader: Reader, person: str) -> Trail:
    """The trail of the person of that id. Raises KeyError: there is none."""
    row = reader.one(_BY_ID, of_id=person)
    if row is None:
        raise KeyError(f"There is no person {person}.")
    known = Known(*row)
    goals = reader.all(GOALS, of_person=person)
    heard = reader.all(_HEARD)
    mates = _Mates.of(heard, person)
    own: list[Spot] = []
    shared: list[Spot] = []
    folders: list[str] = []
    for id, kind, room, thread, network, workspace, name in _spots(reader, person, heard, goals):
        spot = Spot(id, place_of(network, workspace, name, thread))
        is_shared = kind.startswith("mail") or _is_shared(
            reader, person, id, mates.were_in(room, thread)
        )
        (shared if is_shared else own).append(spot)
        if not reader.one(_CO_OWNER, of_session=id, of_person=person):
            folders.append(id)
    theirs, others = _voices(reader, person, [spot.session for spot in shared])
    names = tuple(dict.fromkeys(name for name in (known.external, known.name) if _is_name(name)))
    live = (id for id, _, state in goals if state not in ("complete", "cancelled"))
    return Trail(
        known,
        tuple(own),
        tuple(shared),
        tuple(goal[0] for goal in goals),
        tuple(live),
        tuple(folders),
        frozenset(id for _, _, id, by in heard if by == person),
        Words(names, telling(theirs, others)),
    )


@dataclass(frozen=True, slots=True)
class _Mates:
    """Where anybody else spoke: threads, and messages, which threads may have begun with."""

    threads: frozenset[tuple[str, str]]
    messages: frozenset[str]

    @classmethod
    def of(cls, heard: Iterable[Row], person: str) -> "_Mates":
        """Out of all messages."""
        theirs = [(room, thread, id) for room, thread, id, by in heard if by != person]
        return cls(frozenset(row[:2] for row in theirs), frozenset(row[2] for row in theirs))

    def were_in(self, room: str, thread: str) -> bool:
        return (room, thread) in self.threads or thread in self.messages


def _spots(
    reader: Reader, person: str, heard: Iterable[Row], goals: Iterable[Row]
) -> Iterable[Row]:
    """The sessions that they spoke in or have goals in, or that hold words of theirs."""
    found: dict[str, Row] = {}
    wrote = reader.all(_WROTE, of_person=person)
    for session in {goal[1] for goal in goals} | {row[0] for row in wrote}:
        for row in reader.all(_SPOT_OF, of_session=session):
            found[row[0]] = row
    places: dict[tuple[str, str], None] = {}
    for room, thread, id, by in heard:
        if by == person:
            places |= {(room, thread): None, (room, id): None, (room, ""): None}
    for room, thread in places:
        for row in reader.all(_SPOT_AT, of_room=room, of_thread=thread):
            found[row[0]] = row
    return found.values()


def _is_shared(reader: Reader, person: str, session: str, has_mates: bool) -> bool:
    of = {"of_session": session, "of_person": person}
    return has_mates or bool(reader.one(_CO_OWNER, **of) or reader.one(_CO_AUTHOR, **of))


def _voices(reader: Reader, person: str, sessions: Iterable[str]) -> tuple[list[str], list[str]]:
    """What the person, and what other people, said in those sessions."""
    theirs: list[str] = []
    others: list[str] = []
    for session in sessions:
        for said, author, is_person in reader.all(_SAID, of_session=session):
            if author == person:
                theirs.append(said)
            elif is_person:
                others.append(said)
    return theirs, others


def _is_name(name: str) -> bool:
    return bool(name) and not name.startswith("forgotten:")
