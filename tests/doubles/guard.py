"""Holds and incidents in memory, over the rows of the store's double."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from bot.goals.events import HoldEnded
from bot.goals.goal import Goal, State
from bot.ports.chat import Network, Place
from bot.ports.clock import Clock
from bot.ports.holds import ALL, RESTORE, Hold, of_person, of_room
from bot.ports.incidents import Alert, Incident
from bot.ports.journal import Unit
from bot.ports.people import NOTHING, Answer


@dataclass(slots=True)
class Guard:
    """The rows, and what the store does for them."""

    clock: Clock
    holds: dict[str, Hold] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)

    def is_held(self, goal: Goal, place: Place) -> bool:
        """Whether a hold stops it."""
        return any(scope in self.holds for scope in _scopes(goal.owner, place))

    def open(self, alert: Alert, say: Callable[[Place, str, str], None]) -> bool:
        """Open an incident, and say so."""
        same = [one for one in self.incidents if (one.kind, one.subject) == _of(alert)]
        if any(one.is_open for one in same):
            return False
        id = f"i{len(self.incidents) + 1}"
        at = self.clock.now()
        self.incidents.append(Incident(id, alert.kind, alert.subject, alert.detail, at))
        if alert.place is not None and alert.text:
            say(alert.place, f"incident:{id}", alert.text)
        return True


class MemoryHolds:
    """Port Holds."""

    def __init__(
        self,
        guard: Guard,
        goals: Callable[[], Iterable[tuple[Goal, Place]]],
        people: Callable[[], dict[str, str]],
        rooms: Callable[[], Iterable[Place]],
        end_lease: Callable[[str], None],
        show: Callable[[Goal], None],
        say: Callable[[Answer], None],
        commit: Callable[[Unit], Awaitable[object]],
    ) -> None:
        self._guard, self._goals, self._people, self._rooms = guard, goals, people, rooms
        self._end_lease, self._show, self._say = end_lease, show, say
        self._commit = commit

    async def hold(
        self, scope: str, by: str, why: str = "", answer: Answer = NOTHING
    ) -> tuple[Hold, bool]:
        """Stop the scope."""
        self._say(answer)
        holds = self._guard.holds
        is_new = scope not in holds
        if is_new:
            holds[scope] = Hold(scope, by, self._guard.clock.now(), why)
            for goal in self._covered(scope):
                self._end_lease(goal.id)
                self._shown(goal)
        return self._named(holds[scope]), is_new

    async def release(self, scope: str, answer: Answer = NOTHING) -> Hold | None:
        """Let it go on."""
        self._say(answer)
        stood = self._guard.holds.pop(scope, None)
        if stood is None:
            return None
        for goal in self._covered(scope):
            await self._goes_on(goal, stood.at)
            self._shown(goal)
        return self._named(stood)

    async def _goes_on(self, goal: Goal, since: float) -> None:
        place = next(place for one, place in self._goals() if one.id == goal.id)
        holds = self._guard.holds
        others = [holds[one].at for one in _scopes(goal.owner, place) if one in holds]
        until = min([self._guard.clock.now(), *others])
        if goal.state is State.DECIDING and until > since:
            await self._commit(Unit(goal.id, (HoldEnded(until - since),)))

    async def standing(self) -> tuple[Hold, ...]:
        """Every hold."""
        holds = sorted(self._guard.holds.values(), key=lambda hold: (hold.at, hold.scope))
        return tuple(self._named(hold) for hold in holds)

    async def over(self, session: str, owner: str) -> Hold | None:
        """What stops these goals."""
        place = next((p for g, p in self._goals() if g.session == session), None)
        for scope in _scopes(owner, place):
            if scope in self._guard.holds:
                return self._named(self._guard.holds[scope])
        return None

    async def room_at(self, place: Place) -> str | None:
        """The scope of the room."""
        known = {replace(one, thread="") for one in self._rooms()}
        here = replace(place, thread="")
        return of_room(room_id(here)) if here in known else None

    async def named(self, kind: Literal["room", "person"], name: str) -> tuple[Hold, ...]:
        """Those of that name."""
        network, colon, rest = name.partition(":")
        if not colon or network not in get_args(Network):
            network, rest = "", name
        wanted = rest.lstrip("@#").casefold()
        if kind == "person":
            return tuple(
                Hold(of_person(id), name=f"console:{shown}")
                for id, shown in self._people().items()
                if shown.casefold() == wanted and network in ("", "console")
            )
        rooms = sorted({replace(one, thread="") for one in self._rooms()}, key=room_id)
        return tuple(
            Hold(of_room(room_id(one)), name=f"{one.network}:{one.room}")
            for one in rooms
            if one.room.casefold() == wanted and network in ("", one.network)
        )

    def _covered(self, scope: str) -> list[Goal]:
        return [goal for goal, place in self._goals() if scope in _scopes(goal.owner, place)]

    def _shown(self, goal: Goal) -> None:
        if goal.kind == "goal" and not goal.is_final:
            self._show(goal)

    def _named(self, hold: Hold) -> Hold:
        kind, _, id = hold.scope.partition(":")
        people = self._people()
        name = ""
        if kind == "person":
            name = f"console:{people[id]}"
        elif kind == "room":
            name = next(f"{p.network}:{p.room}" for p in self._rooms() if room_id(p) == id)
        return replace(hold, by_name=people.get(hold.by, ""), name=name)


class MemoryIncidents:
    """Port Incidents."""

    def __init__(self, guard: Guard, say: Callable[[Place, str, str], None]) -> None:
        self._guard, self._say = guard, say

    async def open(self, alert: Alert) -> bool:
        """Open it once."""
        return self._guard.open(alert, self._say)

    async def recovered(self, alert: Alert) -> bool:
        """Close it once."""
        rows = self._guard.incidents
        for place, one in enumerate(rows):
            if (one.kind, one.subject) == _of(alert) and one.is_open:
                rows[place] = replace(one, recovered_at=self._guard.clock.now())
                if alert.place is not None and alert.text:
                    self._say(alert.place, f"recovered:{one.id}", alert.text)
                return True
        return False

    async def listed(self, *, limit: int = 50) -> tuple[Incident, ...]:
        """Open ones first."""
        rows = sorted(self._guard.incidents, key=lambda one: (not one.is_open, -one.at, one.id))
        return tuple(rows[:limit])


def _scopes(owner: str, place: Place | None) -> tuple[str, ...]:
    room = () if place is None else (of_room(room_id(place)),)
    return (RESTORE, ALL, *room, of_person(owner))


def _of(alert: Alert) -> tuple[str, str]:
    return alert.kind, alert.subject


def room_id(place: Place) -> str:
    """The room's id."""
    return f"{place.network}/{place.workspace}/{place.room}"
