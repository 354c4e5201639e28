"""
A person's home: what waits for them, their goals, the goals of their rooms.

Rule 1: a goal is named where its room can be read: whoever is not in it now is told how many there are.
Rule 2: which rooms one is in is asked of the network (which may remember it), so many at once.
Rule 3: only what is on the page is read whole.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.chat import answers, caps, spend
from bot.chat.amounts import usd
from bot.chat.desk import LIVE, Desk
from bot.chat.facts import Facts, Manner, gather
from bot.chat.home_items import Kind, Row, Sums, home_of
from bot.chat.rights import Act, may
from bot.errors import HeadwayError
from bot.goals.goal import FINAL, Goal, State
from bot.ports.chat import Network, Place, Speaker
from bot.ports.people import Role
from bot.ports.windows import Home

log = logging.getLogger(__name__)

PAGE: Final = 10
"""Goals and decisions of a page: with their buttons some 40 of the 100 blocks that a view may have."""
ENDED_MOST: Final = 10
ROOMS_MOST: Final = 200
"""Rooms of which it is asked whether somebody is in them."""
ASKED_AT_ONCE: Final = 8
_ORDER: Final = (
    State.DECIDING, State.BLOCKED, State.OVER_BUDGET, State.AUDITING, State.WORKING, State.READY,
    State.WAITING, State.PAUSED, State.COMPLETE, State.CANCELLED,
)  # fmt: skip
"""What wants somebody first."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose home it is."""

    network: Network
    workspace: str
    who: Speaker
    person: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """A goal that may be named, with the rights that the reader has over it."""

    goal: Goal
    place: Place
    roles: frozenset[Role]


class Homes:
    """Reads homes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def read(self, reader: Reader, page: int) -> Home:
        """The page; one that there is not (any more) is the last one. Raises as the store does."""
        desk = self._desk
        live = await self._placed(await desk.rooms.goals(states=LIVE), reader)
        final = tuple(state.value for state in FINAL)
        ended = await self._placed(
            await desk.rooms.goals(states=final, owner=reader.person, most=ENDED_MOST), reader
        )
        rooms = await self._rooms([*live, *ended], reader)
        seen = [
            _Seen(goal, place, rooms[room])
            for goal, place in [*live, *ended]
            if (room := _room(place)) in rooms and _is_of(place, reader)
        ]
        mine = [goal for goal, _ in live if goal.owner == reader.person]
        hidden = len(mine) - sum(one.goal.owner == reader.person for one in seen if _is_live(one))
        kinds = self._sorted(seen, reader)
        listed = [(kind, one) for kind in kinds for one in kinds[kind]]
        pages = max(1, -(-len(listed) // PAGE))
        page = min(max(1, page), pages)
        shown = listed[(page - 1) * PAGE : page * PAGE]
        rows = [await self._row(kind, one, reader) for kind, one in shown]
        return home_of(
            rows, await self._sums(kinds, hidden, reader), page, pages, self._manner(reader)
        )

    async def _placed(self, goals: Sequence[Goal], reader: Reader) -> list[tuple[Goal, Place]]:
        """The goals with where they live: those of the workspace, and of others only the reader's."""
        placed = [(goal, await self._desk.allow_list.home(goal.session)) for goal in goals]
        return [
            (goal, place)
            for goal, place in placed
            if _is_of(place, reader) or goal.owner == reader.person
        ]

    async def _rooms(
        self, goals: Sequence[tuple[Goal, Place]], reader: Reader
    ) -> dict[str, frozenset[Role]]:
        """The rooms that the reader may look into, with their roles there; their own goals' first."""
        own = [place for goal, place in goals if goal.owner == reader.person]
        places = [*own, *(place for _, place in goals)]
        named = {
            _room(place): replace(place, thread="") for place in places if _is_of(place, reader)
        }
        asked = list(named.values())[:ROOMS_MOST]
        gate = asyncio.Semaphore(ASKED_AT_ONCE)

        async def look(place: Place) -> frozenset[Role]:
            async with gate:
                return await self._roles(place, reader.who)

        found = await asyncio.gather(*(look(place) for place in asked))
        return {_room(place): roles for place, roles in zip(asked, found, strict=True) if roles}

    async def _roles(self, place: Place, who: Speaker) -> frozenset[Role]:
        """The reader's roles in a room, or none where they are not in it, or nobody can say so now."""
        allow_list = self._desk.allow_list
        try:
            roles = await allow_list.roles(place, who)
            is_in = bool(roles) and await allow_list.members.is_member(place, who)
        except HeadwayError as error:
            log.info("Whether somebody is in %s is not known: %s", place.room, error)
            return frozenset()
        return roles if is_in else frozenset()

    def _sorted(self, seen: Sequence[_Seen], reader: Reader) -> dict[Kind, list[_Seen]]:
        kinds: dict[Kind, list[_Seen]] = {"decisions": [], "mine": [], "rooms": [], "ended": []}
        for one in sorted(seen, key=lambda one: (_ORDER.index(one.goal.state), -one.goal.number)):
            kinds[self._kind(one, reader)].append(one)
        kinds["ended"].sort(key=lambda one: -(one.goal.closed_at or 0.0))
        return kinds

    def _kind(self, one: _Seen, reader: Reader) -> Kind:
        if one.goal.is_final:
            return "ended"
        if self._waits_for(one, reader):
            return "decisions"
        return "mine" if one.goal.owner == reader.person else "rooms"

    def _waits_for(self, one: _Seen, reader: Reader) -> bool:
        """Whether the goal waits for a word of the reader's: a question of their own, or what it takes
        a right of theirs to answer."""
        goal, decision = one.goal, one.goal.decision
        if goal.state is not State.DECIDING or decision is None or decision.answered:
            return False
        is_owner = goal.owner == reader.person
        room = self._desk.allow_list.settings(one.place)
        if decision.kind == "question" and not is_owner:
            return False
        return may(answers.act_of(decision), one.roles, is_owner=is_owner, room=room)

    async def _row(self, kind: Kind, one: _Seen, reader: Reader) -> Row:
        desk, goal = self._desk, one.goal
        facts = await gather(
            goal,
            desk.journal,
            desk.rooms,
            desk.clock.now(),
            spending=desk.spending,
            holds=desk.holds,
        )
        is_owner, room = goal.owner == reader.person, desk.allow_list.settings(one.place)
        rights = frozenset(act for act in Act if may(act, one.roles, is_owner=is_owner, room=room))
        card = await self._card(facts) if kind == "decisions" else ""
        return Row(
            kind, facts, one.place, rights, desk.manner_in(one.place), card, is_owner=is_owner
        )

    async def _card(self, facts: Facts) -> str:
        """The id of the card of the goal's decision, once it is there."""
        decision = facts.goal.decision
        key = f"{facts.goal.id}:decision:{decision.number}" if decision else ""
        return (await self._desk.rooms.remotes((key,))).get(key, "")

    async def _sums(self, kinds: dict[Kind, list[_Seen]], hidden: int, reader: Reader) -> Sums:
        states = {kind: tuple(one.goal for one in found) for kind, found in kinds.items()}
        places = [one.place for found in kinds.values() for one in found]
        at = Place(reader.network, reader.workspace, "")
        is_known = bool(places) or self._desk.allow_list.knows(reader.network, reader.who)
        is_known = is_known or bool(await self._desk.allow_list.roles(at, reader.who))
        spent, limits = await self._spent(reader, next(iter(places), at))
        return Sums(states, hidden, spent, limits, is_known=is_known)

    async def _spent(self, reader: Reader, place: Place) -> tuple[str, tuple[str, ...]]:
        """What the reader's goals spent today, and how much of today's caps is spent."""
        desk, manner = self._desk, self._manner(reader)
        if desk.spending is None:
            return "", ()
        now = desk.clock.now()
        today = spend.day(now, manner.zone)
        bills = [
            bill
            for bill in await desk.spending.bills(now - 26 * 3600.0)
            if bill.owner == reader.person and spend.day(bill.at, manner.zone) == today
        ]
        shares = [
            share
            for share in await desk.spending.shares_of(reader.person, place)
            if share.scope != "room"
        ]
        name = reader.who.name
        limits = tuple(
            manner.texts(
                "spend.cap",
                spent=caps.short_usd(share.spent),
                what=caps.cap_of(share.scope, share.limit, name, manner),
            )
            for share in shares
        )
        total = spend.total("", bills)
        return spend.money(total, manner) if bills else usd(0), limits

    def _manner(self, reader: Reader) -> Manner:
        return self._desk.manner_in(Place(reader.network, reader.workspace, ""))


def _room(place: Place) -> str:
    return place.room


def _is_of(place: Place, reader: Reader) -> bool:
    return (place.network, place.workspace) == (reader.network, reader.workspace)


def _is_live(one: _Seen) -> bool:
    return not one.goal.is_final
